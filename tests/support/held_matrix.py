"""A matrix in memory, laid out as a model's are."""

from __future__ import annotations

import numpy as np
from edited_weights import NoWeights

from structgen.engine.cpu.memory import Memory
from structgen.engine.cpu.packing import Linear, plan
from structgen.engine.models.weights import Matrix, MatrixPart


class _Held(NoWeights):
    """One tensor."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def tensor(self, name: str) -> np.ndarray:
        return self._values

    def read_rows(self, name: str, first: int, out: np.ndarray) -> None:
        out[:] = self._values[first : first + len(out)]


def matrix_of(values: np.ndarray) -> Matrix:
    """A matrix of values in memory."""
    return Matrix(_Held(values), [MatrixPart("matrix", len(values))], values.shape[1])


def pack(memory: Memory, values: np.ndarray, bias: np.ndarray | None, quantization: str) -> Linear:
    """Plan a layer and fill it."""
    linear, fills = plan(memory, matrix_of(values), bias, quantization)
    for fill in fills:
        fill()
    return linear
