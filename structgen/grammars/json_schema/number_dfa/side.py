"""The two sides of a set of numbers: what it says of digits, sign aside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from structgen.grammars.json_schema.decimals import Digits, Exact, digits_of
from structgen.grammars.json_schema.number_parts import Parts

__all__ = ["Multiple", "Side", "coprime_part", "side_of"]


class Multiple(NamedTuple):
    """A number of which all are multiples, or none: ``coprime * base**height * 10**exponent``, see `progress`."""

    coprime: int
    base: int
    height: int
    exponent: int
    modulus: int
    """``base**(height - 1)``, 1 where ``height`` is 0: what is to be known of the digits for those that follow."""


class Side(NamedTuple):
    """What a set says about its positive numbers, or about its negative ones without their sign."""

    low: Digits | None = None
    low_open: bool = False
    high: Digits | None = None
    high_open: bool = False
    multiples: tuple[Multiple, ...] = ()
    stepped: bool = False
    """All are multiples of the first of `multiples`, none of the rest."""
    holes: tuple[Digits, ...] = ()
    only: tuple[Digits, ...] | None = None
    longest: int = 0
    """So many digits have the numbers above, at most,"""
    depth: int = 0
    """and so many places after the point is the first of them."""
    least: int = 0
    """The least exponent of the multiples."""


def side_of(parts: Parts, negative: bool) -> Side | None:
    """The side of a set, ``None`` where nothing is there."""
    low, low_open, high, high_open = parts[:4]
    if negative:
        low, low_open, high, high_open = _negated(high), high_open, _negated(low), low_open
    sign = -1 if negative else 1
    if parts.only is not None:
        only = _positive(parts.only, sign)
        return Side(only=only, longest=_longest(only), depth=_depth(only)) if only else None
    if high is not None and high <= 0:
        return None
    least = digits_of(low) if low is not None and low > 0 else None
    greatest = digits_of(high) if high is not None else None
    holes = _positive(parts.holes, sign)
    multiples = tuple(map(_multiple, (*((parts.step,) if parts.step is not None else ()), *parts.misses)))
    numbers = [number for number in (least, greatest, *holes) if number is not None]
    return Side(
        least,
        least is not None and low_open,
        greatest,
        high_open,
        multiples,
        parts.step is not None,
        holes,
        longest=_longest(numbers),
        depth=_depth(numbers),
        least=min((one.exponent for one in multiples), default=0),
    )


def _negated(value: Exact | None) -> Exact | None:
    return None if value is None else -value


def _positive(values: frozenset[Exact], sign: int) -> tuple[Digits, ...]:
    return tuple(digits_of(value) for value in sorted(value * sign for value in values) if value > 0)


def _longest(numbers: Iterable[Digits]) -> int:
    return max((len(number.digits) for number in numbers), default=0)


def _depth(numbers: Iterable[Digits]) -> int:
    return max((-number.exponent for number in numbers if number.exponent < 0), default=0)


def coprime_part(value: Exact) -> int:
    """How many remainders digits may leave, whatever zeros follow them: ``c`` in `progress`."""
    rest = value.numerator
    for base in (2, 5):
        while rest % base == 0:
            rest //= base
    return rest


def _multiple(value: Exact) -> Multiple:
    digits, exponent = digits_of(value)
    coprime, height = int("".join(map(str, digits))), 0
    base = 2 if coprime % 2 == 0 else 5
    while coprime % base == 0:
        coprime, height = coprime // base, height + 1
    return Multiple(coprime, base, height, exponent - len(digits) + 1, base ** max(height - 1, 0))
