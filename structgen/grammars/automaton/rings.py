"""Rings: the tokens of an interior (see `interiors`) by how far from the leaf's end they lead.

How far an end is after a token that stays inside a leaf is what the leaf still needs and what lies below it on the
stack. The first depends on the leaf alone, but for a number that all tokens share: a string that needs ten characters
more is one nearer to its end for each that a token brings. So the tokens of an interior fall into rings by how much
further they lead, or nearer. These are computed once and kept with the interiors, as those of leaves with negative
numbers; a mask within a budget takes whole rings.

Tokens of many lengths lead nearer by as many lengths. That tells them apart only where the budget is short of what is
needed without them; else all that lead nearer are one ring. So there are two kinds of rings, and the finer is seldom
asked for.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int64Array, Memory, compiled, inlined, inner, int64, load
from structgen.grammars.automaton.exits import COUNT_GROUPS, copied, group_of
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    E_COUNT,
    E_LABEL,
    E_LIST,
    E_MASK,
    E_NEXT,
    FIRSTS,
    H_DEEP,
    H_LONGEST,
    H_WORDS,
    LARGE,
    TOKENS,
    address,
    byte_of,
    find_interior,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import UNCLOSED, label_at, read_on, rest_of, uncounted
from structgen.grammars.automaton.rows import add_mask, begin_row, set_bits
from structgen.grammars.automaton.spelling import QUOTE
from structgen.grammars.automaton.stretches import ALONE, LOOPS, stretch
from structgen.grammars.automaton.tables import C_BASE_MASK, FAR, NO_STATE, get_count, set_count

__all__ = ["add_interior", "add_rings", "collect_rings", "leaf_within", "ring_of", "tokens_of_ring"]

NEARER = -1
"""What all that lead nearer have as one ring: as much nearer as the last of them."""
E_FURTHER, E_MAY_END = E_LABEL, E_LABEL + 1
"""Of a ring: how much further it leads, and whether the leaf may end there."""


@inlined
def _rings_of(leaf: int, is_fine: int) -> int:
    """The number of the leaf whose interiors are the rings of those of ``leaf``."""
    return -2 * leaf - is_fine


def leaf_within(rings: int) -> int:
    """The leaf whose rings have the number ``rings``."""
    return -rings >> 1


def ring_of(label: int) -> tuple[int, int]:
    """How much further the ring with this label leads, and whether the leaf may end there: 1 or 0."""
    return (label >> 1) - 2 * FAR, label & 1


@inner
def _label(further: int, may_end: int) -> int:
    return 2 * (further + 2 * FAR) + may_end


@compiled
def collect_rings(
    m: Memory,
    s: Memory,
    rings: int,
    variant: int,
    trie: int,
    node: int,
    state: int,
    inside: Int32Array,
    numbers: Int32Array,
    ends: Int32Array,
    labels: Int64Array,
    counts: Int64Array,
) -> int:
    """Find the rings of ``state`` below ``node``; returns the number of runs, -1 where there was no room for labels.

    The tokens go to ``inside``; to ``numbers`` and ``ends`` of each run of them their ring's number and where in
    ``inside`` it ends; to ``labels`` what `ring_of` reads, and to ``counts`` how many rings there are.
    """
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens, deep = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS), address(s, H_DEEP)
    path, depth = np.empty((load(s, H_LONGEST) + 2, 4), np.int64), 0
    path[0, 0], path[0, 1] = first_child(children, node), first_child(children, node + 1)
    path[0, 2], path[0, 3] = uncounted(m, state)
    can_stretch, loops = trie == 0 and path[0, 3] < 0, np.zeros(LOOPS, np.int64)
    rest, floor = rest_of(m, path[0, 2], path[0, 3], variant), -2 * FAR if rings & 1 else NEARER
    counts[COUNT_GROUPS] = 0
    found = runs = 0
    while depth >= 0:
        node = path[depth, 0]
        if node == path[depth, 1]:
            depth -= 1
            continue
        path[depth, 0] = node + 1
        byte, target, count = byte_of(nodes, node), NO_STATE, -1
        if not (variant & UNCLOSED and depth == 0 and byte == QUOTE):
            target, count = read_on(m, path[depth, 2], path[depth, 3], variant, byte)
        if target == NO_STATE:
            continue
        further = max(floor, rest_of(m, target, count, variant) - rest)
        ring = group_of(labels, counts, _label(further, label_at(m, target, variant) >= 0)) - 1
        if ring < 0:
            return -1
        below = stretch(m, s, node, target, ALONE, loops) if can_stretch and load(children, node) >= LARGE else 0
        before = found
        found = copied(tokens, load(firsts, node), load(firsts, node + 1), inside, found)
        if below:
            found = copied(deep, load(below, 9), load(below, 10), inside, found)
        if before < found:
            runs += runs == 0 or numbers[runs - 1] != ring
            numbers[runs - 1], ends[runs - 1] = ring, found
        if not below:
            depth += 1
            path[depth, 0], path[depth, 1] = first_child(children, node), first_child(children, node + 1)
            path[depth, 2], path[depth, 3] = target, count
    return runs


@compiled
def tokens_of_ring(inside: Int32Array, numbers: Int32Array, ends: Int32Array, ring: int, tokens: Int32Array) -> int:
    """Write the tokens of a ring to ``tokens``, given what `collect_rings` wrote; returns how many they are."""
    found, first = 0, 0
    for run in range(len(numbers)):
        if numbers[run] == ring:
            for place in range(first, ends[run]):
                tokens[found] = inside[place]
                found += 1
        first = int64(ends[run])
    return found


@inner
def add_interior(m: Memory, s: Memory, interior: int, row: Memory) -> None:
    """Add the tokens of ``interior``, or of a ring."""
    if load(s, interior + E_MASK):
        if get_count(m, C_BASE_MASK) == 0:
            set_count(m, C_BASE_MASK, load(s, interior + E_MASK))
        add_mask(m, load(s, H_WORDS), s + 4 * load(s, interior + E_MASK), row)
    else:
        begin_row(m, load(s, H_WORDS), row)
        first = load(s, interior + E_LIST)
        set_bits(row, s, first, first + load(s, interior + E_COUNT))


@inner
def add_rings(
    m: Memory,
    s: Memory,
    leaf: int,
    variant: int,
    trie: int,
    node: int,
    state: int,
    budget: int,
    may_end: bool,
    path: Int64Array,
    row: Memory,
) -> None:
    """Add the tokens below ``node`` that stay inside the leaf and leave it ``budget`` tokens to its end.

    Those behind which the leaf may end are also added if ``may_end``: what lies below it on the stack is near its end.
    """
    text, count = uncounted(m, state)
    spare = budget - rest_of(m, text, count, variant)
    ring = find_interior(m, s, _rings_of(leaf, 0), variant, trie, node, state, path)
    if spare < NEARER:
        nearer = ring
        while nearer and load(s, nearer + E_FURTHER) != NEARER:
            nearer = load(s, nearer + E_NEXT)
        if nearer:
            ring = find_interior(m, s, _rings_of(leaf, 1), variant, trie, node, state, path)
    while ring:
        if load(s, ring + E_FURTHER) <= spare or (may_end and load(s, ring + E_MAY_END)):
            add_interior(m, s, ring, row)
        ring = load(s, ring + E_NEXT)
