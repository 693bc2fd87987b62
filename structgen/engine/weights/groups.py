"""Matrices of integers of 4 bits in groups of 32, as files hold them and as int4 weights are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from structgen.engine.weights.dequantization import k_scales, read_nibbles

__all__ = ["Groups", "groups_of_blocks"]


class Groups(NamedTuple):
    """A matrix ``scale * code + minimum``."""

    codes: npt.NDArray[np.uint8]
    """``[rows, inputs]``, from 0 to 15."""
    scales: npt.NDArray[np.float16]
    """``[rows, inputs / 32]``."""
    minima: npt.NDArray[np.float16]
    """``[rows, inputs / 32]``."""


def groups_of_blocks(blocks: npt.NDArray[np.uint8], kind: GGMLQuantizationType, rows: int) -> Groups:
    """Take a matrix's blocks apart.

    Parameters
    ----------
    blocks : np.ndarray
        uint8 [bytes], whole blocks, row after row.
    kind : GGMLQuantizationType
        Q4_0, Q4_1 or Q4_K. Q4_0 and Q4_1 are kept exactly; of Q4_K, whose scales and minima are products of
        a float16 and six bits, all codes are kept, and these products rounded to float16.
    rows : int
        Of the matrix.
    """
    size = GGML_QUANT_SIZES[kind][1]
    with np.errstate(all="ignore"):  # what is not finite stays so, and is seen when the model runs
        codes, scales, minima = _READERS[kind](blocks.reshape(-1, size))
    return Groups(codes.reshape(rows, -1), scales.reshape(rows, -1), minima.reshape(rows, -1))


def _q4_0(blocks: npt.NDArray[np.uint8]) -> Groups:
    """``d (q - 8)``: eight times a float16 is one."""
    scales = blocks[:, :2].copy().view(np.float16)
    return Groups(_codes(blocks[:, 2:]), scales, scales * np.float16(-8))


def _q4_1(blocks: npt.NDArray[np.uint8]) -> Groups:
    """``d q + m``."""
    pairs = blocks[:, :4].copy().view(np.float16)
    return Groups(_codes(blocks[:, 4:]), pairs[:, 0], pairs[:, 1])


def _q4_k(blocks: npt.NDArray[np.uint8]) -> Groups:
    """``d s q - dmin m``, eight groups a block."""
    scales, minima = k_scales(blocks)
    return Groups(_codes(blocks[:, 16:].reshape(-1, 32)), scales.astype(np.float16), (-minima).astype(np.float16))


def _codes(packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Lower halves of some bytes, then their upper ones."""
    codes = np.empty((len(packed), 2 * packed.shape[1]), np.uint8)
    read_nibbles(packed, codes)
    return codes


_READERS = {
    GGMLQuantizationType.Q4_0: _q4_0,
    GGMLQuantizationType.Q4_1: _q4_1,
    GGMLQuantizationType.Q4_K: _q4_k,
}
