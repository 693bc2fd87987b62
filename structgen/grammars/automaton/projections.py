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
    Int64Array,
    Memory,
    UInt8Array,
    compiled,
    inner,
    int64,
    load,
)
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILD,
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
from structgen.grammars.automaton.spelling import BACKSLASH, MISSPELT, NONE, QUOTE, after_byte, rank_of

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
    nodes = np.empty(_MOST_NODES + 8, np.uint8)
    children, firsts = np.empty(_MOST_NODES + 1, np.int32), np.empty(_MOST_NODES + 1, np.int32)
    tokens, queue = np.empty(len(whole.parts[TOKENS]), np.int32), np.empty(4 * len(whole) + 1, np.int64)
    count = _merge(whole.address, kinds.firsts, kinds.spelled, nodes, children, firsts, tokens, queue)
    if count == 0:
        return None
    packed = np.frombuffer(nodes[: (count + 7) // 4 * 4].tobytes(), np.int32)
    parts = packed, *(np.array(one) for one in (children[: count + 1], firsts[: count + 1], tokens[: firsts[count]]))
    own = np.array(whole.header[:HEADER])
    addresses = np.array([part.ctypes.data for part in parts], np.int64)
    own[H_PARTS : H_PARTS + 2 * len(parts)] = np.frombuffer(addresses.tobytes(), np.int32)
    return Projection(own, parts)


# A node of the trie on its way to what stands for it: its number, in 24 bits; how its children are read; and above
# these the bytes that it still has to go, the next one lowest.
_AS_KINDS, _AS_BYTES, _READ_ALREADY = range(3)
_MODE, _WAY = 24, 26


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
def _send_character(
    s: Memory, kinds: Int32Array, spelled: Int64Array, top: int, level: Int64Array, sent: Int64Array, count: int
) -> int:
    """Send ``top``, whose byte begins a character of several, and what is below it up to their ends."""
    nodes, children = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN)
    depth = 0
    level[0], level[1], level[2], level[3], level[4] = top, top + 1, NONE, 0, 0
    while depth >= 0:
        here = 5 * depth
        node = level[here]
        if node == level[here + 1]:
            depth -= 1
            continue
        level[here] = node + 1
        byte = byte_of(nodes, node)
        phase, point = after_byte(level[here + 2], level[here + 3], byte)
        way = level[here + 4] | byte << 8 * depth
        if phase == NONE:
            word = _spelling_at(kinds, spelled, rank_of(point))
            if word:
                sent[count] = node | word << _WAY
                count += 1
        elif phase != MISSPELT:
            sent[count] = node | _READ_ALREADY << _MODE | way << _WAY
            count += 1
            depth += 1
            below = 5 * depth
            level[below], level[below + 1] = first_child(children, node), first_child(children, node + 1)
            level[below + 2], level[below + 3], level[below + 4] = phase, point, way
    return count


@inner
def _send_children(
    s: Memory,
    kinds: Int32Array,
    spelled: Int64Array,
    first: int,
    end: int,
    mode: int,
    level: Int64Array,
    sent: Int64Array,
    count: int,
) -> int:
    """Send the children of the nodes from ``first`` to ``end``, which have come to what stands for them."""
    nodes, children = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN)
    for node in range(first_child(children, first), first_child(children, end)):
        byte = byte_of(nodes, node)
        if mode == _AS_BYTES or byte in (QUOTE, BACKSLASH):
            sent[count] = node | _AS_BYTES << _MODE | byte << _WAY
            count += 1
        elif byte >= 0x80:
            count = _send_character(s, kinds, spelled, node, level, sent, count)
        elif spelled[byte]:
            sent[count] = node | spelled[byte] << _WAY
            count += 1
    return count


@inner
def _queue_up(
    sent: Int64Array, count: int, queue: Int64Array, end: int, heads: Int64Array, bytes_sent: Int64Array
) -> int:
    """Queue what was sent, what goes the same way together; ``bytes_sent``: the bytes of all ways, and their number.

    ``heads``: for each byte 0, and afterwards where those end that went its way.
    """
    ways = 0
    for place in range(count):
        byte = sent[place] >> _WAY & 255
        if heads[byte] == 0:
            bytes_sent[ways] = byte
            ways += 1
        heads[byte] += 1
    for way in range(ways):
        byte = bytes_sent[way]
        size, heads[byte] = int64(heads[byte]), end
        end += size
    for place in range(count):
        one = sent[place]
        byte = one >> _WAY & 255
        queue[heads[byte]] = (one & ((1 << _WAY) - 1)) | one >> (_WAY + 8) << _WAY
        heads[byte] += 1
    return ways


@compiled
def _merge(
    s: Memory,
    kinds: Int32Array,
    spelled: Int64Array,
    nodes: UInt8Array,
    children: Int32Array,
    firsts: Int32Array,
    tokens: Int32Array,
    queue: Int64Array,
) -> int:
    """Write the trie as `walk.Trie` has it; returns how many nodes it has, 0 where there is no room.

    Each node stands for those that come to it, which lie together in ``queue``.
    """
    sent, heads, ways_taken = np.empty(len(queue), np.int64), np.zeros(256, np.int64), np.empty(256, np.int64)
    level, ends = np.empty(5 * 5, np.int64), np.empty(len(nodes), np.int32)
    its_firsts, its_tokens = part_of(s, 0, FIRSTS), part_of(s, 0, TOKENS)
    queue[0], ends[0], nodes[0] = ROOT, 1, 0
    used, count, place, one = 0, 1, 0, 0
    while one < count:
        firsts[one], children[one] = used, count
        going = 0
        while place < ends[one]:
            first, last = queue[place], queue[place]
            place += 1
            if first >> _WAY:
                sent[going] = first
                going += 1
                continue
            while place < ends[one] and queue[place] == last + 1:  # those that lie together
                last += 1
                place += 1
            mode, node, end = first >> _MODE, first & CHILD, (last & CHILD) + 1
            for entry in range(load(its_firsts, node), load(its_firsts, end)):
                tokens[used] = load(its_tokens, entry)
                used += 1
            if mode != _READ_ALREADY:
                going = _send_children(s, kinds, spelled, node, end, mode, level, sent, going)
        ways = _queue_up(sent, going, queue, int64(ends[count - 1]), heads, ways_taken)
        if count + ways >= len(children):
            return 0
        for way in range(ways):
            nodes[count], ends[count] = ways_taken[way], heads[ways_taken[way]]
            heads[ways_taken[way]] = 0
            count += 1
        one += 1
    firsts[count], children[count] = used, count
    return count
