"""Interiors at a trie's root: most of the vocabulary is looked at, so it is done in the order in which it lies.

A walk goes down a branch before it turns to the next, and jumps from level to level of a trie of several megabytes; a
sweep takes the nodes as they are numbered, by depth, and reads and writes memory from end to end.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.exits import (
    C_EXITS,
    C_GROUPS,
    C_INSIDE,
    C_TOKENS,
    X_CHILD,
    X_TOKENS,
    add_exits,
    group_of,
)
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    FIRSTS,
    H_LONGEST,
    ROOT,
    TOKENS,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import UNCLOSED, first_bytes, label_at, read_on
from structgen.grammars.automaton.spelling import QUOTE
from structgen.grammars.automaton.tables import (
    F_FINAL,
    F_LABEL,
    HOLE,
    NO_ROW,
    NO_STATE,
    S_FLAGS,
    S_ROW,
    STATES,
    TRANSITIONS,
    cell,
)

__all__ = ["is_wide", "sweep"]

_MANY_BYTES = 128

_STATE, _LEFT = (1 << 28) - 1, 1 << 28
"""What is kept of a node: its state, 0 for none, and whether the leaf may have ended at it or above it."""


@inner
def _read_path(
    m: Memory,
    s: Memory,
    variant: int,
    node: int,
    states: Int32Array,
    parents: Int32Array,
    labels: Int64Array,
    counts: Int64Array,
    read: Int64Array,
) -> int:
    """Write the path to ``node`` as `exits.add_exits` takes it; returns its length."""
    nodes, depth, one = part_of(s, 0, BYTES_OF), 0, node
    while one != ROOT:
        depth += 1
        one = int64(parents[one])
    for level in range(depth, 0, -1):
        group = group_of(labels, counts, label_at(m, states[node] & _STATE, variant))
        read[level] = byte_of(nodes, node) + 256 * group
        node = int64(parents[node])
    return depth


@compiled
def is_wide(m: Memory, state: int) -> bool:
    """Whether so many bytes may come first that a sweep pays."""
    live, count = np.zeros(8, np.int64), 0
    first_bytes(m, state, 0, live)
    for byte in range(256):
        count += (live[byte >> 5] >> (byte & 31)) & 1
    return count >= _MANY_BYTES


@compiled
def sweep(
    m: Memory,
    s: Memory,
    variant: int,
    state: int,
    states: Int32Array,
    parents: Int32Array,
    inside: Int32Array,
    exits: Int32Table,
    lists: Int32Table,
    labels: Int64Array,
    counts: Int64Array,
) -> bool:
    """As `exits.collect` at the vocabulary's root, for a state without a count; whether there was room.

    ``states`` and ``parents`` have a place for each node.
    """
    nodes, children = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN)
    firsts, tokens = part_of(s, 0, FIRSTS), part_of(s, 0, TOKENS)
    longest = load(s, H_LONGEST) + 2
    work, read = np.empty((longest, 3), np.int32), np.zeros(longest, np.int64)
    counts[C_INSIDE], counts[C_EXITS], counts[C_TOKENS], counts[C_GROUPS] = 0, 1, 1, 0
    exits[0, X_CHILD] = exits[0, X_TOKENS] = 0
    states[ROOT], kept = state, 0
    for parent in range(len(states)):
        child, end, above = first_child(children, parent), first_child(children, parent + 1), int64(states[parent])
        if above == 0:
            states[child:end] = 0
            continue
        left = above & _LEFT
        above &= _STATE
        row = cell(m, STATES, above, S_ROW)
        while child < end:
            byte, target = byte_of(nodes, child), HOLE
            parents[child] = parent
            if variant > UNCLOSED:
                target, _ = read_on(m, above, -1, variant, byte)
            elif row != NO_ROW:
                target = cell(m, TRANSITIONS, row, byte)
            if target == HOLE:
                target = next_state(m, above, byte)
            if byte == QUOTE and parent == ROOT and variant & UNCLOSED:
                target = NO_STATE
            if target == NO_STATE:
                states[child] = 0
                if left:
                    depth = _read_path(m, s, variant, parent, states, parents, labels, counts, read)
                    if not add_exits(s, 0, child, exits, lists, counts, read, depth, work):
                        return False
            else:
                states[child] = target | left
                if cell(m, STATES, target, S_FLAGS) & (F_FINAL | F_LABEL):
                    states[child] = target | _LEFT
                    if group_of(labels, counts, label_at(m, target, variant)) < 0:
                        return False
                for place in range(load(firsts, child), load(firsts, child + 1)):
                    inside[kept] = load(tokens, place)
                    kept += 1
            child += 1
    counts[C_INSIDE] = kept
    return True
