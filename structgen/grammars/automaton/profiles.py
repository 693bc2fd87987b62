"""Strings with bounds on their length: interiors by how many characters a token takes.

Where a pattern sets no other limits on lengths than the bounds do, the state after some characters allows a token of a
state without bounds exactly if the token's characters, and the fewest that must follow them, are no more than may still
come, or, where the token closes the string, no fewer than must. So the walk is made once for all counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.exits import C_EXITS, C_TOKENS, X_CHILD, X_TOKENS, add_subtree
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    FIRSTS,
    H_CHARACTERS,
    H_DEEP,
    H_LONGEST,
    LARGE,
    ROOT,
    TOKENS,
    address,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import uncounted
from structgen.grammars.automaton.spelling import NONE, first_rank, last_rank
from structgen.grammars.automaton.stretches import ALONE, LOOPS, stretch
from structgen.grammars.automaton.string_rests import END, FULL, interval_end, interval_place
from structgen.grammars.automaton.tables import (
    D_LONGEST,
    D_SHORTEST,
    ENDLESS,
    FAR,
    G_RULE,
    G_SET_COUNT,
    G_VALUE,
    INTERVALS,
    MACHINES,
    N_FROM,
    N_TARGET,
    NO_STATE,
    RECORDS,
    RULES,
    S_COUNT,
    S_NODES,
    STATES,
    STRING,
    U_FIRST,
    VALUES,
    X_COUNT,
    X_MACHINE,
    X_PHASE,
    X_POINT,
    X_VALUE,
    cell,
)

__all__ = ["Profile", "add_closers", "has_profile", "read_profile"]

# What `read_profile` counts.
C_INSIDE, C_CLOSING, C_CLOSERS = range(3)


class Profile(NamedTuple):
    """What tokens of a state without bounds need, by number of characters."""

    tokens: Int32Array
    """Those that stay inside, the ones that need fewest characters first."""
    needs: Int32Array
    """Of each."""
    closing: Int32Table
    """Tokens that end with the string, and the characters before the quote."""
    closers: Int32Table
    """Nodes of the trie at a closing quote, and the characters before it."""

    def inside(self, least: int, most: int) -> Int32Array:
        """The tokens that stay inside or end with the string where so many characters are to come; -1: any number."""
        fitting = len(self.tokens) if most < 0 else int(np.searchsorted(self.needs, most, side="right"))
        return np.concatenate([self.tokens[:fitting], _between(self.closing, least, most)])

    def nodes(self, least: int, most: int) -> Int32Array:
        """The nodes at a closing quote that may come."""
        return _between(self.closers, least, most)


def _between(rows: Int32Table, least: int, most: int) -> Int32Array:
    fits = rows[:, 1] >= least
    if most >= 0:
        fits &= rows[:, 1] <= most
    return rows[fits, 0]


@compiled
def has_profile(m: Memory, state: int) -> bool:
    """Whether ``state`` is one within a string with bounds on its length and no other limits on it."""
    if state < 0 or cell(m, STATES, state, S_COUNT) != STRING:
        return False
    record = cell(m, STATES, state, S_NODES)
    machine = cell(m, RECORDS, record, X_MACHINE)
    if cell(m, RECORDS, record, X_COUNT) < 0 or cell(m, MACHINES, machine, G_SET_COUNT):
        return False
    first = cell(m, MACHINES, machine, G_VALUE)
    endless = True
    for value in range(first, first + max(1, cell(m, RULES, cell(m, MACHINES, machine, G_RULE), U_FIRST))):
        endless &= cell(m, VALUES, value, D_LONGEST) == ENDLESS
    return endless


@inner
def _shortest_rest(m: Memory, record: int) -> int:
    """The fewest characters that must follow what has been read, a partial one among them."""
    value, phase = cell(m, RECORDS, record, X_VALUE), cell(m, RECORDS, record, X_PHASE)
    if phase == NONE:
        return cell(m, VALUES, value, D_SHORTEST)
    if phase & FULL:
        return 1 + cell(m, VALUES, value, D_SHORTEST)
    point, best = cell(m, RECORDS, record, X_POINT), FAR
    last = last_rank(phase, point)
    for place in range(interval_place(m, value, first_rank(phase, point)), interval_end(m, value)):
        if cell(m, INTERVALS, place, N_FROM) <= last:
            best = min(best, 1 + cell(m, VALUES, cell(m, INTERVALS, place, N_TARGET), D_SHORTEST))
    return best


@compiled
def read_profile(
    m: Memory,
    s: Memory,
    state: int,
    inside: Int32Array,
    needs: Int32Array,
    closing: Int32Table,
    closers: Int32Table,
    counts: Int64Array,
) -> bool:
    """Walk the vocabulary's trie from ``state`` without its bounds; whether there was room for all."""
    nodes, children = part_of(s, 0, BYTES_OF), part_of(s, 0, CHILDREN)
    firsts, tokens = part_of(s, 0, FIRSTS), part_of(s, 0, TOKENS)
    # The node and its last sibling, the state, the characters of the string and of the token's bytes.
    path, loops = np.empty((load(s, H_LONGEST) + 2, 5), np.int64), np.zeros(LOOPS, np.int64)
    deep, lengths = address(s, H_DEEP), address(s, H_CHARACTERS)
    counts[C_INSIDE], counts[C_CLOSING], counts[C_CLOSERS] = 0, 0, 0
    path[0, 0], path[0, 1] = first_child(children, ROOT), first_child(children, ROOT + 1)
    path[0, 2], path[0, 3], path[0, 4] = uncounted(m, state)[0], 0, 0
    depth = 0
    while depth >= 0:
        node = path[depth, 0]
        if node == path[depth, 1]:
            depth -= 1
            continue
        path[depth, 0] = node + 1
        byte = byte_of(nodes, node)
        target = next_state(m, path[depth, 2], byte)
        if target == NO_STATE:
            continue
        record, first, end = cell(m, STATES, target, S_NODES), load(firsts, node), load(firsts, node + 1)
        phase, characters = cell(m, RECORDS, record, X_PHASE), path[depth, 3]
        if phase == END:
            if counts[C_CLOSERS] == len(closers) or counts[C_CLOSING] + end - first > len(closing):
                return False
            closers[counts[C_CLOSERS], 0], closers[counts[C_CLOSERS], 1] = node, characters
            counts[C_CLOSERS] += 1
            for place in range(first, end):
                closing[counts[C_CLOSING], 0], closing[counts[C_CLOSING], 1] = load(tokens, place), characters
                counts[C_CLOSING] += 1
            continue
        characters += phase == NONE
        if first < end:
            need = characters + _shortest_rest(m, record)
            for place in range(first, end):
                inside[counts[C_INSIDE]], needs[counts[C_INSIDE]] = load(tokens, place), need
                counts[C_INSIDE] += 1
        path[depth + 1, 4] = path[depth, 4] + ((byte & 0xC0) != 0x80)
        below = stretch(m, s, node, target, ALONE, loops) if load(children, node) >= LARGE else 0
        if below:
            # Between two characters, and back there with each: what a token has more, it has from here on.
            ahead = characters - path[depth + 1, 4] + _shortest_rest(m, record)
            for place in range(load(below, 9), load(below, 10)):
                token = load(deep, place)
                inside[counts[C_INSIDE]], needs[counts[C_INSIDE]] = token, ahead + load(lengths, token)
                counts[C_INSIDE] += 1
            continue
        depth += 1
        path[depth, 0], path[depth, 1] = first_child(children, node), first_child(children, node + 1)
        path[depth, 2], path[depth, 3] = target, characters
    return True


@compiled
def add_closers(s: Memory, nodes: Int32Array, exits: Int32Table, lists: Int32Table, counts: Int64Array) -> bool:
    """Put what is below ``nodes`` into one trie, as `exits.collect` does; whether there was room."""
    children, work = part_of(s, 0, CHILDREN), np.empty((load(s, H_LONGEST) + 2, 3), np.int32)
    counts[C_EXITS], counts[C_TOKENS] = 1, 1
    exits[0, X_CHILD] = exits[0, X_TOKENS] = 0
    for place in range(len(nodes)):
        for top in range(first_child(children, nodes[place]), first_child(children, nodes[place] + 1)):
            if not add_subtree(s, 0, top, exits, lists, counts, 0, work):
                return False
    return True
