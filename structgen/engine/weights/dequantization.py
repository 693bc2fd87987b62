"""Quantized ggml blocks to float32, in numpy.

``gguf.quants`` is the reference: the tests hold every type to it bit by bit. Its 16 rows at a time cost it two
seconds for the weights of SmolLM2; this needs a quarter of that. numpy and not torch, because torch would split every
short operation over its own threads, whose barriers cost seconds as soon as another process wants a core (measured:
20 s instead of 0.7 s with both cores busy), and because importing it takes longer than reading the weights; numpy lets
go of the interpreter's lock, so several threads can read.

Every format stores blocks of equal size. A block holds its scales and its integers ``q``; the functions below
write out ``scale * q`` (and an offset) for many blocks at once: ``blocks`` is uint8 [blocks, bytes of one],
``out`` float32 [blocks, elements of one]. All blocks have an even number of bytes, so scales can be read in place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

__all__ = ["SUPPORTED_TYPES", "dequantize", "dequantize_into", "k_scales", "read_nibbles"]

_CHUNK = 1 << 18
"""Elements at a time: enough to make a call's overhead small, few enough that temporaries stay in the cache."""

_K_SCALES = 12
"""Bytes of the eight packed 6-bit scales and minima of a Q4_K or Q5_K block."""

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def dequantize(data: Bytes, kind: GGMLQuantizationType) -> Floats:
    """Turn a tensor's bytes into its values.

    Parameters
    ----------
    data : np.ndarray
        uint8 [bytes], whole blocks, aligned to the type's elements.
    kind : GGMLQuantizationType
        One of :data:`SUPPORTED_TYPES`.

    Returns
    -------
    np.ndarray
        float32 [elements].
    """
    elements, size = GGML_QUANT_SIZES[kind]
    values = np.empty(len(data) // size * elements, np.float32)
    dequantize_into(data, kind, values)
    return values


def dequantize_into(data: Bytes, kind: GGMLQuantizationType, out: Floats) -> None:
    """As :func:`dequantize`, into ``out``: float32 [elements], contiguous."""
    elements, size = GGML_QUANT_SIZES[kind]
    blocks, values = data.reshape(-1, size), out.reshape(-1, elements)
    step = _CHUNK // elements
    with np.errstate(all="ignore"):  # infinite scales make infinite weights, as in the reference
        for first in range(0, len(blocks), step):
            _READERS[kind](blocks[first : first + step], values[first : first + step])


def _f32(blocks: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, blocks.view(np.float32))


def _f16(blocks: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, blocks.view(np.float16))


def _bf16(blocks: np.ndarray, out: np.ndarray) -> None:
    """The upper half of a float32."""
    np.left_shift(blocks.view(np.uint16), 16, out=out.view(np.uint32), dtype=np.uint32)


def _q8_0(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d q``: d float16, 32 int8."""
    np.multiply(blocks[:, 2:].view(np.int8), _half(blocks, 0), out=out)


def _q4_0(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d (q - 8)``: d float16, 32 of 4 bits."""
    read_nibbles(blocks[:, 2:], out)
    out -= 8
    out *= _half(blocks, 0)


def _q4_1(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d q + m``: d and m float16, 32 of 4 bits."""
    read_nibbles(blocks[:, 4:], out)
    out *= _half(blocks, 0)
    out += _half(blocks, 1)


def _q5_0(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d (q - 16)``: d float16, 32 fifth bits, 32 of 4 bits."""
    read_nibbles(blocks[:, 6:], out)
    out += _fifth_bits(blocks[:, 2:6])
    out -= 16
    out *= _half(blocks, 0)


def _q5_1(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d q + m``: d and m float16, 32 fifth bits, 32 of 4 bits."""
    read_nibbles(blocks[:, 8:], out)
    out += _fifth_bits(blocks[:, 4:8])
    out *= _half(blocks, 0)
    out += _half(blocks, 1)


def _q4_k(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d s q - dmin m``: d and dmin float16, s and m of 6 bits for each of 8 groups, 256 of 4 bits."""
    scale, minimum = k_scales(blocks)
    read_nibbles(blocks[:, 4 + _K_SCALES :].reshape(-1, 4, 32), out.reshape(-1, 4, 64))
    groups = out.reshape(-1, 8, 32)
    groups *= scale
    groups -= minimum


def _q5_k(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d s q - dmin m``: as Q4_K with 256 fifth bits; bit g of byte i belongs to element i of group g."""
    scale, minimum = k_scales(blocks)
    start = 4 + _K_SCALES
    read_nibbles(blocks[:, start + 32 :].reshape(-1, 4, 32), out.reshape(-1, 4, 64))
    fifth = (blocks[:, None, start : start + 32] >> _shifts(8, 1)[:, None]) & 1  # [blocks, 8 groups, 32]
    groups = out.reshape(-1, 8, 32)
    groups += fifth << 4
    groups *= scale
    groups -= minimum


def _q6_k(blocks: np.ndarray, out: np.ndarray) -> None:
    """``d s (q - 32)``: 256 low nibbles, 256 upper pairs of bits, s int8 for each of 16 groups, d float16."""
    scale = _half(blocks, 104) * blocks[:, 192:208].view(np.int8)  # [blocks, 16]
    read_nibbles(blocks[:, :128].reshape(-1, 2, 64), out.reshape(-1, 2, 128))
    pairs = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    upper = (pairs >> _shifts(4, 2)[:, None]) & 3  # [blocks, 2 halves, 4, 32]
    out += (upper << 4).reshape(-1, 256)
    out -= 32
    groups = out.reshape(-1, 16, 16)
    groups *= scale[:, :, None]


def _half(blocks: np.ndarray, index: int) -> np.ndarray:
    """The ``index``-th float16 of every block, as float32 [blocks, 1]."""
    return blocks.view(np.float16)[:, index : index + 1].astype(np.float32)


def read_nibbles(packed: np.ndarray, out: np.ndarray) -> None:
    """Write the lower halves of ``packed`` [..., n] to the first n of ``out`` [..., 2 n], the upper to the rest."""
    count = packed.shape[-1]
    out[..., :count] = packed & 15
    out[..., count:] = packed >> 4


def _fifth_bits(packed: np.ndarray) -> np.ndarray:
    """Each bit of [blocks, 4 bytes], lowest first, at the fifth place: [blocks, 32]."""
    return np.unpackbits(packed, axis=1, bitorder="little") << 4


def k_scales(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``d s`` and ``dmin m`` of a Q4_K or Q5_K block, float32 [blocks, 8, 1] each.

    Twelve bytes hold them: four with s of groups 0 to 3, four with m of groups 0 to 3 (six bits each), four with the
    lower nibbles of both for groups 4 to 7, whose upper two bits are the top bits of the first eight bytes.
    """
    first, second, third = np.split(blocks[:, 4 : 4 + _K_SCALES], 3, axis=1)  # [blocks, 4] each
    scale = np.concatenate((first & 63, (third & 15) | ((first >> 6) << 4)), axis=1)
    minimum = np.concatenate((second & 63, (third >> 4) | ((second >> 6) << 4)), axis=1)
    return (_half(blocks, 0) * scale)[:, :, None], (_half(blocks, 1) * minimum)[:, :, None]


def _shifts(count: int, step: int) -> np.ndarray:
    return np.arange(0, count * step, step, dtype=np.uint8)


_READERS: dict[GGMLQuantizationType, Callable[[np.ndarray, np.ndarray], None]] = {
    GGMLQuantizationType.F32: _f32,
    GGMLQuantizationType.F16: _f16,
    GGMLQuantizationType.BF16: _bf16,
    GGMLQuantizationType.Q8_0: _q8_0,
    GGMLQuantizationType.Q4_0: _q4_0,
    GGMLQuantizationType.Q4_1: _q4_1,
    GGMLQuantizationType.Q5_0: _q5_0,
    GGMLQuantizationType.Q5_1: _q5_1,
    GGMLQuantizationType.Q4_K: _q4_k,
    GGMLQuantizationType.Q5_K: _q5_k,
    GGMLQuantizationType.Q6_K: _q6_k,
}
SUPPORTED_TYPES = frozenset(_READERS)
"""The types that can be read."""
