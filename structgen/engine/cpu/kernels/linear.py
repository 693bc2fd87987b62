"""Linear layers: activations times weights in blocks of 16 output channels, a tile of rows at a time.

Every output is one sum in one order, whatever the tile: integer sums are exact, float sums go through the inputs one
after the other. So the logits of a token do not depend on how many rows a step has.

Weights of a block, by form (`packing` writes them)::

    FLOATS   [depth][16 channels]      float32 or bfloat16
    PAIRS    [depth / 2][16][2]        int8
    QUADS    [depth / 4][16][4]        int8
    GROUPS   [depth / 32] of { [8 steps][32 bytes]: a step's 16 pairs in the low halves, the next step's in the high;
                               float16 [16] scales; float16 [16] minima }
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    I32,
    Address,
    F16x16,
    F32x16,
    I8x32,
    I8x64,
    I16x32,
    I32x16,
    Static,
    U8x32,
    U8x64,
    U16x16,
    convert,
    fused,
    pair_products,
    prefetch,
    quad_products,
    read,
    registers,
    reinterpret,
    splat,
    unrolled,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number, share_begin
from structgen.engine.cpu.kernels.activations import FLOATS, GROUPS, PAIRS, QUADS, QUADS_SIGNED, scratch_of
from structgen.engine.cpu.layout import ACTIVATIONS, BLOCK, GROUP, LOGIT_ROWS, MEMBERS, SCALES, SUMS, TOKENS

__all__ = ["BYTES_OF_WEIGHT", "GROUP_BYTES", "SHORT_FLOATS", "linear", "panel_bytes"]

SHORT_FLOATS = 5
"""As FLOATS, of weights in bfloat16."""
GROUP_BYTES = BLOCK * GROUP // 2 + 2 * 2 * BLOCK
BYTES_OF_WEIGHT = {
    FLOATS: 4, SHORT_FLOATS: 2, PAIRS: 1, QUADS: 1, QUADS_SIGNED: 1, GROUPS: GROUP_BYTES / BLOCK / GROUP
}  # fmt: skip
_TILE = 6
"""Rows at once: their sums, a step's weights and an input fill the sixteen registers of AVX2."""
_TILE_OF_GROUPS = 4
"""Two steps' weights at once leave room for fewer: with 6 rows sums went by the stack, which took a quarter longer."""
_ROWS_IN_CACHE = 48
_ROWS_FOR_PANEL = 12
"""From so many on it pays to unpack weights of 4 bits once for all of them: 32 rows took an eighth less, 8 the same."""
_AHEAD = 2048
"""Bytes: one core of a Zen 3 read 12 GB/s with this, 8 without."""


def panel_bytes(depth: int) -> int:
    """What a member needs for a block of weights of 4 bits, unpacked, and the sums of a tile."""
    return 4 * BLOCK * _TILE + BLOCK * depth


@inner
def linear(form: Static, operands: Address, step: Address, member: int) -> None:
    """``out = activations @ weights.T (+ bias) (+ out)``, each member some of the channels.

    Operands: weights, blocks of channels, depth with zeros, place of the output's buffer in the step, stride of its
    rows, bias or 0, scales of the channels or 0, 1 to add to what the output holds, 1 for the rows whose logits are
    wanted, what the integer sums begin with or 0.
    """
    if form == GROUPS:
        by_tiles(form, _TILE_OF_GROUPS, operands, step, member)
    else:
        by_tiles(form, _TILE, operands, step, member)


@inner
def by_tiles(form: Static, most: Static, operands: Address, step: Address, member: int) -> None:
    """The member's share of a layer, ``most`` rows at a time."""
    rows = number(step, LOGIT_ROWS) if number(operands, 10) else number(step, TOKENS)
    blocks, members = number(operands, 3), number(step, MEMBERS)
    begin, end = share_begin(blocks, member, members), share_begin(blocks, member + 1, members)
    for chunk in range(0, rows, _ROWS_IN_CACHE):
        last = min(chunk + _ROWS_IN_CACHE, rows)
        for block in range(begin, end):
            if form == GROUPS and last - chunk >= _ROWS_FOR_PANEL:
                by_panel(operands, step, scratch_of(step, member), block, chunk, last)
            else:
                by_rows(form, most, operands, step, block, chunk, last)


@inner
def by_rows(form: Static, most: Static, operands: Address, step: Address, block: int, begin: int, end: int) -> None:
    """A block for rows from ``begin`` to ``end``."""
    for row in range(begin, end, most):
        for at_once in unrolled(1, most + 1):
            if min(most, end - row) == at_once:
                tile(form, at_once, operands, step, block, row)


