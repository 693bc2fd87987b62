"""From a model's files to something that runs: open, describe, check and read every tensor once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from structgen.engine.models.description import ModelDescription
from structgen.engine.models.families import describe, is_described
from structgen.engine.models.weights import Arena, ModelWeights, lay_out
from structgen.engine.weights import Checkpoint, open_checkpoint
from structgen.engine.weights.huggingface import HuggingFaceCheckpoint
from structgen.errors import InvalidModelFile, InvalidRequest, UnsupportedModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.engine.foreign.loading import ForeignModel
    from structgen.engine.sources import LocalModel
    from structgen.engine.tokenization.chat_template import ChatTemplate

__all__ = ["DTYPES", "LoadedModel", "load_model", "weights_loading"]

DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""The dtypes a model can run in, by name."""

# What files carry without need: frequencies that follow from the configuration, and a head beside tied embeddings.
_DERIVED = re.compile(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq|lm_head\.weight")


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory, ready to run."""

    name: str
    description: ModelDescription
    weights: ModelWeights
    tokenizer: Tokenizer
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    chat_template: ChatTemplate | None


def load_model(
    local: LocalModel | Path | str,
    *,
    dtype: str = "float32",
    check: Callable[[ModelDescription], None] = lambda description: None,
) -> LoadedModel | ForeignModel:
    """Load a model and its tokenizer from a GGUF file or a Hugging Face folder.

    A Hugging Face folder of an architecture without a description of ours is loaded through ``transformers``' own code.

    Parameters
    ----------
    local : LocalModel or path
        Where the model is.
    dtype : str
        What weights are converted to and computed in: ``"float32"`` or ``"bfloat16"``.
    check : callable
        Called before the weights of a described model are read; what it raises ends the loading.

    Raises
    ------
    InvalidRequest
        The dtype is not known.
    ModelNotFound
        Nothing is there.
    InvalidModelFile
        The files are broken, or a tensor or field is missing or misshapen.
    UnsupportedModel
        The architecture, or something the model uses, is not implemented.
    """
    if dtype not in DTYPES:
        raise InvalidRequest(f"dtype {dtype!r} is not known; known are {', '.join(DTYPES)}")
    path, name = (Path(local), None) if isinstance(local, (str, Path)) else (local.path, local.name)
    with open_checkpoint(path) as checkpoint:
        name = name or (path.name if path.is_dir() else path.stem)
        if isinstance(checkpoint, HuggingFaceCheckpoint) and not is_described(checkpoint.architecture):
            from structgen.engine.foreign.loading import load_foreign_model

            return load_foreign_model(checkpoint, name, DTYPES[dtype])
        description = _describe(checkpoint)
        check(description)
        with weights_loading(checkpoint, description, DTYPES[dtype]) as weights:
            return LoadedModel(
                name=name,
                description=description,
                weights=weights,
                tokenizer=checkpoint.tokenizer(),
                bos_token_id=checkpoint.bos_token_id,
                eos_token_ids=checkpoint.eos_token_ids,
                chat_template=checkpoint.chat_template(),
            )


@contextmanager
def weights_loading(
    checkpoint: Checkpoint, description: ModelDescription, dtype: torch.dtype
) -> Iterator[ModelWeights]:
    """Read all weights of a described model while something else is done; they are there when the context ends.

    Raises
    ------
    InvalidModelFile
        A tensor is missing or misshapen.
    UnsupportedModel
        There are tensors that the family has no place for.
    """
    planned = lay_out(description, lambda *shape: torch.empty(shape, device="meta"))[1]
    _check_tensors(checkpoint, description.architecture, planned)
    weights, places = lay_out(description, Arena(dtype).take)
    # Dequantization is a chain of numpy calls that release the GIL, so threads keep all cores busy.
    pool = ThreadPoolExecutor(max_workers=torch.get_num_threads())
    try:
        reading = [pool.submit(checkpoint.read_into, name, place) for name, place in places.items()]
        readers = {name: checkpoint.groups(name) for name, place in places.items() if place.ndim > 1}
        yield replace(weights, groups={name: reader for name, reader in readers.items() if reader is not None})
        for done in reading:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _describe(checkpoint: Checkpoint) -> ModelDescription:
    try:
        return describe(checkpoint.architecture, checkpoint.metadata)
    except (InvalidModelFile, UnsupportedModel) as error:
        raise type(error)(f"{checkpoint.path}: {error}") from error


def _check_tensors(checkpoint: Checkpoint, architecture: str, places: Mapping[str, torch.Tensor]) -> None:
    """Every tensor is there in the shape of its place, and none without a place, which would change the result."""
    found = set(checkpoint.names())
    for name, place in places.items():
        expected = list(place.shape)
        if name not in found:
            raise InvalidModelFile(f"{checkpoint.path}: the tensor {name!r} {expected} is missing; get the whole model")
        shape = list(checkpoint.shape(name))
        if shape != expected:
            raise InvalidModelFile(
                f"{checkpoint.path}: the tensor {name!r} has the shape {shape}, the configuration says {expected}; "
                "weights and configuration are of different models"
            )
    extra = sorted(name for name in found - places.keys() if not _DERIVED.fullmatch(name))
    if extra:
        raise UnsupportedModel(
            f"{checkpoint.path}: the {architecture} family has no place for {len(extra)} of the tensors: "
            f"{', '.join(extra[:4])}{', ...' if len(extra) > 4 else ''}"
        )
