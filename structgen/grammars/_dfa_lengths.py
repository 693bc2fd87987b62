"""How long the texts are that lead from the states of a DFA to an end."""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structgen.errors import GrammarLimitExceeded

if TYPE_CHECKING:
    from structgen.grammars.char_dfa import CharDfa

__all__ = ["MAX_LENGTHS", "LengthQueries", "Lengths", "compute_lengths"]

MAX_LENGTHS = 20_000
"""Lengths after which those of a pattern must have begun to repeat."""


class Lengths(NamedTuple):
    """From which states some accepted text of exactly so many characters leads on; periodic in the end."""

    sets: tuple[int, ...]
    """By number of characters, a bit for each state."""
    loop: int
    """Where the sets begin to come again: after the last one comes ``sets[loop]``."""

    def of(self, length: int) -> int:
        """The states from which exactly ``length`` characters can lead to the end, a bit for each."""
        if length < len(self.sets):
            return self.sets[length]
        return self.sets[self.loop + (length - self.loop) % (len(self.sets) - self.loop)]


def compute_lengths(dfa: CharDfa) -> Lengths:
    """The lengths of ``dfa``.

    Raises
    ------
    GrammarLimitExceeded
        They do not repeat within `MAX_LENGTHS`.
    """
    edges = {(state, target) for state in range(len(dfa)) for target in dfa.successors(state)}
    sources = np.array([source for source, _ in edges], np.int32)
    targets = np.array([target for _, target in edges], np.int32)
    current = np.array(dfa.accepting, np.bool_)
    places: dict[bytes, int] = {}
    packed = np.packbits(current, bitorder="little").tobytes()
    while packed not in places:
        if len(places) == MAX_LENGTHS:
            raise GrammarLimitExceeded(
                f"the lengths that a pattern allows do not repeat within {MAX_LENGTHS:,}; simplify the pattern"
            )
        places[packed] = len(places)
        following = np.zeros(len(dfa), np.bool_)
        following[sources[current[targets]]] = True
        current = following
        packed = np.packbits(current, bitorder="little").tobytes()
    return Lengths(tuple(int.from_bytes(one, "little") for one in places), places[packed])


class LengthQueries:
    """Answers whether a text within bounds leads from a state to an end; most often without all lengths.

    Parameters
    ----------
    dfa : CharDfa
        The automaton.
    """

    def __init__(self, dfa: CharDfa) -> None:
        self._dfa = dfa

    def can_end(self, state: int, low: int, high: int | None) -> bool:
        """Whether some text of ``low`` to ``high`` characters leads from ``state`` to an end."""
        least = self._dfa.shortest[state]
        if low <= least or (high is not None and high < low):
            return high is None or low <= least <= high
        if all_lengths := self._all_of_finite[state]:
            above = all_lengths >> low
            return above != 0 if high is None else above & ((2 << (high - low)) - 1) != 0
        if high is None or 0 <= self._all_from[state] <= high:
            return True
        lengths = self._dfa.lengths
        last = min(high, low + len(lengths.sets))  # all have come by then
        return any(lengths.of(length) >> state & 1 for length in range(low, last + 1))

    @cached_property
    def _all_of_finite(self) -> list[int]:
        """By state, a bit for each length, if they are finitely many; else 0."""
        dfa = self._dfa
        found = [0] * len(dfa)
        for state in dfa.bottom_up:
            for target in dfa.successors(state):
                found[state] |= found[target] << 1
            found[state] |= dfa.accepting[state]
        return found

    @cached_property
    def _all_from(self) -> list[int]:
        """By state, a length from which on all lengths are possible, as a state that leads to itself allows; or -1."""
        dfa = self._dfa
        waiting = [(dfa.shortest[state], state) for state in range(len(dfa)) if state in dfa.successors(state)]
        heapq.heapify(waiting)
        found = [-1] * len(dfa)
        while waiting:
            length, state = heapq.heappop(waiting)
            if found[state] < 0:
                found[state] = length
                for earlier in dfa.before[state]:
                    if found[earlier] < 0:
                        heapq.heappush(waiting, (length + 1, earlier))
        return found