@inner
def by_panel(operands: Address, step: Address, scratch: Address, block: int, begin: int, end: int) -> None:
    """As `by_rows`, of 4 bits: its weights are unpacked once for all rows, to the member's own memory."""
    panel = scratch + 4 * BLOCK * _TILE
    unpack(number(operands, 2), block, number(operands, 4) // GROUP, panel)
    for row in range(begin, end, _TILE):
        for at_once in unrolled(1, _TILE + 1):
            if min(_TILE, end - row) == at_once:
                panel_tile(at_once, operands, step, scratch, panel, block, row)


@inner
def tile(form: Static, rows: Static, operands: Address, step: Address, block: int, row: int) -> None:
    """The outputs of a block for some rows."""
    if form == FLOATS:
        float_tile(4, rows, operands, step, block, row)
    elif form == SHORT_FLOATS:
        float_tile(2, rows, operands, step, block, row)
    elif form == PAIRS:
        pair_tile(rows, operands, step, block, row)
    elif form == GROUPS:
        group_tile(rows, operands, step, block, row)
    else:
        quad_tile(form, rows, operands, step, block, row)


@inner
def float_tile(size: Static, rows: Static, operands: Address, step: Address, block: int, row: int) -> None:
    """``sum(x[k] * w[k])``, fused, from the first input to the last."""
    depth = number(operands, 4)
    weights = number(operands, 2) + block * depth * BLOCK * size
    x = number(step, ACTIVATIONS) + 4 * row * depth
    found = registers(splat(F32x16, 0.0), rows)
    for k in range(depth):
        place = weights + BLOCK * size * k
        prefetch(place + _AHEAD)
        weight = float_weights(size, place)
        for one in unrolled(rows):
            found[one] = fused(splat(F32x16, read(F32, x + 4 * (one * depth + k))), weight, found[one])
    for one in unrolled(rows):
        put(operands, step, block, row + one, found[one])


@inner
def float_weights(size: Static, place: Address) -> F32x16:
    """A step's weights, of float32 or bfloat16."""
    if size == 4:
        return read(F32x16, place)
    return reinterpret(F32x16, convert(I32x16, read(U16x16, place)) << 16)


@inner
def pair_tile(rows: Static, operands: Address, step: Address, block: int, row: int) -> None:
    """Integer sums of int16 pairs: 32 products in an instruction of AVX2."""
    depth = number(operands, 4)
    weights = number(operands, 2) + block * depth * BLOCK
    x = number(step, ACTIVATIONS) + 2 * row * depth
    sums = registers(splat(I32x16, 0), rows)
    for k in range(depth // 2):
        place = weights + 2 * BLOCK * k
        prefetch(place + _AHEAD)
        weight = convert(I16x32, read(I8x32, place))
        for one in unrolled(rows):
            pair = reinterpret(I16x32, splat(I32x16, read(I32, x + 2 * one * depth + 4 * k)))
            sums[one] += pair_products(pair, weight)
    for one in unrolled(rows):
        put_scaled(operands, step, block, row + one, sums[one])


@inner
def quad_tile(form: Static, rows: Static, operands: Address, step: Address, block: int, row: int) -> None:
    """Integer sums of four bytes each: 64 products in an instruction of AVX-512 VNNI, 16 in one of Arm."""
    depth = number(operands, 4)
    weights = number(operands, 2) + block * depth * BLOCK
    x = number(step, ACTIVATIONS) + row * depth
    sums = registers(read(I32x16, number(operands, 11) + 4 * BLOCK * block), rows)
    for k in range(depth // 4):
        place = weights + 4 * BLOCK * k
        prefetch(place + _AHEAD)
        weight = read(I8x64, place)
        for one in unrolled(rows):
            four = splat(I32x16, read(I32, x + one * depth + 4 * k))
            if form == QUADS:
                sums[one] = quad_products(sums[one], reinterpret(U8x64, four), weight)
            else:
                sums[one] = quad_products(sums[one], reinterpret(I8x64, four), weight)
    for one in unrolled(rows):
        put_scaled(operands, step, block, row + one, sums[one])


@inner
def group_tile(rows: Static, operands: Address, step: Address, block: int, row: int) -> None:
    """``sum(s_w s_x sum(q_w q_x) + m_w s_x sum(q_x))`` over groups of 32 inputs, from the first to the last."""
    depth = number(operands, 4)
    groups = depth // GROUP
    x = number(step, ACTIVATIONS) + 2 * row * depth
    scales, sums = number(step, SCALES) + 4 * row * groups, number(step, SUMS) + 4 * row * groups
    found = registers(splat(F32x16, 0.0), rows)
    for group in range(groups):
        place = number(operands, 2) + (block * groups + group) * GROUP_BYTES
        products = registers(splat(I32x16, 0), rows)
        for k in range(GROUP // 4):
            prefetch(place + 32 * k + _AHEAD)
            both = read(U8x32, place + 32 * k)
            low, high = convert(I16x32, both & 15), convert(I16x32, both >> 4)
            for one in unrolled(rows):
                pairs = x + 2 * (one * depth + group * GROUP + 4 * k)
                products[one] += pair_products(reinterpret(I16x32, splat(I32x16, read(I32, pairs))), low)
                products[one] += pair_products(reinterpret(I16x32, splat(I32x16, read(I32, pairs + 4))), high)
        scale = convert(F32x16, read(F16x16, place + BLOCK * GROUP // 2))
        least = convert(F32x16, read(F16x16, place + BLOCK * GROUP // 2 + 2 * BLOCK))
        for one in unrolled(rows):
            of_row = 4 * (one * groups + group)
            value = convert(F32x16, products[one]) * read(F32, scales + of_row)
            value = fused(value, scale, found[one])
            found[one] = fused(splat(F32x16, read(F32, sums + of_row)), least, value)
    for one in unrolled(rows):
        put(operands, step, block, row + one, found[one])


@inner
def unpack(weights: Address, block: int, groups: int, panel: Address) -> None:
    """A block's integers of 4 bits as bytes, [depth / 2][16 channels][2]."""
    for group in range(groups):
        place = weights + (block * groups + group) * GROUP_BYTES
        for k in range(GROUP // 4):
            both = read(U8x32, place + 32 * k)
            target = panel + BLOCK * GROUP * group + 64 * k
            write(U8x32, target, both & 15)
            write(U8x32, target + 32, both >> 4)


@inner
def panel_tile(
    rows: Static, operands: Address, step: Address, kept: Address, panel: Address, block: int, row: int
) -> None:
    """As `group_tile`, of unpacked weights; sums over groups stay in memory, where they leave room for 6 rows."""
    depth = number(operands, 4)
    groups = depth // GROUP
    x = number(step, ACTIVATIONS) + 2 * row * depth
    for one in unrolled(rows):
        write(F32x16, kept + 4 * BLOCK * one, splat(F32x16, 0.0))
    for group in range(groups):
        products = registers(splat(I32x16, 0), rows)
        for k in range(GROUP // 2):
            weight = convert(I16x32, read(I8x32, panel + BLOCK * GROUP * group + 2 * BLOCK * k))
            for one in unrolled(rows):
                pairs = x + 2 * (one * depth + group * GROUP + 2 * k)
                products[one] += pair_products(reinterpret(I16x32, splat(I32x16, read(I32, pairs))), weight)
        place = number(operands, 2) + (block * groups + group) * GROUP_BYTES + BLOCK * GROUP // 2
        scale, least = convert(F32x16, read(F16x16, place)), convert(F32x16, read(F16x16, place + 2 * BLOCK))
        for one in unrolled(rows):
            of_row, sums = 4 * ((row + one) * groups + group), kept + 4 * BLOCK * one
            value = convert(F32x16, products[one]) * read(F32, number(step, SCALES) + of_row)
            value = fused(value, scale, read(F32x16, sums))
            write(F32x16, sums, fused(splat(F32x16, read(F32, number(step, SUMS) + of_row)), least, value))
    for one in unrolled(rows):
        put(operands, step, block, row + one, read(F32x16, kept + 4 * BLOCK * one))


@inner
def put_scaled(operands: Address, step: Address, block: int, row: int, sums: I32x16) -> None:
    """``sum * (scale of the channel * scale of the row)``."""
    scale = read(F32x16, number(operands, 8) + 4 * BLOCK * block) * read(F32, number(step, SCALES) + 4 * row)
    put(operands, step, block, row, convert(F32x16, sums) * scale)


@inner
def put(operands: Address, step: Address, block: int, row: int, found: F32x16) -> None:
    """Write a block's outputs for a row."""
    target = number(step, number(operands, 5)) + 4 * (row * number(operands, 6) + BLOCK * block)
    value = found
    if number(operands, 7):
        value = value + read(F32x16, number(operands, 7) + 4 * BLOCK * block)
    if number(operands, 9):
        value = value + read(F32x16, target)
    write(F32x16, target, value)
