"""Weights in the layouts that `kernels.linear` reads, quantized where that is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from structgen._compiled import machine
from structgen.engine.cpu.int4 import StoredRows, int4_layout
from structgen.engine.cpu.kernels.activations import FLOATS, GROUPS, PAIRS, QUADS, QUADS_SIGNED
from structgen.engine.cpu.kernels.linear import SHORT_FLOATS
from structgen.engine.cpu.layout import BLOCK, GROUP
from structgen.errors import InvalidRequest

__all__ = ["QUANTIZATIONS", "Linear", "Memory", "bfloat16_bits", "byte_form", "pack"]

QUANTIZATIONS = ("fp32", "bf16", "int8", "w8a8", "int4")
_INT16, _INT32 = 2**15 - 1, 2**31 - 1
_PIECE = 64 << 20
_ALIGNMENT = 64
_CHANNELS = 2048
"""Channels that are laid out at a time."""
_CACHED = 1 << 18
"""Elements that are laid out at a time, few enough to stay in the cache."""

Floats = npt.NDArray[np.float32]
AnyArray = npt.NDArray[Any]


class Memory:
    """Room for weights in pieces so large that numpy asks for huge pages, each array on a cache line of its own.

    Parameters
    ----------
    consume : bool
        Whether the weights are ours: layers that are laid out go, and what needs no other room may be laid out anew
        where it is. What costs most of laying out fp32 weights is that the system clears new memory for them: 0.9 s
        for SmolLM2.
    """

    def __init__(self, *, consume: bool = False) -> None:
        self.consume = consume
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

    def keep(self, array: AnyArray) -> int:
        """Keep an array where it is; returns its address."""
        self._kept.append(array)
        return array.ctypes.data

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(one.nbytes for one in self._kept)


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


def pack(
    memory: Memory,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    quantization: str,
    *,
    stored: Sequence[StoredRows] = (),
    shared: bool = False,
) -> Linear:
    """Lay out a linear layer.

    Parameters
    ----------
    memory : Memory
        Where to.
    weight : torch.Tensor
        ``[out, in]``, of a floating point type.
    bias : torch.Tensor or None
        ``[out]``.
    quantization : str
        ``"fp32"``, ``"bf16"``; ``"int8"``: a scale for each output channel, activations of as many bits as the sums
        hold; ``"w8a8"``: the same with activations of 8 bits; ``"int4"``: a scale and a minimum for each
        channel and 32 inputs, in float16.
    stored : sequence of StoredRows
        All rows, from the first on: for int4, those that a file has in this form are kept as they are there. Empty for
        none.
    shared : bool
        Whether the weights are something else too, and must stay as they are.

    Raises
    ------
    InvalidRequest
        The quantization is not known.
    """
    if quantization not in QUANTIZATIONS:
        raise InvalidRequest(f"quantization {quantization!r} is not known; known are {', '.join(QUANTIZATIONS)}")
    features, inputs = weight.shape
    blocks, depth = -(-features // BLOCK), -(-inputs // GROUP) * GROUP
    place_of_bias = 0 if bias is None else memory.place(_padded(bias.float().numpy()[:, None], blocks * BLOCK, 1))
    scales = begin = 0
    if quantization == "int4":
        form, limit = GROUPS, _INT16
        place = memory.place(int4_layout(_padded(weight.float().numpy(), blocks * BLOCK, depth), stored))
    elif quantization in ("int8", "w8a8"):
        form = PAIRS if quantization == "int8" else byte_form()
        limit = 127 if quantization == "w8a8" else min(_INT16, _INT32 // (127 * depth))
        place, scales, begin = _place_int8(memory, weight, form, depth)
    else:
        form, limit = SHORT_FLOATS if quantization == "bf16" else FLOATS, 0
        is_own = memory.consume and not shared and form == FLOATS
        place = _keep_floats(memory, weight, depth) if is_own else _place_floats(memory, weight, form, depth)
    return Linear(form, limit, place, blocks, depth, place_of_bias, scales, begin)


def _pieces(weight: torch.Tensor, depth: int) -> Iterator[tuple[slice, Floats]]:
    """Blocks of channels and their weights, some at a time: of a head as a whole there would be several copies."""
    for first in range(0, len(weight), _CHANNELS):
        rows = weight[first : first + _CHANNELS].float().numpy()
        block, blocks = first // BLOCK, -(-len(rows) // BLOCK)
        yield slice(block, block + blocks), _padded(rows, blocks * BLOCK, depth)


def _place_floats(memory: Memory, weight: torch.Tensor, form: int, depth: int) -> int:
    blocks = -(-len(weight) // BLOCK)
    target = memory.take((blocks, depth, BLOCK, 1), np.uint16 if form == SHORT_FLOATS else np.float32)
    for some, rows in _pieces(weight, depth):
        target[some] = bfloat16_bits(_steps(rows, 1)) if form == SHORT_FLOATS else _steps(rows, 1)
    return target.ctypes.data


def _keep_floats(memory: Memory, weight: torch.Tensor, depth: int) -> int:
    channels = -(-len(weight) // BLOCK) * BLOCK
    return memory.keep(_laid_out_in_place(_padded(weight.float().numpy(), channels, depth)))


def _place_int8(memory: Memory, weight: torch.Tensor, form: int, depth: int) -> tuple[int, int, int]:
    """Addresses of integers, of their scales, and of what sums begin with."""
    blocks, together = -(-len(weight) // BLOCK), 2 if form == PAIRS else 4
    target = memory.take((blocks, depth // together, BLOCK, together), np.int8)
    scales, begin = memory.take((blocks, BLOCK), np.float32), memory.take((blocks, BLOCK), np.int32)
    for some, rows in _pieces(weight, depth):
        integers, of_rows = _int8(rows)
        target[some] = _steps(integers, together)
        scales[some] = of_rows.reshape(-1, BLOCK)
        begin[some] = -128 * integers.sum(1, dtype=np.int32).reshape(-1, BLOCK) if form == QUADS else 0
    return target.ctypes.data, scales.ctypes.data, begin.ctypes.data


def _padded(values: Floats, channels: int, depth: int) -> Floats:
    """With zeros up to ``[channels, depth]``; the same array where nothing is missing."""
    if values.shape == (channels, depth):
        return values
    padded = np.zeros((channels, depth), np.float32)
    padded[: values.shape[0], : values.shape[1]] = values
    return padded


def bfloat16_bits(values: Floats) -> npt.NDArray[np.uint16]:
    """Rounded to even, as bits."""
    return torch.from_numpy(np.ascontiguousarray(values)).bfloat16().view(torch.int16).numpy().view(np.uint16)


def _steps(padded: AnyArray, inputs: int) -> AnyArray:
    """``[channels, depth]`` as ``[blocks, depth / inputs, 16, inputs]``, not copied yet."""
    channels, depth = padded.shape
    shape = (channels // BLOCK, BLOCK, depth // inputs, inputs)
    return padded.reshape(shape).transpose(0, 2, 1, 3)


def _laid_out_in_place(padded: Floats) -> Floats:
    """As ``_steps(padded, 1)`` does it, over the same memory."""
    channels, depth = padded.shape
    rows, columns = padded.reshape(-1, BLOCK, depth), padded.reshape(-1, depth, BLOCK)
    step = -(-_CACHED // (BLOCK * depth))
    for first in range(0, channels // BLOCK, step):
        columns[first : first + step] = rows[first : first + step].transpose(0, 2, 1).copy()
    return padded


def _int8(rows: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """``round(w / s)`` with ``s = max |w| / 127`` of each channel; a NaN or infinity makes its channel's scale NaN."""
    scales = np.abs(rows).max(1) / np.float32(127)
    is_usable = np.isfinite(scales) & (scales > 0)
    rounded = np.rint(rows / np.where(is_usable, scales, 1)[:, None])
    scales[~np.isfinite(scales)] = np.nan
    return np.where(is_usable[:, None], rounded, 0).astype(np.int8), scales
