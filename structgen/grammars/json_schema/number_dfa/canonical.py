"""Numbers as Python's ``repr`` and JavaScript write them."""

from __future__ import annotations

import functools

from structgen.grammars.json_schema.number_dfa.exponents import Intervals, digits_of_length
from structgen.grammars.json_schema.number_dfa.progress import ENDLESS, EQUAL, Progress, Window
from structgen.grammars.json_schema.number_dfa.spelling import (
    AFTER_E,
    AFTER_MINUS,
    AFTER_POINT,
    AFTER_ZERO,
    ANYWHERE,
    AT_END,
    EXPONENT,
    FRACTION,
    MINUS,
    NOWHERE,
    PLUS,
    POINT,
    SMALL,
    WHOLE,
    E,
    Fan,
    Spelling,
    State,
    exponent_fan,
    has_zero,
    nothing,
    without_unit,
)
from structgen.grammars.json_schema.number_parts import Parts

__all__ = ["MAX_DIGITS", "CanonicalFloats", "CanonicalIntegers"]

MAX_DIGITS = 20
"""Digits before the point, and after it, that a canonical number has at most."""

LARGEST = (1, 7, 9, 7, 6, 9, 3, 1, 3, 4, 8, 6, 2, 3, 1, 5, 7)
"""The digits of the largest double, e+308; the least is 5e-324."""

# What may follow the digits so far, as they compare with the largest double's: no exponent at all; up to 308; 307.
PLAIN_ONLY, AS_LARGEST, LESS, GREATER, FIVE_OR_MORE = range(5)

_TOPS = ((AS_LARGEST, range(1, 2)), (GREATER, range(2, 5)), (FIVE_OR_MORE, range(5, 10)))
"""By the first digit."""
_PLAIN_TOPS = ((PLAIN_ONLY, range(1, 10)),)

# The last digit of a fraction.
NOT_ZERO, ZERO, ONLY_ZERO = range(3)


@functools.cache
def _whole_window(more: int, top: int) -> Window:
    if top == PLAIN_ONLY:
        return Window(0, 0, more, False, ENDLESS, MAX_DIGITS)
    least = -324 if top == FIVE_OR_MORE else -323
    return Window(least, 308 if top <= LESS else 307, more, False, ENDLESS, MAX_DIGITS)


@functools.cache
def _fraction_window(top: int, tidy: bool) -> Window:
    low, high = (0, 0) if top == PLAIN_ONLY else (-323, 308 if top <= LESS else 307)
    return Window(low, high, 0, True, ENDLESS, MAX_DIGITS, tidy)


class _Canonical(Spelling):
    def digits_before(self, side: int, nows: list[Progress | None], more: int, *rest: int) -> list[State | None]:
        """The states of digits before the point that no exponent follows: an upper bound is a bound on their number."""
        found: list[State | None] = []
        before, state = None, None
        for now in nows:
            if now is not before:
                before = now
                if now is not None and now.high is not None and now.high != EQUAL:
                    state = self.at(WHOLE, side, now._replace(high=None), now.high, *rest)
                else:
                    state = self.at(WHOLE, side, now, more, *rest)
            found.append(state)
        return found


class CanonicalIntegers(_Canonical):
    """Without fraction and exponent, and no ``-0``.

    Parameters
    ----------
    parts : Parts
        The set, of which only the whole numbers are read.
    max_digits : int
        Digits, at most.
    """

    def __init__(self, parts: Parts, max_digits: int) -> None:
        super().__init__(without_unit(parts))
        self._max_digits = max_digits

    def expand(self, state: State) -> Fan:
        """What may follow ``state``."""
        kind, *rest = state
        if kind == WHOLE:
            return self._digits(*rest)
        return Fan(True, nothing()) if kind == AT_END else self._start(kind == AFTER_MINUS)

    def _start(self, negative: bool) -> Fan:
        row, side = nothing(), self.negative if negative else self.positive
        if not negative:
            row[MINUS] = (AFTER_MINUS,)
            row[0] = (AT_END,) if self.has_zero else None
        more = self._max_digits - 1
        window = _whole_window(more, PLAIN_ONLY)
        row[1:10] = self.digits_before(side, self.first(side, -1, 0, range(1, 10), window), more)
        return Fan(False, row)

    def _digits(self, side: int, now: Progress, more: int) -> Fan:
        row = nothing()
        if more:
            following = self.after_digits(side, now, _whole_window(more - 1, PLAIN_ONLY))
            row[:10] = self.digits_before(side, following, more - 1)
        return Fan(bool(self.exponents(side, now, _whole_window(more, PLAIN_ONLY))), row)


