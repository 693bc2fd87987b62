"""From a model's files to what runners are made of: open, describe, and check that every tensor is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from structgen.engine.models.description import ModelDescription
from structgen.engine.models.families import describe, is_described
from structgen.engine.models.weights import WeightSource, parameter_shapes
from structgen.engine.weights import Checkpoint, open_checkpoint
from structgen.engine.weights.huggingface import HuggingFaceCheckpoint
from structgen.errors import InvalidModelFile, InvalidRequest, UnsupportedModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.engine.foreign.loading import ForeignModel
    from structgen.engine.sources import LocalModel
    from structgen.engine.tokenization.chat_template import ChatTemplate

__all__ = ["DTYPES", "LoadedModel", "load_model"]

DTYPES = ("float32", "bfloat16")
"""What a model can compute in."""

# What files carry without need: frequencies that follow from the configuration, and a head beside tied embeddings.
_DERIVED = re.compile(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq|lm_head\.weight")


@dataclass(frozen=True)
class LoadedModel:
    """A model whose files have been looked through; what runs it reads its weights."""

    name: str
    description: ModelDescription
    weights: WeightSource
    """Its files, which are open as long as this is."""
    dtype: str
    """What it computes in where its weights are not quantized: one of `DTYPES`."""
    tokenizer: Tokenizer
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    chat_template: ChatTemplate | None


def load_model(
    local: LocalModel | Path | str,
    *,
    dtype: str = "float32",
    check: Callable[[ModelDescription, Checkpoint], None] = lambda description, files: None,
) -> LoadedModel | ForeignModel:
    """Open a model, a GGUF file or a Hugging Face folder, and make its tokenizer; its weights are not read yet.

    A Hugging Face folder of an architecture without a description of ours is loaded through ``transformers``' own code.

    Parameters
    ----------
    local : LocalModel or path
        Where the model is.
    dtype : str
        What is computed in: ``"float32"`` or ``"bfloat16"``.
    check : callable
        Called with the description of a model and its files; what it raises ends the loading.

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
    checkpoint = open_checkpoint(path)
    try:
        return _load(checkpoint, name or (path.name if path.is_dir() else path.stem), dtype, check)
    except BaseException:
        checkpoint.close()
        raise


def _load(
    checkpoint: Checkpoint, name: str, dtype: str, check: Callable[[ModelDescription, Checkpoint], None]
) -> LoadedModel | ForeignModel:
    if isinstance(checkpoint, HuggingFaceCheckpoint) and not is_described(checkpoint.architecture):
        from structgen.engine.foreign.loading import load_foreign_model

        with checkpoint:
            return load_foreign_model(checkpoint, name, dtype)
    description = _describe(checkpoint)
    check(description, checkpoint)
    _check_tensors(checkpoint, description)
    return LoadedModel(
        name=name,
        description=description,
        weights=checkpoint,
        dtype=dtype,
        tokenizer=checkpoint.tokenizer(),
        bos_token_id=checkpoint.bos_token_id,
        eos_token_ids=checkpoint.eos_token_ids,
        chat_template=checkpoint.chat_template(),
    )


def _describe(checkpoint: Checkpoint) -> ModelDescription:
    try:
        return describe(checkpoint.architecture, checkpoint.metadata)
    except (InvalidModelFile, UnsupportedModel) as error:
        raise type(error)(f"{checkpoint.path}: {error}") from error


def _check_tensors(checkpoint: Checkpoint, description: ModelDescription) -> None:
    """Every tensor is there in its shape, and none that the family has no place for, which would change the result."""
    shapes = parameter_shapes(description)
    found = set(checkpoint.names())
    for name, expected in ((name, list(shape)) for name, shape in shapes.items()):
        if name not in found:
            raise InvalidModelFile(f"{checkpoint.path}: the tensor {name!r} {expected} is missing; get the whole model")
        shape = list(checkpoint.shape(name))
        if shape != expected:
            raise InvalidModelFile(
                f"{checkpoint.path}: the tensor {name!r} has the shape {shape}, the configuration says {expected}; "
                "weights and configuration are of different models"
            )
    extra = sorted(name for name in found - shapes.keys() if not _DERIVED.fullmatch(name))
    if extra:
        raise UnsupportedModel(
            f"{checkpoint.path}: the {description.architecture} family has no place for {len(extra)} of the tensors: "
            f"{', '.join(extra[:4])}{', ...' if len(extra) > 4 else ''}"
        )
