"""One automaton for several languages, whose states say which of them hold the text so far."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton.spelling import LAST_RANK
from structgen.grammars.automaton.string_values import RankedDfa, ranked, sorted_by_rank
from structgen.grammars.language import Language

__all__ = ["MAX_LANGUAGES", "product", "sizes"]

MAX_LANGUAGES = 62
MAX_STATES = 10_000

MANY = 1 << 20
"""No object has so many keys."""

_State = tuple[int, ...]
_Move = tuple[int, int, _State]
"""First rank, last rank, target."""
_States = tuple[_State | None, ...]
"""Of all languages; ``None`` where a text is in none of its prefixes."""


class _Texts:
    """The automaton of a list of texts: an interval of them and the number of characters read."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        ordered, array = sorted_by_rank(texts)
        ranks, ends = [int(rank) for rank in array], itertools.accumulate(map(len, ordered))
        self._ranks: list[tuple[int, ...]] = [
            tuple(ranks[end - len(text) : end]) for text, end in zip(ordered, ends, strict=True)
        ]
        self.start: _State = (0, len(texts), 0)

    def accepts(self, state: _State) -> bool:
        first, _, depth = state
        return len(self._ranks[first]) == depth

    def moves(self, state: _State) -> list[_Move]:
        first, end, depth = state
        first += self.accepts(state)
        found: list[_Move] = []
        while first < end:
            rank = self._ranks[first][depth]
            after = bisect_left(self._ranks, (*self._ranks[first][:depth], rank + 1), first, end)
            found.append((rank, rank, (first, after, depth + 1)))
            first = after
        return found


class _Bounded:
    """An automaton with bounds on the number of characters, which is counted as far as it matters."""

    def __init__(self, language: Language) -> None:
        self._dfa = ranked(language.dfa)
        self._low, self._high = language.low, language.high
        self.start: _State = (0, 0)

    def accepts(self, state: _State) -> bool:
        value, count = state
        return self._dfa.labels[value] != 0 and count >= self._low

    def moves(self, state: _State) -> list[_Move]:
        value, count = state
        count = min(count + 1, self._low) if self._high is None else count + 1
        if self._high is not None and count > self._high:
            return []
        dfa = self._dfa
        return [
            (int(dfa.firsts[place]), int(dfa.lasts[place]), (int(dfa.targets[place]), count))
            for place in range(dfa.starts[value], dfa.starts[value + 1])
        ]


def product(languages: Sequence[Language]) -> RankedDfa:
    """The automaton of ``languages``; from each of its states some text leads on into one of them.

    Raises
    ------
    GrammarLimitExceeded
        There are too many languages, or too many states.
    """
    if len(languages) > MAX_LANGUAGES:
        raise GrammarLimitExceeded(f"more than {MAX_LANGUAGES} languages of keys in one object; use fewer patterns")
    parts = [_Texts(one.texts) if one.texts is not None else _Bounded(one) for one in languages]
    start: _States = tuple(part.start for part in parts)
    numbers: dict[_States, int] = {start: 0}
    order: list[_States] = [start]
    moves: list[list[tuple[int, int, int]]] = []
    for state in order:
        found: list[tuple[int, int, int]] = []
        each = [part.moves(one) if one is not None else [] for part, one in zip(parts, state, strict=True)]
        for first, last, target in _common(each):
            number = numbers.setdefault(target, len(order))
            if number == len(order):
                order.append(target)
            touches = found and found[-1][1] + 1 == first and found[-1][2] == number
            found.append((found.pop()[0] if touches else first, last, number))
        moves.append(found)
        if len(order) > MAX_STATES:
            raise GrammarLimitExceeded(f"the keys of an object need more than {MAX_STATES:,} states; simplify patterns")
    labels = [
        sum(part.accepts(one) << entry for entry, (part, one) in enumerate(zip(parts, state, strict=True)) if one)
        for state in order
    ]
    return _trimmed(moves, labels)


def _common(each: list[list[_Move]]) -> list[tuple[int, int, _States]]:
    """What all move on together, cut where any of them changes; ``None`` for one that does not move on."""
    cuts = sorted({cut for moves in each for first, last, _ in moves for cut in (first, last + 1)} | {LAST_RANK + 1})
    places = [0] * len(each)
    found: list[tuple[int, int, _States]] = []
    for first, following in itertools.pairwise(cuts):
        targets: list[_State | None] = []
        for number, moves in enumerate(each):
            while places[number] < len(moves) and moves[places[number]][1] < first:
                places[number] += 1
            here = moves[places[number]] if places[number] < len(moves) else None
            targets.append(here[2] if here is not None and here[0] <= first else None)
        if any(target is not None for target in targets):
            found.append((first, following - 1, tuple(targets)))
    return found


def _trimmed(moves: list[list[tuple[int, int, int]]], labels: list[int]) -> RankedDfa:
    """Without the states that lead nowhere."""
    masks = list(labels)
    changed = True
    while changed:
        changed = False
        for state in range(len(moves) - 1, -1, -1):
            mask = masks[state]
            for _, _, target in moves[state]:
                mask |= masks[target]
            if mask != masks[state]:
                masks[state], changed = mask, True
    kept = [state for state, mask in enumerate(masks) if mask]
    numbers = {state: number for number, state in enumerate(kept)}
    live = [[move for move in moves[state] if masks[move[2]]] for state in kept]
    starts = np.append(0, np.cumsum([len(one) for one in live])).astype(np.int32)
    flat = [(first, last, numbers[target]) for one in live for first, last, target in one]
    firsts, lasts, targets = (np.array([row[column] for row in flat], np.int32) for column in range(3))
    return RankedDfa(
        starts, firsts, lasts, targets, tuple(labels[state] for state in kept), tuple(masks[state] for state in kept)
    )


def sizes(automaton: RankedDfa, entries: int) -> list[tuple[int, ...]] | None:
    """For each language: by state, how many texts lead from it into the language; `MANY` for so many or more.

    ``None`` where there are many wherever there are any.
    """
    found = [_sizes_of(automaton, entry) for entry in range(entries)]
    return found if any(0 < size < MANY for one in found for size in one) else None


def _sizes_of(automaton: RankedDfa, entry: int) -> tuple[int, ...]:
    """Counted from the ends; whatever leads to a circle is never reached, and leads to many."""
    moves: list[list[tuple[int, int]]] = [[] for _ in automaton.labels]  # of each state: target, characters
    before: list[list[int]] = [[] for _ in automaton.labels]
    for state in range(len(moves)):
        for place in range(automaton.starts[state], automaton.starts[state + 1]):
            target = int(automaton.targets[place])
            if automaton.masks[target] >> entry & 1:
                moves[state].append((target, int(automaton.lasts[place]) + 1 - int(automaton.firsts[place])))
                before[target].append(state)
    waiting = [len(one) for one in moves]
    counts = [MANY if mask >> entry & 1 else 0 for mask in automaton.masks]
    done = [state for state, count in enumerate(waiting) if not count and counts[state]]
    for state in done:
        total = sum(counts[target] * characters for target, characters in moves[state])
        counts[state] = min(MANY, total + (automaton.labels[state] >> entry & 1))
        for earlier in before[state]:
            waiting[earlier] -= 1
            if not waiting[earlier]:
                done.append(earlier)
    return tuple(counts)
