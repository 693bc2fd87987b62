"""InteriorStore: the interiors (see `interiors`) that all grammars of a vocabulary share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Memory
from structgen.grammars.automaton.exits import EXIT_COLUMNS, collect, flatten, key_size, write_key
from structgen.grammars.automaton.interiors import (
    CHILD,
    E_COUNT,
    E_EXITS,
    E_KEY,
    E_KEY_COUNT,
    E_LIST,
    E_MASK,
    E_PARTS,
    ENTRY,
    H_END_COUNT,
    H_ENDS,
    H_FIRST_NODES,
    H_GENERATION,
    H_HASH,
    H_HASH_ROWS,
    H_LONGEST,
    H_PARTS,
    H_TOKEN_COUNT,
    H_WORDS,
    HEADER,
)
from structgen.grammars.automaton.leaves import ANY_STRING, LEAVES
from structgen.grammars.automaton.walk import Trie
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import Expr
from structgen.grammars.language import ALL, Language

__all__ = ["InteriorStore", "Leaf"]

Leaf = Expr | ByteDfa | CharDfa | Language
"""What a leaf is: the body of a rule that calls none, a DFA, or the language of a string."""

_MAX_BYTES, _MASKS = 32 << 20, 1024
"""Limits on the interiors; so many masks of their tokens."""
_HASH_ROWS = 1 << 14
_LISTED = 8
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
        self._leaf_count, self._entries = LEAVES, 0
        self._inside = np.empty(len(trie.tokens), np.int32)
        self._words = (len(trie.starts) + 30) // 32
        self._head = self._header(ends)
        self._begin_anew(0)

    def _header(self, ends: Sequence[int]) -> Int32Array:
        trie, header = self._trie, np.zeros(HEADER, np.int32)
        parts = (trie.nodes, trie.children, trie.firsts, trie.tokens, trie.text, trie.starts)
        header[H_PARTS : H_PARTS + 2 * len(parts)].view(np.int64)[:] = [part.ctypes.data for part in parts]
        first_nodes = np.zeros(256, np.int32)
        top = int(trie.children[1]) & CHILD if len(trie) > 1 else 1
        first_nodes[trie.nodes[1:top]] = np.arange(1, top)
        header[H_TOKEN_COUNT], header[H_WORDS] = len(trie.starts) - 1, self._words
        header[H_LONGEST] = int(np.diff(trie.starts).max(initial=0))
        header[H_FIRST_NODES], header[H_ENDS], header[H_END_COUNT] = HEADER, HEADER + 256, len(ends)
        header[H_HASH], header[H_HASH_ROWS] = HEADER + 256 + len(ends), _HASH_ROWS
        return np.concatenate([header, first_nodes, np.array(ends, np.int32), np.zeros(_HASH_ROWS, np.int32)])

    @property
    def nbytes(self) -> int:
        """Bytes of the interiors."""
        return 4 * self._used

    def leaf(self, what: Leaf) -> int:
        """The number of a leaf, 1 or more."""
        with self._lock:
            number = self._leaves.get(what)
            if number is None:
                number = self._leaves[what] = self._leaf_count
                self._leaf_count += 1
            return number

    def add(self, tables: Memory, leaf: int, trie: int, node: int, state: int) -> None:
        """Compute the interior of ``state`` below ``node``; the caller holds the lock of ``tables``.

        Raises what compiled code raises that asks for room.
        """
        with self._lock:
            key = np.empty(key_size(tables, state), np.int32)
            hashed = write_key(tables, leaf, trie, node, state, key)
            if self._find(key, hashed):
                return  # another automaton was first
            if trie >= self._used:
                return  # it went with all others; whoever wants it finds the links gone
            parts = self._collect(tables, leaf, trie, node, state)
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

    def _collect(self, tables: Memory, leaf: int, trie: int, node: int, state: int) -> tuple[Int32Array, ...]:
        """The tokens, and the parts of the exits' trie."""
        room, counts = 1 << 12, np.empty(3, np.int64)
        while True:
            exits, lists = np.empty((room, EXIT_COLUMNS), np.int32), np.empty((room, 2), np.int32)
            if collect(tables, self.snapshot[0], leaf, trie, node, state, self._inside, exits, lists, counts):
                break
            room *= 4
        inside, nodes, tokens = (int(count) for count in counts)
        parts = tuple(np.empty(size, np.int32) for size in (nodes, nodes + 1, nodes + 1, tokens - 1))
        flatten(exits, lists, *parts)
        return self._inside[:inside], *parts

    def _entry(self, key: Int32Array, inside: Int32Array, nodes: Int32Array, *others: Int32Array) -> Int32Array:
        """The interior as it is to lie at the end of what is used."""
        is_mask = len(inside) * _LISTED > self._words
        packed = np.zeros((len(nodes) + 3) // 4, np.int32)
        packed.view(np.uint8)[: len(nodes)] = nodes
        parts = [packed, *others, _mask_of(inside, self._words) if is_mask else inside, key]
        places = self._used + ENTRY + np.cumsum([0, *(len(part) for part in parts)])
        entry = np.zeros(ENTRY, np.int32)
        entry[E_PARTS : E_PARTS + 4], entry[E_EXITS] = places[:4], len(nodes) - 1
        entry[E_COUNT], entry[E_MASK if is_mask else E_LIST] = len(inside), places[4]
        entry[E_KEY], entry[E_KEY_COUNT] = places[5], len(key)
        return np.concatenate([entry, *parts])

    def _append(self, entry: Int32Array, hashed: int) -> None:
        begin, memory = self._used, self._memory
        memory[begin : begin + len(entry)] = entry
        self._used, self._entries = begin + len(entry), self._entries + 1
        first, slot = int(memory[H_HASH]), hashed % _HASH_ROWS
        while memory[first + slot]:
            slot = (slot + 1) % _HASH_ROWS
        memory[first + slot] = begin  # last: others read without the lock


def _mask_of(tokens: Int32Array, words: int) -> Int32Array:
    there = np.zeros(32 * words, np.bool_)
    there[tokens] = True
    return np.frombuffer(np.packbits(there, bitorder="little").tobytes(), np.int32)
