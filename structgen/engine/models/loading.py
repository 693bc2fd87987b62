"""From a model's files to something that runs: open, describe, check and read every tensor once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from structgen.engine.models.description import ModelDescription
from structgen.engine.models.families import describe
from structgen.engine.models.weights import LayerWeights, ModelWeights
from structgen.engine.weights import Checkpoint, open_checkpoint
from structgen.errors import InvalidModelFile, InvalidRequest, UnsupportedModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.engine.sources import LocalModel
    from structgen.engine.tokenization.chat_template import ChatTemplate

__all__ = ["DTYPES", "LoadedModel", "load_model", "load_weights"]

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


def load_model(local: LocalModel | Path | str, *, dtype: str = "float32") -> LoadedModel:
    """Load a model and its tokenizer from a GGUF file or a Hugging Face folder.

    Parameters
    ----------
    local : LocalModel or path
        Where the model is.
    dtype : str
        What weights are converted to and computed in: ``"float32"`` or ``"bfloat16"``.

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
    path, name = (Path(local), Path(local).stem) if isinstance(local, (str, Path)) else (local.path, local.name)
    with open_checkpoint(path) as checkpoint:
        description = _describe(checkpoint)
        return LoadedModel(
            name=name,
            description=description,
            weights=load_weights(checkpoint, description, DTYPES[dtype]),
            tokenizer=checkpoint.tokenizer(),
            bos_token_id=checkpoint.bos_token_id,
            eos_token_ids=checkpoint.eos_token_ids,
            chat_template=checkpoint.chat_template(),
        )


def load_weights(checkpoint: Checkpoint, description: ModelDescription, dtype: torch.dtype) -> ModelWeights:
    """Read all weights of a described model.

    Raises
    ------
    InvalidModelFile
        A tensor is missing or misshapen.
    UnsupportedModel
        There are tensors that the family has no place for.
    """
    _check_tensors(checkpoint, description)
    # Dequantization is a chain of numpy and torch calls that release the GIL: threads over layers keep all cores busy.
    with ThreadPoolExecutor(max_workers=torch.get_num_threads()) as pool:
        embedding = pool.submit(checkpoint.tensor, "model.embed_tokens.weight", dtype)
        layers = pool.map(
            lambda index: _read_layer(checkpoint, index, description, dtype), range(description.num_hidden_layers)
        )
        head = embedding if description.tie_word_embeddings else pool.submit(checkpoint.tensor, "lm_head.weight", dtype)
        return ModelWeights(
            embedding=embedding.result(),
            layers=tuple(layers),
            norm=checkpoint.tensor("model.norm.weight", dtype),
            head=head.result(),
        )


def _read_layer(checkpoint: Checkpoint, index: int, description: ModelDescription, dtype: torch.dtype) -> LayerWeights:
    prefix = f"model.layers.{index}."

    def read(name: str) -> torch.Tensor:
        return checkpoint.tensor(f"{prefix}{name}", dtype)

    def joined(*names: str) -> torch.Tensor:
        return _join([read(name) for name in names])

    qk_norm = None
    if description.qk_norm:
        heads = (description.num_attention_heads, -1), (description.num_key_value_heads, -1)
        norms = read("self_attn.q_norm.weight"), read("self_attn.k_norm.weight")
        qk_norm = torch.cat([norm.expand(shape) for norm, shape in zip(norms, heads, strict=True)])
    qkv = [f"self_attn.{part}_proj" for part in "qkv"]
    return LayerWeights(
        input_norm=read("input_layernorm.weight"),
        qkv=joined(*(f"{name}.weight" for name in qkv)),
        qkv_bias=joined(*(f"{name}.bias" for name in qkv)) if description.qkv_bias else None,
        qk_norm=qk_norm,
        output=read("self_attn.o_proj.weight"),
        mlp_norm=read("post_attention_layernorm.weight"),
        gate_up=joined("mlp.gate_proj.weight", "mlp.up_proj.weight"),
        down=read("mlp.down_proj.weight"),
    )


def _join(parts: list[torch.Tensor]) -> torch.Tensor:
    """Concatenate rows, by numpy: torch would wake its own team of threads in each thread of the pool."""
    joined = np.concatenate([part.contiguous().view(torch.uint8).numpy() for part in parts])
    return torch.from_numpy(joined).view(parts[0].dtype)


def _describe(checkpoint: Checkpoint) -> ModelDescription:
    try:
        return describe(checkpoint.architecture, checkpoint.metadata)
    except (InvalidModelFile, UnsupportedModel) as error:
        raise type(error)(f"{checkpoint.path}: {error}") from error


def _check_tensors(checkpoint: Checkpoint, description: ModelDescription) -> None:
    """Every tensor of the description is there in its shape, and none beside them that would change the result."""
    expected, found = description.tensor_shapes(), set(checkpoint.names())
    for name, shape in expected.items():
        if name not in found:
            raise InvalidModelFile(
                f"{checkpoint.path}: the tensor {name!r} {list(shape)} is missing; get the complete model"
            )
        if checkpoint.shape(name) != shape:
            raise InvalidModelFile(
                f"{checkpoint.path}: the tensor {name!r} has the shape {list(checkpoint.shape(name))}, "
                f"its configuration says {list(shape)}; weights and configuration are of different models"
            )
    extra = sorted(name for name in found - expected.keys() if not _DERIVED.fullmatch(name))
    if extra:
        raise UnsupportedModel(
            f"{checkpoint.path}: the {description.architecture} family has no place for {len(extra)} of the tensors: "
            f"{', '.join(extra[:4])}{', ...' if len(extra) > 4 else ''}"
        )
