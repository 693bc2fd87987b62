"""A DFA over characters as one over the bytes of UTF-8."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.limits import checkpoint

__all__ = ["utf8_dfa"]

_FORMS = ((0x0, 0x7F, 1, 0x00), (0x80, 0x7FF, 2, 0xC0), (0x800, 0xFFFF, 3, 0xE0), (0x10000, 0x10FFFF, 4, 0xF0))
"""First and last code point of each length, the number of bytes, what the first byte starts from."""
_CONTINUATION = 0x80

_Spans = tuple[tuple[int, int, int], ...]
"""``(low, high, target)``, sorted."""


def utf8_dfa(dfa: CharDfa) -> ByteDfa:
    """The automaton of the same texts, encoded.

    Raises
    ------
    GrammarLimitExceeded
        An open limit is passed.
    """
    return _Encoder(dfa).encoded()


class _Encoder:
    """Adds to the states of ``dfa`` those inside of a character; equal ones once."""

    def __init__(self, dfa: CharDfa) -> None:
        self._dfa = dfa
        self._inside: dict[tuple[int, _Spans], int] = {}
        self._rows: list[dict[int, int]] = [{} for _ in dfa.accepting]

    def encoded(self) -> ByteDfa:
        for state in range(len(self._dfa)):
            spans = self._dfa.spans(state)
            for first, last, length, marker in _FORMS:
                inside = tuple(
                    (max(low, first), min(high, last), to) for low, high, to in spans if low <= last and high >= first
                )
                if inside:
                    self._rows[state].update(self._moves(inside, length - 1, marker))
            checkpoint(len(self._rows))
        transitions = np.full((len(self._rows), 256), -1, np.int32)
        for state, row in enumerate(self._rows):
            transitions[state, list(row)] = list(row.values())
        accepting = np.zeros(len(self._rows), np.bool_)
        accepting[: len(self._dfa)] = self._dfa.accepting
        return ByteDfa(transitions, accepting)

    def _moves(self, spans: _Spans, more: int, marker: int) -> dict[int, int]:
        """The states after the first of ``more + 1`` bytes."""
        block = 64**more
        if not more:
            return {marker + point: target for low, high, target in spans for point in range(low, high + 1)}
        blocks: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for low, high, target in spans:
            for number in range(low // block, high // block + 1):
                start = number * block
                blocks[number].append((max(low - start, 0), min(high - start, block - 1), target))
        return {marker + number: self._state(tuple(its), more) for number, its in blocks.items()}

    def _state(self, spans: _Spans, more: int) -> int:
        """The state before the last ``more`` bytes of a character."""
        found = self._inside.get((more, spans))
        if found is None:
            found = self._inside[more, spans] = len(self._rows)
            self._rows.append({})
            self._rows[found] = self._moves(spans, more - 1, _CONTINUATION)
        return found
