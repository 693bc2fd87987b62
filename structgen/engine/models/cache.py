"""The keys and values of one sequence, in one contiguous tensor that grows."""

from __future__ import annotations

import torch

from structgen.engine.models.description import ModelDescription

__all__ = ["KVCache"]

_FIRST_CAPACITY = 256


class KVCache:
    """Keys and values of the tokens that one sequence has so far.

    A forward pass first reserves room, then writes every layer's new keys and values behind the ``length`` tokens
    that count, and only :meth:`commit` makes them count: a pass that fails half-way leaves the sequence as it was.

    ::

        [layer, key or value, kv head, | length tokens | tokens being written | free |, head_dim]

    Parameters
    ----------
    description : ModelDescription
        Gives the sizes.
    dtype : torch.dtype
        Of keys and values.
    """

    def __init__(self, description: ModelDescription, dtype: torch.dtype) -> None:
        layers, heads = description.num_hidden_layers, description.num_key_value_heads
        self._buffer = torch.empty((layers, 2, heads, 0, description.head_dim), dtype=dtype)
        self._limit = description.max_position_embeddings
        self.length = 0
        """Tokens held."""

    def reserve(self, tokens: int) -> None:
        """Make room for ``tokens`` more; doubles, so that a growing sequence is copied a bounded number of times."""
        needed = self.length + tokens
        if needed <= self._buffer.shape[3]:
            return
        capacity = max(needed, min(self._limit, max(_FIRST_CAPACITY, 2 * self._buffer.shape[3])))
        grown = self._buffer.new_empty((*self._buffer.shape[:3], capacity, self._buffer.shape[4]))
        grown[:, :, :, : self.length] = self._buffer[:, :, :, : self.length]
        self._buffer = grown

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Write a layer's new keys and values into reserved room.

        Parameters
        ----------
        layer : int
            Which layer.
        keys, values : torch.Tensor
            ``[tokens, kv_heads, head_dim]``.

        Returns
        -------
        tuple of torch.Tensor
            All keys and all values of the layer, old and new: views ``[kv_heads, length + tokens, head_dim]``.
        """
        end = self.length + keys.shape[0]
        held = self._buffer[layer, :, :, :end]
        held[0, :, self.length :] = keys.transpose(0, 1)
        held[1, :, self.length :] = values.transpose(0, 1)
        return held[0], held[1]

    def commit(self, tokens: int) -> None:
        """Let the ``tokens`` that were written last count."""
        self.length += tokens
