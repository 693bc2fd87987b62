"""Operations row by row: embedding, norms, the gate of the MLP, caps; most of them write activations (see there)."""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    I32,
    Address,
    F32x16,
    I32x16,
    U16x16,
    convert,
    fused,
    read,
    reinterpret,
    splat,
    square_root,
    total,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number, share_begin
from structgen.engine.cpu.kernels.activations import as_float, finish, scratch_of
from structgen.engine.cpu.kernels.maths import capped, exponential
from structgen.engine.cpu.layout import (
    ATTENDED,
    BRANCH,
    GATE_UP,
    HIDDEN,
    LOGIT_ROWS,
    LOGITS,
    MEMBERS,
    TOKEN_IDS,
    TOKENS,
    WANTED,
)

__all__ = ["GELU_TANH", "SILU", "add", "cap", "embed", "gate", "norm", "quantize"]

SILU, GELU_TANH = range(2)
"""What the MLP's gate passes through."""
_GELU_SLOPE, _GELU_CUBE = 1.5957691216057308, 0.044715
"""``2 sqrt(2 / pi)``, and the part of the cube."""


@inner
def embed(operands: Address, step: Address, member: int) -> None:
    """Rows of the table that tokens name, times a scale, to `HIDDEN`.

    Operands: table, width, 1 for bfloat16 or 0 for float32, scale (the bits of a float32).
    """
    table, width, is_short = number(operands, 2), number(operands, 3), number(operands, 4)
    scale = reinterpret(F32, number(operands, 5))
    tokens, members = number(step, TOKENS), number(step, MEMBERS)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        target = number(step, HIDDEN) + 4 * row * width
        token = read(I32, number(step, TOKEN_IDS) + 4 * row)
        for place in range(0, width, 16):
            if is_short:
                short = read(U16x16, table + 2 * (token * width + place))
                write(F32x16, target + 4 * place, reinterpret(F32x16, convert(I32x16, short) << 16) * scale)
            else:
                write(F32x16, target + 4 * place, read(F32x16, table + 4 * (token * width + place)) * scale)


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
        factor = factor_of_row(hidden, width, eps)
        for place in range(0, width, 16):
            value = read(F32x16, hidden + 4 * place) * factor * read(F32x16, weight + 4 * place)
            write(F32x16, scratch + 4 * place, value)
        finish(form, number(operands, 8), scratch, width, padded, step, row)


@inner
def factor_of_row(row: Address, width: int, eps: int) -> F32x16:
    """``1 / sqrt(mean(x * x) + eps)``, in every lane."""
    squares = splat(F32x16, 0.0)
    for place in range(0, width, 16):
        value = read(F32x16, row + 4 * place)
        squares = fused(value, value, squares)
    mean = splat(F32x16, total(squares)) / splat(F32x16, as_float(width)) + reinterpret(F32, eps)
    return splat(F32x16, 1.0) / square_root(mean)


@inner
def add(operands: Address, step: Address, member: int) -> None:
    """Add the RMSNorm of `BRANCH` to `HIDDEN`. Operands: weight (float32), width, eps (the bits of a float32)."""
    weight, width, eps = number(operands, 2), number(operands, 3), number(operands, 4)
    tokens, members = number(step, TOKENS), number(step, MEMBERS)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        branch, hidden = number(step, BRANCH) + 4 * row * width, number(step, HIDDEN) + 4 * row * width
        factor = factor_of_row(branch, width, eps)
        for place in range(0, width, 16):
            value = read(F32x16, branch + 4 * place) * factor * read(F32x16, weight + 4 * place)
            write(F32x16, hidden + 4 * place, read(F32x16, hidden + 4 * place) + value)


@inner
def gate(operands: Address, step: Address, member: int) -> None:
    """SwiGLU or GeGLU of `GATE_UP`, as activations: ``gate / (1 + exp(-slope)) * up``.

    The slope is the gate itself, or what makes of it GELU as tanh approximates it.

    Operands: width of each, width with zeros, form, stride of a row, limit, activation.
    """
    activation = number(operands, 7)
    width, padded, form, stride = (number(operands, 2), number(operands, 3), number(operands, 4), number(operands, 5))
    tokens, members, scratch = number(step, TOKENS), number(step, MEMBERS), scratch_of(step, member)
    for row in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        source = number(step, GATE_UP) + 4 * row * stride
        for place in range(0, width, 16):
            opened = read(F32x16, source + 4 * place)
            slope = gelu_slope(opened) if activation == GELU_TANH else opened
            passed = opened / (exponential(-slope) + 1.0) * read(F32x16, source + 4 * (width + place))
            write(F32x16, scratch + 4 * place, passed)
        finish(form, number(operands, 6), scratch, width, padded, step, row)


@inner
def gelu_slope(x: F32x16) -> F32x16:
    """``2 u`` for ``u = sqrt(2 / pi) (x + 0.044715 x^3)``: ``(1 + tanh(u)) / 2`` is ``1 / (1 + exp(-2 u))``."""
    return (x * x * _GELU_CUBE + 1.0) * x * _GELU_SLOPE


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
def cap(operands: Address, step: Address, member: int) -> None:
    """Cap the logits at ``c``: ``c * tanh(x / c)``. Operands: width of a row, c (the bits of a float32)."""
    blocks, most = number(step, LOGIT_ROWS) * number(operands, 2) // 16, reinterpret(F32, number(operands, 3))
    members = number(step, MEMBERS)
    for block in range(share_begin(blocks, member, members), share_begin(blocks, member + 1, members)):
        place = number(step, LOGITS) + 64 * block
        write(F32x16, place, capped(read(F32x16, place), most))
