"""Building a vocabulary's trie in flat arrays (see `structgen.grammars.automaton.walk.Trie`)."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, UInt8Array, compiled, int64
from structgen.grammars.automaton.interiors import LARGE
from structgen.grammars.automaton.walk import Trie

__all__ = ["build_trie"]

_FEW = 16
"""A node with no more nodes below it is not `LARGE`."""


def build_trie(token_bytes: list[bytes]) -> Trie:
    """The trie of the tokens that have bytes; ``token_bytes`` is by token id."""
    starts = np.zeros(len(token_bytes) + 1, np.int32)
    np.cumsum([len(text) for text in token_bytes], out=starts[1:])
    text = np.frombuffer(bytearray(b"".join(token_bytes) + bytes(4)), np.uint8)  # compiled code reads words
    order = sorted((token for token, its in enumerate(token_bytes) if its), key=token_bytes.__getitem__)
    tokens = np.array(order, np.int32)
    longest = max((len(its) for its in token_bytes), default=0)
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
    return Trie(nodes, children, firsts, ordered, starts, text)


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
    places, numbers = np.zeros(longest + 2, np.int64), np.empty(count, np.int32)
    for node in range(count):
        places[depths[node] + 1] += 1
    for depth in range(longest + 1):
        places[depth + 1] += places[depth]
    for node in range(count):
        numbers[node] = places[depths[node]]
        places[depths[node]] += 1
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
