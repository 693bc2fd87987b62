"""InteriorStore: the interiors (see `interiors`) that all grammars of a vocabulary share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Memory, UInt8Array
from structgen.grammars.automaton.exits import (
    COUNT_GROUPS,
    DONE,
    EXIT_COLUMNS,
    MOST_LABELS,
    TOO_WIDE,
    collect,
    exit_roots,
    flatten,
    key_size,
    write_key,
)
from structgen.grammars.automaton.interior_entries import Exits, Interior, Rings
from structgen.grammars.automaton.interiors import (
    CHILD,
    E_EXITS,
    E_KEY,
    E_KEY_COUNT,
    E_PARTS,
    FIRSTS,
    H_ELEMENT_COUNT,
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
from structgen.grammars.automaton.kinds import (
    Kinds,
    is_between,
    is_counted,
    kinds_of,
    kinds_of_any,
    kinds_of_sets,
    place_of,
)
from structgen.grammars.automaton.leaves import ANY_STRING, LEAVES
from structgen.grammars.automaton.projections import Projection, project
from structgen.grammars.automaton.rings import collect_rings, leaf_within, ring_of
from structgen.grammars.automaton.walk import Trie
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import Expr, Rule
from structgen.grammars.language import ALL, Language

if TYPE_CHECKING:
    from structgen.grammars.automaton.bases import Base
    from structgen.grammars.automaton.facts import Called, Facts

__all__ = ["InteriorStore", "Leaf"]

Leaf = Expr | ByteDfa | CharDfa | Language
"""What a leaf is: the body of a rule that calls none, a DFA, or the language of a string."""


class _TooWide(Exception):
    """A walk would take long."""


_MAX_BYTES, _MASKS = 32 << 20, 1024
"""Limits on the interiors; so many masks of their tokens."""
_HASH_ROWS = 1 << 14
_MOST_KEY_LEAVES = 1 << 12
_MOST_PROJECTIONS, _MOST_KINDS = 40, 1 << 10
_NARROW, _ANY_NUMBER = 1 << 12, 1 << 60
"""With no more live nodes than this a walk of the vocabulary's own trie is short."""
_FEW_KINDS, _LONG = 10, 1 << 16
"""With more kinds a projection is hardly smaller than the vocabulary, of which a walk may have so many live nodes."""

_SPACES = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff"
_BASES = (
    ("abcdef", "ghijklmnopqrstuvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ", digits, _SPACES, "\u2028\u2029"),
    (ascii_lowercase, ascii_uppercase, digits, _SPACES, "\u2028\u2029"),
)
"""Characters that most automata do not tell apart: a projection by these is what theirs are made from."""


def _key_of(kinds: Kinds) -> tuple[bytes, bytes]:
    return kinds.firsts.tobytes(), kinds.spelled.tobytes()


