"""A model's weights in memory, in the layout that the transformer reads them in."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["LayerWeights", "ModelWeights"]


@dataclass(frozen=True)
class LayerWeights:
    """One decoder layer. Matrices are ``[out, in]``; those that read the same input are one, so that they are one call.

    ``qkv`` holds query heads, then key heads, then value heads. ``qk_norm`` holds a row for each query head and each
    key head, so that both are normalized together.
    """

    input_norm: torch.Tensor  # [hidden]
    qkv: torch.Tensor  # [(heads + 2 * kv_heads) * head_dim, hidden]
    qkv_bias: torch.Tensor | None  # [(heads + 2 * kv_heads) * head_dim]
    qk_norm: torch.Tensor | None  # [heads + kv_heads, head_dim]
    output: torch.Tensor  # [hidden, heads * head_dim]
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: torch.Tensor  # [2 * intermediate, hidden]
    down: torch.Tensor  # [hidden, intermediate]


@dataclass(frozen=True)
class ModelWeights:
    """All weights of a model, in one dtype."""

    embedding: torch.Tensor  # [vocab, hidden]
    layers: tuple[LayerWeights, ...]
    norm: torch.Tensor  # [hidden]
    head: torch.Tensor  # [vocab, hidden]; the embedding itself where the description ties them

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of every tensor here."""
        return self.embedding.dtype
