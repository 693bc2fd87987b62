"""Room for weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Memory"]

_PIECE = 64 << 20
_ALIGNMENT = 64

AnyArray = npt.NDArray[Any]


class Memory:
    """Room for weights in pieces so large that numpy asks for huge pages, each array on a cache line of its own.

    What is taken and not written to costs nothing yet: memory comes when it is written to.
    """

    def __init__(self) -> None:
        self._room = np.empty(0, np.uint8)
        self._used = 0
        self._kept: list[AnyArray] = []

    def place(self, array: AnyArray) -> int:
        """Copy an array here; returns its address, which holds as long as this object lives."""
        target = self.take(array.shape, array.dtype)
        np.copyto(target, array)
        return target.ctypes.data

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array here that holds anything; its address holds as long as this object lives."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if self._used + size > len(self._room):
            self._room = np.empty(max(_PIECE, size) + _ALIGNMENT, np.uint8)
            self._used = -self._room.ctypes.data % _ALIGNMENT
            self._kept.append(self._room)
        target = self._room[self._used : self._used + size]
        self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
        return target.view(dtype).reshape(shape)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(one.nbytes for one in self._kept)
