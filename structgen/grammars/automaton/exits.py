"""Computing an interior (see `interiors`): its tokens, and the trie of what remains of the others after the leaf."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.interiors import (
    H_LONGEST,
    T_BYTE,
    T_DEPTH,
    T_END,
    T_TOKENS,
    key_at,
    key_count,
    key_hash,
    subtree_end,
    trie_nodes,
    trie_tokens,
)
from structgen.grammars.automaton.tables import F_FINAL, NO_STATE, S_FLAGS, STATES, cell

__all__ = ["collect", "flatten", "write_key"]

# While it grows a trie is lists of children; 0 ends a list, and node 0 is the root. PLACE is the node's number when
# flat; TOKENS the first of its tokens, which are rows (token, next).
BYTE, CHILD, SIBLING, PARENT, TOKENS, PLACE = range(6)
EXIT_COLUMNS = 6


@inner
def _child(exits: Int32Table, count: int, parent: int, byte: int) -> int:
    """The child of ``parent`` for ``byte``; ``count``, where a new one is to be made, if there is none."""
    one = int64(exits[parent, CHILD])
    while one and exits[one, BYTE] != byte:
        one = int64(exits[one, SIBLING])
    return one or count


@inner
def _descend(exits: Int32Table, count: int, parent: int, byte: int) -> int:
    """Like `_child`, the child made where there is none."""
    one = _child(exits, count, parent, byte)
    if one == count:
        exits[one, BYTE] = byte
        exits[one, CHILD] = exits[one, TOKENS] = 0
        exits[one, SIBLING] = exits[parent, CHILD]
        exits[one, PARENT] = parent
        exits[parent, CHILD] = one
    return one


@inner
def _add_subtree(
    nodes: Memory,
    tokens: Memory,
    top: int,
    exits: Int32Table,
    lists: Int32Table,
    counts: Int64Array,
    path: Int64Array,
) -> bool:
    """Add the tokens at and below ``top`` under the exit node ``path[depth of top - 1]``; whether there was room."""
    node, end = top, load(nodes, 4 * top + T_END)
    while node < end:
        depth = load(nodes, 4 * node + T_DEPTH)
        if counts[1] >= len(exits):
            return False
        path[depth] = _descend(exits, counts[1], path[depth - 1], load(nodes, 4 * node + T_BYTE))
        counts[1] = max(counts[1], path[depth] + 1)
        for place in range(load(nodes, 4 * node + T_TOKENS), load(nodes, 4 * node + 4 + T_TOKENS)):
            if counts[2] >= len(lists):
                return False
            lists[counts[2], 0] = load(tokens, place)
            lists[counts[2], 1] = exits[path[depth], TOKENS]
            exits[path[depth], TOKENS] = counts[2]
            counts[2] += 1
        node += 1
    return True


@compiled
def collect(
    m: Memory,
    s: Memory,
    trie: int,
    node: int,
    state: int,
    inside: Int32Array,
    exits: Int32Table,
    lists: Int32Table,
    counts: Int64Array,
) -> bool:
    """Compute the interior of ``state`` below ``node``; whether there was room.

    Its tokens go to ``inside``, the exits' trie to ``exits`` and its tokens to ``lists``, and their numbers, one more
    for the last two, to ``counts``.
    """
    nodes, tokens, last = trie_nodes(s, trie), trie_tokens(s, trie), subtree_end(s, trie, node)
    longest = load(s, H_LONGEST) + 2
    states, path, ends = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    read = np.empty(longest, np.int64)
    counts[0], counts[1], counts[2] = 0, 1, 1
    exits[0, CHILD] = exits[0, TOKENS] = 0
    node += 1
    states[load(nodes, 4 * node + T_DEPTH) - 1] = state
    ways = 0  # places on the path where the leaf may end
    while node < last:
        depth, byte = load(nodes, 4 * node + T_DEPTH), load(nodes, 4 * node + T_BYTE)
        while ways and ends[ways - 1] >= depth:
            ways -= 1
        target = next_state(m, states[depth - 1], byte)
        if target == NO_STATE:
            for way in range(ways):
                path[ends[way]] = 0
                for level in range(ends[way] + 1, depth):
                    if counts[1] >= len(exits):
                        return False
                    path[level] = _descend(exits, counts[1], path[level - 1], read[level])
                    counts[1] = max(counts[1], path[level] + 1)
                if not _add_subtree(nodes, tokens, node, exits, lists, counts, path):
                    return False
            node = load(nodes, 4 * node + T_END)
            continue
        states[depth], read[depth] = target, byte
        for place in range(load(nodes, 4 * node + T_TOKENS), load(nodes, 4 * node + 4 + T_TOKENS)):
            inside[counts[0]] = load(tokens, place)
            counts[0] += 1
        if cell(m, STATES, target, S_FLAGS) & F_FINAL:
            ends[ways] = depth
            ways += 1
        node += 1
    return True


@compiled
def flatten(exits: Int32Table, lists: Int32Table, nodes: Int32Table, tokens: Int32Array) -> None:
    """Write the exits' trie as `walk.Trie` has it."""
    count, used, depth, one = 0, 0, 0, 0
    while True:
        if exits[one, CHILD]:
            one = int64(exits[one, CHILD])
            depth += 1
        else:
            while one and not exits[one, SIBLING]:
                nodes[exits[one, PLACE], T_END] = count
                one = int64(exits[one, PARENT])
                depth -= 1
            if not one:
                break
            nodes[exits[one, PLACE], T_END] = count
            one = int64(exits[one, SIBLING])
        exits[one, PLACE] = count
        nodes[count, T_BYTE], nodes[count, T_DEPTH], nodes[count, T_TOKENS] = exits[one, BYTE], depth, used
        entry = int64(exits[one, TOKENS])
        while entry:
            tokens[used] = lists[entry, 0]
            used += 1
            entry = int64(lists[entry, 1])
        count += 1
    nodes[count, T_TOKENS] = used


@compiled
def write_key(m: Memory, trie: int, node: int, state: int, key: Int32Array) -> int:
    """Write the key of ``state`` below ``node``; returns its hash."""
    for place in range(key_count(m, state)):
        key[place] = key_at(m, trie, node, state, place)
    return key_hash(m, trie, node, state)
