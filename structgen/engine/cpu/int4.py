"""Weights of 4 bits: taken from a file that has them, or made anew, and laid out for the kernels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.layout import BLOCK, GROUP
from structgen.engine.weights.groups import Groups

__all__ = ["int4_layout"]

Floats = npt.NDArray[np.float32]


def int4_layout(pieces: Iterable[Floats | Groups], channels: int, depth: int) -> npt.NDArray[np.uint8]:
    """Lay rows out as `kernels.linear` reads them.

    Parameters
    ----------
    pieces : iterable of Floats or Groups
        Some rows each, those that a file has in 4 bits as they are there.
    channels, depth : int
        What is left of these is 0: rows up to whole blocks, inputs up to whole groups.

    Returns
    -------
    np.ndarray
        uint8 ``[blocks, groups, bytes of a group]``.
    """
    joined = Groups(
        np.zeros((channels, depth), np.uint8),
        np.zeros((channels, depth // GROUP), np.float16),
        np.zeros((channels, depth // GROUP), np.float16),
    )
    first = 0
    for piece in pieces:
        found = piece if isinstance(piece, Groups) else _quantized(piece, depth)
        for target, array in zip(joined, found, strict=True):
            target[first : first + len(array)] = array
        first += len(found.codes)
    return _interleaved(joined)


def _quantized(values: Floats, depth: int) -> Groups:
    """``q * s + m``, ``q`` from 0 to 15: of each group the least is ``m``, the greatest ``15 s + m``."""
    padded = np.zeros((len(values), depth), np.float32)
    padded[:, : values.shape[1]] = values
    grouped = padded.reshape(len(values), -1, GROUP)
    least = grouped.min(2).astype(np.float16)
    scale = ((grouped.max(2) - grouped.min(2)) / np.float32(15)).astype(np.float16)
    divisor = np.where(scale > 0, scale, 1).astype(np.float32)[:, :, None]
    codes = np.rint((grouped - least.astype(np.float32)[:, :, None]) / divisor)
    codes = np.clip(np.nan_to_num(codes), 0, 15).astype(np.uint8)
    codes[~(scale > 0)] = 0
    return Groups(codes.reshape(padded.shape), scale, least)


def _interleaved(groups: Groups) -> npt.NDArray[np.uint8]:
    """As `kernels.linear` has them, uint8 ``[blocks, groups, bytes of a group]``."""
    channels, depth = groups.codes.shape
    blocks, count = channels // BLOCK, depth // GROUP
    laid_out = np.empty((blocks, count, GROUP // 4 + 2, BLOCK), np.uint16)
    # Two inputs are one number of 16 bits: [blocks, 16 channels, groups, 8 steps, 2 halves]
    halves = groups.codes.view(np.uint16).reshape(blocks, BLOCK, count, GROUP // 4, 2)
    laid_out[:, :, :-2] = (halves[..., 0] | (halves[..., 1] << 4)).transpose(0, 2, 3, 1)
    for place, one in ((-2, groups.scales), (-1, groups.minima)):
        laid_out[:, :, place] = one.view(np.uint16).reshape(blocks, BLOCK, count).transpose(0, 2, 1)
    return laid_out.view(np.uint8).reshape(blocks, count, -1)
