"""Reading a positive number digit by digit: for which exponents the digits so far are a number of a set.

A number is ``d.ddd * 10**(place + exponent)``: its digits from the first that is not 0, and where the first stands if
no exponent is written. Whether it lies between bounds, is a multiple, or is one of a few values, is for given digits a
question about the exponent alone, so that one machine serves numbers with an exponent and without (exponent 0).

Multiples: let ``step = a * 10**b`` with ``a`` not divisible by 10, thus ``a = c * g**h`` with ``g`` 2 or 5 and ``c``
prime to 10. Let M be the digits as one whole number and N that number without its zeros at the end, the last digit of
N standing at ``10**-last``. Then M * 10**exponent is a multiple iff c divides M and
``exponent >= b + last + h - v``, where ``g**v`` is the highest power of g, at most ``g**h``, that divides N.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from structgen.grammars.json_schema.decimals import Digits, Exact, digits_of
from structgen.grammars.json_schema.number_dfa.exponents import Intervals, joined, without
from structgen.grammars.json_schema.number_parts import Parts

__all__ = [
    "FREE",
    "Multiple",
    "Progress",
    "Side",
    "Window",
    "advance",
    "begin",
    "distinct",
    "exponents",
    "settle",
    "side_of",
]

EQUAL = 1 << 30
"""Of a bound: the digits so far are the bound's own."""

Rests = tuple[tuple[int, int, int] | None, ...]


class Multiple(NamedTuple):
    """A number of which all are multiples, or none."""

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
    """So many digits have the numbers above, at most."""


class Window(NamedTuple):
    """What may still come."""

    low: int
    """The least exponent,"""
    high: int
    """and the greatest."""
    more: int
    """Digits that may still come before the point."""
    in_fraction: bool
    room: int
    """Before the point, so many digits more than the bounds have are told apart."""
    max_fraction: int
    """Digits after the point up to which multiples are told apart."""
    tidy: bool = False
    """After a zero another digit must come."""


class Progress(NamedTuple):
    """What the digits so far leave open; what no longer matters is 0 or ``None``, so that equal futures are equal."""

    place: int = 0
    read: int = 0
    """Digits read, as far as some bound or value has digits to compare with."""
    low: int | None = None
    """The least exponent with which the number is above the lower bound, or `EQUAL`."""
    high: int | None = None
    holes: tuple[Digits, ...] = ()
    """Those that begin with the digits so far."""
    only: tuple[Digits, ...] | None = None
    last: int = 0
    fraction: int = 0
    """Digits read after the point."""
    rests: Rests = ()
    """Of each multiple: M modulo c, h - v, M modulo `Multiple.modulus`; ``None``: no longer a multiple of it."""


FREE = Progress()
"""Nothing is left open: any digits and exponents may follow."""


def side_of(parts: Parts, negative: bool) -> Side | None:
    """The side of a set, ``None`` where nothing is there."""
    low, low_open, high, high_open = parts[:4]
    if negative:
        low, low_open, high, high_open = _negated(high), high_open, _negated(low), low_open
    sign = -1 if negative else 1
    if parts.only is not None:
        only = _positive(parts.only, sign)
        return Side(only=only, longest=_longest(only)) if only else None
    if high is not None and high <= 0:
        return None
    least = digits_of(low) if low is not None and low > 0 else None
    greatest = digits_of(high) if high is not None else None
    holes = _positive(parts.holes, sign)
    divisors = (*((parts.step,) if parts.step is not None else ()), *parts.misses)
    return Side(
        least,
        least is not None and low_open,
        greatest,
        high_open,
        tuple(map(_multiple, divisors)),
        parts.step is not None,
        holes,
        longest=_longest([bound for bound in (least, greatest, *holes) if bound is not None]),
    )


def _positive(values: frozenset[Exact], sign: int) -> tuple[Digits, ...]:
    return tuple(digits_of(value) for value in sorted(value * sign for value in values) if value > 0)


def _longest(numbers: Iterable[Digits]) -> int:
    return max((len(number.digits) for number in numbers), default=0)


def _negated(value: Exact | None) -> Exact | None:
    return None if value is None else -value


