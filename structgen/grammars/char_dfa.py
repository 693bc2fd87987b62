"""Deterministic finite automata over characters: the pattern part of a `Language`."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from structgen.grammars._dfa_lengths import LengthQueries, Lengths, compute_lengths
from structgen.grammars._distances import distances_to_end

__all__ = ["FIRST_SURROGATE", "LAST_SURROGATE", "MAX_CODE_POINT", "MAX_STATES", "CharDfa", "Intervals", "Lengths"]

MAX_CODE_POINT = 0x10FFFF
FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF
"""Surrogates are no characters of a text; no interval holds any."""

MAX_STATES = 20_000
"""An automaton that needs more is refused."""


class Intervals(NamedTuple):
    """The tables of a `CharDfa` as arrays, for compiled code."""

    starts: npt.NDArray[Any]
    """int32[states + 1]"""
    lows: npt.NDArray[Any]
    """int32[intervals]"""
    highs: npt.NDArray[Any]
    """int32[intervals]"""
    targets: npt.NDArray[Any]
    """int32[intervals]"""
    accepting: npt.NDArray[Any]
    """bool[states]"""


class CharDfa:
    """A minimal DFA over code points. Its states are reached from state 0, and from each an accepting one is reached.

    Equal automata are one object (`CharDfa.of`), and equal languages have equal automata, so identity is equality.

    Parameters
    ----------
    starts : tuple of int
        Where the intervals of each state begin; one more than there are states.
    lows, highs, targets : tuple of int
        First and last code point of each interval and the state it leads to; the intervals of a state are sorted, and
        neighbours that touch lead to different states.
    accepting : tuple of bool
        Whether a text may end in a state.
    """

    def __init__(
        self,
        starts: tuple[int, ...],
        lows: tuple[int, ...],
        highs: tuple[int, ...],
        targets: tuple[int, ...],
        accepting: tuple[bool, ...],
    ) -> None:
        self.starts, self.lows, self.highs, self.targets, self.accepting = starts, lows, highs, targets, accepting

    @classmethod
    def of(
        cls,
        starts: tuple[int, ...],
        lows: tuple[int, ...],
        highs: tuple[int, ...],
        targets: tuple[int, ...],
        accepting: tuple[bool, ...],
    ) -> CharDfa:
        """The automaton with these tables, which are in canonical order: always the same object for equal ones."""
        key = (starts, lows, highs, targets, accepting)
        found = _interned.get(key)
        return found if found is not None else _interned.setdefault(key, cls(*key))

    def __len__(self) -> int:
        """The number of states."""
        return len(self.accepting)

    def step(self, state: int, code_point: int) -> int:
        """The state after ``code_point``, -1 where it cannot come."""
        place = bisect_right(self.lows, code_point, self.starts[state], self.starts[state + 1]) - 1
        return self.targets[place] if place >= self.starts[state] and code_point <= self.highs[place] else -1

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is in the language."""
        state = 0
        for char in text:
            state = self.step(state, ord(char))
            if state < 0:
                return False
        return self.accepting[state]

    def successors(self, state: int) -> tuple[int, ...]:
        """Where each interval of ``state`` leads."""
        return self.targets[self.starts[state] : self.starts[state + 1]]

    def spans(self, state: int) -> list[tuple[int, int, int]]:
        """The intervals of ``state``: low, high and where it leads."""
        places = slice(self.starts[state], self.starts[state + 1])
        return list(zip(self.lows[places], self.highs[places], self.targets[places], strict=True))

    @cached_property
    def shortest(self) -> tuple[int, ...]:
        """The number of characters of the shortest text that leads from each state to the end."""
        return tuple(distances_to_end(self.accepting, self.before))

    @cached_property
    def longest(self) -> int | None:
        """The number of characters of the longest text, ``None`` where there is none."""
        if any(state in self.successors(state) for state in range(len(self))):  # by far the most common circle
            return None
        order = self.bottom_up
        if len(order) < len(self):
            return None
        heights = [0] * len(self)
        for state in order:
            heights[state] = max((heights[target] + 1 for target in self.successors(state)), default=0)
        return heights[0]

    @cached_property
    def bottom_up(self) -> list[int]:
        """The states that no circle can be reached from, each after all that it leads to."""
        waiting = [len(set(self.successors(state))) for state in range(len(self))]
        order = [state for state, count in enumerate(waiting) if not count]
        for state in order:
            for earlier in self.before[state]:
                waiting[earlier] -= 1
                if not waiting[earlier]:
                    order.append(earlier)
        return order

    @cached_property
    def before(self) -> list[list[int]]:
        """The states that lead to each state."""
        before: list[list[int]] = [[] for _ in self.accepting]
        for state in range(len(self)):
            for target in set(self.successors(state)):
                before[target].append(state)
        return before

    @cached_property
    def lengths(self) -> Lengths:
        """How long the texts are that lead from each state to the end.

        Raises
        ------
        GrammarLimitExceeded
            The sets do not repeat within 20,000 lengths.
        """
        return compute_lengths(self)

    @cached_property
    def queries(self) -> LengthQueries:
        """Whether a text within bounds on the length leads from a state to the end."""
        return LengthQueries(self)

    @cached_property
    def intervals(self) -> Intervals:
        """The tables as arrays."""
        starts, lows, highs, targets = (
            np.array(part, np.int32) for part in (self.starts, self.lows, self.highs, self.targets)
        )
        return Intervals(starts, lows, highs, targets, np.array(self.accepting, np.bool_))


_interned: WeakValueDictionary[tuple[object, ...], CharDfa] = WeakValueDictionary()
