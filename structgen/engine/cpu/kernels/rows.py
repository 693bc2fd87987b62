"""Operations row by row: embedding, RMSNorm, SwiGLU, and what linear layers read: activations, quantized or not.

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
    I32,
    Address,
    F32x16,
    I16x16,
    I32x16,
    Static,
    U8x16,
    U16x16,
    absolute,
    convert,
    fused,
    largest,
    maximum,
    nearest,
    read,
    reinterpret,
    splat,
    square_root,
    total,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number, share_begin
from structgen.engine.cpu.kernels.maths import exponential
from structgen.engine.cpu.layout import (
    ACTIVATIONS,
    ATTENDED,
    GATE_UP,
    GROUP,
    HIDDEN,
    LOGIT_ROWS,
    MEMBERS,
    SCALES,
    SCRATCH,
    SCRATCH_BYTES,
    SUMS,
    TOKEN_IDS,
    TOKENS,
    WANTED,
)

__all__ = [
    "BYTES_OF_FORM",
    "FLOATS",
    "GROUPS",
    "PAIRS",
    "QUADS",
    "QUADS_SIGNED",
    "embed",
    "gate",
    "norm",
    "quantize",
    "scratch_of",
]

FLOATS, PAIRS, QUADS, QUADS_SIGNED, GROUPS = range(5)
BYTES_OF_FORM = (4, 2, 1, 1, 2)


@inner
def scratch_of(step: Address, member: int) -> int:
    """Memory of the member's own."""
    return number(step, SCRATCH) + member * number(step, SCRATCH_BYTES)


@inner
def embed(operands: Address, step: Address, member: int) -> None:
    """Rows of the table that tokens name, to `HIDDEN`. Operands: table, width, 1 for bfloat16 or 0 for float32."""
    table, width, is_short = number(operands, 2), number(operands, 3), number(operands, 4)
    tokens, members = number(step, TOKENS), number(step, MEMBERS)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        target = number(step, HIDDEN) + 4 * row * width
        token = read(I32, number(step, TOKEN_IDS) + 4 * row)
        for place in range(0, width, 16):
            if is_short:
                short = read(U16x16, table + 2 * (token * width + place))
                write(F32x16, target + 4 * place, reinterpret(F32x16, convert(I32x16, short) << 16))
            else:
                write(F32x16, target + 4 * place, read(F32x16, table + 4 * (token * width + place)))


@inner
def norm(operands: Address, step: Address, member: int) -> None:
    """RMSNorm of `HIDDEN`, as activations: ``x / sqrt(mean(x * x) + eps) * weight``.

    Operands: weight (float32, behind it zeros), width, width with zeros, eps (the bits of a float32), form, 1 for the
    rows whose logits are wanted or 0 for all, limit.
    """
    weight, width, padded = number(operands, 2), number(operands, 3), number(operands, 4)
    eps, form, of_wanted = number(operands, 5), number(operands, 6), number(operands, 7)
    rows = number(step, LOGIT_ROWS) if of_wanted else number(step, TOKENS)
    members, scratch = number(step, MEMBERS), scratch_of(step, member)
    for row in range(share_begin(rows, member, members), share_begin(rows, member + 1, members)):
        source = read(I32, number(step, WANTED) + 4 * row) if of_wanted else row
        hidden = number(step, HIDDEN) + 4 * source * width
        squares = splat(F32x16, 0.0)
        for place in range(0, width, 16):
            value = read(F32x16, hidden + 4 * place)
            squares = fused(value, value, squares)
        mean = splat(F32x16, total(squares)) / splat(F32x16, as_float(width)) + reinterpret(F32, eps)
        factor = splat(F32x16, 1.0) / square_root(mean)
        for place in range(0, width, 16):
            value = read(F32x16, hidden + 4 * place) * factor * read(F32x16, weight + 4 * place)
            write(F32x16, scratch + 4 * place, value)
        finish(form, number(operands, 8), scratch, width, padded, step, row)


@inner
def gate(operands: Address, step: Address, member: int) -> None:
    """SwiGLU of `GATE_UP`, as activations: ``gate / (1 + exp(-gate)) * up``.

    Operands: width of each, width with zeros, form, stride of a row, limit.
    """
    width, padded, form, stride = (number(operands, 2), number(operands, 3), number(operands, 4), number(operands, 5))
    tokens, members, scratch = number(step, TOKENS), number(step, MEMBERS), scratch_of(step, member)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        source = number(step, GATE_UP) + 4 * row * stride
        for place in range(0, width, 16):
            opened = read(F32x16, source + 4 * place)
            passed = opened / (exponential(-opened) + 1.0) * read(F32x16, source + 4 * (width + place))
            write(F32x16, scratch + 4 * place, passed)
        finish(form, number(operands, 6), scratch, width, padded, step, row)


@inner
def quantize(operands: Address, step: Address, member: int) -> None:
    """What attention found, as activations. Operands: width, width with zeros, form, limit."""
    width, padded, form = number(operands, 2), number(operands, 3), number(operands, 4)
    tokens, members, scratch = number(step, TOKENS), number(step, MEMBERS), scratch_of(step, member)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        source = number(step, ATTENDED) + 4 * row * width
        for place in range(0, width, 16):
            write(F32x16, scratch + 4 * place, read(F32x16, source + 4 * place))
        finish(form, number(operands, 5), scratch, width, padded, step, row)


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
