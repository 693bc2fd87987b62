"""The states of a grammar near its start, and the characters that lead from one to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structgen.cli.token_steps import shown_places
from structgen.grammars.charset import CharSet

if TYPE_CHECKING:
    from structgen.grammars import Matcher, TokenAutomaton

__all__ = ["Edge", "Graph", "Node", "explore"]

_UNICODE = CharSet.of([(0, 0xD7FF), (0xE000, 0x10FFFF)])
_STATES_IN_CHARACTERS = 24
"""States inside of characters that are followed from one state: where each letter of a key is remembered there are a
million of them."""
_RANGES = 6
"""Ranges of characters that a label shows."""
_NAMES = {9: "\\t", 10: "\\n", 13: "\\r", 32: "␣", ord("]"): "\\]", ord("\\"): "\\\\", ord("-"): "\\-", ord("^"): "\\^"}


class Node(NamedTuple):
    """A state."""

    depth: int
    """Edges from the start."""
    is_accepting: bool
    is_cut: bool
    """Whether it leads to states that are left out."""
    places: tuple[str, ...]
    """The rules that hold a text here: JSON pointers, or names."""


class Edge(NamedTuple):
    """What leads from one state to another."""

    source: int
    target: int
    labels: tuple[str, ...]


class Graph(NamedTuple):
    """A part of an automaton; nodes by number, the first is the start."""

    nodes: list[Node]
    edges: list[Edge]

    def summary(self) -> str:
        """How large it is, and how much was left out."""
        size = f"{len(self.nodes):,} states, {len(self.edges):,} edges"
        cut = sum(node.is_cut for node in self.nodes)
        return f"{size}; cut: {cut:,} of them lead on to more (--states)" if cut else f"{size}, which is all of it"


def explore(automaton: TokenAutomaton, max_states: int) -> Graph:
    """The ``max_states`` states nearest to the start. Characters that must follow belong to the edge before them."""
    with automaton.matcher() as matcher:
        moves = _Moves(matcher, automaton)
        numbers, depths, edges, cut = {matcher.start: 0}, [0], list[Edge](), set[int]()
        for state in (order := [matcher.start]):
            number = numbers[state]
            for target, labels in moves.of(state).items():
                if target not in numbers:
                    if len(numbers) == max_states:
                        cut.add(number)
                        continue
                    numbers[target] = len(numbers)
                    depths.append(depths[number] + 1)
                    order.append(target)
                edges.append(Edge(number, numbers[target], tuple(labels)))
            if moves.is_cut:
                cut.add(number)
        nodes = [
            Node(depths[number], matcher.is_accepting(state), number in cut, _places(matcher, state))
            for state, number in numbers.items()
        ]
    return Graph(nodes, edges)


class _Moves:
    """What follows a state, in characters and special tokens."""

    def __init__(self, matcher: Matcher, automaton: TokenAutomaton) -> None:
        self._matcher, self._vocabulary = matcher, automaton.vocabulary
        self._tails: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self._left = 0

    @property
    def is_cut(self) -> bool:
        """Whether the state that was last asked about goes on in more ways than `of` has followed."""
        return self._left < 0

    def of(self, state: int) -> dict[int, list[str]]:
        """The labels of the ways to each state, what must follow included."""
        self._left = _STATES_IN_CHARACTERS
        found: defaultdict[int, list[str]] = defaultdict(list)
        for first, characters in self._characters(state).items():
            forced, target = self._forced(first)
            found[target].append(_label(characters, forced))
        for byte in self._matcher.explain(state).next_bytes:
            if 0x80 <= byte < 0xC2 or byte > 0xF4:  # no character of UTF-8 begins so
                found[self._matcher.advance_bytes(state, bytes([byte]))].append(f"0x{byte:02X}")
        for name, target in self._special(state):
            found[target].append(name)
        return found

    def _characters(self, state: int) -> dict[int, CharSet]:
        """The characters that lead to each state."""
        ranges: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for first, last, target in self._runs(state):
            for begin, end, more, bits in ((0, 0x7F, 0, 7), (0xC2, 0xDF, 1, 5), (0xE0, 0xEF, 2, 4), (0xF0, 0xF4, 3, 3)):
                low, high = max(first, begin), min(last, end)
                if low <= high:
                    values = (low & (1 << bits) - 1, high & (1 << bits) - 1)
                    for after, low_point, high_point in self._completed(target, *values, more):
                        ranges[after].append((low_point, high_point))
        return {target: CharSet.of(found) for target, found in ranges.items()}

    def _completed(self, state: int, low: int, high: int, more: int) -> Iterator[tuple[int, int, int]]:
        """(state, first, last): characters that begin with bytes of ``low`` to ``high`` and have ``more`` to come."""
        size = 1 << 6 * more
        for after, first, last in self._tail(state, more):
            if first == 0 and last == size - 1:
                yield after, low * size, high * size + last
            else:
                yield from ((after, value * size + first, value * size + last) for value in range(low, high + 1))

    def _tail(self, state: int, more: int) -> list[tuple[int, int, int]]:
        """(state, first, last): what the ``more`` last bytes of a character may be, as numbers."""
        if not more:
            return [(state, 0, 0)]
        if (state, more) in self._tails:
            return self._tails[state, more]
        self._left -= 1
        runs = [run for run in self._runs(state) if run[0] >= 0x80] if self._left >= 0 else []
        found = [
            one for first, last, target in runs for one in self._completed(target, first & 0x3F, last & 0x3F, more - 1)
        ]
        if not self.is_cut:
            self._tails[state, more] = found
        return found

    def _runs(self, state: int) -> list[tuple[int, int, int]]:
        """(first, last, state): bytes in a row that lead to one state."""
        runs: list[tuple[int, int, int]] = []
        for byte in self._matcher.explain(state).next_bytes:
            target = self._matcher.advance_bytes(state, bytes([byte]))
            if runs and runs[-1][1] == byte - 1 and runs[-1][2] == target:
                runs[-1] = (runs[-1][0], byte, target)
            else:
                runs.append((byte, byte, target))
        return runs

    def _forced(self, state: int) -> tuple[str, int]:
        """The whole characters that must follow, and the state behind them."""
        forced = self._matcher.forced_bytes(state)
        try:
            text = forced.decode()
        except UnicodeDecodeError as error:
            text = forced[: error.start].decode()
        return text, self._matcher.advance_bytes(state, text.encode()) if text else state

    def _special(self, state: int) -> Iterator[tuple[str, int]]:
        """The special tokens that may come, each with the state after it."""
        if not self._vocabulary.special_tokens:
            return
        row = np.empty(len(self._vocabulary.end_row), np.int32)
        self._matcher.fill_mask(state, row)
        for token_id, name in self._vocabulary.special_tokens.items():
            if row[token_id // 32] >> (token_id % 32) & 1 and not self._vocabulary.is_end(token_id):
                yield name, self._matcher.advance(state, token_id)


def _places(matcher: Matcher, state: int) -> tuple[str, ...]:
    return shown_places(matcher.explain(state).places)


def _label(characters: CharSet, forced: str) -> str:
    """One character and what follows as a text in quotes; several in brackets, negated where most may come."""
    if characters.only is not None:
        text = chr(characters.only) + forced
        return f"'{''.join(map(_escaped, text))}'"
    if characters == _UNICODE:
        shown = "any"
    else:
        missing = _UNICODE - characters
        is_negated = sum(last - first for first, last in characters.ranges) > 0x80000
        ranges = (missing if is_negated else characters).ranges
        shown = "".join(map(_range, ranges[:_RANGES])) + ("…" if len(ranges) > _RANGES else "")
        shown = f"[{'^' * is_negated}{shown}]"
    return f"{shown} '{''.join(map(_escaped, forced))}'" if forced else shown


def _range(bounds: tuple[int, int]) -> str:
    first, last = (_NAMES.get(point) or _escaped(chr(point)) for point in bounds)
    if bounds[0] == bounds[1]:
        return first
    return f"{first}{last}" if bounds[0] + 1 == bounds[1] else f"{first}-{last}"


def _escaped(character: str) -> str:
    point = ord(character)
    if character.isprintable():
        return character
    return _NAMES.get(point) or (f"\\x{point:02x}" if point < 0x100 else f"\\u{{{point:x}}}")
