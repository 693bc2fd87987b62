"""Exact decimals: what a JSON number stands for, as Python's own numbers that compare and add without rounding."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded

__all__ = ["Digits", "Exact", "Written", "digits_of", "exact", "lcm", "to_python"]

Written = int | float | Decimal
"""A number as a schema or an instance holds it; a float is the decimal that its ``repr`` shows."""

Exact = int | Fraction
"""A value: an int wherever it is whole, so that equal values are equal objects to ``==`` and ``hash``."""

MAX_BITS = 13_000
"""Of a number in a schema: beyond 4,300 digits Python refuses to write it."""
_MAX_EXPONENT = 4_000


class Digits(NamedTuple):
    """A positive decimal: ``d.ddd * 10**exponent``, neither first nor last digit zero."""

    digits: tuple[int, ...]
    exponent: int


def exact(number: Written) -> Exact:
    """The value of ``number``.

    Raises
    ------
    GrammarLimitExceeded
        It has more digits than can be written out.
    ValueError
        It is no number: infinite or NaN.
    """
    if isinstance(number, int):
        return _limited(int(number))
    text = Decimal(repr(number)) if isinstance(number, float) else number
    if not text.is_finite():
        raise ValueError(f"{number!r} is no JSON number")
    if text and abs(text.adjusted()) > _MAX_EXPONENT:
        raise GrammarLimitExceeded(f"a number of more than {_MAX_EXPONENT:,} digits cannot be written out")
    return _limited(whole(Fraction(text)))


def whole(value: Exact) -> Exact:
    """The same value, as an int where it is one."""
    return value.numerator if value.denominator == 1 else value


def _limited(value: Exact) -> Exact:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise GrammarLimitExceeded(f"a number of more than {MAX_BITS} bits cannot be written out")
    return value


def lcm(one: Exact, other: Exact) -> Exact:
    """The least positive value that both divide."""
    if isinstance(one, int) and isinstance(other, int):
        return _limited(math.lcm(one, other))
    # Over a common denominator both are whole.
    below = math.lcm(one.denominator, other.denominator)
    above = math.lcm(int(one * below), int(other * below))
    return _limited(whole(Fraction(above, below)))


def scale_of(value: Exact) -> int:
    """The fewest digits after the point that write ``value``."""
    below, scale = value.denominator, 0
    while below % 10 == 0:
        below, scale = below // 10, scale + 1
    # What is left is a power of two or of five: so many more digits.
    return scale + max(below.bit_length() - 1 if below % 5 else round(math.log(below, 5)), 0)


def digits_of(value: Exact) -> Digits:
    """The digits of a positive value."""
    scale = scale_of(value)
    text = str(value.numerator * 10**scale // value.denominator)
    return Digits(tuple(map(int, text.rstrip("0"))), len(text) - 1 - scale)


def to_python(value: Exact) -> int | Decimal:
    """``value`` as a type that writes itself as a decimal."""
    if isinstance(value, int):
        return value
    scale = scale_of(value)
    return Decimal(f"{value.numerator * 10**scale // value.denominator}E-{scale}")
