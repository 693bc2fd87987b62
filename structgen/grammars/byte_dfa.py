"""Deterministic finite automata over bytes, whole in tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

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
