"""InteriorStore: the interiors (see `interiors`) that all grammars of a vocabulary share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Memory, UInt8Array
from structgen.grammars.automaton.exits import (
    DONE,
    EXIT_COLUMNS,
    MOST_LABELS,
    TOO_WIDE,
    collect,
    exit_roots,
    flatten,
    key_size,
    write_key,
    write_mask,
)
from structgen.grammars.automaton.interiors import (
    CHILD,
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
    H_END_COUNT,
    H_ENDS,
    H_FIRST_NODES,
    H_GENERATION,
    H_HASH,
    H_HASH_ROWS,
    H_LARGE_COUNT,
    H_LONGEST,
    H_PARTS,
    H_SPAN_COUNT,
    H_SPANS,
    H_TOKEN_COUNT,
    H_WORDS,
    HEADER,
    ROOT,
)
from structgen.grammars.automaton.leaves import ANY_STRING, LEAVES
from structgen.grammars.automaton.projections import (
    Kinds,
    Projection,
    is_between,
    is_counted,
    kinds_of,
    kinds_of_any,
    project,
)
from structgen.grammars.automaton.walk import Trie
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import Expr, Rule
from structgen.grammars.language import ALL, Language

if TYPE_CHECKING:
    from structgen.grammars.automaton.rule_book import Base

__all__ = ["InteriorStore", "Leaf"]

Leaf = Expr | ByteDfa | CharDfa | Language
"""What a leaf is: the body of a rule that calls none, a DFA, or the language of a string."""


class _Exits(NamedTuple):
    """The parts of a trie; `nodes` a byte to a number."""

    nodes: Int32Array
    children: Int32Array
    firsts: Int32Array
    tokens: Int32Array

    def cut(self, nodes: int, tokens: int) -> _Exits:
        """What of it is in use."""
        return _Exits(self.nodes[:nodes], self.children[: nodes + 1], self.firsts[: nodes + 1], self.tokens[:tokens])

    def packed(self) -> list[Int32Array]:
        """As it lies in the store."""
        padded = np.zeros((len(self.nodes) + 3) // 4 * 4, np.uint8)
        padded[: len(self.nodes)] = self.nodes & 0xFF
        return [np.frombuffer(padded.tobytes(), np.int32), self.children, self.firsts, self.tokens]


_Parts = tuple[Int32Array, dict[int, _Exits]]
"""The tokens that stay inside, and by label the exits."""


class _TooWide(Exception):
    """A walk would take long."""


_MAX_BYTES, _MASKS = 32 << 20, 1024
"""Limits on the interiors; so many masks of their tokens."""
_HASH_ROWS = 1 << 14
_MOST_KEY_LEAVES = 1 << 12
_MOST_PROJECTIONS, _MOST_KINDS = 12, 1 << 10
_NARROW, _ANY_NUMBER = 1 << 12, 1 << 60
"""With no more live nodes than this a walk of the vocabulary's own trie is short."""
_LISTED = 16
"""A mask's words for each token of a list: with more tokens the interior is kept as a mask."""


