"""Interiors: what a rule that reads bytes only allows below a node of a trie, whoever called the rule.

A text inside such a rule (a *leaf*: a string, a number, a line break) is stepped without looking at the stack. So
below a node of the trie and in a state of the leaf the tokens fall in three: those that stay inside, or end where
the rule may end; those that leave it and go on; and the others. The first are the same for every stack and every
grammar. Of the second only the *remainders* after the leaf matter, and they are few: ``",``, ``":``, ``"}``. Both
are computed once for a vocabulary and kept in its store (see `interior_store`); a mask then takes the tokens of
the first kind whole and walks the small trie of remainders from what lies below on its own stack.

The store, one int32 array, read without a lock: rows are written before anything leads to them::

    | header | first nodes by byte | end tokens | hash table | interiors with their tokens and tries |

A trie is named by the place of its interior in the store; 0 is the vocabulary's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, inlined, inner, int64, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.tables import (
    C_GENERATION,
    C_WANTED_NODE,
    C_WANTED_STATE,
    C_WANTED_TRIE,
    F_FINAL,
    LINKS,
    N_LINKS,
    NO_STATE,
    RULES,
    S_COUNT,
    S_FLAGS,
    S_NODES,
    S_RULE,
    STATE_NODES,
    STATES,
    U_FIRST,
    U_LEAF,
    X_INTERIOR,
    X_NODE,
    X_STATE,
    X_TRIE,
    InteriorWanted,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = [
    "ROOT",
    "find_interior",
    "forget_old_links",
    "key_hash",
    "last_node",
    "trie_nodes",
    "trie_tokens",
]

ROOT = -1
"""The node above a trie's first level."""

# The header of the store. Addresses take two places.
H_NODES, H_TOKENS, H_TEXT, H_STARTS = range(0, 8, 2)
H_LAST, H_TOKEN_COUNT, H_WORDS, H_LONGEST, H_GENERATION = range(8, 13)
H_FIRST_NODES, H_ENDS, H_END_COUNT, H_HASH, H_HASH_ROWS = range(13, 18)
HEADER = 18

# An interior. Its tokens are a list, or where they are many a mask; `E_LIST` or `E_MASK` is 0 then.
E_COUNT, E_LIST, E_MASK, E_NODES, E_LAST, E_TOKENS, E_KEY, E_KEY_COUNT = range(8)
ENTRY = 8

# A node of a trie.
T_BYTE, T_DEPTH, T_END, T_TOKENS = range(4)

_WIDE, _WIDE_ENDS = 64, 6
"""A leaf is walked below a node where it has fewer live nodes, and fewer of them may end it."""


@inlined
def address(s: Memory, place: int) -> int:
    """The address that takes two places of the header."""
    return (load(s, place) & 0xFFFFFFFF) | (load(s, place + 1) << 32)


@inner
def trie_nodes(s: Memory, trie: int) -> Memory:
    """Where the nodes of ``trie`` lie."""
    return s + 4 * load(s, trie + E_NODES) if trie else address(s, H_NODES)


@inner
def trie_tokens(s: Memory, trie: int) -> Memory:
    """Where the tokens of ``trie`` lie."""
    return s + 4 * load(s, trie + E_TOKENS) if trie else address(s, H_TOKENS)


@inner
def last_node(s: Memory, trie: int) -> int:
    """The number of nodes of ``trie``."""
    return load(s, trie + E_LAST) if trie else load(s, H_LAST)


@inner
def subtree_end(s: Memory, trie: int, node: int) -> int:
    """The node after those below ``node``."""
    return load(trie_nodes(s, trie), 4 * node + T_END) if node != ROOT else last_node(s, trie)


@inlined
def leaf_of(m: Memory, state: int) -> int:
    """The number of the leaf that ``state`` belongs to, 0 where it belongs to no leaf."""
    return cell(m, RULES, cell(m, STATES, state, S_RULE), U_LEAF)


@inlined
def key_count(m: Memory, state: int) -> int:
    """Numbers in the key of ``state`` below a node."""
    return 3 + cell(m, STATES, state, S_COUNT)


@inner
def key_at(m: Memory, trie: int, node: int, state: int, place: int) -> int:
    """The key by which every automaton of the vocabulary knows ``state`` below ``node``, number ``place`` of it."""
    if place == 0:
        return leaf_of(m, state)
    if place < 3:
        return trie if place == 1 else node
    nfa_node = cell(m, STATE_NODES, cell(m, STATES, state, S_NODES) + place - 3, 0)
    return nfa_node - cell(m, RULES, cell(m, STATES, state, S_RULE), U_FIRST)


