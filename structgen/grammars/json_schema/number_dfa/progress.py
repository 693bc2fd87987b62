"""Reading a positive number digit by digit: for which exponents the digits so far are a number of a set.

A number is ``d.ddd * 10**(place + exponent)``: its digits from the first that is not 0, and where the first stands if
no exponent is written. Whether it lies between bounds, is a multiple, or is one of a few values, is for given digits a
question about the exponent alone, so that one machine serves numbers with an exponent and without (exponent 0).

Multiples: let ``step = a * 10**b`` with ``a`` not divisible by 10, thus ``a = c * g**h`` with ``g`` 2 or 5 and ``c``
prime to 10. Let M be the digits as one whole number and N that number without its zeros at the end, the last digit of
N standing at ``10**-last``. Then the number is a multiple iff c divides M and ``exponent - b >= last + h - v``, where
``g**v`` is the highest power of g, at most ``g**h``, that divides N. The right side is what a multiple *needs*.
"""

from __future__ import annotations

from typing import NamedTuple

from structgen.grammars.json_schema.decimals import Digits
from structgen.grammars.json_schema.number_dfa.exponents import Intervals, joined, without
from structgen.grammars.json_schema.number_dfa.side import Multiple, Side

__all__ = [
    "ENDLESS",
    "EQUAL",
    "FREE",
    "Progress",
    "Window",
    "alike",
    "begin",
    "exponents",
    "read_digit",
    "settle",
]

EQUAL = 1 << 30
"""Of a bound: the digits so far are the bound's own."""

ENDLESS = 1 << 20
"""More digits than any number that matters has."""

Rest = tuple[int, int, int]
"""M modulo c, what a multiple needs, M modulo `Multiple.modulus`."""
Rests = tuple[Rest | None, ...]


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
    """Before the point, so many digits more than the set's own are told apart."""
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
    fraction: int = 0
    """Digits read after the point, where there are multiples."""
    rests: Rests = ()
    """Of each multiple; ``None`` where the number can no longer be one."""

    @property
    def compares(self) -> bool:
        """Whether digits to come are compared with those of a bound or a value."""
        return bool(self.low == EQUAL or self.high == EQUAL or self.holes or self.only)


FREE = Progress()
"""Nothing is left open: any digits and exponents may follow."""


def begin(side: Side, place: int, fraction: int) -> Progress:
    """Before the first digit that is not 0, which is to stand at ``place``; before the point ``place`` is one less."""
    low = None if side.low is None else EQUAL
    high = None if side.high is None else EQUAL
    rests: Rests = ((0, 0, 0),) * len(side.multiples)
    return Progress(place, 0, low, high, side.holes, side.only, fraction if rests else 0, rests)


def alike(side: Side, now: Progress) -> int:
    """The digits, as bits, that lead where the digit before them leads."""
    if now.holes or now.only is not None:
        return 0
    found = 0
    for one, rest in zip(side.multiples, now.rests, strict=False):
        if rest is not None:
            if one.coprime > 1 or one.height:
                return 0
            found |= 2  # 0 alone is no last digit
    for bound, state in ((side.low, now.low), (side.high, now.high)):
        if state == EQUAL and bound is not None:
            found |= 3 << _digit(bound, now.read)
    return ~found


def read_digit(side: Side, now: Progress, digit: int, window: Window) -> Progress | None:
    """One digit on, still to be settled; ``None`` where it is one too many after the point."""
    place, read, low, high, holes, only, fraction, rests = now
    shift = 0 if window.in_fraction else 1
    place += shift
    ends = window.tidy and not digit  # what has no more digits now is sure to be passed
    if low is not None:
        low = low - shift if low != EQUAL else _above(side.low, read, place, digit, ends)
    if high is not None:
        high = high - shift if high != EQUAL else _below(side.high, read, place, digit, ends)
    if holes:
        holes = tuple(one for one in holes if _digit(one, read) == digit and not (ends and read >= len(one.digits) - 1))
    if only is not None:
        only = tuple(one for one in only if _digit(one, read) == digit)
    if rests:
        if not shift:
            if digit and fraction >= window.max_fraction and fraction >= -side.least:
                return None
            fraction += 1
        pairs = zip(side.multiples, rests, strict=True)
        rests = tuple([rest and _divide(one, rest, digit, shift, fraction, ends) for one, rest in pairs])
    return Progress(place, read + 1, low, high, holes, only, fraction, rests)


def _digit(number: Digits, place: int) -> int:
    return number.digits[place] if place < len(number.digits) else 0


def _above(bound: Digits | None, read: int, place: int, digit: int, ends: bool) -> int | None:
    """The least exponent that lifts the digits over ``bound``, now that one more is known."""
    if bound is None:
        return None
    own = _digit(bound, read)
    if digit == own and not (ends and read >= len(bound.digits) - 1):
        return EQUAL
    return bound.exponent - place + (digit < own)


def _below(bound: Digits | None, read: int, place: int, digit: int, ends: bool) -> int | None:
    if bound is None:
        return None
    own = _digit(bound, read)
    if digit == own and not (ends and read >= len(bound.digits) - 1):
        return EQUAL
    return bound.exponent - place - (digit >= own)


def _divide(one: Multiple, rest: Rest, digit: int, shift: int, fraction: int, ends: bool) -> Rest:
    whole, need, tail = rest
    whole = (10 * whole + digit) % one.coprime
    tail = 10 * tail + digit
    if whole or ends:  # zeros make no multiple: another digit must come, and what it needs is its own affair
        need = fraction + 1
    elif not digit:
        need -= shift
    else:
        need, power = fraction + one.height, one.base
        while need > fraction and tail % power == 0:
            need, power = need - 1, power * one.base
    return whole, need, tail % one.modulus


