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
    UInt8Array,
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
    FIRSTS,
    H_PARTS,
    HEADER,
    ROOT,
    TOKENS,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.kinds import Kinds
from structgen.grammars.automaton.spelling import BACKSLASH, ESCAPE, MISSPELT, NONE, QUOTE, after_byte, rank_of

__all__ = ["Projection", "project"]

_MOST_NODES = 1 << 16
"""A projection with more is not worth having."""


class Projection(NamedTuple):
    """A trie; compiled code reads it as it reads the store that holds the vocabulary's own."""

    header: Int32Array
    parts: tuple[UInt8Array | Int32Array, ...]
    """What the header points to: those of `walk.Trie`, its nodes in whole words."""

    def __len__(self) -> int:
        """Nodes."""
        return len(self.parts[FIRSTS]) - 1

    @property
    def address(self) -> Memory:
        """What compiled functions take for the store."""
        return int(self.header.ctypes.data)


def project(whole: Projection, kinds: Kinds) -> Projection | None:
    """``whole`` seen so; ``None`` where that is hardly smaller.

    ``whole`` is a vocabulary's own trie, or a projection of it by kinds that tell apart whatever ``kinds`` do.
    """
    tokens = len(whole.parts[TOKENS])
    counts = np.empty(4, np.int64)
    exits, lists = np.empty((_MOST_NODES, EXIT_COLUMNS), np.int32), np.empty((tokens + 1, 2), np.int32)
    slots = np.zeros((2 * _MOST_NODES, 2), np.int32)
    seen = np.empty((len(whole), 4), np.int32)
    if not _enter(whole.address, kinds.firsts, kinds.spelled, exits, lists, slots, seen, counts):
        return None
    nodes, held = int(counts[COUNT_EXITS]), int(counts[COUNT_TOKENS])
    bytes_of, children, firsts, ordered = (np.empty(size, np.int32) for size in (nodes, nodes + 1, nodes + 1, held))
    flatten(exits, lists, 0, bytes_of, children, firsts, ordered, counts, np.empty(0, np.int32))
    packed = np.frombuffer(bytearray(bytes_of.astype(np.uint8).tobytes() + bytes(8 - nodes % 4)), np.int32)
    parts = packed, children, firsts, ordered
    own = np.array(whole.header[:HEADER])
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
