"""Weights in the layouts that `kernels.linear` reads, quantized where that is asked for.

A layer is planned first: its memory is taken, so that its addresses are known. Then it is filled a few blocks of
channels at a time, in any order and by any thread, from rows that no more than one cache holds: at no time are a
model's weights in memory as floats, but where that is what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen._compiled import machine
from structgen.engine.cpu.int4 import int4_layout
from structgen.engine.cpu.kernels.activations import FLOATS, GROUPS, PAIRS, QUADS, QUADS_SIGNED
from structgen.engine.cpu.kernels.linear import GROUP_BYTES, SHORT_FLOATS
from structgen.engine.cpu.layout import BLOCK, GROUP
from structgen.engine.cpu.memory import Memory
from structgen.engine.models.weights import Matrix
from structgen.errors import InvalidRequest

__all__ = ["QUANTIZATIONS", "Fill", "Linear", "bfloat16_bits", "byte_form", "form_of", "plan", "plan_rows"]

QUANTIZATIONS = ("fp32", "bf16", "int8", "w8a8", "int4")
_INT16, _INT32 = 2**15 - 1, 2**31 - 1
_CACHED = 1 << 18
"""Elements that are laid out at a time, few enough to stay in the cache."""

Floats = npt.NDArray[np.float32]
AnyArray = npt.NDArray[Any]
Fill = Callable[[], None]
"""Lays out a part of a matrix; no two parts overlap."""


class Linear(NamedTuple):
    """A linear layer's weights where kernels find them: addresses, 0 for what it has not."""

    form: int
    """Which kernel; see `kernels.activations` and `kernels.linear`."""
    limit: int
    """The greatest integer among its activations, 0 where they are floats."""
    weights: int
    blocks: int
    """Output channels over 16, rounded up."""
    depth: int
    """Inputs, rounded up to a multiple of 32."""
    bias: int
    scales: int
    """float32 ``[blocks * 16]``, of int8 weights."""
    begin: int
    """int32 ``[blocks * 16]``: what cancels the 128 that unsigned activations have too much."""

    @property
    def activations(self) -> int:
        """The form of the activations it reads."""
        return FLOATS if self.form == SHORT_FLOATS else self.form


def byte_form() -> int:
    """How this processor multiplies bytes best; the sums are the same."""
    target = machine.target().split(",")
    if "+avx512vnni" in target:
        return QUADS
    if "+dotprod" in target:
        return QUADS_SIGNED
    return PAIRS


def form_of(matrix: Matrix, quantization: str) -> str:
    """What a matrix of a layer is kept as where a quantization is asked for.

    With int4 that is int8 for what the files hold in 5 to 8 bits. Rounding that to 4 bits raised the perplexity of
    Gemma 3 270M's Q4_K_M file by 24 %, all kinds of layers had their part in it (Q5_0 of queries, keys and values 13,
    of gate and up 10, Q6_K of down 4), and int8 is no slower.
    """
    return "int8" if quantization == "int4" and (matrix.bits or 0) > 4 else quantization