def _multiple(value: Exact) -> Multiple:
    digits, exponent = digits_of(value)
    coprime, height = int("".join(map(str, digits))), 0
    base = 2 if coprime % 2 == 0 else 5
    while coprime % base == 0:
        coprime, height = coprime // base, height + 1
    return Multiple(coprime, base, height, exponent - len(digits) + 1, base ** max(height - 1, 0))


def begin(side: Side, place: int, fraction: int) -> Progress:
    """Before the first digit that is not 0, which is to stand at ``place``; before the point ``place`` is one less."""
    return Progress(
        place,
        0,
        None if side.low is None else EQUAL,
        None if side.high is None else EQUAL,
        side.holes,
        side.only,
        0,
        fraction if side.multiples else 0,
        ((0, 0, 0),) * len(side.multiples),
    )


def distinct(side: Side, now: Progress) -> int:
    """The digits, as bits, that may not lead where the digit before them leads."""
    if now.holes or now.only is not None:
        return -1
    found = 0
    for one, rest in zip(side.multiples, now.rests, strict=False):
        if rest is not None:
            if one.coprime > 1 or one.height:
                return -1
            found |= 2  # 0 alone is no last digit
    for bound, state in ((side.low, now.low), (side.high, now.high)):
        if state == EQUAL and bound is not None:
            found |= 3 << _digit(bound, now.read)
    return found


def advance(side: Side, now: Progress, digit: int, window: Window) -> Progress | None:
    """One digit on, ``None`` where no number of the set can follow."""
    place, read, low, high, holes, only, last, fraction, rests = now
    shift = 0 if window.in_fraction else 1
    place += shift
    if low is not None:
        low = low - shift if low != EQUAL else _above(side.low, read, place, digit, window)
    if high is not None:
        high = high - shift if high != EQUAL else _below(side.high, read, place, digit, window)
    if holes:
        holes = tuple(
            value for value in holes if _digit(value, read) == digit and not _is_over(value, read, digit, window)
        )
    if only is not None:
        only = tuple(value for value in only if _digit(value, read) == digit)
    if rests:
        if shift:
            last = 0 if digit else last - 1
        elif digit:
            if fraction >= window.max_fraction:
                return None
            last = fraction + 1
        fraction += 1 - shift
        rests = tuple(rest and _divide(one, rest, digit) for one, rest in zip(side.multiples, rests, strict=True))
        if window.tidy and not digit:  # the last digit other than 0 is yet to come
            last, rests = fraction, tuple(rest and (rest[0], 0, rest[2]) for rest in rests)
    return settle(side, Progress(place, read + 1, low, high, holes, only, last, fraction, rests), window)


def _digit(number: Digits, place: int) -> int:
    return number.digits[place] if place < len(number.digits) else 0


def _is_over(number: Digits, read: int, digit: int, window: Window) -> bool:
    """Whether ``number`` is sure to be left behind: it has no more digits, and others must come."""
    return window.tidy and not digit and read + 1 >= len(number.digits)


def _above(bound: Digits | None, read: int, place: int, digit: int, window: Window) -> int | None:
    """The least exponent that lifts the digits over ``bound``, now that one more is known."""
    if bound is None:
        return None
    own = _digit(bound, read)
    if digit == own and not _is_over(bound, read, digit, window):
        return EQUAL
    return bound.exponent - place + (digit < own)


def _below(bound: Digits | None, read: int, place: int, digit: int, window: Window) -> int | None:
    if bound is None:
        return None
    own = _digit(bound, read)
    if digit == own and not _is_over(bound, read, digit, window):
        return EQUAL
    return bound.exponent - place - (digit >= own)


def _divide(one: Multiple, rest: tuple[int, int, int], digit: int) -> tuple[int, int, int]:
    whole, missing, tail = rest
    if one.height:
        tail = 10 * tail + digit
        if digit:
            missing, power = one.height, one.base
            while missing and tail % power == 0:
                missing, power = missing - 1, power * one.base
        tail %= one.modulus
    return (10 * whole + digit) % one.coprime, missing, tail


