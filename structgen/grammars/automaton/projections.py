"""Projections: a vocabulary's trie in which characters that a string's automaton does not tell apart are one.

Between two characters a string is stepped by what the next one is, and most automata tell few kinds apart: letters and
others, or white space and the rest. So each character of each token is replaced by the first of its kind. What has not
come whole yet, an escape and what stands behind it, a quote and what stands behind that stay as they are. Many tokens
become one text, what cannot come at all is left out, and from any state between two characters the trie of what is left
leads every token where it would go by itself: a walk of it, which is short, does for one of the vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import (
    Int32Array,
    Int32Table,
    Int64Array,
    Memory,
    compiled,
    inner,
    int64,
)
from structgen.grammars.automaton.exits import (
    COUNT_EXITS,
    COUNT_TOKENS,
    EXIT_BYTE,
    EXIT_CHILD,
    EXIT_COLUMNS,
    EXIT_SIBLING,
    EXIT_TOKENS,
    add_tokens,
    flatten,
)
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    H_PARTS,
    HEADER,
    ROOT,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    BACKSLASH,
    ESCAPE,
    LAST_RANK,
    MISSPELT,
    NONE,
    QUOTE,
    SUPPLEMENTARY,
    after_byte,
    rank_of,
)
from structgen.grammars.automaton.string_rests import interval_end
from structgen.grammars.automaton.tables import (
    D_FIRST,
    G_VALUE,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    MACHINES,
    N_VALUES,
    RECORDS,
    S_COUNT,
    S_NODES,
    STATES,
    STRING,
    VALUES,
    X_COUNT,
    X_MACHINE,
    X_PHASE,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
)
from structgen.grammars.automaton.walk import Trie

__all__ = ["Kinds", "Projection", "is_between", "is_counted", "kinds_of", "kinds_of_any", "project"]

_MOST_INTERVALS, _MOST_CELLS = 1 << 14, 1 << 20
"""An automaton that has more, or so many states times kinds, has no projection."""
_MOST_NODES = 1 << 16
"""A projection with more is not worth having."""
_UNSPELT = (range(0x20), range(QUOTE, QUOTE + 1), range(BACKSLASH, BACKSLASH + 1))
"""Characters that a string holds in escapes only."""


class Kinds(NamedTuple):
    """The characters that an automaton tells apart."""

    firsts: Int32Array
    """The least ranks of intervals that cover all ranks."""
    spelled: Int64Array
    """The UTF-8 of the first character of its kind, as a little-endian number, 0 where that may never come: for each
    ASCII character, then for each interval."""


class Projection(NamedTuple):
    """A trie; compiled code reads it as it reads the store that holds the vocabulary's own."""

    header: Int32Array
    parts: tuple[Int32Array, ...]
    """What the header points to."""

    @property
    def address(self) -> Memory:
        """What compiled functions take for the store."""
        return int(self.header.ctypes.data)

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        return sum(part.nbytes for part in (self.header, *self.parts))


@compiled
def is_between(m: Memory, state: int) -> bool:
    """Whether ``state`` is one between two characters of a string that need not become one of some texts."""
    if state < 0 or cell(m, STATES, state, S_COUNT) != STRING:
        return False
    record = cell(m, STATES, state, S_NODES)
    is_whole = cell(m, RECORDS, record, X_PHASE) == NONE and cell(m, RECORDS, record, X_TEXT_END) == 0
    return is_whole and cell(m, RECORDS, record, X_VALUE) >= 0


@compiled
def is_counted(m: Memory, state: int) -> bool:
    """Whether the characters of the string that ``state`` is in are counted."""
    return cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_COUNT) >= 0


@compiled
def _read_automaton(m: Memory, state: int, intervals: Int32Table) -> int:
    """Write the intervals of the automaton that ``state`` is in; returns their number, -1 where they do not fit.

    Each is a number for the state it belongs to, first and last rank, and one more than the number of the target.
    """
    machine = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_MACHINE)
    numbers, order = np.zeros(get_count(m, N_VALUES), np.int32), np.empty(get_count(m, N_VALUES), np.int32)
    order[0] = cell(m, MACHINES, machine, G_VALUE)
    numbers[order[0]] = 1
    reached, written, one = 1, 0, 0
    while one < reached:
        value = int64(order[one])
        for place in range(cell(m, VALUES, value, D_FIRST), interval_end(m, value)):
            target = cell(m, INTERVALS, place, INTERVAL_TARGET)
            if numbers[target] == 0:
                order[reached] = target
                reached += 1
                numbers[target] = reached
            if written == len(intervals):
                return -1
            intervals[written, 0], intervals[written, 1] = one, cell(m, INTERVALS, place, INTERVAL_FROM)
            intervals[written, 2], intervals[written, 3] = cell(m, INTERVALS, place, INTERVAL_TO), numbers[target]
            written += 1
        one += 1
    return written


