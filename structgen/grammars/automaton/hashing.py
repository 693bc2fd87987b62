"""Hashes of numbers, in compiled code: where rows are looked for in the hash tables."""

from __future__ import annotations

from structgen.grammars.automaton._jit import inner

__all__ = ["FNV_BASIS", "folded", "mixed", "pair_hash"]

FNV_BASIS = 14695981039346656037
_FNV_PRIME = 1099511628211
_ODD, _OTHER_ODD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F


@inner
def mixed(value: int, number: int) -> int:
    """One more number in a hash that began as `FNV_BASIS`: FNV-1a, over numbers in place of bytes."""
    return (value ^ number) * _FNV_PRIME


@inner
def folded(value: int) -> int:
    """What `mixed` has given in the end, as 31 bits."""
    return (value ^ (value >> 29)) & 0x7FFFFFFF


@inner
def pair_hash(one: int, other: int) -> int:
    """A hash of two numbers in its lowest 31 bits."""
    return ((one * _ODD) ^ (other * _OTHER_ODD)) >> 33
