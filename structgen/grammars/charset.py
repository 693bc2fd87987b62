"""Sets of characters as sorted ranges of code points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ALL", "NEWLINE", "NONE", "CharSet"]

MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True)
class CharSet:
    """A set of code points, surrogates among them as in Python's `str`. Made by `of`, `single` and the operators.

    Parameters
    ----------
    ranges : tuple of (int, int)
        First and last code point of each range; sorted, and with a gap between neighbours, so that equal sets
        compare equal.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> CharSet:
        """The set of all code points in ``ranges``, which may overlap and come in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def single(cls, code_point: int) -> CharSet:
        """The set of one code point."""
        return cls(((code_point, code_point),))

    def __bool__(self) -> bool:
        """Whether there is any code point in it."""
        return bool(self.ranges)

    def __contains__(self, code_point: int) -> bool:
        return any(first <= code_point <= last for first, last in self.ranges)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of(self.ranges + other.ranges)

    def __invert__(self) -> CharSet:
        gaps: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= MAX_CODE_POINT:
            gaps.append((start, MAX_CODE_POINT))
        return CharSet(tuple(gaps))

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __sub__(self, other: CharSet) -> CharSet:
        return ~(~self | other)

    @property
    def only(self) -> int | None:
        """The code point of a set that has just one."""
        first, last = self.ranges[0] if len(self.ranges) == 1 else (0, 1)
        return first if first == last else None


NONE = CharSet(())
ALL = ~NONE
NEWLINE = CharSet.single(0x0A)
