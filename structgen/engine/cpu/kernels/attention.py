"""Attention of a step's tokens over pages, in place (Kwon et al. 2023, arXiv:2309.06180).

The queries of a row that share a key head are taken six at a time: heads of the group first, then tokens. Their scores
over all positions they see come first, then the softmax of each, then the values. A query's sums go over positions in
blocks of 16 from the beginning of its sequence, so they are the same whatever else is in its tile.
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    I32,
    I64,
    Address,
    F32x16,
    I8x16,
    I32x16,
    Static,
    U16x16,
    chosen,
    convert,
    fused,
    lane_numbers,
    largest,
    maximum,
    prefetch,
    read,
    registers,
    reinterpret,
    splat,
    total,
    unrolled,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number
from structgen.engine.cpu.kernels.heads import page_of
from structgen.engine.cpu.kernels.maths import exponential
from structgen.engine.cpu.kernels.rows import scratch_of
from structgen.engine.cpu.layout import ATTENDED, BLOCK, MEMBERS, POSITIONS, QUERIES, ROW_STARTS, TILE_COUNT, TILES

__all__ = ["QUERIES_AT_ONCE", "attend"]

QUERIES_AT_ONCE = 6
_PLACE_BYTES = 32
_LEAST = -3e38


@inner
def attend(size: Static, operands: Address, step: Address, member: int) -> None:
    """Grouped-query attention of `QUERIES`, to `ATTENDED`.

    Operands: cache group, bytes of a page, where the layer's keys, values, key scales and value scales lie in it,
    query heads, key heads, their width, tokens of a page, window or 0. `TILES` are int32 [tiles][3]: row, first
    query, queries; a row's queries count heads of a group first, then tokens. ``size`` as `heads.project` has it.
    """
    kv_heads, members = number(operands, 9), number(step, MEMBERS)
    for task in range(member, number(step, TILE_COUNT) * kv_heads, members):
        tile, head = number(step, TILES) + 12 * (task // kv_heads), task % kv_heads
        row, first, count = read(I32, tile), read(I32, tile + 4), read(I32, tile + 8)
        for at_once in unrolled(1, QUERIES_AT_ONCE + 1):
            if count == at_once:
                attend_tile(size, at_once, operands, step, scratch_of(step, member), row, head, first)


@inner
def attend_tile(
    size: Static, count: Static, operands: Address, step: Address, scratch: Address, row: int, head: int, first: int
) -> None:
    """Attention of ``count`` queries over one key head.

    The member's scratch holds the queries, a sum for each, what comes out for 16 dimensions, for each block of
    positions where its keys, values and scales lie (see `find`), and the scores.
    """
    width, shared = number(operands, 10), number(operands, 8) // number(operands, 9)
    token = read(I32, number(step, ROW_STARTS) + 4 * row)
    position = read(I32, number(step, POSITIONS) + 4 * token)
    begin = first_seen(position + first // shared, number(operands, 12))
    end = position + (first + count - 1) // shared + 1
    block = begin // BLOCK
    blocks = (end + BLOCK - 1) // BLOCK - block
    totals = scratch + 4 * QUERIES_AT_ONCE * width
    found = totals + 64
    places = found + 4 * QUERIES_AT_ONCE * BLOCK
    scores = places + _PLACE_BYTES * blocks
    for one in range(count):
        copy(query_of(step, operands, token, head, first + one), width, scratch + 4 * one * width)
    for one in range(blocks):
        find(size, operands, step, row, head, (block + one) * BLOCK, places + _PLACE_BYTES * one)
    score(size, count, width, places, blocks, scratch, scores)
    for one in range(count):
        last = position + (first + one) // shared
        weights = scores + 4 * one * blocks * BLOCK
        seen_from = first_seen(last, number(operands, 12))
        write(F32, totals + 4 * one, softmax(weights, block, blocks, seen_from, last))
        if size == 1:
            by_scale(places, blocks, weights)
    for chunk in range(0, width, BLOCK):
        blend(size, count, width, chunk, places, begin - block * BLOCK, end - block * BLOCK, blocks, scores, found)
        for one in range(count):
            query = query_of(step, operands, token, head, first + one) - number(step, QUERIES)
            target = number(step, ATTENDED) + query + 4 * chunk
            result = read(F32x16, found + 4 * BLOCK * one) * (1.0 / read(F32, totals + 4 * one))
            if width - chunk >= BLOCK:
                write(F32x16, target, result)
            else:
                write(F32x16, found + 4 * BLOCK * one, result)
                copy(found + 4 * BLOCK * one, width - chunk, target)


@inner
def first_seen(position: int, window: int) -> int:
    """The first position that a token sees."""
    return max(position + 1 - window, 0) if window else 0


@inner
def query_of(step: Address, operands: Address, token: int, head: int, query: int) -> int:
    """Where a query lies."""
    heads, width = number(operands, 8), number(operands, 10)
    shared = heads // number(operands, 9)
    place = (token + query // shared) * heads + head * shared + query % shared
    return number(step, QUERIES) + 4 * place * width


@inner
def floats(size: Static, address: Address) -> F32x16:
    """Sixteen stored numbers."""
    if size == 4:
        return read(F32x16, address)
    if size == 2:
        return reinterpret(F32x16, convert(I32x16, read(U16x16, address)) << 16)
    return convert(F32x16, convert(I32x16, read(I8x16, address)))


@inner
def copy(source: Address, count: int, target: Address) -> None:
    """Copy floats."""
    for place in range(count):
        write(F32, target + 4 * place, read(F32, source + 4 * place))


@inner
def find(size: Static, operands: Address, step: Address, row: int, head: int, position: int, place: Address) -> None:
    """Where a head's 16 positions lie: addresses of keys, values and, of int8, the scales of both."""
    width, page_size = number(operands, 10), number(operands, 11)
    page = page_of(step, number(operands, 2), number(operands, 3), row, position // page_size)
    token = head * page_size + position % page_size
    padded = (width + BLOCK - 1) // BLOCK * BLOCK
    write(I64, place, page + number(operands, 4) + size * token * width)
    write(I64, place + 8, page + number(operands, 5) + size * token * padded)
    if size == 1:
        write(I64, place + 16, page + number(operands, 6) + 4 * token)
        write(I64, place + 24, page + number(operands, 7) + 4 * token)


@inner
def score(
    size: Static, count: Static, width: int, places: Address, blocks: int, queries: Address, scores: Address
) -> None:
    """Products of queries and keys, a block of positions after the other.

    Pages lie anywhere, so that the processor does not see what comes next: a block's values and the next one's keys.
    """
    for block in range(blocks):
        keys = read(I64, places + _PLACE_BYTES * block)
        values = read(I64, places + _PLACE_BYTES * block + 8)
        following = read(I64, places + _PLACE_BYTES * min(block + 1, blocks - 1))
        found = registers(splat(F32x16, 0.0), count)
        for dimension in range(width):
            prefetch(values + size * BLOCK * dimension)
            prefetch(following + size * BLOCK * dimension)
            key = floats(size, keys + size * BLOCK * dimension)
            for one in unrolled(count):
                query = read(F32, queries + 4 * (one * width + dimension))
                found[one] = fused(splat(F32x16, query), key, found[one])
        if size == 1:
            scale = read(F32x16, read(I64, places + _PLACE_BYTES * block + 16))
            for one in unrolled(count):
                found[one] = found[one] * scale
        for one in unrolled(count):
            write(F32x16, scores + 4 * BLOCK * (one * blocks + block), found[one])


@inner
def softmax(weights: Address, first: int, blocks: int, begin: int, last: int) -> float:
    """Turn scores into ``exp(score - most)``, 0 where a token does not see, and give their sum."""
    most = splat(F32x16, _LEAST)
    for block in range(blocks):
        positions = lane_numbers(I32x16) + (first + block) * BLOCK
        seen = (positions >= begin) & (positions <= last)
        most = maximum(most, chosen(seen, read(F32x16, weights + 4 * BLOCK * block), splat(F32x16, _LEAST)))
    greatest, found = largest(most), splat(F32x16, 0.0)
    for block in range(blocks):
        positions = lane_numbers(I32x16) + (first + block) * BLOCK
        seen = (positions >= begin) & (positions <= last)
        weight = exponential(read(F32x16, weights + 4 * BLOCK * block) - greatest)
        weight = chosen(seen, weight, splat(F32x16, 0.0))
        write(F32x16, weights + 4 * BLOCK * block, weight)
        found += weight
    return total(found)


@inner
def by_scale(places: Address, blocks: int, weights: Address) -> None:
    """Multiply each weight with its value's scale; what is not seen stays 0, whatever lies there."""
    for block in range(blocks):
        scale = read(F32x16, read(I64, places + _PLACE_BYTES * block + 24))
        weight = read(F32x16, weights + 4 * BLOCK * block)
        write(F32x16, weights + 4 * BLOCK * block, chosen(weight == 0.0, weight, weight * scale))


@inner
def blend(
    size: Static,
    count: Static,
    width: int,
    chunk: int,
    places: Address,
    begin: int,
    end: int,
    blocks: int,
    weights: Address,
    target: Address,
) -> None:
    """Sums of values by weight over positions from ``begin`` to ``end``, for 16 dimensions of each query."""
    padded = (width + BLOCK - 1) // BLOCK * BLOCK
    found = registers(splat(F32x16, 0.0), count)
    for block in range(blocks):
        values = read(I64, places + _PLACE_BYTES * block + 8) + size * chunk
        for lane in range(max(begin - BLOCK * block, 0), min(end - BLOCK * block, BLOCK)):
            value = floats(size, values + size * lane * padded)
            for one in unrolled(count):
                weight = read(F32, weights + 4 * (BLOCK * (one * blocks + block) + lane))
                found[one] = fused(splat(F32x16, weight), value, found[one])
    for one in unrolled(count):
        write(F32x16, target + 4 * BLOCK * one, found[one])
