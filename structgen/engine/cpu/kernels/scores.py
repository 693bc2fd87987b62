"""Scores, softmax and weighted sums of some queries over blocks of 16 positions, in one order whatever is together.

*Places* say for each block where its keys, values and, of int8, the scales of both lie: addresses, int64 [blocks][4].
"""

from __future__ import annotations

from structgen._compiled.kernel import (
    F32,
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
from structgen.engine.cpu.kernels.maths import capped, exponential
from structgen.engine.cpu.layout import BLOCK

__all__ = ["PLACE_BYTES", "QUERIES_AT_ONCE", "blend_all", "by_scale", "cap_all", "score_all", "softmax"]

QUERIES_AT_ONCE = 6
"""Their sums, 16 positions' keys and a query fill the sixteen registers of AVX2."""
PLACE_BYTES = 32
_AT_ONCE = 2
"""Dimensions of keys for which one cache line is fetched ahead: so many are in it, and a head's width is even."""
_LEAST = -3e38


@inner
def floats(size: Static, address: Address) -> F32x16:
    """Sixteen stored numbers."""
    if size == 4:
        return read(F32x16, address)
    if size == 2:
        return reinterpret(F32x16, convert(I32x16, read(U16x16, address)) << 16)
    return convert(F32x16, convert(I32x16, read(I8x16, address)))


@inner
def score_all(
    size: Static,
    count: int,
    width: int,
    places: Address,
    begin: int,
    end: int,
    stride: int,
    queries: Address,
    scores: Address,
) -> None:
    """Scores of queries over blocks from ``begin`` to ``end``, some queries at a time; each has ``stride`` blocks."""
    for first in range(0, count if begin < end else 0, QUERIES_AT_ONCE):
        for some in unrolled(1, QUERIES_AT_ONCE + 1):
            if min(count - first, QUERIES_AT_ONCE) == some:
                of_first = scores + 4 * BLOCK * stride * first
                score(size, some, width, places, begin, end, stride, queries + 4 * first * width, of_first)


@inner
def score(
    size: Static,
    count: Static,
    width: int,
    places: Address,
    begin: int,
    end: int,
    stride: int,
    queries: Address,
    scores: Address,
) -> None:
    """Products of queries and keys, a block of positions after the other.

    Pages lie anywhere, so that the processor does not see what comes next: a block's values and the next one's keys.
    """
    for block in range(begin, end):
        keys = read(I64, places + PLACE_BYTES * block)
        values = read(I64, places + PLACE_BYTES * block + 8)
        following = read(I64, places + PLACE_BYTES * min(block + 1, end - 1))
        found = registers(splat(F32x16, 0.0), count)
        for line in range(0, width, _AT_ONCE):
            prefetch(values + size * BLOCK * line)
            prefetch(following + size * BLOCK * line)
            for dimension in unrolled(_AT_ONCE):
                key = floats(size, keys + size * BLOCK * (line + dimension))
                for one in unrolled(count):
                    query = read(F32, queries + 4 * (one * width + line + dimension))
                    found[one] = fused(splat(F32x16, query), key, found[one])
        if size == 1:
            scale = read(F32x16, read(I64, places + PLACE_BYTES * block + 16))
            for one in unrolled(count):
                found[one] = found[one] * scale
        for one in unrolled(count):
            write(F32x16, scores + 4 * BLOCK * (one * stride + block), found[one])


@inner
def cap_all(scores: Address, blocks: int, cap: float) -> None:
    """Cap a query's scores."""
    for place in range(0, BLOCK * blocks, BLOCK):
        write(F32x16, scores + 4 * place, capped(read(F32x16, scores + 4 * place), cap))


@inner
def softmax(weights: Address, first: int, blocks: int, begin: int, last: int) -> float:
    """Turn scores into ``exp(score - most)``, 0 where a token does not see, and give their sum.

    Few blocks are seen in part, the first and those at the end; the others need no comparisons.
    """
    whole = min(max(begin - first * BLOCK, 0), 1)
    rest = max(min((last + 1) // BLOCK - first, blocks), whole)
    most = most_of(1, weights, first, 0, whole, begin, last, splat(F32x16, _LEAST))
    most = most_of(0, weights, first, whole, rest, begin, last, most)
    greatest = largest(most_of(1, weights, first, rest, blocks, begin, last, most))
    found = powers(1, weights, first, 0, whole, begin, last, greatest, splat(F32x16, 0.0))
    found = powers(0, weights, first, whole, rest, begin, last, greatest, found)
    return total(powers(1, weights, first, rest, blocks, begin, last, greatest, found))


@inner
def most_of(
    in_part: Static, weights: Address, first: int, start: int, stop: int, begin: int, last: int, most: F32x16
) -> F32x16:
    """The greatest scores of blocks from ``start`` to ``stop``, and ``most``."""
    for block in range(start, stop):
        score = read(F32x16, weights + 4 * BLOCK * block)
        if in_part:
            positions = lane_numbers(I32x16) + (first + block) * BLOCK
            score = chosen((positions >= begin) & (positions <= last), score, splat(F32x16, _LEAST))
        most = maximum(most, score)
    return most


@inner
def powers(
    in_part: Static,
    weights: Address,
    first: int,
    start: int,
    stop: int,
    begin: int,
    last: int,
    greatest: float,
    found: F32x16,
) -> F32x16:
    """Write ``exp(score - greatest)`` for blocks from ``start`` to ``stop``, and add them to ``found``."""
    for block in range(start, stop):
        weight = exponential(read(F32x16, weights + 4 * BLOCK * block) - greatest)
        if in_part:
            positions = lane_numbers(I32x16) + (first + block) * BLOCK
            weight = chosen((positions >= begin) & (positions <= last), weight, splat(F32x16, 0.0))
        write(F32x16, weights + 4 * BLOCK * block, weight)
        found += weight
    return found


@inner
def by_scale(places: Address, blocks: int, weights: Address) -> None:
    """Multiply each weight with its value's scale; what is not seen stays 0, whatever lies there."""
    for block in range(blocks):
        scale = read(F32x16, read(I64, places + PLACE_BYTES * block + 24))
        weight = read(F32x16, weights + 4 * BLOCK * block)
        write(F32x16, weights + 4 * BLOCK * block, chosen(weight == 0.0, weight, weight * scale))


@inner
def blend_all(
    size: Static,
    count: int,
    padded: int,
    places: Address,
    begin: int,
    end: int,
    stride: int,
    weights: Address,
    target: Address,
) -> None:
    """Add values by weight over positions from ``begin`` to ``end``, some queries and 16 dimensions at a time."""
    for first in range(0, count if begin < end else 0, QUERIES_AT_ONCE):
        for some in unrolled(1, QUERIES_AT_ONCE + 1):
            if min(count - first, QUERIES_AT_ONCE) == some:
                of_first, found = weights + 4 * BLOCK * stride * first, target + 4 * padded * first
                for chunk in range(0, padded, BLOCK):
                    blend(size, some, padded, chunk, places, begin, end, stride, of_first, found)


@inner
def blend(
    size: Static,
    count: Static,
    padded: int,
    chunk: int,
    places: Address,
    begin: int,
    end: int,
    stride: int,
    weights: Address,
    target: Address,
) -> None:
    """Add values by weight, for 16 dimensions of each query."""
    found = registers(splat(F32x16, 0.0), count)
    for one in unrolled(count):
        found[one] = read(F32x16, target + 4 * (one * padded + chunk))
    for block in range(begin // BLOCK, (end + BLOCK - 1) // BLOCK):
        values = read(I64, places + PLACE_BYTES * block + 8) + size * chunk
        for lane in range(max(begin - BLOCK * block, 0), min(end - BLOCK * block, BLOCK)):
            value = floats(size, values + size * lane * padded)
            for one in unrolled(count):
                weight = read(F32, weights + 4 * (BLOCK * (one * stride + block) + lane))
                found[one] = fused(splat(F32x16, weight), value, found[one])
    for one in unrolled(count):
        write(F32x16, target + 4 * (one * padded + chunk), found[one])
