"""A flat program that the interpreter runs, and what it needs to run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.interpreter import ADD, ATTEND, CAP, EMBED, GATE, LINEAR, NORM, QUANTIZE
from structgen.engine.cpu.kernels.linear import BYTES_OF_WEIGHT
from structgen.engine.cpu.memory import Memory

__all__ = ["Program", "Widths"]

_NAMES = {EMBED: "embed", NORM: "norm", GATE: "gate", QUANTIZE: "quantize", ADD: "add", CAP: "cap"}


class Widths(NamedTuple):
    """What a token needs of each buffer."""

    qkv: int
    """Floats."""
    activations: int
    """Bytes."""
    scales: int
    """Floats."""
    logits: int
    """Floats."""
    scratch: int
    """Floats that a member needs for itself, besides what attention needs."""


class Program:
    """Operations, and the weights that they refer to.

    Attributes
    ----------
    table : np.ndarray
        int64 ``[operations, OPERANDS]``; see :mod:`structgen.engine.cpu.layout`.
    parts : list of tuple
        The model's parts from the first to the last, each by name with the number of operations up to its end.
    """

    def __init__(
        self, memory: Memory, operations: list[list[int]], parts: list[tuple[str, int]], widths: Widths
    ) -> None:
        self.memory = memory
        self.table: npt.NDArray[np.int64] = np.array(operations, np.int64)
        self.parts = parts
        self.widths = widths

    def name(self, place: int) -> str:
        """What an operation is, for profiles."""
        code = int(self.table[place, 0])
        if code in _NAMES:
            return _NAMES[code]
        return "linear" if code >= LINEAR else "attend" if code >= ATTEND else "project"

    def weight_bytes(self, place: int) -> int:
        """Bytes of weights that an operation reads."""
        code, _, _, blocks, depth = (int(one) for one in self.table[place, :5])
        return int(blocks * depth * 16 * BYTES_OF_WEIGHT[code - LINEAR]) if code >= LINEAR else 0
