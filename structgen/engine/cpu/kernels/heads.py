"""Queries, keys and values: norm of each head, rotation, and the way of keys and values to their pages.

A page holds for each layer the keys, the values and, where these are int8, their scales::

    keys     [kv_head][page_size / 16][head_dim][16 positions]
    values   [kv_head][page_size][head_dim, with zeros up to a multiple of 16]
    scales   float32 [kv_head][page_size], of the keys, then of the values

so that scores of 16 positions are one vector, and what attention gives is one of 16 dimensions.
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    I8,
    I32,
    U16,
    Address,
    Static,
    absolute,
    fused,
    nearest,
    read,
    reinterpret,
    square_root,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number, share_begin
from structgen.engine.cpu.kernels.activations import as_float, scratch_of
from structgen.engine.cpu.layout import (
    ANGLES,
    BLOCK,
    MEMBERS,
    PAGE_TABLES,
    POOLS,
    POSITIONS,
    QKV,
    QUERIES,
    ROW_OF_TOKEN,
    TOKENS,
)

__all__ = ["page_of", "project"]


@inner
def page_of(step: Address, group: int, page_bytes: int, row: int, place: int) -> int:
    """Where the ``place``-th page of a row lies."""
    table, pages = number(step, PAGE_TABLES + 2 * group), number(step, PAGE_TABLES + 2 * group + 1)
    return number(step, POOLS + group) + read(I32, table + 4 * (row * pages + place)) * page_bytes


@inner
def project(size: Static, operands: Address, step: Address, member: int) -> None:
    """Rotate the heads of `QKV`; queries, times a scale, go to `QUERIES`, the others to pages.

    Operands: cache group, bytes of a page, where the layer's keys, values, key scales and value scales lie in it,
    query heads, key heads, their width, tokens of a page, stride of a row, weights of the queries' norm or 0, of the
    keys' norm or 0, eps and the scale (the bits of a float32), bytes from `ANGLES` to the layer's. ``size`` is that of
    an element in a page: 4 for float32, 2 for bfloat16, 1 for int8.
    """
    tokens, members = number(step, TOKENS), number(step, MEMBERS)
    heads, kv_heads, width = number(operands, 8), number(operands, 9), number(operands, 10)
    scratch = scratch_of(step, member)
    for token in range(share_begin(tokens, member, members), share_begin(tokens, member + 1, members)):
        position = read(I32, number(step, POSITIONS) + 4 * token)
        angles = number(step, ANGLES) + number(operands, 17) + 4 * position * width
        source = number(step, QKV) + 4 * token * number(operands, 12)
        for head in range(heads):
            target = number(step, QUERIES) + 4 * (token * heads + head) * width
            rotated(source + 4 * head * width, number(operands, 13), number(operands, 15), angles, width, target)
            scaled(target, width, reinterpret(F32, number(operands, 16)))
        row = read(I32, number(step, ROW_OF_TOKEN) + 4 * token)
        page_size = number(operands, 11)
        page = page_of(step, number(operands, 2), number(operands, 3), row, position // page_size)
        inside = position % page_size
        for head in range(kv_heads):
            key = source + 4 * (heads + head) * width
            rotated(key, number(operands, 14), number(operands, 15), angles, width, scratch)
            store_key(size, operands, page, head, inside, scratch)
            store_value(size, operands, page, head, inside, source + 4 * (heads + kv_heads + head) * width)


@inner
def rotated(source: Address, weight: Address, eps: int, angles: Address, width: int, target: Address) -> None:
    """A head after its norm, if it has one, and the rotation of pairs ``i``, ``i + width / 2``."""
    half = width // 2
    factor = factor_of(source, width, eps) if weight else 1.0
    for place in range(half):
        first, second = read(F32, source + 4 * place), read(F32, source + 4 * (half + place))
        if weight:
            first = first * factor * read(F32, weight + 4 * place)
            second = second * factor * read(F32, weight + 4 * (half + place))
        cosine, sine = read(F32, angles + 4 * place), read(F32, angles + 4 * (half + place))
        write(F32, target + 4 * place, first * cosine - second * sine)
        write(F32, target + 4 * (half + place), second * cosine + first * sine)


@inner
def factor_of(source: Address, width: int, eps: int) -> float:
    """``1 / sqrt(mean(x * x) + eps)``."""
    squares = 0.0
    for place in range(width):
        squares = fused(read(F32, source + 4 * place), read(F32, source + 4 * place), squares)
    return 1.0 / square_root(squares / as_float(width) + reinterpret(F32, eps))


@inner
def scaled(values: Address, width: int, factor: float) -> None:
    """Multiply by a factor."""
    for place in range(width):
        write(F32, values + 4 * place, read(F32, values + 4 * place) * factor)


@inner
def store_key(size: Static, operands: Address, page: Address, head: int, inside: int, key: Address) -> None:
    """Write a key, its dimensions `BLOCK` elements apart."""
    width, page_size = number(operands, 10), number(operands, 11)
    lane, block = inside % 16, inside // 16
    target = page + number(operands, 4) + size * ((head * page_size + block * BLOCK) * width + lane)
    scale = 0.0
    if size == 1:
        scale = scale_of_head(key, width)
        write(F32, page + number(operands, 6) + 4 * (head * page_size + inside), scale)
    for place in range(width):
        store(size, target + size * BLOCK * place, read(F32, key + 4 * place), scale)


@inner
def store_value(size: Static, operands: Address, page: Address, head: int, inside: int, value: Address) -> None:
    """Write a value."""
    width, page_size = number(operands, 10), number(operands, 11)
    padded = (width + 15) // 16 * 16
    target = page + number(operands, 5) + size * (head * page_size + inside) * padded
    scale = 0.0
    if size == 1:
        scale = scale_of_head(value, width)
        write(F32, page + number(operands, 7) + 4 * (head * page_size + inside), scale)
    for place in range(width):
        store(size, target + size * place, read(F32, value + 4 * place), scale)


@inner
def scale_of_head(values: Address, width: int) -> float:
    """``max |x| / 127``; NaN where one is not finite."""
    most, faults = 0.0, 0.0
    for place in range(width):
        value = absolute(read(F32, values + 4 * place))
        faults = fused(value, 0.0, faults)
        if value > most:
            most = value
    return most * (1.0 / 127.0) + faults


@inner
def store(size: Static, target: Address, value: float, scale: float) -> None:
    """Write one number in the storage type: as it is, as bfloat16 rounded to even, or as ``round(value / scale)``."""
    if size == 4:
        write(F32, target, value)
    elif size == 2:
        bits = reinterpret(I32, value)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        write(U16, target, rounded if value == value else 0x7FC0)
    else:
        write(I8, target, int(nearest(value * (1.0 / scale))) if scale > 1e-30 else 0)
