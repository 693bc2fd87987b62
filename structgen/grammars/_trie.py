"""Building a vocabulary's trie in flat arrays (see `structgen.grammars.automaton.walk.Trie`)."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, UInt8Array, compiled, int64
from structgen.grammars.automaton.interiors import T_BYTE, T_DEPTH, T_END, T_TOKENS
from structgen.grammars.automaton.walk import Trie

__all__ = ["build_trie"]


def build_trie(token_bytes: list[bytes]) -> Trie:
    """The trie of the tokens that have bytes; ``token_bytes`` is by token id."""
    starts = np.zeros(len(token_bytes) + 1, np.int32)
    np.cumsum([len(text) for text in token_bytes], out=starts[1:])
    text = np.frombuffer(bytearray(b"".join(token_bytes) + bytes(4)), np.uint8)  # compiled code reads words
    order = sorted((token for token, its in enumerate(token_bytes) if its), key=token_bytes.__getitem__)
    tokens = np.array(order, np.int32)
    nodes: Int32Table = np.empty((int(starts[-1]) + 1, 4), np.int32)
    longest = max((len(its) for its in token_bytes), default=0)
    count = _build(tokens, starts, text, longest, nodes)
    used: Int32Table = np.array(nodes[: count + 1])  # a copy: the room for shared prefixes goes
    return Trie(used, tokens, starts, text)


@compiled
def _build(tokens: Int32Array, starts: Int32Array, text: UInt8Array, longest: int, nodes: Int32Table) -> int:
    """Enter ``tokens``, which are sorted by their bytes; returns the number of nodes."""
    path = np.empty(longest + 1, np.int32)
    count = length = int64(0)
    for place in range(len(tokens)):
        begin = int64(starts[tokens[place]])
        size = starts[tokens[place] + 1] - begin
        shared = 0
        while shared < min(length, size) and nodes[path[shared], T_BYTE] == text[begin + shared]:
            shared += 1
        for level in range(shared, length):
            nodes[path[level], T_END] = count
        for level in range(shared, size):
            nodes[count, T_BYTE] = text[begin + level]
            nodes[count, T_DEPTH] = level + 1
            nodes[count, T_TOKENS] = place
            path[level] = count
            count += 1
        length = size
    for level in range(length):
        nodes[path[level], T_END] = count
    nodes[count, T_TOKENS] = len(tokens)
    return count
