"""The exponents of numbers as automata: given as a set of integers, read as digits."""

from __future__ import annotations

import functools

__all__ = ["Digits", "Intervals", "advance", "digits_of_length", "joined", "within", "without"]

Intervals = tuple[tuple[int, int], ...]
"""A set of integers: disjoint intervals in order, ends included, no two that touch."""

Digits = tuple[Intervals, ...]
"""What may follow the digits so far: at place n the numbers of n more digits."""

MAX_LENGTH = 3
"""Digits of an exponent."""


def joined(points: list[int]) -> Intervals:
    """Exactly ``points``, which are sorted."""
    found: list[tuple[int, int]] = []
    for point in points:
        if found and point == found[-1][1] + 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return tuple(found)


def without(low: int, high: int, points: list[int]) -> Intervals:
    """From ``low`` to ``high`` without ``points``, which are sorted."""
    found: list[tuple[int, int]] = []
    for point in points:
        if low <= point <= high:
            if low < point:
                found.append((low, point - 1))
            low = point + 1
    return (*found, (low, high)) if low <= high else tuple(found)


def within(numbers: Intervals, low: int, high: int) -> Intervals:
    """Those of ``numbers`` from ``low`` to ``high``."""
    return tuple((max(a, low), min(b, high)) for a, b in numbers if a <= high and b >= low)


@functools.lru_cache(4096)
def digits_of_length(numbers: Intervals, negative: bool, tidy: bool) -> Digits:
    """The digits that stand for ``numbers`` after their sign.

    Parameters
    ----------
    numbers : Intervals
        The exponents.
    negative : bool
        Whether the sign is a minus.
    tidy : bool
        As common writers give them: not 0, and zeros before the first other digit only to make two digits.
    """
    if negative:
        numbers = tuple((-high, -low) for low, high in reversed(numbers))
    least = (1, 1, 100) if tidy else (0, 0, 0)
    return ((), *(within(numbers, least[length - 1], 10**length - 1) for length in range(1, MAX_LENGTH + 1)))


@functools.lru_cache(4096)
def advance(digits: Digits) -> tuple[Digits | None, ...]:
    """What may follow each of the digits 0 to 9, ``None`` where it cannot come."""
    return tuple(_after(digits, digit) for digit in range(10))


def _after(digits: Digits, digit: int) -> Digits | None:
    found = tuple(_rest(numbers, digit * 10**length, 10**length) for length, numbers in enumerate(digits[1:]))
    return found if any(found) else None


def _rest(numbers: Intervals, first: int, count: int) -> Intervals:
    return tuple((low - first, high - first) for low, high in within(numbers, first, first + count - 1))