def settle(side: Side, now: Progress, window: Window) -> Progress | None:
    """``now`` without what no longer matters, ``None`` where no number of the set can follow."""
    place, read, low, high, holes, only, fraction, rests = now
    room = ENDLESS if window.in_fraction else window.room + side.depth
    floor, ceiling, reach = window.low, window.high + window.more, window.high
    if high is not None:
        edge = high if high != EQUAL else _edge(side.high, place)
        if edge < -room:
            return None
        if edge - (high == EQUAL) - window.more >= window.high:
            high = None
        ceiling, reach = min(ceiling, edge), min(reach, edge)
    if rests:
        fraction, rests = _settle_multiples(side, fraction, rests, reach, window)
        if side.stepped and (step := rests[0]):
            floor = max(floor, side.multiples[0].exponent + min(step[1], fraction + 1))
    if low is not None:
        low = _settle_low(side, place, low, floor, window, room)
    if holes or only is not None:
        low, holes, only = _settle_values(place, low, holes, only, (floor, window.high + window.more, -room))
    # Exponents are from the floor to the ceiling; before the point each digit takes one from the ceiling, and from
    # the floor at most one.
    if floor > ceiling or (low is not None and EQUAL != low > window.high + window.more) or only == ():
        return None
    if low == EQUAL or high == EQUAL or holes or only:
        return Progress(place, min(read, side.longest), low, high, holes, only, fraction, rests)
    return Progress(0, 0, low, high, (), None, fraction, rests)


def _edge(bound: Digits | None, place: int) -> int:
    """The exponent that puts the first digit where that of ``bound`` is."""
    return 0 if bound is None else bound.exponent - place


def _settle_low(side: Side, place: int, low: int, floor: int, window: Window, room: int) -> int | None:
    edge = low if low != EQUAL else _edge(side.low, place)
    if edge + (low == EQUAL) <= floor:
        return None
    if low == EQUAL and -room <= edge <= window.high + window.more:
        return EQUAL
    return max(edge, -room)


def _settle_multiples(side: Side, fraction: int, rests: Rests, reach: int, window: Window) -> tuple[int, Rests]:
    found = [
        rest and _settle_multiple(one, rest, fraction, reach, window, number < side.stepped)
        for number, (one, rest) in enumerate(zip(side.multiples, rests, strict=True))
    ]
    if not any(found):
        return 0, ()
    if window.in_fraction:  # digits count as far as one more could still be part of a multiple
        fraction = min(fraction, max(window.max_fraction, -side.least), max(reach - side.least, 0))
    return fraction, tuple(found)


def _settle_multiple(one: Multiple, rest: Rest, fraction: int, reach: int, window: Window, wanted: bool) -> Rest | None:
    whole, need, tail = rest
    least = max(window.low - one.exponent, _last_need(one, window))
    if need < least:
        return whole, least, tail
    is_none = window.in_fraction and one.exponent + min(need, fraction + 1) > reach
    return None if is_none and not wanted else rest


def _last_need(one: Multiple, window: Window) -> int:
    """What a multiple needs after so many zeros before the point that more are not told apart."""
    return -window.room - max(one.exponent, 0)


def _settle_values(
    place: int,
    low: int | None,
    holes: tuple[Digits, ...],
    only: tuple[Digits, ...] | None,
    exponents: tuple[int, int, int],
) -> tuple[int | None, tuple[Digits, ...], tuple[Digits, ...] | None]:
    """Without the values that no exponent makes; those beyond the room are kept out by a least exponent."""
    floor, ceiling, room = exponents
    if only is not None:
        only = tuple(one for one in only if max(floor, room) <= one.exponent - place <= ceiling)
    if holes:
        holes = tuple(one for one in holes if floor <= one.exponent - place <= ceiling)
        if any(one.exponent - place < room for one in holes):
            low = room if low is None else max(low, room)
            holes = tuple(one for one in holes if one.exponent - place >= room)
    return low, holes, only


def exponents(side: Side, now: Progress, window: Window) -> Intervals:
    """The exponents, within the window, that make the digits so far a number of the set."""
    place, read, low, high, holes, only, _, rests = now
    least, greatest = window.low, window.high
    if low == EQUAL and side.low is not None:
        low = side.low.exponent - place + (read < len(side.low.digits) or side.low_open)
    if high == EQUAL and side.high is not None:
        high = side.high.exponent - place - (side.high_open and read >= len(side.high.digits))
    if low is not None:
        least = max(least, low)
    if high is not None:
        greatest = min(greatest, high)
    for number, (one, rest) in enumerate(zip(side.multiples, rests, strict=False)):
        if rest is not None and number < side.stepped:
            least = max(least, one.exponent + rest[1]) if rest[0] == 0 else greatest + 1
        elif rest is not None and rest[0] == 0:
            # More zeros than are counted make it a multiple all the more.
            greatest = min(greatest, one.exponent + rest[1] - 1) if rest[1] > _last_need(one, window) else least - 1
    if only is not None:
        points = sorted({one.exponent - place for one in only if len(one.digits) <= read})
        return joined([point for point in points if least <= point <= greatest])
    return without(least, greatest, sorted({one.exponent - place for one in holes if len(one.digits) <= read}))
