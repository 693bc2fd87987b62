"""From an NFA that looks around to the minimal DFA.

What is looked for in the text before is an automaton of its own that runs along from the start. What is looked for in
the text to come is a promise: a thread of the simulation carries promises along, each a set of threads that has begun
at the look and must come to an end, or must not. So a state of the DFA is a set of threads, a thread a node with a
set of promises, and a promise such a set again; all are finitely many. (An alternating automaton, Chandra, Kozen and
Stockmeyer 1981, with the universal branches kept as sets of deterministic states.)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded
from structgen.grammars._minimal import Alphabet, Rows, minimal
from structgen.grammars.char_dfa import MAX_STATES, CharDfa
from structgen.grammars.limits import checkpoint
from structgen.grammars.regex.nfa import ACCEPT, END, LOOK, REST, START, Nfa

__all__ = ["looking_dfa"]

_MAX_WORK = 100_000
"""Threads stepped: about two seconds."""

Promises = frozenset[int]
"""``2 * number`` of a set of threads that must reach an end, and one more where it must not; or one of these:"""
_NOW_ENDS, _GOES_ON = -1, -2

Threads = frozenset[tuple[int, Promises]]
Ways = frozenset[Promises]
"""What is promised, in any one of these ways; none: it does not hold."""

_FREE: Promises = frozenset()
_HOLDS: Ways = frozenset({_FREE})
_FAILS: Ways = frozenset()


class _Here(NamedTuple):
    """What is known of the text before a position."""

    at_start: bool
    behinds: tuple[Ways, ...]
    """For each thing looked for in what is before, in which ways it is there."""


def looking_dfa(nfa: Nfa, entry: int) -> CharDfa | None:
    """The texts that ``nfa`` accepts from ``entry``, ``None`` where there are none.

    Raises
    ------
    GrammarLimitExceeded
        It needs too many states.
    """
    alphabet = Alphabet(cut for ranges in nfa.sets for first, last in ranges for cut in (first, last + 1))
    masks = [alphabet.set(ranges) for ranges in nfa.sets]
    machine = _Machine(nfa, masks)
    classes = _classes(alphabet.all, masks)
    start = machine.start(entry)
    numbers = {start: 0}
    states = [start]
    rows: Rows = []
    for state in states:
        checkpoint(len(states))
        row: dict[int, int] = {}
        for characters in classes:
            target = machine.after(state, characters)
            if target is not None:
                number = numbers.setdefault(target, len(states))
                if number == len(states):
                    states.append(target)
                row[number] = row.get(number, 0) | characters
        rows.append([(mask, target) for target, mask in row.items()])
        if len(states) > MAX_STATES:
            raise _too_large()
    return minimal(alphabet, rows, [machine.may_end(state[0]) for state in states])


def _classes(characters: int, masks: list[int]) -> list[int]:
    """The sets of characters that no mask tells apart."""
    classes = [characters]
    for mask in masks:
        classes = [part for one in classes for part in (one & mask, one & ~mask) if part]
    return classes


def _too_large() -> GrammarLimitExceeded:
    return GrammarLimitExceeded("the pattern looks around in too many ways; simplify it")


_State = tuple[int, tuple[int, ...]]
"""The threads of the whole pattern, and of each thing looked for in what is before."""


class _Machine:
    """Steps sets of threads, which have numbers."""

    def __init__(self, nfa: Nfa, masks: list[int]) -> None:
        self._nfa, self._masks = nfa, masks
        self._threads: list[Threads] = []
        self._numbers: dict[Threads, int] = {}
        self._after: dict[tuple[int, int, _Here], int] = {}
        self._ends: dict[int, bool] = {}
        self._places = {behind: place for place, behind in enumerate(nfa.behinds)}
        self._work = 0
        self._dead = self._number(frozenset())
        self._anything = self._number(frozenset({(REST, _FREE)}))

    def start(self, entry: int) -> _State:
        """The state before the first character."""
        here = _Here(True, ())
        behinds: list[int] = []
        for behind in self._nfa.behinds:
            behinds.append(self._closed([(behind, _FREE)], here))
            here = _Here(True, (*here.behinds, self._ways(behinds[-1])))
        return self._closed([(entry, _FREE)], here), tuple(behinds)

    def after(self, state: _State, characters: int) -> _State | None:
        """The state after one of ``characters``, ``None`` where they cannot come."""
        if state[0] == self._anything:
            return state
        here = _Here(False, ())
        behinds: list[int] = []
        for threads in state[1]:
            behinds.append(self._step(threads, characters, here))
            here = _Here(False, (*here.behinds, self._ways(behinds[-1])))
        following = self._step(state[0], characters, here)
        if following == self._dead:
            return None
        return following, () if following == self._anything else tuple(behinds)

    def may_end(self, number: int) -> bool:
        """Whether a text may end with these threads."""
        found = self._ends.get(number)
        if found is None:
            found = self._ends[number] = any(
                node <= REST and all(self._is_kept(promise) for promise in promises)
                for node, promises in self._threads[number]
            )
        return found

    def _is_kept(self, promise: int) -> bool:
        """Whether a promise is kept where the text ends."""
        if promise < 0:
            return promise == _NOW_ENDS
        return self.may_end(promise >> 1) is not bool(promise & 1)

    def _number(self, threads: Threads) -> int:
        number = self._numbers.setdefault(threads, len(self._threads))
        if number == len(self._threads):
            self._threads.append(threads)
        return number

    def _ways(self, number: int) -> Ways:
        """In which ways the threads of something looked for before have reached its end."""
        return _fewest(promises for node, promises in self._threads[number] if node == ACCEPT)

    def _step(self, number: int, characters: int, here: _Here) -> int:
        key = (number, characters, here)
        found = self._after.get(key)
        if found is None:
            found = self._after[key] = self._stepped(number, characters, here)
        return found

    def _stepped(self, number: int, characters: int, here: _Here) -> int:
        going: list[tuple[int, Promises]] = []
        for node, promises in self._threads[number]:
            if node == ACCEPT or (node > REST and not self._masks[self._nfa.symbols[node]] & characters):
                continue
            following = self._promises_after(promises, characters, here)
            if following is not None:
                going.append((node if node == REST else self._nfa.after[node][0], following))
        return self._closed(going, here)

    def _promises_after(self, promises: Promises, characters: int, here: _Here) -> Promises | None:
        """What is still promised after a character; ``None`` where a promise is broken."""
        following: set[int] = set()
        for promise in promises:
            if promise < 0:
                if promise == _NOW_ENDS:
                    return None
                continue
            number = self._step(promise >> 1, characters, here)
            ways = self._promise(number, bool(promise & 1))
            if not ways:
                return None
            following.update(*ways)
        return frozenset(following)

    def _promise(self, number: int, negated: bool) -> Ways:
        """The promise that these threads come to an end, or do not."""
        if number in (self._dead, self._anything):
            return _HOLDS if (number == self._anything) is not negated else _FAILS
        return frozenset({frozenset({2 * number + negated})})

    def _closed(self, going: list[tuple[int, Promises]], here: _Here) -> int:
        """The threads that read a character, or are at an end, and are reached without one."""
        nfa, seen, found = self._nfa, set(going), list[tuple[int, Promises]]()
        while going:
            node, promises = going.pop()
            symbol = nfa.symbols[node]
            if symbol >= 0 or node <= REST:
                if _NOW_ENDS not in promises or node <= REST:
                    found.append((node, promises))
                continue
            further = self._further(node, symbol, promises, here)
            new = {(after, more) for after in nfa.after[node] for more in further} - seen
            seen |= new
            going += new
        self._work += 1 + len(seen)
        if self._work > _MAX_WORK:
            raise _too_large()
        return self._number(self._reduced(found))

    def _further(self, node: int, symbol: int, promises: Promises, here: _Here) -> Iterable[Promises]:
        """With which promises a thread passes a node that reads no character."""
        if symbol == START:
            return [promises] if here.at_start else []
        if symbol == END:
            return [] if _GOES_ON in promises else [promises | {_NOW_ENDS}]
        if symbol == LOOK:
            added = (promises | way for way in self._look(node, here))
            return [both for both in added if not _is_contradictory(both)]
        return [promises]

    def _look(self, node: int, here: _Here) -> Ways:
        """In which ways a look holds."""
        entry, look = self._nfa.looks[node]
        if look.back:
            ways = here.behinds[self._places[entry]]
            return _negated(ways) if look.negated else ways
        return self._promise(self._closed([(entry, _FREE)], here), look.negated)

    def _reduced(self, found: list[tuple[int, Promises]]) -> Threads:
        """The threads without those that cannot do more than another."""
        by_node: dict[int, list[Promises]] = {}
        for node, promises in found:
            by_node.setdefault(node, []).append(promises)
        anything = _fewest(by_node.get(REST, []))
        if _FREE in anything:
            return self._threads[self._anything]
        return frozenset(
            (node, promises)
            for node, several in by_node.items()
            for promises in _fewest(several)
            if node == REST or not any(fewer <= promises for fewer in anything)
        )


def _fewest(ways: Iterable[Promises]) -> Ways:
    """The ways without those that promise more than another."""
    kept: list[Promises] = []
    for way in sorted(set(ways), key=len):
        if not any(fewer <= way for fewer in kept):
            kept.append(way)
    return frozenset(kept)


def _negated(ways: Ways) -> Ways:
    """In which ways none of ``ways`` holds: of each, one promise is not kept."""
    choices = (frozenset(_opposite(promise) for promise in choice) for choice in product(*ways))
    return _fewest(choice for choice in choices if not _is_contradictory(choice))


def _opposite(promise: int) -> int:
    return promise ^ 1 if promise >= 0 else _GOES_ON + _NOW_ENDS - promise


def _is_contradictory(promises: Promises) -> bool:
    return any(_opposite(promise) in promises for promise in promises)