class CanonicalFloats(_Canonical):
    """With a fraction or an exponent where need be, as doubles are written.

    ``-?digits`` or ``-?digits.digits`` or ``-?d[.digits]e(+|-)digits``. No fraction ends in 0, but for ``.0``. Before
    the point, and after it, at most `MAX_DIGITS`. The exponent has its sign, is not 0, and may have one 0 in front to
    be of two digits; with it the number is within a double's range, so that no reader makes 0 or infinity of it.
    Multiples of 0.0001 or more have no exponent: as long as they have few enough digits, no writer gives them one.

    Parameters
    ----------
    parts : Parts
        The set.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        is_plain = parts.step is not None and parts.step * 10_000 >= 1
        self._tops = _PLAIN_TOPS if is_plain else _TOPS

    def expand(self, state: State) -> Fan:
        """What may follow ``state``."""
        kind, *rest = state
        if kind in (EXPONENT, AFTER_E) or (kind == FRACTION and rest[0] == ANYWHERE):
            return _shared_fan(state)
        if kind == FRACTION:
            return self._fraction(*rest)
        if kind == WHOLE:
            return self._digits(*rest)
        if kind == SMALL:
            return self._small(*rest)
        if kind == AFTER_POINT:
            return self._point(*rest)
        return self._zero(*rest) if kind == AFTER_ZERO else self._start(kind == AFTER_MINUS)

    def expand_shared(self, state: State) -> Fan:
        """The same for a state in which nothing of the set is left but the exponents."""
        kind, *rest = state
        if kind == FRACTION:
            return self._fraction(*rest)
        return exponent_fan(*rest) if kind == EXPONENT else self._e(*rest)

    def _start(self, negative: bool) -> Fan:
        row, side = nothing(), self.negative if negative else self.positive
        if not negative:
            row[MINUS] = (AFTER_MINUS,)
        below_one = ANYWHERE if self.is_free_below_one(side) else side
        row[0] = (AFTER_ZERO, below_one, self.has_zero, self.has_zero and self.may_be_plain and not negative)
        more = MAX_DIGITS - 1
        for top, digits in self._tops:
            nows = self.first(side, -1, 0, digits, _whole_window(more, top))
            if top == PLAIN_ONLY:
                row[1:10] = self.digits_before(side, nows, more, top)
            else:
                row[digits.start : digits.stop] = self.each_at(WHOLE, side, nows, more, top)
        return Fan(False, row)

    def _zero(self, side: int, zero: bool, may_end: bool) -> Fan:
        row = nothing()
        row[POINT] = (SMALL, side, zero, 0)
        return Fan(may_end, row)

    def _small(self, side: int, zero: bool, zeros: int) -> Fan:
        """After ``0.`` and ``zeros``."""
        row, window = nothing(), _fraction_window(PLAIN_ONLY, zeros > 0)
        more = MAX_DIGITS - zeros - 1
        if more:
            its = NOWHERE if self.is_too_fine(side, zeros + 1) else side
            row[0] = (SMALL, its, zero and not zeros, zeros + 1)
        nows = self.first(side, -zeros - 1, zeros, range(1, 10), window)
        row[1:10] = self.each_at(FRACTION, side, nows, more, NOT_ZERO, PLAIN_ONLY)
        return Fan(zero and zeros == 1, row)

    def _digits(self, side: int, now: Progress, more: int, top: int) -> Fan:
        row = nothing()
        allowed = self.exponents(side, now, _whole_window(more, top))
        if more:
            following = self.after_digits(side, now, _whole_window(more - 1, PLAIN_ONLY))
            row[:10] = self.digits_before(side, following, more - 1, PLAIN_ONLY)
        below = self._top_of_fraction(side, now, top)
        settled = self.settled(side, now, _fraction_window(below, False))
        row[POINT] = self.at(AFTER_POINT, side, settled, below)
        if top != PLAIN_ONLY and allowed:
            row[E] = (AFTER_E, allowed)
        return Fan(has_zero(allowed) and self.may_be_plain, row)

    def _top_of_fraction(self, side: int, now: Progress, top: int) -> int:
        """``top`` after the point: where an upper bound is below the largest double, there is nothing to compare."""
        if now.high is not None and top != PLAIN_ONLY:
            least = now.high if now.high != EQUAL else self.edge(side, now)
            return GREATER if least < 308 else top
        return min(top, GREATER)

    def _point(self, side: int, now: Progress, top: int) -> Fan:
        row = self._fraction_digits(side, now, MAX_DIGITS, top)
        if row[0] is not None:
            row[0] = (*row[0][:4], ONLY_ZERO, row[0][5])
        return Fan(False, row)

    def _fraction(self, side: int, now: Progress, more: int, last: int, top: int) -> Fan:
        row = self._fraction_digits(side, now, more, top) if more else nothing()
        allowed = self.exponents(side, now, _fraction_window(top, False)) if last != ZERO else ()
        if top != PLAIN_ONLY and last == NOT_ZERO and allowed:
            row[E] = (AFTER_E, allowed)
        return Fan(has_zero(allowed), row)

    def _fraction_digits(self, side: int, now: Progress, more: int, top: int) -> list[State | None]:
        row, tidy = nothing(), more < MAX_DIGITS
        following = self.after_digits(side, now, _fraction_window(top, tidy))
        if top != AS_LARGEST:
            row[0] = self.at(FRACTION, side, following[0], more - 1, ZERO, top)
            row[1:10] = self.each_at(FRACTION, side, following[1:], more - 1, NOT_ZERO, top)
            return row
        for digit, one in enumerate(following):
            below = _compared(digit, MAX_DIGITS - more + 1)
            settled = one and self.settled(side, one, _fraction_window(below, tidy))
            row[digit] = self.at(FRACTION, side, settled, more - 1, NOT_ZERO if digit else ZERO, below)
        return row

    def _e(self, allowed: Intervals) -> Fan:
        row = nothing()
        row[PLUS] = (EXPONENT, digits_of_length(allowed, negative=False, tidy=True))
        row[MINUS] = (EXPONENT, digits_of_length(allowed, negative=True, tidy=True))
        return Fan(False, row)


@functools.lru_cache(1 << 14)
def _shared_fan(state: State) -> Fan:
    return _ANY_SET.expand_shared(state)


_ANY_SET = CanonicalFloats(Parts())


def _compared(digit: int, place: int) -> int:
    """How digits compare with the largest double's that were the same up to the one at ``place``."""
    own = LARGEST[place] if place < len(LARGEST) else 0
    return AS_LARGEST if digit == own else LESS if digit < own else GREATER
