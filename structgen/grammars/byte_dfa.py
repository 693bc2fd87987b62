"""Deterministic finite automata over bytes, whole in tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammars._distances import distances_to_end

__all__ = ["ByteDfa"]


@dataclass(frozen=True, eq=False)
class ByteDfa:
    """A DFA whose every state can be reached from state 0 and reaches an accepting one. Told apart by identity.

    Attributes
    ----------
    transitions : int32[states, 256]
        The state after a byte, -1 where the byte cannot come.
    accepting : bool[states]
        Whether a text may end there.
    """

    transitions: npt.NDArray[Any]
    accepting: npt.NDArray[Any]

    @cached_property
    def edges(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Where in the flat ``transitions`` a byte can come, int64[edges], and the states after it, int32[edges]."""
        places = np.flatnonzero(self.transitions >= 0)
        return places, self.transitions.ravel()[places]

    @cached_property
    def reads(self) -> npt.NDArray[Any]:
        """Whether a byte can come in each state, bool[states]."""
        return np.any(self.transitions >= 0, axis=1)

    @cached_property
    def distances(self) -> list[int]:
        """The bytes from each state to the nearest end."""
        before: list[list[int]] = [[] for _ in self.accepting]
        used = (self.transitions >= 0).any(axis=0)
        rows: list[list[int]] = self.transitions[:, used].tolist()
        for state, row in enumerate(rows):
            for target in set(row):
                if target >= 0:
                    before[target].append(state)
        return distances_to_end(self.accepting, before)

    @cached_property
    def alphabet(self) -> int:
        """The bytes that it reads, as a 256-bit integer."""
        used = np.packbits((self.transitions >= 0).any(axis=0), bitorder="little")
        return int.from_bytes(used.tobytes(), "little")