def kinds_of(tables: Memory, state: int) -> Kinds | None:
    """What the automaton of ``state``, which `is_between`, tells apart; ``None`` where that is too much to say."""
    intervals = np.empty((_MOST_INTERVALS, 4), np.int32)
    count = _read_automaton(tables, state, intervals)
    if count < 0:
        return None
    found = intervals[:count]
    states = max(int(found[:, 0].max(initial=0)) + 1, int(found[:, 3].max(initial=1)))
    bounds = _bounds(found)
    return _kinds(found, states, bounds) if len(bounds) * states <= _MOST_CELLS else None


def _bounds(intervals: Int32Table) -> Int32Array:
    """The ranks at which an interval begins, or what may come unescaped."""
    marks = np.array([mark for one in _UNSPELT for mark in (one.start, one.stop)], np.int32)
    bounds = np.sort(np.concatenate((marks, intervals[:, 1], intervals[:, 2] + 1)))
    return bounds[np.append(True, bounds[1:] != bounds[:-1])]


def _kinds(intervals: Int32Table, states: int, bounds: Int32Array) -> Kinds:
    """As `kinds_of`, of intervals as `_read_automaton` writes them."""
    owners, firsts, lasts, targets = (intervals[:, column] for column in range(4))
    leads = np.zeros((len(bounds), states), np.int32)  # of each interval, for each state
    np.add.at(leads, (np.searchsorted(bounds, firsts), owners), targets)
    np.subtract.at(leads, (np.searchsorted(bounds, lasts + 1), owners), targets)
    np.cumsum(leads, axis=0, out=leads)
    known: dict[bytes, int] = {}
    spelled = np.zeros(len(bounds), np.int64)
    for place in np.flatnonzero(leads.any(axis=1)).tolist():
        rank = int(bounds[place])
        if rank <= LAST_RANK and not any(rank in one for one in _UNSPELT):
            spelled[place] = known.setdefault(leads[place].tobytes(), _spelling_of(rank))
    ascii_kinds = np.searchsorted(bounds, np.arange(0x80), side="right") - 1
    return Kinds(bounds, np.concatenate((spelled[ascii_kinds], spelled)))


def kinds_of_any() -> Kinds:
    """Of the strings of any kind."""
    intervals = np.array([[0, 0, LAST_RANK, 1]], np.int32)
    return _kinds(intervals, 1, _bounds(intervals))


def _spelling_of(rank: int) -> int:
    point = rank - (AFTER_SUPPLEMENTARY - 0xE000) if rank >= AFTER_SUPPLEMENTARY else rank
    point = rank + 0x10000 - SUPPLEMENTARY if SUPPLEMENTARY <= rank < AFTER_SUPPLEMENTARY else point
    return int.from_bytes(chr(point).encode(), "little")


def project(trie: Trie, store: Int32Array, kinds: Kinds) -> Projection | None:
    """``trie`` seen so; ``None`` where that is hardly smaller.

    Parameters
    ----------
    trie : Trie
        The vocabulary's.
    store : int32 array
        What compiled code reads it from.
    """
    counts = np.empty(4, np.int64)
    exits, lists = np.empty((_MOST_NODES, EXIT_COLUMNS), np.int32), np.empty((len(trie.tokens) + 1, 2), np.int32)
    slots = np.zeros((2 * _MOST_NODES, 2), np.int32)
    seen = np.empty((len(trie), 4), np.int32)
    if not _enter(int(store.ctypes.data), kinds.firsts, kinds.spelled, exits, lists, slots, seen, counts):
        return None
    nodes, held = int(counts[COUNT_EXITS]), int(counts[COUNT_TOKENS])
    bytes_of, children, firsts, ordered = (np.empty(size, np.int32) for size in (nodes, nodes + 1, nodes + 1, held))
    flatten(exits, lists, 0, bytes_of, children, firsts, ordered, counts, np.empty(0, np.int32))
    packed = np.frombuffer(bytearray(bytes_of.astype(np.uint8).tobytes() + bytes(8 - nodes % 4)), np.int32)
    parts = packed, children, firsts, ordered
    own = np.array(store[:HEADER])
    addresses = np.array([part.ctypes.data for part in parts], np.int64)
    own[H_PARTS : H_PARTS + 2 * len(parts)] = np.frombuffer(addresses.tobytes(), np.int32)
    return Projection(own, parts)


