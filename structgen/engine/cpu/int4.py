"""Weights of 4 bits: taken from a file that has them, or made anew, and laid out for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.layout import BLOCK, GROUP
from structgen.engine.weights.groups import Groups

__all__ = ["StoredRows", "int4_layout"]

Floats = npt.NDArray[np.float32]


class StoredRows(NamedTuple):
    """Some rows of a matrix, and what reads them from a file that has them as int4 weights are kept."""

    rows: int
    read: Callable[[], Groups] | None


def int4_layout(padded: Floats, stored: Sequence[StoredRows]) -> npt.NDArray[np.uint8]:
    """Groups as kernels read them: those that a file has, and of other rows ones made anew."""
    parts, first = [], 0
    for rows, read in stored or [(len(padded), None)]:
        parts.append(_quantized(padded[first : first + rows]) if read is None else read())
        first += rows
    if first < len(padded):  # up to whole blocks of channels
        parts.append(_quantized(padded[first:]))
    return _interleaved(Groups(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))))


def _quantized(values: Floats) -> Groups:
    """``q * s + m``, ``q`` from 0 to 15: of each group the least is ``m``, the greatest ``15 s + m``."""
    grouped = values.reshape(len(values), -1, GROUP)
    least = grouped.min(2).astype(np.float16)
    scale = ((grouped.max(2) - grouped.min(2)) / np.float32(15)).astype(np.float16)
    divisor = np.where(scale > 0, scale, 1).astype(np.float32)[:, :, None]
    codes = np.rint((grouped - least.astype(np.float32)[:, :, None]) / divisor)
    codes = np.clip(np.nan_to_num(codes), 0, 15).astype(np.uint8)
    codes[~(scale > 0)] = 0
    return Groups(codes.reshape(values.shape), scale, least)


def _interleaved(groups: Groups) -> npt.NDArray[np.uint8]:
    """As `kernels.linear` has them, uint8 ``[blocks, groups, bytes of a group]``."""
    channels, depth = groups.codes.shape
    blocks, count = channels // BLOCK, depth // GROUP
    # [blocks, 16 channels, groups, 8 steps, 2 halves, 2 inputs] -> [blocks, groups, steps, halves, channels, inputs]
    halves = groups.codes.reshape(blocks, BLOCK, count, GROUP // 4, 2, 2).transpose(0, 2, 3, 4, 1, 5)
    joined = (halves[:, :, :, 0] | (halves[:, :, :, 1] << 4)).reshape(blocks, count, -1)
    pairs = [one.reshape(blocks, BLOCK, count).transpose(0, 2, 1) for one in (groups.scales, groups.minima)]
    bytes_of_pairs = [np.ascontiguousarray(one).view(np.uint8).reshape(blocks, count, -1) for one in pairs]
    return np.concatenate([joined, *bytes_of_pairs], axis=2)