def _distinct(tokens: Int32Array) -> Int32Array:
    """Each of ``tokens`` once; `np.unique` would import `numpy.ma` when it is first called, which takes 60 ms."""
    ordered = np.sort(tokens)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


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
        """What `bases.base_of` keeps here, by common rule."""
        self.shared_facts: dict[Rule, dict[Called, Facts]] = {}
        """What `bases.known_facts` keeps here, by shared rule."""
        self._wide: set[int] = set()  # leaves of which some state was
        self._kinds: dict[tuple[int, int], Kinds | None] = {}  # by leaf and place
        self._projections: dict[tuple[bytes, bytes], tuple[Kinds, Projection | None]] = {}
        self._leaf_count, self._entries = LEAVES, 0
        self._work = np.empty((3, len(trie.tokens)), np.int32)
        self._words = (len(trie.starts) + 30) // 32
        self._head = self._header(ends)
        self._begin_anew(0)
        self._whole = Projection(self._head, (trie.nodes, trie.children, trie.firsts, trie.tokens))
        self._bases: list[tuple[Kinds, Projection | None]] = []
        for kinds in map(kinds_of_sets, _BASES):
            self._bases.append((kinds, project(self._finer_than(kinds), kinds)))
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
        spanning = trie.spans, trie.members, trie.elements
        header[H_SPANS], header[H_SPAN_COUNT : H_ELEMENT_COUNT + 1] = HEADER + 256 + len(ends), [*map(len, spanning)]
        header[H_HASH], header[H_HASH_ROWS] = header[H_SPANS] + sum(map(len, spanning)), _HASH_ROWS
        return np.concatenate(
            [header, first_nodes, np.array(ends, np.int32), *spanning, np.zeros(_HASH_ROWS, np.int32)]
        )

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

    @property
    def generation(self) -> int:
        """How often it has begun anew."""
        return int(self._memory[H_GENERATION])

    def add(self, tables: Memory, generation: int, leaf: int, variant: int, trie: int, node: int, state: int) -> None:
        """Compute the interior of ``state`` below ``node``; the caller holds the lock of ``tables``.

        ``trie`` is one of ``generation``; where that has gone, whoever wants it finds the links gone too.

        Raises what compiled code raises that asks for room.
        """
        with self._lock:
            key = np.empty(key_size(tables, state), np.int32)
            hashed = write_key(tables, leaf, variant, trie, node, state, key)
            if self._find(key, hashed):
                return  # another automaton was first
            if trie and generation != self.generation:
                return
            if leaf < 0:
                found = self._rings(tables, leaf, variant, trie, node, state)
            elif trie == 0 and node == ROOT and is_between(tables, state):
                found = self._by_projection(tables, leaf, variant, state)
            else:
                found = self._collect(tables, self.snapshot[0], variant, trie, node, state)
            entry = found.laid_out(self._used, key, self._words)
            if self._used + len(entry) > len(self._memory) or 2 * self._entries > _HASH_ROWS:
                self._begin_anew(self.generation + 1)
                entry = found.laid_out(self._used, key, self._words)
                if trie or self._used + len(entry) > len(self._memory):
                    return
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

    def _by_projection(self, tables: Memory, leaf: int, variant: int, state: int) -> Interior:
        """As `_collect`, of a projection where a walk of the vocabulary would take long."""
        if leaf not in self._wide and not is_counted(tables, state):
            kinds = self._kinds_from(tables, leaf, state)
            if kinds is None or _key_of(kinds) not in self._projections:
                most = _NARROW if kinds is not None and kinds.number <= _FEW_KINDS else _LONG
                try:
                    return self._collect(tables, self.snapshot[0], variant, 0, ROOT, state, most)
                except _TooWide:
                    pass
        return self._collect(tables, self._seen_from(tables, leaf, state), variant, 0, ROOT, state)

    def _seen_from(self, tables: Memory, leaf: int, state: int) -> Memory:
        """The store as the automaton of ``state`` sees it."""
        self._wide.add(leaf)
        kinds = self._kinds_from(tables, leaf, state)
        projection = None if kinds is None else self._seen_by(kinds)
        return self.snapshot[0] if projection is None else projection.address

    def _kinds_from(self, tables: Memory, leaf: int, state: int) -> Kinds | None:
        """What the automaton of ``state`` tells apart from there on."""
        place = leaf, place_of(tables, state)
        if place not in self._kinds:
            if len(self._kinds) == _MOST_KINDS:
                self._kinds.clear()
            self._kinds[place] = kinds_of(tables, state)
        return self._kinds[place]

    def _seen_by(self, kinds: Kinds) -> Projection | None:
        """The projection; those that were not used for longest leave first."""
        key = _key_of(kinds)
        if key in self._projections:
            known = self._projections.pop(key)
        else:
            known = kinds, project(self._finer_than(kinds), kinds)
            if len(self._projections) == _MOST_PROJECTIONS:
                del self._projections[next(iter(self._projections))]
        self._projections[key] = known
        return known[1]

    def _finer_than(self, kinds: Kinds) -> Projection:
        """The smallest trie known in which all is told apart that ``kinds`` tell apart."""
        found = self._whole
        for its, one in (*self._bases, *self._projections.values()):
            if one is not None and len(one) < len(found) and kinds.are_all_told_by(its):
                found = one
        return found

    def _collect(
        self, tables: Memory, store: Memory, variant: int, trie: int, node: int, state: int, most: int = _ANY_NUMBER
    ) -> Interior:
        room, counts = 1 << 12, np.empty(4, np.int64)
        labels, roots = np.empty(MOST_LABELS, np.int64), np.empty(MOST_LABELS, np.int64)
        while True:
            exits, lists = np.empty((room, EXIT_COLUMNS), np.int32), np.empty((room, 2), np.int32)
            into = (exits, lists, labels, counts)
            how = collect(tables, store, variant, trie, node, state, most, self._room_for(trie)[0], *into)
            if how == TOO_WIDE:
                raise _TooWide
            if how == DONE:
                break
            room, labels, roots = 4 * room, np.empty(4 * len(labels), np.int64), np.empty(4 * len(roots), np.int64)
        inside, nodes, tokens, groups = (int(count) for count in counts)
        exit_roots(exits, roots, groups)
        found: dict[int, Exits] = {}
        for group in range(groups):
            if roots[group]:
                parts = Exits(*(np.empty(size, np.int32) for size in (nodes, nodes + 1, nodes + 1, tokens)))
                # What is left of a token in two ways may have the same left again.
                seen = np.zeros(len(self._trie.starts) if trie else 0, np.int32)
                flatten(exits, lists, int(roots[group]), *parts, counts, seen)
                found[int(labels[group])] = parts.cut(int(counts[0]), int(counts[1]))
        stay = self._work[0, :inside]
        return Interior(_distinct(stay) if trie else stay, found)

    def _room_for(self, trie: int) -> Int32Table:
        """Three lists with room for all tokens of ``trie``, some of which it may have in several places."""
        if trie:
            memory = self._memory
            held = int(memory[memory[trie + E_PARTS + FIRSTS] + memory[trie + E_EXITS] + 1])
            if held > self._work.shape[1]:
                self._work = np.empty((3, held), np.int32)
        return self._work

    def _rings(self, tables: Memory, leaf: int, variant: int, trie: int, node: int, state: int) -> Rings:
        store, its, labels = self.snapshot[0], leaf_within(leaf), np.empty(MOST_LABELS, np.int64)
        inside, numbers, ends = self._room_for(trie)
        counts = np.zeros(4, np.int64)
        is_root = trie == 0 and node == ROOT and is_between(tables, state)
        if is_root and (its in self._wide or is_counted(tables, state)):  # else a walk of the vocabulary is short
            store = self._seen_from(tables, its, state)
        place = (leaf, variant, trie, node, state)
        while (runs := collect_rings(tables, store, *place, inside, numbers, ends, labels, counts)) < 0:
            labels = np.empty(4 * len(labels), np.int64)
        return Rings(
            (inside, numbers[:runs], ends[:runs]), [ring_of(int(one)) for one in labels[: counts[COUNT_GROUPS]]]
        )

    def _append(self, entry: Int32Array, hashed: int) -> None:
        begin, memory = self._used, self._memory
        memory[begin : begin + len(entry)] = entry
        self._used, self._entries = begin + len(entry), self._entries + 1
        first, slot = int(memory[H_HASH]), hashed % _HASH_ROWS
        while memory[first + slot]:
            slot = (slot + 1) % _HASH_ROWS
        memory[first + slot] = begin  # last: others read without the lock
