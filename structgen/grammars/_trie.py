"""Building a vocabulary's trie in flat arrays (see `structgen.grammars.automaton.walk.Trie`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, UInt8Array, compiled, inner, int64
from structgen.grammars.automaton.interiors import LARGE
from structgen.grammars.automaton.walk import BELOW, Trie

__all__ = ["build_trie"]

_FEW = 16
"""A node with no more nodes below it is not `LARGE`."""


def build_trie(token_bytes: Sequence[bytes]) -> Trie:
    """The trie of the tokens that have bytes; ``token_bytes`` is by token id."""
    lengths = np.fromiter(map(len, token_bytes), np.int32, len(token_bytes))
    starts = np.zeros(len(token_bytes) + 1, np.int32)
    np.cumsum(lengths, out=starts[1:])
    text = np.frombuffer(bytearray(b"".join(token_bytes) + bytes(4)), np.uint8)  # compiled code reads words
    tokens = np.array(sorted(np.flatnonzero(lengths).tolist(), key=token_bytes.__getitem__), np.int32)
    longest = int(lengths.max(initial=0))
    room = int(starts[-1]) + 2
    parents, depths = np.empty(room, np.int32), np.empty(room, np.int32)
    values, held = np.empty(room, np.uint8), np.empty(room, np.int32)
    count = _enter(tokens, starts, text, longest, parents, depths, values, held)
    nodes, children, firsts = (
        np.zeros(count + 4, np.uint8),
        np.zeros(count + 1, np.int32),
        np.zeros(count + 1, np.int32),
    )
    ordered = np.empty(len(tokens), np.int32)
    _lay_out(tokens, longest, count, parents, depths, values, held, nodes, children, firsts, ordered)
    large = np.flatnonzero(children[:-1] & LARGE).astype(np.int32)
    below = np.zeros((len(large), BELOW), np.int32)
    _look_below(longest, count, parents, depths, values, held, large, below)
    spans = _with_marks(starts, text, tokens, b'","', more=1)
    others = _without(_with_marks(starts, text, tokens, b'",'), spans)
    members = _with_marks(starts, text, others, b'":,')
    elements = _without(others, members)
    return Trie(nodes, children, firsts, ordered, starts, text, large, below, tokens, spans, members, elements)


def _with_marks(starts: Int32Array, text: UInt8Array, tokens: Int32Array, marks: bytes, more: int = 0) -> Int32Array:
    """Those of ``tokens`` in which these bytes come one after another, whatever is between, and so many behind them."""
    found = np.empty(len(tokens), np.int32)
    count = _find_marks(starts, text, tokens, np.frombuffer(bytearray(marks), np.uint8), more, found)
    return np.array(found[:count])


def _without(tokens: Int32Array, others: Int32Array) -> Int32Array:
    return tokens[~np.isin(tokens, others)]


@compiled
def _look_below(
    longest: int,
    count: int,
    parents: Int32Array,
    depths: Int32Array,
    values: UInt8Array,
    held: Int32Array,
    large: Int32Array,
    below: Int32Table,
) -> None:
    """Write what `Trie.below` is; the nodes come in pre-order, ``large`` is by depth."""
    phases, ends = np.zeros(count, np.int32), np.zeros(count, np.int32)
    seen: Int32Table = np.zeros((count, 9), np.int32)  # the bytes below, and whether some are no UTF-8
    for node in range(1, count):
        parent = parents[node]
        phases[node] = _utf8_phase(int64(phases[parent]), int64(values[parent]), int64(values[node]))
    for node in range(count - 1, 0, -1):
        parent, byte = parents[node], int64(values[node])
        ends[node] = max(int64(ends[node]), node + 1)
        ends[parent] = max(int64(ends[parent]), int64(ends[node]))
        for word in range(9):
            seen[parent, word] |= seen[node, word]
        seen[parent, byte >> 5] |= np.int32(1) << np.int32(byte & 31)
        if phases[node] < 0:
            seen[parent, 8] = 1
    numbers = _by_depth(longest, count, depths)
    places = np.zeros(count, np.int32)
    for node in range(count):
        places[numbers[node]] = node
    for row in range(len(large)):
        node = int64(places[large[row]])
        for word in range(8):
            below[row, word] = seen[node, word]
        below[row, 8] = 1 if seen[node, 8] == 0 and phases[node] == 0 else 0
        below[row, 9], below[row, 10] = held[node + 1], held[ends[node]] if node else held[count]


@inner
def _utf8_phase(phase: int, before: int, byte: int) -> int:
    """The bytes that a character lacks after ``byte``, -1 after what is no UTF-8 (Unicode 15, table 3-7)."""
    if phase < 0:
        return -1
    if phase == 0:
        if byte < 0x80:
            return 0
        return -1 if byte < 0xC2 or byte > 0xF4 else 1 + (byte >= 0xE0) + (byte >= 0xF0)
    least = 0xA0 if before == 0xE0 else 0x90 if before == 0xF0 else 0x80
    most = 0x9F if before == 0xED else 0x8F if before == 0xF4 else 0xBF
    return phase - 1 if least <= byte <= most else -1


@compiled
def _find_marks(
    starts: Int32Array, text: UInt8Array, tokens: Int32Array, marks: UInt8Array, more: int, found: Int32Array
) -> int:
    """Write what `_with_marks` returns; returns their number."""
    count = 0
    for number in range(len(tokens)):
        token, met = int64(tokens[number]), 0
        for place in range(starts[token], starts[token + 1] - more):
            if met < len(marks) and text[place] == marks[met]:
                met += 1
        if met == len(marks):
            found[count] = token
            count += 1
    return count


@inner
def _by_depth(longest: int, count: int, depths: Int32Array) -> Int32Array:
    """The number of each node in pre-order when they are numbered by depth."""
    places, numbers = np.zeros(longest + 2, np.int64), np.empty(count, np.int32)
    for node in range(count):
        places[depths[node] + 1] += 1
    for depth in range(longest + 1):
        places[depth + 1] += places[depth]
    for node in range(count):
        numbers[node] = places[depths[node]]
        places[depths[node]] += 1
    return numbers


@compiled
def _enter(
    tokens: Int32Array,
    starts: Int32Array,
    text: UInt8Array,
    longest: int,
    parents: Int32Array,
    depths: Int32Array,
    values: UInt8Array,
    held: Int32Array,
) -> int:
    """Enter ``tokens``, sorted by their bytes, in pre-order; returns the number of nodes.

    ``held`` becomes the first place in ``tokens`` of a node's own tokens; they end where the next node's begin.
    """
    path = np.zeros(longest + 1, np.int32)
    count, length = int64(1), int64(0)
    parents[0] = depths[0] = held[0] = values[0] = 0
    for place in range(len(tokens)):
        begin = int64(starts[tokens[place]])
        size = starts[tokens[place] + 1] - begin
        shared = 0
        while shared < min(length, size) and values[path[shared + 1]] == text[begin + shared]:
            shared += 1
        for level in range(shared, size):
            parents[count], depths[count], held[count] = path[level], level + 1, place
            values[count] = text[begin + level]
            path[level + 1] = count
            count += 1
        length = size
    held[count] = len(tokens)
    return count


@compiled
def _lay_out(
    tokens: Int32Array,
    longest: int,
    count: int,
    parents: Int32Array,
    depths: Int32Array,
    values: UInt8Array,
    held: Int32Array,
    nodes: UInt8Array,
    children: Int32Array,
    firsts: Int32Array,
    ordered: Int32Array,
) -> None:
    """Number the nodes by depth, so that siblings lie together: a walk looks at all of them, and below few."""
    numbers = _by_depth(longest, count, depths)
    below = np.zeros(count, np.int32)
    for node in range(count - 1, 0, -1):
        below[parents[node]] += below[node] + 1
        children[numbers[parents[node]]] += 1
    used = int64(1)
    for number in range(count):
        its_children = int64(children[number])
        children[number] = used
        used += its_children
    children[count] = used
    for node in range(count):
        nodes[numbers[node]] = values[node]
        firsts[numbers[node]] = held[node + 1] - held[node]
        children[numbers[node]] |= LARGE if below[node] > _FEW else 0
    used = int64(0)
    for number in range(count):
        its_tokens = int64(firsts[number])
        firsts[number] = used
        used += its_tokens
    firsts[count] = used
    for node in range(count):
        first = int64(firsts[numbers[node]])
        for place in range(held[node], held[node + 1]):
            ordered[first + place - held[node]] = tokens[place]
