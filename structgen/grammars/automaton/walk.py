"""Walks of the token trie: from a state to the tokens that may come next.

The trie lies in pre-order, so that one pass visits it and a dead branch is skipped by its end index.
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
from structgen.grammars.automaton.frames import next_of
from structgen.grammars.automaton.stacks import after_token, pack, step, unpack
from structgen.grammars.automaton.tables import (
    ACCEPT,
    C_KEEPS_SPELLING,
    F_TOKENS,
    FAR,
    I_STATE,
    ITEMS,
    K_ARGUMENT,
    K_KIND,
    NO_STATE,
    NODES,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    SETS,
    STATE_NODES,
    STATES,
    TOKEN,
    cell,
    set_count,
)

__all__ = ["Trie", "advance", "fill_row", "has_tokens", "next_bytes", "successors"]


class Trie(NamedTuple):
    """A vocabulary's trie, its nodes in pre-order."""

    nodes: Int32Table
    """``[nodes + 1, 4]``: byte; depth (1 for a token's first byte); the first node after the subtree; the node's
    first place in ``tokens``. The last row ends the last node's tokens."""
    tokens: Int32Array
    """Token ids, those of one node together."""
    starts: Int32Array
    """``[vocabulary + 1]``: where a token's bytes begin in ``text``."""
    text: UInt8Array


T_BYTE, T_DEPTH, T_END, T_TOKENS = range(4)


@inner
def _open_path(m: Memory, closed: int) -> tuple[Int64Array, Int64Array]:
    """The travelling forms along a branch of the trie, by depth; the first is that of ``closed``."""
    set_count(m, C_KEEPS_SPELLING, 0)
    states, belows = np.empty(64, np.int64), np.empty(64, np.int64)
    states[0], belows[0] = unpack(m, closed)
    return states, belows


@inner
def _lengthened(values: Int64Array) -> Int64Array:
    longer = np.empty(2 * len(values), np.int64)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer


@inner
def _distance(m: Memory, state: int, below: int) -> int:
    if state > 0:
        return min(FAR, cell(m, STATES, state, S_DISTANCE) + cell(m, SETS, below, Q_DISTANCE))
    return cell(m, SETS, below, Q_DISTANCE)


@inner
def _set_bit(row: Int32Array, token: int) -> None:
    row[token >> 5] |= np.int32(1) << np.int32(token & 31)


@inner
def _special_at(m: Memory, closed: int, number: int) -> int:
    """The special token that is number ``number`` among those that may come next (some twice), or -1."""
    first = cell(m, SETS, closed, Q_FIRST)
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        if state == ACCEPT or not cell(m, STATES, state, S_FLAGS) & F_TOKENS:
            continue
        begin = cell(m, STATES, state, S_NODES)
        for place in range(begin, begin + cell(m, STATES, state, S_COUNT)):
            node = cell(m, STATE_NODES, place, 0)
            if cell(m, NODES, node, K_KIND) == TOKEN:
                if number == 0:
                    return cell(m, NODES, node, K_ARGUMENT)
                number -= 1
    return -1


@inner
def _special_tokens(m: Memory, closed: int, budget: int, row: Int32Array) -> int:
    count, number = 0, 0
    token = _special_at(m, closed, number)
    while token >= 0:
        known = (row[token >> 5] >> (token & 31)) & 1
        if not known and cell(m, SETS, after_token(m, closed, token), Q_DISTANCE) <= budget:
            _set_bit(row, token)
            count += 1
        number += 1
        token = _special_at(m, closed, number)
    return count


@inner
def _note(found: Int32Array, count: int, target: int) -> int:
    """Add ``target`` to ``found[:count]`` unless it is there; returns the new count, -1 where it does not fit."""
    for place in range(count - 1, -1, -1):  # the latest first: most tokens lead where their neighbours do
        if found[place] == target:
            return count
    if count == len(found):
        return -1
    found[count] = target
    return count + 1


@inner
def _special_successors(m: Memory, closed: int, found: Int32Array) -> int:
    count, number = 0, 0
    token = _special_at(m, closed, number)
    while token >= 0 and count >= 0:
        count = _note(found, count, after_token(m, closed, token))
        number += 1
        token = _special_at(m, closed, number)
    return count


@compiled
def fill_row(m: Memory, nodes: Int32Table, tokens: Int32Array, closed: int, budget: int, row: Int32Array) -> int:
    """Set in ``row`` the bits of the tokens after which an end is at most ``budget`` tokens away.

    End tokens are the caller's. Returns the number of tokens set.
    """
    for word in range(len(row)):
        row[word] = 0
    count = _special_tokens(m, closed, budget, row)
    states, belows = _open_path(m, closed)
    node, last = 0, len(nodes) - 1
    while node < last:
        depth = int64(nodes[node, T_DEPTH])
        if depth == len(states):
            states, belows = _lengthened(states), _lengthened(belows)
        state, below = step(m, states[depth - 1], belows[depth - 1], int64(nodes[node, T_BYTE]))
        if state == 0:
            node = int64(nodes[node, T_END])
            continue
        states[depth], belows[depth] = state, below
        first, end = nodes[node, T_TOKENS], nodes[node + 1, T_TOKENS]
        if first < end and _distance(m, state, below) <= budget:
            for place in range(first, end):
                _set_bit(row, int64(tokens[place]))
            count += end - first
        node += 1
    return count


@compiled
def advance(m: Memory, text: UInt8Array, first: int, end: int, closed: int) -> int:
    """The closed set after the bytes ``text[first:end]``, or `NOTHING`."""
    set_count(m, C_KEEPS_SPELLING, 1)
    state, below = unpack(m, closed)
    for place in range(first, end):
        state, below = step(m, state, below, int64(text[place]))
        if state == 0:
            return NOTHING
    return pack(m, state, below)


@compiled
def next_bytes(m: Memory, closed: int, allowed: UInt8Array) -> int:
    """Mark in ``allowed[256]`` the bytes that may come next; returns their number."""
    set_count(m, C_KEEPS_SPELLING, 0)
    count = 0
    for byte in range(256):
        allowed[byte] = 0
    first = cell(m, SETS, closed, Q_FIRST)
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        for byte in range(256):
            if state != ACCEPT and not allowed[byte] and next_of(m, state, byte) != NO_STATE:
                allowed[byte] = 1
                count += 1
    return count


@compiled
def has_tokens(m: Memory, closed: int) -> bool:
    """Whether a special token may come next."""
    return _special_at(m, closed, 0) >= 0


@compiled
def successors(m: Memory, nodes: Int32Table, closed: int, found: Int32Array) -> int:
    """Write to ``found`` the distinct closed sets one token on; returns their number, -1 if they do not fit."""
    states, belows = _open_path(m, closed)
    count = _special_successors(m, closed, found)
    node, last = 0, len(nodes) - 1
    while node < last and count >= 0:
        depth = int64(nodes[node, T_DEPTH])
        if depth == len(states):
            states, belows = _lengthened(states), _lengthened(belows)
        state, below = step(m, states[depth - 1], belows[depth - 1], int64(nodes[node, T_BYTE]))
        if state == 0:
            node = int64(nodes[node, T_END])
            continue
        states[depth], belows[depth] = state, below
        if nodes[node, T_TOKENS] < nodes[node + 1, T_TOKENS]:
            count = _note(found, count, pack(m, state, below))
        node += 1
    return count
