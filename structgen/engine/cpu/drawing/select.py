"""The value at which the greatest of some floats together reach a weight: selection by their bits, not by sorting."""

from __future__ import annotations

from structgen._compiled.kernel import F32, U32, Address, F32x16, read, reinterpret, splat, unrolled, write
from structgen.engine.cpu._jit import inner

__all__ = ["HISTOGRAM_BYTES", "float_of", "rank_of", "reached"]

_BITS = 11
_BUCKETS = 1 << _BITS
HISTOGRAM_BYTES = 4 * _BUCKETS


@inner
def rank_of(address: Address) -> int:
    """A float as an integer of 32 bits in the same order."""
    bits = read(U32, address)
    return bits ^ 0xFFFFFFFF if bits >> 31 else bits ^ 0x80000000


@inner
def float_of(rank: int) -> float:
    """The float of a rank."""
    return reinterpret(F32, rank ^ 0x80000000 if rank >> 31 else rank ^ 0xFFFFFFFF)


@inner
def reached(values: Address, weights: Address, count: int, goal: float, histogram: Address) -> int:
    """The greatest rank so that values of it and greater ones weigh ``goal``; 0, or little more, where all weigh less.

    ``weights`` is 0 where each value weighs 1. Eleven bits at a time, from the highest: a histogram of what values
    weigh that begin with the bits known so far.
    """
    known, above, weight = 0, 0.0, 1.0
    for level in unrolled(3):
        shift, bits = max(32 - _BITS * (level + 1), 0), min(_BITS, 32 - _BITS * level)
        for bucket in range(0, _BUCKETS, 16):
            write(F32x16, histogram + 4 * bucket, splat(F32x16, 0.0))
        for place in range(count):
            rank = rank_of(values + 4 * place)
            if rank >> (shift + bits) == known:
                if weights != 0:
                    weight = read(F32, weights + 4 * place)
                at = histogram + 4 * ((rank >> shift) & ((1 << bits) - 1))
                write(F32, at, read(F32, at) + weight)
        bucket = (1 << bits) - 1
        while bucket > 0 and above + read(F32, histogram + 4 * bucket) < goal:
            above = above + read(F32, histogram + 4 * bucket)
            bucket -= 1
        known = (known << bits) | bucket
    return known