class InteriorStore:
    """What compiled code reads of a vocabulary: the trie, the end tokens, and the interiors computed so far.

    Thread-safe. Readers take `snapshot` and hold on to it. When the limit is reached all interiors go,
    and with them what automata know of their places (`H_GENERATION`).

    Parameters
    ----------
    trie : Trie
        Of the tokens that are text.
    ends : sequence of int
        The end tokens.
    room : int, optional
        Limit on the interiors, in bytes. The system gives it memory when it is first written.
    """

    def __init__(self, trie: Trie, ends: Sequence[int], room: int | None = None) -> None:
        self._trie = trie
        self._room = room or min(_MAX_BYTES, (1 << 20) + _MASKS * len(trie.starts) // 8)
        self._lock = threading.Lock()
        self._leaves: WeakKeyDictionary[Leaf, int] = WeakKeyDictionary({ALL: ANY_STRING})
        self._key_leaves: dict[tuple[Language, ...], int] = {}
        self.bases: dict[Rule | None, Base] = {}
        """What `rule_book.base_of` keeps here, by common rule."""
        self._kinds: dict[int, Kinds | None] = {}  # by leaf
        self._projections: dict[tuple[bytes, bytes], Projection | None] = {}
        self._leaf_count, self._entries = LEAVES, 0
        self._inside = np.empty(len(trie.tokens), np.int32)
        self._words = (len(trie.starts) + 30) // 32
        self._head = self._header(ends)
        self._begin_anew(0)
        self._seen_by(kinds_of_any())  # every grammar has strings, and most some with bounds on their length

    def _header(self, ends: Sequence[int]) -> Int32Array:
        trie, header = self._trie, np.zeros(HEADER, np.int32)
        parts: list[UInt8Array | Int32Array] = [trie.nodes, trie.children, trie.firsts, trie.tokens]
        parts += [trie.text, trie.starts, trie.large, trie.below, trie.deep]
        addresses = np.array([part.ctypes.data for part in parts], np.int64)
        header[H_PARTS : H_PARTS + 2 * len(parts)] = np.frombuffer(addresses.tobytes(), np.int32)
        first_nodes = np.zeros(256, np.int32)
        top = int(trie.children[1]) & CHILD if len(trie) > 1 else 1
        first_nodes[trie.nodes[1:top]] = np.arange(1, top)
        header[H_LARGE_COUNT] = len(trie.large)
        header[H_TOKEN_COUNT], header[H_WORDS] = len(trie.starts) - 1, self._words
        header[H_LONGEST] = int(np.diff(trie.starts).max(initial=0))
        header[H_FIRST_NODES], header[H_ENDS], header[H_END_COUNT] = HEADER, HEADER + 256, len(ends)
        header[H_SPANS], header[H_SPAN_COUNT] = HEADER + 256 + len(ends), len(trie.spans)
        header[H_HASH], header[H_HASH_ROWS] = HEADER + 256 + len(ends) + len(trie.spans), _HASH_ROWS
        lists = np.array(ends, np.int32), trie.spans, np.zeros(_HASH_ROWS, np.int32)
        return np.concatenate([header, first_nodes, *lists])

    @property
    def nbytes(self) -> int:
        """Bytes of the interiors."""
        return 4 * self._used

    def key_leaf(self, others: tuple[Language, ...]) -> int:
        """The number of the leaf of undeclared keys in these languages."""
        with self._lock:
            number = self._key_leaves.get(others)
            if number is None:
                if len(self._key_leaves) >= _MOST_KEY_LEAVES:
                    self._key_leaves.clear()  # no number is given twice
                number = self._key_leaves[others] = self._leaf_count
                self._leaf_count += 1
            return number

    def leaf(self, what: Leaf) -> int:
        """The number of a leaf, 1 or more."""
        with self._lock:
            number = self._leaves.get(what)
            if number is None:
                number = self._leaves[what] = self._leaf_count
                self._leaf_count += 1
            return number

    def add(self, tables: Memory, leaf: int, variant: int, trie: int, node: int, state: int) -> None:
        """Compute the interior of ``state`` below ``node``; the caller holds the lock of ``tables``.

        Raises what compiled code raises that asks for room.
        """
        with self._lock:
            key = np.empty(key_size(tables, state), np.int32)
            hashed = write_key(tables, leaf, variant, trie, node, state, key)
            if self._find(key, hashed):
                return  # another automaton was first
            if trie >= self._used:
                return  # it went with all others; whoever wants it finds the links gone
            if trie == 0 and node == ROOT and is_between(tables, state):
                parts = self._by_projection(tables, leaf, variant, state)
            else:
                parts = self._collect(tables, self.snapshot[0], variant, trie, node, state)
            entry = self._entry(key, *parts)
            if self._used + len(entry) > len(self._memory) or 2 * self._entries > _HASH_ROWS:
                self._begin_anew(int(self._memory[H_GENERATION]) + 1)
                if trie:
                    return
                entry = self._entry(key, *parts)
            self._append(entry, hashed)

    def _begin_anew(self, generation: int) -> None:
        """An empty store; who reads the old one may go on, since it holds on to it."""
        self._memory = np.zeros(len(self._head) + self._room // 4, np.int32)
        self._memory[: len(self._head)] = self._head
        self._memory[H_GENERATION] = generation
        self._used, self._entries = len(self._head), 0
        self.snapshot: tuple[Memory, Int32Array] = (int(self._memory.ctypes.data), self._memory)
        """The address that compiled functions take, and what has to be held on to while they do."""

    def _find(self, key: Int32Array, hashed: int) -> int:
        memory, first = self._memory, int(self._memory[H_HASH])
        slot = hashed % _HASH_ROWS
        while entry := int(memory[first + slot]):
            begin = int(memory[entry + E_KEY])
            if np.array_equal(memory[begin : begin + int(memory[entry + E_KEY_COUNT])], key):
                return entry
            slot = (slot + 1) % _HASH_ROWS
        return 0

    def _by_projection(self, tables: Memory, leaf: int, variant: int, state: int) -> _Parts:
        """As `_collect`, of a projection where a walk of the vocabulary would take long."""
        own = self.snapshot[0]
        if leaf not in self._kinds and not is_counted(tables, state):  # none of its states was wide
            try:
                return self._collect(tables, own, variant, 0, ROOT, state, _NARROW)
            except _TooWide:
                pass
        projection = self._projection(tables, leaf, state)
        return self._collect(tables, own if projection is None else projection.address, variant, 0, ROOT, state)

    def _projection(self, tables: Memory, leaf: int, state: int) -> Projection | None:
        """What the automaton of ``state`` sees of the vocabulary."""
        if leaf not in self._kinds:
            if len(self._kinds) == _MOST_KINDS:
                self._kinds.clear()
            self._kinds[leaf] = kinds_of(tables, state)
        kinds = self._kinds[leaf]
        return None if kinds is None else self._seen_by(kinds)

    def _seen_by(self, kinds: Kinds) -> Projection | None:
        """The projection; those that were not used for longest leave first."""
        key = kinds.firsts.tobytes(), kinds.spelled.tobytes()
        if key in self._projections:
            known = self._projections.pop(key)
        else:
            known = project(self._trie, self._head, kinds)
            if len(self._projections) == _MOST_PROJECTIONS:
                del self._projections[next(iter(self._projections))]
        self._projections[key] = known
        return known

    def _collect(
        self, tables: Memory, store: Memory, variant: int, trie: int, node: int, state: int, most: int = _ANY_NUMBER
    ) -> _Parts:
        """The tokens, and by label the exits."""
        room, counts = 1 << 12, np.empty(4, np.int64)
        labels, roots = np.empty(MOST_LABELS, np.int64), np.empty(MOST_LABELS, np.int64)
        while True:
            exits, lists = np.empty((room, EXIT_COLUMNS), np.int32), np.empty((room, 2), np.int32)
            into = (exits, lists, labels, counts)
            how = collect(tables, store, variant, trie, node, state, most, self._inside, *into)
            if how == TOO_WIDE:
                raise _TooWide
            if how == DONE:
                break
            room, labels, roots = 4 * room, np.empty(4 * len(labels), np.int64), np.empty(4 * len(roots), np.int64)
        inside, nodes, tokens, groups = (int(count) for count in counts)
        exit_roots(exits, roots, groups)
        found: dict[int, _Exits] = {}
        for group in range(groups):
            if roots[group]:
                parts = _Exits(*(np.empty(size, np.int32) for size in (nodes, nodes + 1, nodes + 1, tokens)))
                flatten(exits, lists, int(roots[group]), *parts, counts)
                found[int(labels[group])] = parts.cut(int(counts[0]), int(counts[1]))
        return self._inside[:inside], found

    def _entry(self, key: Int32Array, inside: Int32Array, exits: dict[int, _Exits]) -> Int32Array:
        """The interior as it is to lie at the end of what is used: its tokens, then a trie for each label."""
        is_mask = len(inside) * _LISTED > self._words
        body = _mask_of(inside, self._words) if is_mask else inside
        entry = np.zeros(ENTRY, np.int32)
        place = self._used + ENTRY
        entry[E_COUNT], entry[E_MASK if is_mask else E_LIST] = len(inside), place
        entry[E_KEY], entry[E_KEY_COUNT] = place + len(body), len(key)
        whole = [entry, body, key]
        for label, one in exits.items():
            place = self._used + sum(map(len, whole))
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

    def _append(self, entry: Int32Array, hashed: int) -> None:
        begin, memory = self._used, self._memory
        memory[begin : begin + len(entry)] = entry
        self._used, self._entries = begin + len(entry), self._entries + 1
        first, slot = int(memory[H_HASH]), hashed % _HASH_ROWS
        while memory[first + slot]:
            slot = (slot + 1) % _HASH_ROWS
        memory[first + slot] = begin  # last: others read without the lock


def _mask_of(tokens: Int32Array, words: int) -> Int32Array:
    row = np.zeros(words, np.int32)
    write_mask(tokens, row)
    return row
