"""Whole numbers as digits alone, by tables: the remainders of all steps at once, told apart as far as it matters.

What may follow some digits depends on how many more may come, and on the remainder that they leave. For each pair of
bounds on the former, a `Layer` puts remainders with equal futures into one class; its classes come from those of the
layer one digit later (Moore's refinement). Only digits with which a bound, or a number that is left out, begins are
states of their own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.number_parts import Parts, holds
from structgen.grammars.limits import checkpoint

__all__ = ["MAX_REMAINDERS", "integers_dfa", "remainders"]

MAX_REMAINDERS = 1 << 16
"""With more of them a set is read digit by digit."""

ENDLESS = -1
"""As a number of digits: any."""

Window = tuple[int, int]
"""Digits that must still come, and that may."""


def remainders(parts: Parts) -> int:
    """How many remainders there are of a whole number by which it can be told whether it is in the set."""
    return math.lcm(*(one.numerator for one in (parts.step or 1, *parts.misses)))


def integers_dfa(parts: Parts, max_digits: int, limit: int) -> ByteDfa:
    """The automaton of the whole numbers of a set, without fraction and exponent, and no ``-0``.

    Parameters
    ----------
    parts : Parts
        The set, without values of its own.
    max_digits : int
        Digits at most, where counting them takes no more than ``limit`` states; else any number.
    limit : int
        States at most.

    Raises
    ------
    GrammarLimitExceeded
        It has more states even so, or reads nothing at all.
    """
    layers = _Layers(parts)
    for digits in (max_digits, ENDLESS):
        builder = _Builder(parts, layers, digits)
        if builder.size <= limit:
            return builder.dfa()
    raise GrammarLimitExceeded(f"its numbers need more than {limit:,} states; simplify multipleOf or the bounds")


class Layer(NamedTuple):
    """The remainders by their futures in one window."""

    classes: npt.NDArray[Any]
    """int32[remainders]; from class 0 no number of the set is reached."""
    accepting: npt.NDArray[Any]
    """bool[classes]"""
    rows: npt.NDArray[Any]
    """int32[classes, 10]: the class after each digit, in the layer of the window after it."""


class _Layers:
    """Makes the layers of a set, each once."""

    def __init__(self, parts: Parts) -> None:
        numbers = np.arange(remainders(parts))
        self.wanted: npt.NDArray[Any] = numbers % (parts.step or 1).numerator == 0
        for miss in parts.misses:
            self.wanted &= numbers % miss.numerator != 0
        self._after = [(10 * numbers + digit) % len(numbers) for digit in range(10)]
        self._known: dict[Window, Layer] = {}

    def of(self, window: Window) -> Layer:
        """The layer of ``window``."""
        missing = [window]
        while (following := window_after(missing[-1])) not in self._known and following not in missing:
            if missing[-1][1] == 0:
                break
            missing.append(following)
        for one in reversed(missing):
            if one not in self._known:
                self._known[one] = self._made(one)
        return self._known[window]

    def _made(self, window: Window) -> Layer:
        least, most = window
        own = self.wanted if least == 0 else np.zeros_like(self.wanted)
        if most == 0:
            classes = self.wanted.astype(np.int32)
            return Layer(classes, np.array([False, True]), np.zeros((2, 10), np.int32))
        if window == (0, ENDLESS):
            return self._endless()
        below = self._known[window_after(window)]
        before = self._known.get((0, most - 2)) if least == 0 and most > 1 else None
        if before is not None and len(before.accepting) == len(below.accepting):
            # Nothing more to tell apart, ever.
            return below if below.classes is before.classes else self._layer(below.classes, own, below)
        return self._layer(self._refined(own, below.classes), own, below)

    def _endless(self) -> Layer:
        classes = self.wanted.astype(np.int32)
        while True:
            finer = self._refined(self.wanted, classes)
            layer = self._layer(finer, self.wanted, None)
            if finer.max() == classes.max():
                return self._without_dead(layer)
            classes = finer

    def _refined(self, own: npt.NDArray[Any], below: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Classes of equal futures, given those of the digits to come; 0 for those without any."""
        checkpoint()
        count, found = int(below.max()) + 1, own.astype(np.int64)
        for after in self._after:
            _, found = np.unique(found * count + below[after], return_inverse=True)
        dead = ~own
        for after in self._after:
            dead &= below[after] == 0
        return self._numbered(found, dead)

    def _numbered(self, classes: npt.NDArray[Any], dead: npt.NDArray[Any]) -> npt.NDArray[Any]:
        _, found = np.unique(np.where(dead, -1, classes), return_inverse=True)
        return (found + (0 if dead.any() else 1)).astype(np.int32)

    def _layer(self, classes: npt.NDArray[Any], own: npt.NDArray[Any], below: Layer | None) -> Layer:
        count = int(classes.max()) + 1
        some = np.zeros(count, np.int64)  # one of each class; class 0 may have none
        some[classes] = np.arange(len(classes))
        following = classes if below is None else below.classes
        rows = np.stack([following[after[some]] for after in self._after], axis=1)
        accepting = own[some]
        rows[0], accepting[0] = 0, False
        return Layer(classes, accepting, rows.astype(np.int32))

    def _without_dead(self, layer: Layer) -> Layer:
        """With class 0 for all from which nothing is reached however many digits come."""
        dead = ~_alive(layer.rows, layer.accepting)[layer.classes]
        return self._layer(self._numbered(layer.classes.astype(np.int64), dead), self.wanted, None)