# What is known of a node of the vocabulary's trie: the node that stands for it, -1 where it cannot come; the one up to
# the character that is not whole yet; of this the phase and the point.
_IMAGE, _ORIGIN, _PHASE, _POINT = range(4)
_VERBATIM = ESCAPE
"""The phase from an escape or a quote on."""


@inner
def _descend(exits: Int32Table, slots: Int32Table, counts: Int64Array, parent: int, byte: int) -> int:
    """The child of ``parent`` for ``byte``, made where there is none; 0 where there is no room."""
    key, last = (parent << 8) + byte, len(slots) - 1
    slot = ((key * 0x9E3779B1) >> 12) & last
    while slots[slot, 1] != 0 and slots[slot, 0] != key:
        slot = (slot + 1) & last
    if slots[slot, 1] == 0 and counts[COUNT_EXITS] < len(exits):
        one = counts[COUNT_EXITS]
        counts[COUNT_EXITS] += 1
        exits[one, EXIT_BYTE], exits[one, EXIT_CHILD], exits[one, EXIT_TOKENS] = byte, 0, 0
        exits[one, EXIT_SIBLING] = exits[parent, EXIT_CHILD]
        exits[parent, EXIT_CHILD] = one
        slots[slot, 0], slots[slot, 1] = key, one
    return int64(slots[slot, 1])


@inner
def _spelling_at(kinds: Int32Array, spelled: Int64Array, rank: int) -> int:
    """What stands for the character with this rank."""
    first, end = 0, len(kinds)
    while first < end:
        middle = (first + end) >> 1
        if kinds[middle] <= rank:
            first = middle + 1
        else:
            end = middle
    return spelled[0x80 + first - 1]


@inner
def _image_of(
    kinds: Int32Array,
    spelled: Int64Array,
    exits: Int32Table,
    slots: Int32Table,
    counts: Int64Array,
    seen: Int32Table,
    parent: int,
    node: int,
    byte: int,
) -> int:
    """Find what stands for ``node``: -1 where it cannot come, 0 where there is no room."""
    phase, image, origin = int64(seen[parent, _PHASE]), int64(seen[parent, _IMAGE]), int64(seen[parent, _ORIGIN])
    point, word = int64(seen[parent, _POINT]), 0
    if phase == _VERBATIM or (phase == NONE and byte in (QUOTE, BACKSLASH)):
        phase = _VERBATIM
    elif phase == NONE and byte < 0x80:
        word = spelled[byte]
    else:
        phase, point = after_byte(phase, point, byte)
        if phase == NONE:
            word, point = _spelling_at(kinds, spelled, rank_of(point)), 0
    if phase == MISSPELT or (phase == NONE and word == 0):
        return -1
    if phase == NONE:
        image, byte, word = origin, word & 255, word >> 8
    image = _descend(exits, slots, counts, image, byte)
    while word and image:
        image, word = _descend(exits, slots, counts, image, word & 255), word >> 8
    seen[node, _ORIGIN], seen[node, _PHASE], seen[node, _POINT] = image if phase == NONE else origin, phase, point
    return image


@compiled
def _enter(
    s: Memory,
    kinds: Int32Array,
    spelled: Int64Array,
    exits: Int32Table,
    lists: Int32Table,
    slots: Int32Table,
    seen: Int32Table,
    counts: Int64Array,
) -> bool:
    """Enter the vocabulary's tokens as they are seen; whether there was room.

    ``spelled``: for each ASCII character what stands for it, then for each of ``kinds``.
    """
    nodes, children = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN)
    counts[COUNT_EXITS], counts[COUNT_TOKENS] = 1, 1
    exits[0, EXIT_CHILD] = exits[0, EXIT_TOKENS] = 0
    seen[ROOT, _IMAGE] = seen[ROOT, _ORIGIN] = seen[ROOT, _PHASE] = seen[ROOT, _POINT] = 0
    for parent in range(len(seen)):  # numbered by depth
        for node in range(first_child(children, parent), first_child(children, parent + 1)):
            image = -1
            if seen[parent, _IMAGE] >= 0:
                image = _image_of(kinds, spelled, exits, slots, counts, seen, parent, node, byte_of(nodes, node))
            if image == 0 or (image > 0 and not add_tokens(s, 0, node, exits, lists, counts, image)):
                return False
            seen[node, _IMAGE] = image
    return True
