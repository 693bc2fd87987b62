"""What an interior (see `interiors`) and its rings (see `rings`) are as they lie in the store."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.exits import write_mask
from structgen.grammars.automaton.interiors import (
    E_COUNT,
    E_EXITS,
    E_KEY,
    E_KEY_COUNT,
    E_LABEL,
    E_LIST,
    E_MASK,
    E_NEXT,
    E_PARTS,
    ENTRY,
)
from structgen.grammars.automaton.rings import E_FURTHER, E_MAY_END, tokens_of_ring

__all__ = ["Exits", "Interior", "Rings"]

_LISTED = 16
"""A mask's words for each token of a list: with more tokens they are kept as a mask."""


class Exits(NamedTuple):
    """The parts of a trie; `nodes` a byte to a number."""

    nodes: Int32Array
    children: Int32Array
    firsts: Int32Array
    tokens: Int32Array

    def cut(self, nodes: int, tokens: int) -> Exits:
        """What of it is in use."""
        return Exits(self.nodes[:nodes], self.children[: nodes + 1], self.firsts[: nodes + 1], self.tokens[:tokens])

    def packed(self) -> list[Int32Array]:
        """As it lies in the store."""
        padded = np.zeros((len(self.nodes) + 3) // 4 * 4, np.uint8)
        padded[: len(self.nodes)] = self.nodes & 0xFF
        return [np.frombuffer(padded.tobytes(), np.int32), self.children, self.firsts, self.tokens]


class Interior(NamedTuple):
    """The tokens that stay inside, and by label the exits."""

    inside: Int32Array
    exits: dict[int, Exits]

    def laid_out(self, begin: int, key: Int32Array, words: int) -> Int32Array:
        """What to write from ``begin`` on, for masks of so many words: its tokens, then a trie for each label."""
        entry, body = _with_tokens(self.inside, begin, words)
        entry[E_KEY], entry[E_KEY_COUNT] = begin + ENTRY + len(body), len(key)
        whole = [entry, body, key]
        for label, one in self.exits.items():
            place = begin + sum(map(len, whole))
            if len(whole) > 3:
                entry[E_NEXT], entry = place, np.zeros(ENTRY, np.int32)
                whole.append(entry)
                place += ENTRY
            parts = one.packed()
            places = place + np.cumsum([0, *map(len, parts)])
            entry[E_PARTS : E_PARTS + 4], entry[E_EXITS] = places[:4], len(one.nodes) - 1
            entry[E_LABEL : E_LABEL + 3] = [label >> shift & 0x7FFFFFFF for shift in (0, 31, 62)]
            whole += parts
        return np.concatenate(whole)


class Rings(NamedTuple):
    """The rings of an interior."""

    runs: tuple[Int32Array, Int32Array, Int32Array]
    """What `tokens_of_ring` reads."""
    labels: list[tuple[int, int]]
    """Of each ring, how much further it leads, and whether the leaf may end there."""

    def laid_out(self, begin: int, key: Int32Array, words: int) -> Int32Array:
        """What to write from ``begin`` on, for masks of so many words: an entry for each ring and its tokens."""
        whole: list[Int32Array] = []
        place, tokens = begin, np.empty(len(self.runs[0]), np.int32)
        for number, (further, may_end) in enumerate(self.labels or [(0, 0)]):
            if whole:
                whole[-2][E_NEXT] = place
            count = tokens_of_ring(*self.runs, number, tokens)
            entry, body = _with_tokens(np.array(tokens[:count]), place, words)
            entry[E_FURTHER], entry[E_MAY_END] = further, may_end
            whole += [entry, body]
            place += ENTRY + len(body)
        whole[0][E_KEY], whole[0][E_KEY_COUNT] = place, len(key)
        return np.concatenate([*whole, key])


def _with_tokens(tokens: Int32Array, place: int, words: int) -> tuple[Int32Array, Int32Array]:
    """The entry at ``place`` of these tokens, and what comes behind it."""
    entry, is_mask, body = np.zeros(ENTRY, np.int32), len(tokens) * _LISTED > words, tokens
    entry[E_COUNT], entry[E_MASK if is_mask else E_LIST] = len(tokens), place + ENTRY
    if is_mask:
        body = np.zeros(words, np.int32)
        write_mask(tokens, body)
    return entry, body
