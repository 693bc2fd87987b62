"""The decoder in plain torch: what a :class:`ModelDescription` means. The reference for every faster runner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch.nn import functional

from structgen.engine.models.attention import Scores, attention, attention_mask
from structgen.engine.models.cache import KVCache
from structgen.engine.models.description import Activation, ModelDescription
from structgen.engine.models.frequencies import inverse_frequencies
from structgen.engine.models.linear import linear
from structgen.engine.models.rope import rotate, rotation
from structgen.engine.models.torch_weights import LayerWeights, ModelWeights

__all__ = ["Attend", "Transformer"]

Attend: TypeAlias = "Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor, Scores], torch.Tensor]"
"""Keeps a layer's new keys and values, ``[tokens, kv_heads, head_dim]`` each, and attends with the new queries,
``[tokens, heads, head_dim]``, over all that they see: ``[tokens, heads * head_dim]``. It is given the layer, queries,
keys and values, and what becomes of their products."""


class Transformer:
    """A decoder's forward pass.

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
        self._ropes = [description.rope_of(layer) for layer in range(description.num_hidden_layers)]
        device = weights.embedding.device
        self._frequencies = {
            rope: torch.from_numpy(inverse_frequencies(rope, description.head_dim)).to(device)
            for rope in set(self._ropes)
        }
        self._scores = Scores(description.score_scale, description.attention_softcap)

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
        count, windows = tokens.shape[0], self._description.sliding_windows
        cache.reserve(count)
        masks = {window: attention_mask(count, cache.length + count, window) for window in set(windows)}

        def attend(
            layer: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scores: Scores
        ) -> torch.Tensor:
            keys, values = cache.write(layer, keys, values)
            return attention(queries, keys, values, windows[layer], masks[windows[layer]], scores)

        positions = torch.arange(cache.length, cache.length + count)
        return self.run(tokens, positions, attend)

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Run all layers over tokens of any sequences, and return the last of :meth:`stages`."""
        return deque(self.stages(tokens, positions, attend), maxlen=1).pop()

    def stages(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> Iterator[torch.Tensor]:
        """Run all layers over tokens of any sequences, and give the hidden states after each of them.

        Parameters
        ----------
        tokens, positions : torch.Tensor
            int64 ``[tokens]``: ids, and places in their sequences.
        attend : Attend
            Knows whose tokens they are, and which others each of them sees.

        Yields
        ------
        torch.Tensor
            ``[tokens, hidden]``: the embedded tokens, then what each layer makes of them, then these normalized, which
            is what the output projection reads.
        """
        angles = {rope: rotation(one, positions) for rope, one in self._frequencies.items()}
        hidden = functional.embedding(tokens, self._weights.embedding) * self._description.embedding_scale
        yield hidden
        for index, layer in enumerate(self._weights.layers):
            queries, keys, values = self._project(layer, hidden, angles[self._ropes[index]])
            attended = attend(index, queries, keys, values, self._scores)
            hidden = hidden + self._post_norm(linear(attended, layer.output), layer.output_norm)
            hidden = hidden + self._post_norm(self._mlp(layer, hidden), layer.down_norm)
            yield hidden
        yield self._norm(hidden, self._weights.norm)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Project ``[tokens, hidden]`` to ``[tokens, vocab]``."""
        logits, cap = linear(hidden, self._weights.head), self._description.logit_softcap
        return logits if cap is None else cap * torch.tanh(logits / cap)

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
        """The gated MLP; see :data:`Activation`."""
        gate, up = linear(self._norm(hidden, layer.mlp_norm), layer.gate_up).chunk(2, dim=-1)
        return linear(_activated(self._description.activation, gate) * up, layer.down)

    def _post_norm(self, hidden: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        return hidden if weight is None else self._norm(hidden, weight)

    def _norm(self, hidden: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        """RMSNorm over the last dimension (Zhang and Sennrich 2019, arXiv:1910.07467)."""
        offset, shape, eps = self._description.norm_offset, hidden.shape[-1:], self._description.rms_norm_eps
        if weight is None or not offset:
            return functional.rms_norm(hidden, shape, weight, eps)
        # 1 + w has no room in bfloat16 for the end of w.
        return functional.rms_norm(hidden.float(), shape, weight.float() + offset, eps).to(hidden.dtype)


def _activated(activation: Activation, gate: torch.Tensor) -> torch.Tensor:
    return functional.silu(gate) if activation == "silu" else functional.gelu(gate, approximate="tanh")
