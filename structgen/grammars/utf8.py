"""Characters as the bytes of UTF-8 (Unicode 15, tables 3-6 and 3-7): one expression for a whole set of code points."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from structgen.grammars.charset import CharSet
from structgen.grammars.expr import EPSILON, Expr, alternation, byte_set, sequence

__all__ = ["utf8"]

_Ranges = tuple[tuple[int, int], ...]

_FORMS = (  # code points of one length, its number of bytes, what the first byte starts from
    (CharSet(((0x0, 0x7F),)), 1, 0x00),
    (CharSet(((0x80, 0x7FF),)), 2, 0xC0),
    (CharSet(((0x800, 0xD7FF), (0xE000, 0xFFFF))), 3, 0xE0),  # surrogates are no characters of a text
    (CharSet(((0x10000, 0x10FFFF),)), 4, 0xF0),
)
_CONTINUATION = 0x80


def utf8(characters: CharSet) -> Expr:
    """One character of the set, encoded; surrogates are left out, since no UTF-8 text has them.

    First bytes that leave the same choice of rest are one byte set, so that a set is as small as its structure.
    """
    return alternation(*(_encoded((characters & form).ranges, length, marker) for form, length, marker in _FORMS))


@lru_cache(maxsize=4096)  # most sets of letters share most of their tails
def _encoded(ranges: _Ranges, length: int, marker: int) -> Expr:
    """The last ``length`` bytes of the characters whose low bits are in ``ranges``."""
    if not length:
        return EPSILON
    firsts: defaultdict[_Ranges, list[int]] = defaultdict(list)
    for first, rest in _split(ranges, 64 ** (length - 1)).items():
        firsts[tuple(rest)].append(marker + first)
    return alternation(
        *(sequence(byte_set(bits), _encoded(rest, length - 1, _CONTINUATION)) for rest, bits in firsts.items())
    )


def _split(ranges: _Ranges, block: int) -> dict[int, list[tuple[int, int]]]:
    """What ``ranges`` have in each block of ``block`` code points, relative to its start."""
    inside: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for first, last in ranges:
        for number in range(first // block, last // block + 1):
            start = number * block
            inside[number].append((max(first - start, 0), min(last - start, block - 1)))
    return inside
