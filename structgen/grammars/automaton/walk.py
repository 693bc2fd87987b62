"""Walks of the token trie: from a state to the tokens that may come next.

The trie lies in pre-order, so that one pass visits it and a dead branch is skipped by its end index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import (
    Int32Array,
    Int32Table,
    Memory,
    UInt8Array,
    compiled,
    inner,
    int64,
    load,
)
from structgen.grammars.automaton.frames import next_of
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    FIRSTS,
    H_LONGEST,
    ROOT,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.rows import has_bit, set_bit
from structgen.grammars.automaton.stack_sets import pack, unpack
from structgen.grammars.automaton.stacks import after_token, step
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
    S_FLAGS,
    S_NODES,
    SETS,
    STATE_NODES,
    STATES,
    TOKEN,
    cell,
    set_count,
)

__all__ = ["NO_BUDGET", "Trie", "add_special_tokens", "advance", "has_tokens", "next_bytes", "successors"]


class Trie(NamedTuple):
    """A vocabulary's trie. Node 0 is the root; siblings lie together, in the order of their bytes."""

    nodes: UInt8Array
    """``[nodes + 4]``: the byte of each node; compiled code reads whole words."""
    children: Int32Array
    """``[nodes + 1]``: the first child of each node, with `LARGE`; they end where those of the next node begin."""
    firsts: Int32Array
    """``[nodes + 1]``: the first place in ``tokens`` of each node."""
    tokens: Int32Array
    """Token ids, those of one node together."""
    starts: Int32Array
    """``[vocabulary + 1]``: where a token's bytes begin in ``text``."""
    text: UInt8Array
    """With four bytes more at its end."""
    large: Int32Array
    """The nodes below which many are, in order."""
    below: Int32Table
    """``[large, BELOW]``: the bytes below each of them, 8 words; whether it is between two characters and all that is
    below is UTF-8; the first and the end of the tokens below it in ``deep``."""
    deep: Int32Array
    """Token ids in the order of their bytes."""
    spans: Int32Array
    """Token ids: those with a quote, later a comma, later a quote that is not their last byte. No others can hold the
    end of a key and some of the next key."""
    members: Int32Array
    """Other token ids: those with a quote, later a colon, later a comma. No others can hold the end of a key and that
    of its member."""
    elements: Int32Array
    """Other token ids: those with a quote, later a comma. No others can hold the end of a string in an array and a
    comma behind it."""

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.firsts) - 1


BELOW = 11

NO_BUDGET = 2 * FAR
"""As many tokens as any text may need."""


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
def add_special_tokens(m: Memory, closed: int, budget: int, row: Memory) -> int:
    """Set the special tokens after which an end is at most ``budget`` tokens away; returns their number."""
    count, number = 0, 0
    token = _special_at(m, closed, number)
    while token >= 0:
        known = has_bit(row, token)
        if not known and cell(m, SETS, after_token(m, closed, token), Q_DISTANCE) <= budget:
            set_bit(row, token)
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
def successors(m: Memory, s: Memory, closed: int, found: Int32Array) -> int:
    """Write to ``found`` the distinct closed sets one token on; returns their number, -1 if they do not fit."""
    set_count(m, C_KEEPS_SPELLING, 0)
    nodes, children, firsts = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN), part_of(s, 0, FIRSTS)
    path = np.empty((load(s, H_LONGEST) + 2, 4), np.int64)  # the node and its last sibling, the travelling form
    path[0, 0], path[0, 1] = first_child(children, ROOT), first_child(children, ROOT + 1)
    path[0, 2], path[0, 3] = unpack(m, closed)
    set_count(m, C_KEEPS_SPELLING, 0)
    count, depth = _special_successors(m, closed, found), 0
    while depth >= 0 and count >= 0:
        node = path[depth, 0]
        if node == path[depth, 1]:
            depth -= 1
            continue
        path[depth, 0] = node + 1
        state, below = step(m, path[depth, 2], path[depth, 3], byte_of(nodes, node))
        if state == 0:
            continue
        if load(firsts, node) < load(firsts, node + 1):
            count = _note(found, count, pack(m, state, below))
        depth += 1
        path[depth, 0], path[depth, 1] = first_child(children, node), first_child(children, node + 1)
        path[depth, 2], path[depth, 3] = state, below
    return count
