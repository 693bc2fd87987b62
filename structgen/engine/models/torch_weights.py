"""A model's weights in torch, in the layout that the transformer in torch reads them in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from structgen.engine.models.description import ModelDescription
from structgen.engine.models.weights import (
    EMBEDDING,
    HEAD,
    LAST_NORM,
    MatrixPart,
    WeightSource,
    matrix_parts,
    norm_names,
)

__all__ = ["DTYPES", "LayerWeights", "ModelWeights", "read_weights"]

DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""What a model can compute in, by name."""

_ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""
_PIECE = 32 << 20


@dataclass(frozen=True)
class LayerWeights:
    """One decoder layer. Matrices are ``[out, in]``; those that read the same input are one, so that they are one call.

    ``qkv`` holds query heads, then key heads, then value heads.
    """

    input_norm: torch.Tensor  # [hidden]
    qkv: torch.Tensor  # [(heads + 2 * kv_heads) * head_dim, hidden]
    qkv_bias: torch.Tensor | None  # [(heads + 2 * kv_heads) * head_dim]
    query_norm: torch.Tensor | None  # [head_dim]
    key_norm: torch.Tensor | None  # [head_dim]
    output: torch.Tensor  # [hidden, heads * head_dim]
    output_norm: torch.Tensor | None  # [hidden]
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: torch.Tensor  # [2 * intermediate, hidden]
    down: torch.Tensor  # [hidden, intermediate]
    down_norm: torch.Tensor | None  # [hidden]


@dataclass(frozen=True)
class ModelWeights:
    """All weights of a model, in one dtype."""

    embedding: torch.Tensor  # [vocab, hidden]
    layers: list[LayerWeights]
    norm: torch.Tensor  # [hidden]
    head: torch.Tensor  # [vocab, hidden]; the embedding itself where the description ties them

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of every tensor here."""
        return self.embedding.dtype


class _Arena:
    """Uninitialized memory for weights in few large pieces, each of which goes with the last tensor in it.

    Large, and from numpy, because numpy asks for huge pages: 538 MB in pages of 4 KB took 115,000 page faults, half the
    time of a load, and every forward pass would walk them again.

    Parameters
    ----------
    dtype : torch.dtype
        Of all of it.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._piece = np.empty(0, np.uint8)
        self._used = 0

    def take(self, *shape: int) -> torch.Tensor:
        """Return the next tensor, aligned to a cache line."""
        size = math.prod(shape) * self._dtype.itemsize
        if self._used + size > len(self._piece):
            self._piece = np.empty(max(_PIECE, size) + _ALIGNMENT, np.uint8)
            self._used = -self._piece.ctypes.data % _ALIGNMENT
        tensor = torch.from_numpy(self._piece[self._used : self._used + size]).view(self._dtype).view(shape)
        self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
        return tensor


def read_weights(description: ModelDescription, source: WeightSource, dtype: torch.dtype) -> ModelWeights:
    """Read all weights of a model.

    Parameters
    ----------
    description : ModelDescription
        The model.
    source : WeightSource
        What has them.
    dtype : torch.dtype
        What they are rounded to, once.
    """
    weights, places = _lay_out(description, _Arena(dtype).take)
    for name, place in places.items():
        place.copy_(torch.from_numpy(source.tensor(name)))
    return weights


def _lay_out(
    description: ModelDescription, new: Callable[..., torch.Tensor]
) -> tuple[ModelWeights, dict[str, torch.Tensor]]:
    """Make the tensors of a model, and views of their parts by Hugging Face's names."""
    vocabulary = (description.vocab_size, description.hidden_size)
    embedding = new(*vocabulary)
    layers = [_new_layer(description, new) for _ in range(description.num_hidden_layers)]
    norm = new(description.hidden_size)
    head = embedding if description.tie_word_embeddings else new(*vocabulary)
    places = {EMBEDDING: embedding, LAST_NORM: norm}
    if head is not embedding:
        places[HEAD] = head
    for index, layer in enumerate(layers):
        places.update({f"model.layers.{index}.{name}": part for name, part in _places(description, layer).items()})
    return ModelWeights(embedding, layers, norm, head), places


def _new_layer(description: ModelDescription, new: Callable[..., torch.Tensor]) -> LayerWeights:
    hidden, head_dim = description.hidden_size, description.head_dim
    queries, keys = description.num_attention_heads * head_dim, description.num_key_value_heads * head_dim
    return LayerWeights(
        input_norm=new(hidden),
        qkv=new(queries + 2 * keys, hidden),
        qkv_bias=new(queries + 2 * keys) if description.qkv_bias else None,
        query_norm=new(head_dim) if description.qk_norm else None,
        key_norm=new(head_dim) if description.qk_norm else None,
        output=new(hidden, queries),
        output_norm=new(hidden) if description.post_norms else None,
        mlp_norm=new(hidden),
        gate_up=new(2 * description.intermediate_size, hidden),
        down=new(hidden, description.intermediate_size),
        down_norm=new(hidden) if description.post_norms else None,
    )


def _places(description: ModelDescription, layer: LayerWeights) -> dict[str, torch.Tensor]:
    """Parts of a layer by their names in a checkpoint."""
    parts = matrix_parts(description)
    places = {f"{name}.weight": getattr(layer, field) for field, name in norm_names(description).items()}
    for matrix in parts:
        places |= _split(getattr(layer, matrix), parts[matrix], "weight")
    if layer.qkv_bias is not None:
        places |= _split(layer.qkv_bias, parts["qkv"], "bias")
    return places


def _split(joined: torch.Tensor, parts: tuple[MatrixPart, ...], kind: str) -> dict[str, torch.Tensor]:
    pieces = joined.split([part.rows for part in parts])
    return {f"{part.name}.{kind}": piece for part, piece in zip(parts, pieces, strict=True)}