def plan(memory: Memory, matrix: Matrix, bias: Floats | None, quantization: str) -> tuple[Linear, list[Fill]]:
    """Take the memory of a linear layer.

    Parameters
    ----------
    memory : Memory
        Where it goes.
    matrix : Matrix
        ``[out, in]``; read when the layer is filled.
    bias : np.ndarray or None
        float32 ``[out]``.
    quantization : str
        ``"fp32"``, ``"bf16"``; ``"int8"``: a scale for each output channel, activations of as many bits as the sums
        hold; ``"w8a8"``: the same with activations of 8 bits; ``"int4"``: a scale and a minimum for each
        channel and 32 inputs, in float16; rows that the files have in this form are kept as they are there.

    Returns
    -------
    tuple
        The layer, and what fills it.

    Raises
    ------
    InvalidRequest
        The quantization is not known.
    """
    if quantization not in QUANTIZATIONS:
        raise InvalidRequest(f"quantization {quantization!r} is not known; known are {', '.join(QUANTIZATIONS)}")
    features, inputs = matrix.shape
    blocks, depth = -(-features // BLOCK), -(-inputs // GROUP) * GROUP
    place_of_bias = 0 if bias is None else memory.place(np.pad(bias, (0, blocks * BLOCK - features)))
    of_form = {"int4": _plan_int4, "int8": _plan_int8, "w8a8": _plan_int8}.get(quantization, _plan_floats)
    form, limit, arrays, fill = of_form(memory, matrix, quantization, blocks, depth)
    addresses = [array.ctypes.data for array in arrays]
    linear = Linear(form, limit, addresses[0], blocks, depth, place_of_bias, *(addresses[1:] or (0, 0)))
    return linear, [partial(fill, some) for some in _pieces(blocks, depth)]


def plan_rows(memory: Memory, matrix: Matrix, *, is_short: bool) -> tuple[int, list[Fill]]:
    """As `plan`, for a table whose rows are read one by one, float32 or bfloat16; returns its address."""
    features, inputs = matrix.shape
    target = memory.take(matrix.shape, np.uint16 if is_short else np.float32)
    step = max(1, _CACHED // inputs)

    def fill(first: int) -> None:
        rows = np.empty((min(step, features - first), inputs), np.float32)
        matrix.read(first, rows)
        target[first : first + step] = bfloat16_bits(rows) if is_short else rows

    return target.ctypes.data, [partial(fill, first) for first in range(0, features, step)]


class _Planned(NamedTuple):
    form: int
    limit: int
    arrays: tuple[AnyArray, ...]
    """Weights, and of integers their scales and what sums begin with."""
    fill: Callable[[slice], None]
    """Given some blocks."""


def _plan_floats(memory: Memory, matrix: Matrix, quantization: str, blocks: int, depth: int) -> _Planned:
    is_short = quantization == "bf16"
    target = memory.take((blocks, depth, BLOCK, 1), np.uint16 if is_short else np.float32)

    def fill(some: slice) -> None:
        rows = _read(matrix, some, depth)
        target[some] = _steps(bfloat16_bits(rows) if is_short else rows)

    return _Planned(SHORT_FLOATS if is_short else FLOATS, 0, (target,), fill)


def _plan_int8(memory: Memory, matrix: Matrix, quantization: str, blocks: int, depth: int) -> _Planned:
    form = PAIRS if quantization == "int8" else byte_form()
    limit = 127 if quantization == "w8a8" else min(_INT16, _INT32 // (127 * depth))
    together = 2 if form == PAIRS else 4
    target = memory.take((blocks, depth // together, BLOCK, 1), f"u{together}")  # so many bytes move as one
    scales, begin = memory.take((blocks, BLOCK), np.float32), memory.take((blocks, BLOCK), np.int32)

    def fill(some: slice) -> None:
        integers, of_rows = _int8(_read(matrix, some, depth))
        target[some] = _steps(integers.view(target.dtype))
        scales[some] = of_rows.reshape(-1, BLOCK)
        begin[some] = -128 * integers.sum(1, dtype=np.int32).reshape(-1, BLOCK) if form == QUADS else 0

    return _Planned(form, limit, (target, scales, begin), fill)


def _plan_int4(memory: Memory, matrix: Matrix, quantization: str, blocks: int, depth: int) -> _Planned:
    target = memory.take((blocks, depth // GROUP, GROUP_BYTES), np.uint8)

    def fill(some: slice) -> None:
        first, channels = some.start * BLOCK, (some.stop - some.start) * BLOCK
        target[some] = int4_layout(matrix.pieces(first, channels), channels, depth)

    return _Planned(GROUPS, _INT16, (target,), fill)


def _pieces(blocks: int, depth: int) -> Iterator[slice]:
    """Blocks of channels, a few at a time."""
    step = max(1, _CACHED // (BLOCK * depth))
    for first in range(0, blocks, step):
        yield slice(first, min(first + step, blocks))


def _read(matrix: Matrix, some: slice, depth: int) -> Floats:
    """The channels of some blocks, with zeros up to whole blocks and to ``depth``."""
    features, inputs = matrix.shape
    first, channels = some.start * BLOCK, (some.stop - some.start) * BLOCK
    rows = np.empty((min(channels, features - first), inputs), np.float32)
    matrix.read(first, rows)
    return np.pad(rows, ((0, channels - len(rows)), (0, depth - inputs))) if rows.shape != (channels, depth) else rows


def bfloat16_bits(values: Floats) -> npt.NDArray[np.uint16]:
    """Rounded to even, as bits; what is no number stays none."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = bits >> 16
    rounded &= 1
    rounded += 0x7FFF
    rounded += bits
    rounded >>= 16
    rounded[np.isnan(values)] = 0x7FC0
    return rounded.astype(np.uint16)


def _steps(padded: AnyArray) -> AnyArray:
    """``[channels, depth]`` as ``[blocks, depth, 16, 1]``, not copied yet."""
    channels, depth = padded.shape
    return padded.reshape(channels // BLOCK, BLOCK, depth, 1).transpose(0, 2, 1, 3)


def _int8(rows: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """``round(w / s)`` with ``s = max |w| / 127`` of each channel; a NaN or infinity makes its channel's scale NaN."""
    scales = np.maximum(rows.max(1), -rows.min(1)) / np.float32(127)
    is_usable = np.isfinite(scales) & (scales > 0)
    with np.errstate(invalid="ignore"):
        quotients = rows / np.where(is_usable, scales, 1)[:, None]
        integers = np.rint(quotients, out=quotients).astype(np.int8)
    integers[~is_usable] = 0
    scales[~np.isfinite(scales)] = np.nan
    return integers, scales
