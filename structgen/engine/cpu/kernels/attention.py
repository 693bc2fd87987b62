"""Attention of a step's tokens over pages, in place (Kwon et al. 2023, arXiv:2309.06180).

The queries of a row that share a key head are taken six at a time, as tiles: heads of the group first, then tokens.
Tiles of rows that begin with the same pages make a task together: over these positions the queries of all its tiles are
taken six at a time, over the others those of each tile. Scores over all positions come first, then the softmax of each
query, then the values. A query's sums go over positions in blocks of 16 from the beginning of its sequence, so they
are the same whatever else is in its tile, and whoever shares its pages.
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
    I32,
    I64,
    Address,
    F32x16,
    Static,
    read,
    reinterpret,
    splat,
    write,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.kernels.access import number
from structgen.engine.cpu.kernels.activations import scratch_of
from structgen.engine.cpu.kernels.heads import page_of
from structgen.engine.cpu.kernels.scores import PLACE_BYTES, blend_all, by_scale, cap_all, score_all, softmax
from structgen.engine.cpu.layout import (
    ATTENDED,
    BLOCK,
    MEMBERS,
    POSITIONS,
    QUERIES,
    ROW_STARTS,
    TASK_COUNT,
    TASKS,
    TILES,
)

__all__ = ["QUERIES_TOGETHER", "attend"]

QUERIES_TOGETHER = 12
"""Of a task at most: enough to fill tiles, and few enough that members get even shares."""


@inner
def attend(size: Static, operands: Address, step: Address, member: int) -> None:
    """Grouped-query attention of `QUERIES`, to `ATTENDED`.

    Operands: cache group, bytes of a page, where the layer's keys, values, key scales and value scales lie in it,
    query heads, key heads, their width, tokens of a page, window or 0, cap of the scores (the bits of a float32) or 0.
    ``size`` as `heads.project` has it. `TILES` and
    `TASKS` are `structgen.engine.cpu.tasks`'s. Members take every other task of a head, then of the next head: what
    tasks share of it is still near then.
    """
    tasks, members = number(step, TASK_COUNT), number(step, MEMBERS)
    for turn in range(member, tasks * number(operands, 9), members):
        task = number(step, TASKS) + 16 * (turn % tasks)
        attend_task(size, operands, step, scratch_of(step, member), task, turn // tasks)


@inner
def attend_task(size: Static, operands: Address, step: Address, scratch: Address, task: Address, head: int) -> None:
    """Attention of some tiles over one key head; positions that they share are read once for all.

    The member's scratch holds the queries, a sum for each, what comes out of each, for each tile and block of
    positions where its keys, values and scales lie (see `find`), and the scores.
    """
    width = number(operands, 10)
    padded = (width + BLOCK - 1) // BLOCK * BLOCK
    tiles, count, tile = read(I32, task + 4), read(I32, task + 8), number(step, TILES) + 12 * read(I32, task)
    shared = 0 if number(operands, 12) else read(I32, task + 12) // BLOCK
    stride = most_blocks(operands, step, tile, tiles)
    found = scratch + 4 * QUERIES_TOGETHER * (width + 1)
    places = found + 4 * QUERIES_TOGETHER * padded
    scores = places + PLACE_BYTES * stride * tiles
    query = 0
    for one in range(tiles):
        prepare(
            size, operands, step, tile + 12 * one, head, scratch + 4 * query * width, places_of(places, stride, one)
        )
        query += read(I32, tile + 12 * one + 8)
    score_all(size, count, width, places, 0, shared, stride, scratch, scores)
    query = 0
    for one in range(tiles):
        at, row_places = tile + 12 * one, places_of(places, stride, one)
        row_scores, blocks = scores + 4 * BLOCK * stride * query, blocks_of(operands, step, at)
        some = read(I32, at + 8)
        score_all(size, some, width, row_places, shared, blocks, stride, scratch + 4 * query * width, row_scores)
        weigh(size, operands, step, at, row_places, row_scores, stride, sums_of(scratch, width) + 4 * query)
        query += some
    for place in range(0, count * padded, BLOCK):
        write(F32x16, found + 4 * place, splat(F32x16, 0.0))
    blend_all(size, count, padded, places, 0, BLOCK * shared, stride, scores, found)
    query = 0
    for one in range(tiles):
        at, row_places = tile + 12 * one, places_of(places, stride, one)
        row_scores, row_found = scores + 4 * BLOCK * stride * query, found + 4 * padded * query
        begin, end = begin_of(operands, step, at), end_of(operands, step, at)
        before = begin // BLOCK * BLOCK
        first = max(begin - before, BLOCK * shared)
        blend_all(size, read(I32, at + 8), padded, row_places, first, end - before, stride, row_scores, row_found)
        finish(operands, step, at, head, sums_of(scratch, width) + 4 * query, row_found)
        query += read(I32, at + 8)


@inner
def sums_of(scratch: Address, width: int) -> int:
    """Where the sums of weights lie, one for each query."""
    return scratch + 4 * QUERIES_TOGETHER * width


@inner
def places_of(places: Address, stride: int, tile: int) -> int:
    """Where a tile's places lie."""
    return places + PLACE_BYTES * stride * tile


