"""How numbers are spelled: the states of reading one, in the canonical layout and in every spelling of RFC 8259.

::

    [-] 0 ------> . zeros --+
    [-] digits -> . digits -+-> e [+-] digits

A state is a tuple: its kind, and what is open there. `Spelling.expand` gives what may follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from structgen.grammars.json_schema.number_dfa.exponents import Digits, Intervals
from structgen.grammars.json_schema.number_dfa.exponents import advance as advance_exponent
from structgen.grammars.json_schema.number_dfa.progress import (
    FREE,
    Progress,
    Window,
    alike,
    begin,
    exponents,
    read_digit,
    settle,
)
from structgen.grammars.json_schema.number_dfa.side import Side, side_of
from structgen.grammars.json_schema.number_parts import MARKED, Parts, holds

__all__ = [
    "AFTER_E",
    "AFTER_MINUS",
    "AFTER_POINT",
    "AFTER_ZERO",
    "ANYWHERE",
    "AT_END",
    "COLUMNS",
    "EXPONENT",
    "FRACTION",
    "MINUS",
    "NOWHERE",
    "PLUS",
    "POINT",
    "SMALL",
    "START",
    "WHOLE",
    "E",
    "Fan",
    "Spelling",
    "State",
    "exponent_fan",
    "has_zero",
    "nothing",
    "without_unit",
]

State = tuple[Any, ...]

COLUMNS = 14
"""The ten digits, and"""
POINT, E, PLUS, MINUS = range(10, COLUMNS)

AT_START, AFTER_MINUS, AFTER_ZERO, SMALL, WHOLE, AFTER_POINT, FRACTION, AFTER_E, EXPONENT, AT_END = range(10)
START: State = (AT_START,)

NOWHERE, ANYWHERE = -1, 0
"""Sides: no number there; every number."""


class Fan(NamedTuple):
    """A state's own row."""

    accepts: bool
    """Whether the number may end here."""
    states: list[State | None]
    """The states after each of the columns."""


class Spelling(ABC):
    """The states of reading a number of a set.

    Parameters
    ----------
    parts : Parts
        The set.
    """

    any_case = False
    """Whether an exponent may begin with ``E`` too."""

    def __init__(self, parts: Parts) -> None:
        self.has_zero = holds(parts, 0)
        self.may_be_plain = parts.writing != MARKED
        self._sides = [Side()]
        self._plain_sides = [ANYWHERE]  # of each side, the one that says the same of multiples, and nothing else
        self.positive, self.negative = (self._number(side_of(parts, negative)) for negative in (False, True))

    def _number(self, side: Side | None) -> int:
        if side is None:
            return NOWHERE
        if side not in self._sides:
            plain = Side(multiples=side.multiples, stepped=side.stepped, least=side.least)
            self._plain_sides.append(len(self._sides) if side == plain else self._number(plain))
            self._sides.append(side)
        return self._sides.index(side)

    @abstractmethod
    def expand(self, state: State) -> Fan:
        """What may follow ``state``."""

    def first(self, side: int, place: int, fraction: int, digits: range, window: Window) -> list[Progress | None]:
        """After each of ``digits`` as the first that is not 0; ``place`` and ``fraction`` as in `begin`."""
        if side in (NOWHERE, ANYWHERE):
            return [None if side == NOWHERE else FREE] * len(digits)
        return self.after_digits(side, begin(self._sides[side], place, fraction), window, digits)

    def after_digits(
        self, side: int, now: Progress, window: Window, digits: range = range(10)
    ) -> list[Progress | None]:
        """After each of ``digits``; neighbours that lead the same way are one object."""
        if side == ANYWHERE and window.in_fraction:
            return [now] * len(digits)
        its = self._sides[side]
        same = alike(its, now)
        found: list[Progress | None] = []
        known: dict[Progress | None, Progress | None] = {}
        one = None
        for digit in digits:
            if not found or not (same >> digit) & 1:
                new = read_digit(its, now, digit, window)
                if new not in known:
                    known[new] = new and settle(its, new, window)
                one = known[new]
            found.append(one)
        return found

    def at(self, kind: int, side: int, now: Progress | None, *more: Any) -> State | None:
        """The state of ``kind``; one and the same wherever the same is left open."""
        if now is None:
            return None
        if not now.compares:
            side = self._plain_sides[side] if now.rests else ANYWHERE
        return (kind, side, now, *more)

    def each_at(self, kind: int, side: int, nows: Iterable[Progress | None], *more: Any) -> list[State | None]:
        """`at` for each of ``nows``; neighbours that are one object get one state."""
        found: list[State | None] = []
        before, state = None, None
        for now in nows:
            if now is not before:
                before, state = now, self.at(kind, side, now, *more)
            found.append(state)
        return found

    def is_free_below_one(self, side: int) -> bool:
        """Whether the set has every number between 0 and 1 of this side."""
        if side == NOWHERE:
            return False
        its = self._sides[side]
        is_bounded = its.low is not None or (its.high is not None and its.high.exponent < 0)
        return not (is_bounded or its.multiples or its.holes or its.only)

    def is_too_fine(self, side: int, zeros: int) -> bool:
        """Whether, without an exponent, no multiple has so many zeros right after the point."""
        return side > ANYWHERE and self._sides[side].stepped and zeros >= -self._sides[side].multiples[0].exponent

    def edge(self, side: int, now: Progress) -> int:
        """The exponent that makes the first digit stand where that of the upper bound does."""
        bound = self._sides[side].high
        return 0 if bound is None else bound.exponent - now.place

    def settled(self, side: int, now: Progress, window: Window) -> Progress | None:
        """The same for what may come in ``window`` only."""
        return now if now == FREE else settle(self._sides[side], now, window)

    def exponents(self, side: int, now: Progress, window: Window) -> Intervals:
        """The exponents that make the digits so far a number of the set."""
        return exponents(self._sides[side], now, window)


def nothing() -> list[State | None]:
    """A row in which nothing may follow."""
    return [None] * COLUMNS


def has_zero(numbers: Intervals) -> bool:
    """Whether the number may end without an exponent."""
    return any(low <= 0 <= high for low, high in numbers)


def exponent_fan(digits: Digits) -> Fan:
    """Within an exponent."""
    row: list[State | None] = [following and (EXPONENT, following) for following in advance_exponent(digits)]
    return Fan(bool(digits[0]), row + [None] * 4)


def without_unit(parts: Parts) -> Parts:
    """The same set where only whole numbers are read: that they are multiples of 1 is not to be asked."""
    return parts._replace(step=None) if parts.step == 1 else parts
