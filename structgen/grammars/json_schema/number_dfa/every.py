"""Numbers in every spelling of RFC 8259."""

from __future__ import annotations

from structgen.grammars.json_schema.number_dfa.exponents import Intervals, digits_of_length
from structgen.grammars.json_schema.number_dfa.progress import ENDLESS, Progress, Window
from structgen.grammars.json_schema.number_dfa.spelling import (
    AFTER_E,
    AFTER_MINUS,
    AFTER_POINT,
    AFTER_ZERO,
    ANYWHERE,
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
from structgen.grammars.json_schema.number_parts import PLAIN, Parts

__all__ = ["EverySpelling"]

_EXPONENTS = (-324, 308)


class EverySpelling(Spelling):
    """Every spelling, as far as it can be told apart in bounded room.

    Exponents have at most three digits and are from -324 to 308. Where the set makes digits count, ``room`` bounds what
    is told apart of them: digits before the point, beyond those of the set's own numbers, that an exponent undoes;
    zeros right after the point; digits after it that make a multiple (17 of these at least: so many has a double).

    Parameters
    ----------
    parts : Parts
        The set.
    room : int
        See above.
    """

    any_case = True

    def __init__(self, parts: Parts, room: int) -> None:
        self._plain, self._room = parts.writing == PLAIN, room
        super().__init__(without_unit(parts) if self._plain else parts)
        low, high = (0, 0) if self._plain else _EXPONENTS
        self._window = Window(low, high, ENDLESS, False, room, max(room, 17))
        self._fraction_window = Window(low, high, 0, True, room, max(room, 17))

    def expand(self, state: State) -> Fan:
        """What may follow ``state``."""
        kind, *rest = state
        if kind == FRACTION:
            return self._fraction(*rest)
        if kind == EXPONENT:
            return exponent_fan(*rest)
        if kind == WHOLE:
            return self._digits(*rest)
        if kind == SMALL:
            return self._small(*rest)
        if kind == AFTER_POINT:
            return Fan(False, self._fraction_digits(*rest))
        if kind == AFTER_E:
            return self._e(*rest)
        return self._zero(*rest) if kind == AFTER_ZERO else self._start(kind == AFTER_MINUS)

    def _start(self, negative: bool) -> Fan:
        row, side = nothing(), self.negative if negative else self.positive
        if not negative:
            row[MINUS] = (AFTER_MINUS,)
        row[0] = (AFTER_ZERO, side)
        row[1:10] = self.each_at(WHOLE, side, self.first(side, -1, 0, range(1, 10), self._window))
        return Fan(False, row)

    def _zero(self, side: int) -> Fan:
        row = nothing()
        if not self._plain:
            row[POINT] = (SMALL, side, 0, False)
            row[E] = (AFTER_E, (_EXPONENTS,)) if self.has_zero else None
        return Fan(self.has_zero and self.may_be_plain, row)

    def _small(self, side: int, zeros: int, may_end: bool) -> Fan:
        """After ``0.`` and ``zeros``, if they count."""
        row = nothing()
        counted = zeros if side in (ANYWHERE, NOWHERE) else zeros + 1
        row[0] = (SMALL, side, counted, True) if counted <= self._room else (SMALL, NOWHERE, 0, True)
        row[1:10] = self.each_at(
            FRACTION, side, self.first(side, -zeros - 1, zeros, range(1, 10), self._fraction_window)
        )
        if may_end and self.has_zero:
            row[E] = (AFTER_E, (_EXPONENTS,))
        return Fan(may_end and self.has_zero, row)

    def _digits(self, side: int, now: Progress) -> Fan:
        row = nothing()
        row[:10] = self.each_at(WHOLE, side, self.after_digits(side, now, self._window))
        allowed = self.exponents(side, now, self._window)
        if not self._plain:
            row[POINT] = self.at(AFTER_POINT, side, self.settled(side, now, self._fraction_window))
            row[E] = (AFTER_E, allowed) if allowed else None
        return Fan(has_zero(allowed) and self.may_be_plain, row)

    def _fraction(self, side: int, now: Progress) -> Fan:
        row = self._fraction_digits(side, now)
        allowed = self.exponents(side, now, self._fraction_window)
        row[E] = (AFTER_E, allowed) if allowed else None
        return Fan(has_zero(allowed), row)

    def _fraction_digits(self, side: int, now: Progress) -> list[State | None]:
        row = nothing()
        row[:10] = self.each_at(FRACTION, side, self.after_digits(side, now, self._fraction_window))
        return row

    def _e(self, allowed: Intervals) -> Fan:
        positive = digits_of_length(allowed, negative=False, tidy=False)
        row = exponent_fan(positive).states
        row[PLUS] = (EXPONENT, positive)
        row[MINUS] = (EXPONENT, digits_of_length(allowed, negative=True, tidy=False))
        return Fan(False, row)
