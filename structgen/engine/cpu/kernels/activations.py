"""What linear layers read: rows of activations, quantized or not.

Activations are in one of five forms, each row followed by zeros up to a multiple of 32 values:

- `FLOATS`: float32, for float weights.
- `PAIRS`: ``q = round(x / s)``, ``s = max |x| / limit``, as int16, which the product of pairs takes; ``s`` in `SCALES`.
  The limit is 127, or as much as the sums of a layer hold: more bits cost nothing there.
- `QUADS`: with a limit of 127, as uint8, ``q + 128``; `QUADS_SIGNED`: as int8, for a processor that takes these.
- `GROUPS`: as PAIRS, with an ``s`` for each 32 values, and ``s * sum(q)`` beside it in `SUMS`.

A value that is not finite makes its row's scale NaN, so that it is seen in the end.
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    Address,
    F32x16,
    I16x16,
    I32x16,
    Static,
    U8x16,
    absolute,
    convert,
    fused,
    largest,
    maximum,
    nearest,
    read,
    splat,
    total,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number
from structgen.engine.cpu.layout import ACTIVATIONS, GROUP, SCALES, SCRATCH, SCRATCH_BYTES, SUMS

__all__ = [
    "BYTES_OF_FORM",
    "FLOATS",
    "GROUPS",
    "PAIRS",
    "QUADS",
    "QUADS_SIGNED",
    "as_float",
    "finish",
    "scratch_of",
]

FLOATS, PAIRS, QUADS, QUADS_SIGNED, GROUPS = range(5)
BYTES_OF_FORM = (4, 2, 1, 1, 2)


@inner
def scratch_of(step: Address, member: int) -> int:
    """Memory of the member's own."""
    return number(step, SCRATCH) + member * number(step, SCRATCH_BYTES)


@inner
def finish(form: int, limit: int, values: Address, width: int, padded: int, step: Address, row: int) -> None:
    """Write a row of activations; ``values`` has room up to ``padded``."""
    for place in range(width, padded):
        write(F32, values + 4 * place, 0.0)
    if form == FLOATS:
        target = number(step, ACTIVATIONS) + 4 * row * padded
        for place in range(0, padded, 16):
            write(F32x16, target + 4 * place, read(F32x16, values + 4 * place))
    elif form == GROUPS:
        groups = padded // GROUP
        for group in range(groups):
            place = row * padded + group * GROUP
            target = number(step, ACTIVATIONS) + 2 * place
            scale = scale_of(values + 4 * group * GROUP, GROUP, limit)
            found = quantized(PAIRS, values + 4 * group * GROUP, GROUP, scale, target)
            write(F32, number(step, SCALES) + 4 * (row * groups + group), scale)
            write(F32, number(step, SUMS) + 4 * (row * groups + group), scale * found)
    else:
        scale = scale_of(values, padded, limit)
        write(F32, number(step, SCALES) + 4 * row, scale)
        if form == PAIRS:
            quantized(PAIRS, values, padded, scale, number(step, ACTIVATIONS) + 2 * row * padded)
        elif form == QUADS:
            quantized(QUADS, values, padded, scale, number(step, ACTIVATIONS) + row * padded)
        else:
            quantized(QUADS_SIGNED, values, padded, scale, number(step, ACTIVATIONS) + row * padded)


@inner
def scale_of(values: Address, count: int, limit: int) -> float:
    """``max |x| / limit``; NaN where one is not finite."""
    most, faults = splat(F32x16, 0.0), splat(F32x16, 0.0)
    for place in range(0, count, 16):
        value = read(F32x16, values + 4 * place)
        most = maximum(most, absolute(value))
        faults = fused(value, splat(F32x16, 0.0), faults)
    return largest(most) * (1.0 / as_float(limit)) + total(faults)


@inner
def quantized(form: Static, values: Address, count: int, scale: float, target: Address) -> int:
    """Write ``round(x / scale)``, and give their sum."""
    inverse = 0.0
    if scale > 1e-30:
        inverse = 1.0 / scale
    found = splat(I32x16, 0)
    for place in range(0, count, 16):
        whole = convert(I32x16, nearest(read(F32x16, values + 4 * place) * inverse))
        found += whole
        if form == PAIRS:
            write(I16x16, target + 2 * place, convert(I16x16, whole))
        elif form == QUADS:
            write(U8x16, target + place, convert(U8x16, whole + 128))
        else:
            write(U8x16, target + place, convert(U8x16, whole))
    return total(found)


@inner
def as_float(whole: int) -> float:
    """As a float."""
    return whole