@inner
def key_hash(m: Memory, trie: int, node: int, state: int) -> int:
    """FNV-1a over the numbers of the key, folded."""
    value: Any = np.uint64(14695981039346656037)
    for place in range(key_count(m, state)):
        value = (value ^ np.uint64(key_at(m, trie, node, state, place))) * np.uint64(1099511628211)
    return int64((value ^ (value >> np.uint64(29))) & np.uint64(0x7FFFFFFF))


@inner
def _is_key(m: Memory, s: Memory, interior: int, trie: int, node: int, state: int) -> bool:
    if load(s, interior + E_KEY_COUNT) != key_count(m, state):
        return False
    first = load(s, interior + E_KEY)
    for place in range(key_count(m, state)):
        if load(s, first + place) != key_at(m, trie, node, state, place):
            return False
    return True


@inner
def _look_up(m: Memory, s: Memory, trie: int, node: int, state: int) -> int:
    last, first = load(s, H_HASH_ROWS) - 1, load(s, H_HASH)
    slot = key_hash(m, trie, node, state) & last
    while load(s, first + slot) != 0:
        if _is_key(m, s, load(s, first + slot), trie, node, state):
            return load(s, first + slot)
        slot = (slot + 1) & last
    return 0


@inner
def _is_wide(m: Memory, s: Memory, trie: int, node: int, state: int, path: Int64Array) -> bool:
    """Whether a walk below ``node`` would go far enough for an interior to pay."""
    nodes, last = trie_nodes(s, trie), subtree_end(s, trie, node)
    node += 1
    top, live, ends = load(nodes, 4 * node + T_DEPTH) - 1, 0, 0
    path[0] = state
    while node < last:
        depth = load(nodes, 4 * node + T_DEPTH) - top
        target = next_state(m, path[depth - 1], load(nodes, 4 * node + T_BYTE))
        if target == NO_STATE:
            node = load(nodes, 4 * node + T_END)
            continue
        path[depth] = target
        live += 1
        ends += cell(m, STATES, target, S_FLAGS) & F_FINAL
        if live >= _WIDE or ends >= _WIDE_ENDS:
            return True
        node += 1
    return False


@inner
def _link_slot(m: Memory, trie: int, node: int, state: int) -> int:
    last = rows_of(m, LINKS) - 1
    a: Any = np.uint64(trie * 0x10001 + node + 2)
    b: Any = np.uint64(state)
    mixed = (a * np.uint64(0x9E3779B97F4A7C15)) ^ (b * np.uint64(0xC2B2AE3D27D4EB4F))
    slot = int64(mixed >> np.uint64(33)) & last
    while cell(m, LINKS, slot, X_STATE) != 0 and (
        cell(m, LINKS, slot, X_STATE) != state
        or cell(m, LINKS, slot, X_NODE) != node
        or cell(m, LINKS, slot, X_TRIE) != trie
    ):
        slot = (slot + 1) & last
    return slot


@inner
def _link(m: Memory, trie: int, node: int, state: int, interior: int) -> None:
    need(m, LINKS, 2 * get_count(m, N_LINKS) + 2)
    slot = _link_slot(m, trie, node, state)
    put(m, LINKS, slot, X_TRIE, trie)
    put(m, LINKS, slot, X_NODE, node)
    put(m, LINKS, slot, X_STATE, state)
    put(m, LINKS, slot, X_INTERIOR, interior)
    set_count(m, N_LINKS, get_count(m, N_LINKS) + 1)


@inner
def forget_old_links(m: Memory, s: Memory) -> None:
    """Empty `LINKS` where the store has begun anew since they were made."""
    if get_count(m, C_GENERATION) != load(s, H_GENERATION):
        for row in range(rows_of(m, LINKS)):
            put(m, LINKS, row, X_STATE, 0)
        set_count(m, N_LINKS, 0)
        set_count(m, C_GENERATION, load(s, H_GENERATION))


@inner
def find_interior(m: Memory, s: Memory, trie: int, node: int, state: int, path: Int64Array) -> int:
    """The interior of ``state``, which is a leaf's, below ``node``; 0 where it is to be walked.

    Raises `InteriorWanted` where it is still to be computed.
    """
    slot = _link_slot(m, trie, node, state)
    if cell(m, LINKS, slot, X_STATE) != 0:
        return max(0, cell(m, LINKS, slot, X_INTERIOR))
    interior = _look_up(m, s, trie, node, state)
    if interior == 0:
        if _is_wide(m, s, trie, node, state, path):
            set_count(m, C_WANTED_TRIE, trie)
            set_count(m, C_WANTED_NODE, node)
            set_count(m, C_WANTED_STATE, state)
            raise InteriorWanted
        interior = -1
    _link(m, trie, node, state, interior)
    return max(0, interior)