def window_after(window: Window) -> Window:
    """What is left of it one digit later."""
    least, most = window
    return max(least - 1, 0), most if most == ENDLESS else most - 1


class _Builder:
    """Puts prefixes and layers together."""

    def __init__(self, parts: Parts, layers: _Layers, max_digits: int) -> None:
        self._parts, self._layers, self._max_digits = parts, layers, max_digits
        self._firsts: dict[Window, int] = {}  # the state of class 0 of each layer, which is none
        self._accepting = [False, False, True]
        self._rows: list[list[int]] = [[-1] * 10 for _ in range(3)]
        self.size = 3
        """States, those included that are not reached."""
        self._falls: list[tuple[int, int, Window, int]] = []  # state, digit, window and remainder
        if holds(parts, 0):
            self._rows[_START][0] = _ZERO
        self._side(_START, 1)
        self._side(_MINUS, -1)
        for _, _, window, _ in self._falls:
            self._enter(window)

    def _side(self, top: int, sign: int) -> None:
        """The states of digits that begin a bound, or a number left out; and where all others go on."""
        low, high = (self._parts.low, self._parts.high)[::sign]
        least = 1 if low is None else max(1, sign * int(low))
        most = None if high is None else sign * int(high)
        if most is not None and most < least:
            return
        special = [least] if least > 1 else []
        special += [most] if most is not None else []
        special += [sign * int(hole) for hole in self._parts.holes if sign * hole > 0]
        prefixes = {int(text[:length]) for text in map(str, special) for length in range(1, len(text) + 1)}
        states = {0: top} | {prefix: self.size + place for place, prefix in enumerate(sorted(prefixes))}
        self.size += len(prefixes)
        self._rows += [[-1] * 10 for _ in prefixes]
        self._accepting += [self._is_short(prefix) and holds(self._parts, sign * prefix) for prefix in sorted(prefixes)]
        for prefix, state in states.items():
            for digit in range(prefix == 0, 10):
                number = 10 * prefix + digit
                window = self._window(number, least, most)
                if number in states:
                    self._rows[state][digit] = states[number]
                elif window is not None:
                    self._falls.append((state, digit, window, number % len(self._layers.wanted)))

    def _is_short(self, number: int) -> bool:
        return self._max_digits == ENDLESS or len(str(number)) <= self._max_digits

    def _window(self, number: int, least: int, most: int | None) -> Window | None:
        """The digits that may follow ``number``, with which neither bound begins."""
        length = len(str(number))
        lows, end = str(least), self._max_digits
        shortest = len(lows) + (length <= len(lows) and number < int(lows[:length]))
        if most is not None:
            highs = str(most)
            longest = len(highs) - (length <= len(highs) and number > int(highs[:length]))
            end = longest if end == ENDLESS else min(end, longest)
        if end == ENDLESS:
            return max(shortest - length, 0), ENDLESS
        return None if end < max(length, shortest) else (max(shortest - length, 0), end - length)

    def _enter(self, window: Window) -> None:
        """Give numbers to the classes of a window and of all after it."""
        while window not in self._firsts:
            self._firsts[window] = self.size - 1
            self.size += len(self._layers.of(window).accepting) - 1
            if window[1] == 0:
                return
            window = window_after(window)

    def dfa(self) -> ByteDfa:
        """The automaton, without what is not reached or reaches nothing."""
        for state, digit, window, remainder in self._falls:
            its = int(self._layers.of(window).classes[remainder])
            self._rows[state][digit] = self._firsts[window] + its if its else -1
        rows, accepting = [np.array(self._rows, np.int32)], [np.array(self._accepting)]
        for window, _ in sorted(self._firsts.items(), key=lambda item: item[1]):
            layer = self._layers.of(window)
            first = self._firsts.get(window_after(window), 0)
            rows.append(np.where(layer.rows[1:] > 0, layer.rows[1:] + first, -1))
            accepting.append(layer.accepting[1:])
        return _trimmed(np.concatenate(rows), np.concatenate(accepting))


_START, _MINUS, _ZERO = range(3)


def _alive(rows: npt.NDArray[Any], accepting: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Which states reach an end, bool[states]."""
    alive = accepting
    while True:
        more = alive | ((rows >= 0) & alive[rows]).any(axis=1)
        if np.array_equal(more, alive):
            return alive
        alive = more


def _trimmed(rows: npt.NDArray[Any], accepting: npt.NDArray[Any]) -> ByteDfa:
    """The automaton of these digits, with a sign before those that follow it."""
    alive = _alive(rows, accepting)
    if not (alive[_START] or alive[_MINUS]):
        raise GrammarLimitExceeded("no number that the schema allows has a spelling of few enough digits")
    rows = np.where((rows >= 0) & alive[rows], rows, -1)
    rows = np.concatenate((rows, np.full((len(rows), 1), -1, np.int32)), axis=1)
    if alive[_MINUS]:
        rows[_START, 10] = _MINUS
    reached = np.zeros(len(rows), np.bool_)
    reached[_START] = True
    fresh = np.array([_START])
    while len(fresh):
        found = np.unique(rows[fresh])
        fresh = found[(found >= 0) & ~reached[found]]
        reached[fresh] = True
    numbers = np.append(np.cumsum(reached, dtype=np.int32) - 1, np.int32(-1))
    transitions = np.full((int(reached.sum()), 256), -1, np.int32)
    transitions[:, np.frombuffer(b"0123456789-", np.uint8)] = numbers[rows[reached]]
    return ByteDfa(transitions, accepting[reached])
