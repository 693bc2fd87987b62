"""What an interior (see `interiors`) and its rings (see `rings`) are as they lie in the store."""

from __future__ import annotations

import hashlib
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
    E_TRIE,
    ENTRY,
    ROOT,
)
from structgen.grammars.automaton.jobs import UNKNOWN
from structgen.grammars.automaton.rings import E_FURTHER, E_MAY_END, tokens_of_ring

__all__ = ["LISTED", "Exits", "Interior", "Known", "Rings", "RuleInterior", "RuleInteriors"]

LISTED = 16
"""A mask's words for each token of a list: with more tokens they are kept as a mask."""


Known = dict[bytes, tuple[int, ...]]
"""By what they are, where masks lie in a store, and tries: of these the interior that names them, and their parts."""


def _place(parts: list[Int32Array], places: tuple[int, ...], known: Known | None) -> tuple[int, ...]:
    """Where something like ``parts`` lies already, or ``places``."""
    if known is None:
        return places
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part.data)
    return known.setdefault(digest.digest(), places)


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

    def laid_out(self, entry: Int32Array, name: int, place: int, known: Known | None) -> list[Int32Array]:
        """What to write at ``place``, nothing where there is a trie like it; tells ``entry``, to lie at ``name``."""
        parts = self.packed()
        places = (name, *(place + np.cumsum([0, *map(len, parts[:-1])])).tolist())
        found = _place(parts, places, known)
        entry[E_TRIE], entry[E_PARTS : E_PARTS + 4], entry[E_EXITS] = found[0], found[1:], len(self.nodes) - 1
        return parts if found == places else []


class Interior(NamedTuple):
    """The tokens that stay inside, and by label the exits."""

    inside: Int32Array
    exits: dict[int, Exits]

    def laid_out(self, begin: int, key: Int32Array, words: int, known: Known | None) -> Int32Array:
        """What to write from ``begin`` on, for masks of so many words: its tokens, then a trie for each label."""
        entry, body = _with_tokens(self.inside, begin, words, known)
        entry[E_KEY], entry[E_KEY_COUNT] = begin + ENTRY + len(body), len(key)
        whole = [entry, body, key]
        for label, one in self.exits.items():
            place = begin + sum(map(len, whole))
            name = begin
            if len(whole) > 3:
                name = entry[E_NEXT] = place
                entry = np.zeros(ENTRY, np.int32)
                whole.append(entry)
                place += ENTRY
            whole += one.laid_out(entry, name, place, known)
            entry[E_LABEL : E_LABEL + 3] = [label >> shift & 0x7FFFFFFF for shift in (0, 31, 62)]
        return np.concatenate(whole)


class RuleInterior(NamedTuple):
    """The tokens that come to no end of a rule or end with it, and what the others go on with behind it."""

    inside: Int32Array | None
    """`None` where these are too many to be listed."""
    mask: Int32Array
    """The same."""
    joined: Exits | None
    """A trie of its own."""
    others: list[int]
    """Those that there are already, two numbers each: what names it, and the node below which it is meant."""

    def laid_out(self, begin: int, key: Int32Array, words: int, known: Known | None) -> Int32Array:
        """What to write from ``begin`` on, for masks of so many words."""
        if self.inside is None:
            entry, body = _with_mask(self.mask, begin, known)
        else:
            entry, body = _with_tokens(self.inside, begin, words, known)
        entry[E_KEY], entry[E_KEY_COUNT] = begin + ENTRY + len(body), len(key)
        whole, tries = [entry, body, key], list(self.others)
        if self.joined is not None:
            named, place = np.zeros(ENTRY, np.int32), begin + sum(map(len, whole))
            whole += [named, *self.joined.laid_out(named, place, place + ENTRY, known)]
            tries += [int(named[E_TRIE]), ROOT]
        entry[E_PARTS], entry[E_EXITS] = begin + sum(map(len, whole)), len(tries) // 2
        return np.concatenate([*whole, np.array(tries, np.int32)])


class RuleInteriors(NamedTuple):
    """Nothing yet: there is one for each column that the block around may have."""

    def laid_out(self, begin: int, key: Int32Array, words: int, known: Known | None) -> Int32Array:
        """What to write from ``begin`` on."""
        entry = np.zeros(ENTRY, np.int32)
        entry[E_COUNT], entry[E_KEY], entry[E_KEY_COUNT] = UNKNOWN, begin + ENTRY, len(key)
        return np.concatenate([entry, key])


class Rings(NamedTuple):
    """The rings of an interior."""

    runs: tuple[Int32Array, Int32Array, Int32Array]
    """What `tokens_of_ring` reads."""
    labels: list[tuple[int, int]]
    """Of each ring, how much further it leads, and whether the leaf may end there."""

    def laid_out(self, begin: int, key: Int32Array, words: int, known: Known | None) -> Int32Array:
        """What to write from ``begin`` on, for masks of so many words: an entry for each ring and its tokens."""
        whole: list[Int32Array] = []
        place, tokens = begin, np.empty(len(self.runs[0]), np.int32)
        for number, (further, may_end) in enumerate(self.labels or [(0, 0)]):
            if whole:
                whole[-2][E_NEXT] = place
            count = tokens_of_ring(*self.runs, number, tokens)
            entry, body = _with_tokens(np.array(tokens[:count]), place, words, known)
            entry[E_FURTHER], entry[E_MAY_END] = further, may_end
            whole += [entry, body]
            place += ENTRY + len(body)
        whole[0][E_KEY], whole[0][E_KEY_COUNT] = place, len(key)
        return np.concatenate([*whole, key])


def _with_tokens(tokens: Int32Array, place: int, words: int, known: Known | None) -> tuple[Int32Array, Int32Array]:
    """The entry at ``place`` of these tokens, and what comes behind it."""
    if len(tokens) * LISTED <= words:
        entry = np.zeros(ENTRY, np.int32)
        entry[E_COUNT], entry[E_LIST] = len(tokens), place + ENTRY
        return entry, tokens
    mask = np.zeros(words, np.int32)
    write_mask(tokens, mask)
    return _with_mask(mask, place, known)


def _with_mask(mask: Int32Array, place: int, known: Known | None) -> tuple[Int32Array, Int32Array]:
    """As `_with_tokens`, of a mask, which is not written again where there is one like it."""
    entry = np.zeros(ENTRY, np.int32)
    (entry[E_MASK],) = _place([mask], (place + ENTRY,), known)
    return entry, mask if entry[E_MASK] == place + ENTRY else mask[:0]
