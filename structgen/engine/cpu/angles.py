"""Cosines and sines of positions, for each way in which a model's layers turn their heads."""

from __future__ import annotations

import numpy as np

from structgen.engine.models.description import ModelDescription, Rope
from structgen.engine.models.frequencies import inverse_frequencies

__all__ = ["Angles"]

_AT_ONCE = 1024
"""Positions whose angles are computed together, so that they are the same bits whoever comes first."""


class Angles:
    """The angles of a model's positions, computed as far as they are needed.

    Parameters
    ----------
    description : ModelDescription
        The model.
    """

    def __init__(self, description: ModelDescription) -> None:
        layers = range(description.num_hidden_layers)
        self._ropes = tuple(dict.fromkeys(description.rope_of(layer) for layer in layers))
        self._frequencies = [inverse_frequencies(rope, description.head_dim) for rope in self._ropes]
        positions = description.max_position_embeddings
        # [ropes, positions, cosines of half a head, then its sines]
        self._table = np.empty((len(self._ropes), positions, description.head_dim), np.float32)
        self._known = 0

    @property
    def address(self) -> int:
        """Where they lie."""
        return self._table.ctypes.data

    def begin(self, rope: Rope) -> int:
        """Bytes from the address to the angles of a rope's first position; a position takes ``4 * head_dim``."""
        return self._ropes.index(rope) * self._table[0].nbytes

    def know(self, positions: int) -> None:
        """Compute the angles of so many positions, at least."""
        while self._known < positions:
            first, last = self._known, min(self._known + _AT_ONCE, self._table.shape[1])
            for table, frequencies in zip(self._table, self._frequencies, strict=True):
                angles = np.arange(first, last, dtype=np.float32)[:, None] * frequencies
                table[first:last] = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
            self._known = last
