"""The decoder in plain torch: what a :class:`ModelDescription` means. The reference for every faster runner."""

from __future__ import annotations

import torch
from torch.nn import functional

from structgen.engine.models.attention import attention, attention_mask
from structgen.engine.models.cache import KVCache
from structgen.engine.models.description import ModelDescription
from structgen.engine.models.linear import linear
from structgen.engine.models.rope import inverse_frequencies, rotate, rotation
from structgen.engine.models.weights import LayerWeights, ModelWeights

__all__ = ["Transformer"]


class Transformer:
    """A decoder's forward pass over one sequence.

    Parameters
    ----------
    description : ModelDescription
        What to compute.
    weights : ModelWeights
        With what; their dtype is the dtype of all activations, except that norms and rotations compute in float32.
    """

    def __init__(self, description: ModelDescription, weights: ModelWeights) -> None:
        self._description = description
        self._weights = weights
        self._frequencies = inverse_frequencies(description)

    def hidden_states(self, cache: KVCache, tokens: torch.Tensor) -> torch.Tensor:
        """Run all layers over new tokens and write their keys and values to the cache, without committing them.

        Parameters
        ----------
        cache : KVCache
            The tokens before these.
        tokens : torch.Tensor
            int64 ``[tokens]``.

        Returns
        -------
        torch.Tensor
            ``[tokens, hidden]``, normalized: what the output projection reads.
        """
        count = tokens.shape[0]
        cache.reserve(count)
        angles = rotation(self._frequencies, cache.length, count)
        masks = {
            window: attention_mask(count, cache.length + count, window)
            for window in set(self._description.sliding_windows)
        }
        hidden = functional.embedding(tokens, self._weights.embedding)
        for index, layer in enumerate(self._weights.layers):
            window = self._description.sliding_windows[index]
            queries, keys, values = self._project(layer, hidden, angles)
            keys, values = cache.write(index, keys, values)
            attended = attention(queries, keys, values, window, masks[window])
            hidden = hidden + linear(attended, layer.output)
            hidden = hidden + self._mlp(layer, hidden)
        return self._norm(hidden, self._weights.norm)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Project ``[tokens, hidden]`` to ``[tokens, vocab]``."""
        return linear(hidden, self._weights.head)

    def _project(
        self, layer: LayerWeights, hidden: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries ``[tokens, heads, head_dim]``, keys and values ``[tokens, kv_heads, head_dim]``, rotated."""
        heads, kv_heads = self._description.num_attention_heads, self._description.num_key_value_heads
        projected = linear(self._norm(hidden, layer.input_norm), layer.qkv, layer.qkv_bias)
        projected = projected.view(hidden.shape[0], heads + 2 * kv_heads, self._description.head_dim)
        rotated = projected[:, : heads + kv_heads]
        if self._description.qk_norm:
            queries, keys = rotated.split((heads, kv_heads), dim=1)
            rotated = torch.cat((self._norm(queries, layer.query_norm), self._norm(keys, layer.key_norm)), dim=1)
        rotated = rotate(rotated, *angles)  # both at once: a call over few rows costs its overhead
        return rotated[:, :heads], rotated[:, heads:], projected[:, heads + kv_heads :]

    def _mlp(self, layer: LayerWeights, hidden: torch.Tensor) -> torch.Tensor:
        """SwiGLU (Shazeer 2020, arXiv:2002.05202)."""
        gate, up = linear(self._norm(hidden, layer.mlp_norm), layer.gate_up).chunk(2, dim=-1)
        return linear(functional.silu(gate) * up, layer.down)

    def _norm(self, hidden: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        """RMSNorm over the last dimension (Zhang and Sennrich 2019, arXiv:1910.07467)."""
        return functional.rms_norm(hidden, hidden.shape[-1:], weight, self._description.rms_norm_eps)