def settle(side: Side, now: Progress, window: Window) -> Progress | None:
    """``now`` without what no longer matters, ``None`` where no number of the set can follow."""
    place, read, low, high, holes, only, last, fraction, rests = now
    edge, reach = window.high + window.more, window.high  # the greatest exponent that the next digits, or none, allow
    if high is not None:
        most = high if high != EQUAL else _edge(side.high, place)
        if most < -window.room:
            return None
        if most - (high == EQUAL) - window.more >= window.high:
            high = None
        edge, reach = min(edge, most), min(reach, most)
    floor = window.low
    if rests:
        last, fraction, rests = _settle_multiples(side, last, fraction, rests, reach, window)
        if last < -window.room:
            return None
        if side.stepped:
            floor = max(floor, last + side.multiples[0].exponent)
    if floor > edge:
        return None
    if low is not None:
        low = _settle_low(side, place, low, floor, window)
        if low is not None and low != EQUAL and low - window.more > window.high:
            return None
    if holes:
        holes = tuple(value for value in holes if floor <= value.exponent - place <= window.high + window.more)
        if any(value.exponent - place < -window.room for value in holes):
            return None
    if only is not None:
        least = max(floor, -window.room)
        only = tuple(value for value in only if least <= value.exponent - place <= window.high + window.more)
        if not only:
            return None
    if low != EQUAL and high != EQUAL and not holes and only is None:
        return Progress(0, 0, low, high, (), None, last, fraction, rests)
    return Progress(place, min(read, side.longest), low, high, holes, only, last, fraction, rests)


def _edge(bound: Digits | None, place: int) -> int:
    """The exponent that puts the first digit where that of ``bound`` is."""
    return 0 if bound is None else bound.exponent - place


def _settle_low(side: Side, place: int, low: int, floor: int, window: Window) -> int | None:
    edge = low if low != EQUAL else _edge(side.low, place)
    if edge + (low == EQUAL) <= floor:
        return None
    if low == EQUAL and edge - window.more <= window.high and edge >= -window.room:
        return EQUAL
    return max(edge, -window.room)


def _settle_multiples(
    side: Side, last: int, fraction: int, rests: Rests, reach: int, window: Window
) -> tuple[int, int, Rests]:
    last = max(last, window.low - max(one.exponent + one.height for one in side.multiples))
    if side.stepped and len(rests) == 1:  # a greater exponent than need be is asked for beyond the room
        last = max(last, -window.room)
    if not window.in_fraction:
        return last, 0, rests
    if len(rests) > side.stepped:
        rests = tuple(
            rest if place < side.stepped or one.exponent + last <= reach else None
            for place, (one, rest) in enumerate(zip(side.multiples, rests, strict=True))
        )
        if not any(rests):
            return 0, 0, ()
    # Digits after the point count as far as one more could still be part of a multiple.
    least = min(one.exponent for one, rest in zip(side.multiples, rests, strict=True) if rest is not None)
    return last, min(fraction, window.max_fraction, max(reach - least, 0)), rests


def exponents(side: Side, now: Progress, window: Window) -> Intervals:
    """The exponents, within the window, that make the digits so far a number of the set."""
    place, read, low, high, holes, only, last, _, rests = now
    least, greatest = window.low, window.high
    if low == EQUAL and side.low is not None:
        is_short = read < len(side.low.digits)
        low = side.low.exponent - place + (is_short or side.low_open)
    if high == EQUAL and side.high is not None:
        is_short = read < len(side.high.digits)
        high = side.high.exponent - place - (side.high_open and not is_short)
    least = least if low is None else max(least, low)
    greatest = greatest if high is None else min(greatest, high)
    for number, (one, rest) in enumerate(zip(side.multiples, rests, strict=False)):
        if rest is None:
            continue
        from_here = one.exponent + last + rest[1] if rest[0] == 0 else window.high + 1
        if number < side.stepped:
            least = max(least, from_here)
        else:
            greatest = min(greatest, from_here - 1)
    if only is not None:
        points = sorted({value.exponent - place for value in only if len(value.digits) <= read})
        return joined([point for point in points if least <= point <= greatest])
    points = sorted({value.exponent - place for value in holes if len(value.digits) <= read})
    return without(least, greatest, points)