@inner
def begin_of(operands: Address, step: Address, tile: Address) -> int:
    """The first position that a tile's queries see."""
    return first_seen(position_of(operands, step, tile, 0), number(operands, 12))


@inner
def end_of(operands: Address, step: Address, tile: Address) -> int:
    """Behind the last position that a tile's queries see."""
    return position_of(operands, step, tile, read(I32, tile + 8) - 1) + 1


@inner
def position_of(operands: Address, step: Address, tile: Address, query: int) -> int:
    """The position of one of a tile's queries."""
    shared = number(operands, 8) // number(operands, 9)
    token = read(I32, number(step, ROW_STARTS) + 4 * read(I32, tile))
    return read(I32, number(step, POSITIONS) + 4 * token) + (read(I32, tile + 4) + query) // shared


@inner
def blocks_of(operands: Address, step: Address, tile: Address) -> int:
    """Blocks of positions that a tile's queries see some of."""
    return (end_of(operands, step, tile) + BLOCK - 1) // BLOCK - begin_of(operands, step, tile) // BLOCK


@inner
def most_blocks(operands: Address, step: Address, tile: Address, tiles: int) -> int:
    """The blocks of that tile which has most."""
    found = 0
    for one in range(tiles):
        found = max(found, blocks_of(operands, step, tile + 12 * one))
    return found


@inner
def prepare(
    size: Static, operands: Address, step: Address, tile: Address, head: int, queries: Address, places: Address
) -> None:
    """Copy a tile's queries, and find where what they see lies."""
    width, row = number(operands, 10), read(I32, tile)
    for one in range(read(I32, tile + 8)):
        copy(query_of(step, operands, tile, head, one), width, queries + 4 * one * width)
    find(size, operands, step, row, head, begin_of(operands, step, tile), blocks_of(operands, step, tile), places)


@inner
def weigh(
    size: Static,
    operands: Address,
    step: Address,
    tile: Address,
    places: Address,
    scores: Address,
    stride: int,
    sums: Address,
) -> None:
    """Turn the scores of a tile's queries into weights of its values, and sum them."""
    block, blocks = begin_of(operands, step, tile) // BLOCK, blocks_of(operands, step, tile)
    for one in range(read(I32, tile + 8)):
        last, weights = position_of(operands, step, tile, one), scores + 4 * BLOCK * stride * one
        begin = first_seen(last, number(operands, 12))
        if number(operands, 13):
            cap_all(weights, blocks, reinterpret(F32, number(operands, 13)))
        write(F32, sums + 4 * one, softmax(weights, block, blocks, begin, last))
        if size == 1:
            by_scale(places, blocks, weights)


@inner
def finish(operands: Address, step: Address, tile: Address, head: int, sums: Address, found: Address) -> None:
    """Write what a tile's queries found, each over its sum of weights."""
    width = number(operands, 10)
    padded = (width + BLOCK - 1) // BLOCK * BLOCK
    for one in range(read(I32, tile + 8)):
        query = query_of(step, operands, tile, head, one) - number(step, QUERIES)
        factor = 1.0 / read(F32, sums + 4 * one)
        for place in range(0, padded, BLOCK):
            result = found + 4 * (one * padded + place)
            write(F32x16, result, read(F32x16, result) * factor)
        copy(found + 4 * one * padded, width, number(step, ATTENDED) + query)


@inner
def first_seen(position: int, window: int) -> int:
    """The first position that a token sees."""
    return max(position + 1 - window, 0) if window else 0


@inner
def query_of(step: Address, operands: Address, tile: Address, head: int, query: int) -> int:
    """Where one of a tile's queries lies."""
    heads, width = number(operands, 8), number(operands, 10)
    shared = heads // number(operands, 9)
    token, place = read(I32, number(step, ROW_STARTS) + 4 * read(I32, tile)), read(I32, tile + 4) + query
    return number(step, QUERIES) + 4 * ((token + place // shared) * heads + head * shared + place % shared) * width


@inner
def copy(source: Address, count: int, target: Address) -> None:
    """Copy floats."""
    whole = count // BLOCK * BLOCK
    for place in range(0, whole, BLOCK):
        write(F32x16, target + 4 * place, read(F32x16, source + 4 * place))
    for place in range(whole, count):
        write(F32, target + 4 * place, read(F32, source + 4 * place))


@inner
def find(
    size: Static, operands: Address, step: Address, row: int, head: int, begin: int, blocks: int, places: Address
) -> None:
    """Where blocks of a head's positions lie: addresses of keys, values and, of int8, the scales of both."""
    width, page_size = number(operands, 10), number(operands, 11)
    padded = (width + BLOCK - 1) // BLOCK * BLOCK
    first = begin // BLOCK * BLOCK
    place, inside = first // page_size, first % page_size
    for block in range(blocks):
        page, target = page_of(step, number(operands, 2), number(operands, 3), row, place), places + PLACE_BYTES * block
        token = head * page_size + inside
        write(I64, target, page + number(operands, 4) + size * token * width)
        write(I64, target + 8, page + number(operands, 5) + size * token * padded)
        if size == 1:
            write(I64, target + 16, page + number(operands, 6) + 4 * token)
            write(I64, target + 24, page + number(operands, 7) + 4 * token)
        inside += BLOCK
        if inside == page_size:
            place, inside = place + 1, 0
