"""Computing an interior (see `interiors`): its tokens, and the trie of what remains of the others after the leaf."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILD,
    CHILDREN,
    FIRSTS,
    H_DEEP,
    H_LONGEST,
    KEY,
    KEY_LEAF,
    KEY_NODE,
    KEY_TRIE,
    KEY_VARIANT,
    LARGE,
    TOKENS,
    address,
    byte_of,
    first_child,
    key_hash,
    part_of,
)
from structgen.grammars.automaton.leaves import (
    UNCLOSED,
    follows_space,
    key_at,
    key_count,
    label_at,
    read_on,
    uncounted,
)
from structgen.grammars.automaton.rows import set_bit
from structgen.grammars.automaton.spelling import QUOTE
from structgen.grammars.automaton.stretches import LOOPS, stretch
from structgen.grammars.automaton.tables import NO_STATE

__all__ = [
    "COUNT_GROUPS",
    "DONE",
    "EXIT_COLUMNS",
    "MOST_LABELS",
    "TOO_WIDE",
    "add_exits",
    "add_subtree",
    "add_tokens",
    "collect",
    "copied",
    "exit_roots",
    "flatten",
    "group_of",
    "key_size",
    "write_key",
    "write_mask",
]

# While it grows the exits' trie is lists of children; 0 ends a list, and node 0 is the root. `EXIT_TOKENS` is the first
# of a node's tokens, which are rows (token, next).
EXIT_BYTE, EXIT_CHILD, EXIT_SIBLING, EXIT_TOKENS = range(4)
EXIT_COLUMNS = 4

# What `collect` counts.
COUNT_INSIDE, COUNT_EXITS, COUNT_TOKENS, COUNT_GROUPS = range(4)
MOST_LABELS = 64
_MANY = 256
"""An exits' node with more nodes below it is `LARGE`."""

NO_ROOM, DONE, TOO_WIDE = range(3)
"""How `collect` has gone."""


@inner
def _descend(exits: Int32Table, counts: Int64Array, parent: int, byte: int) -> int:
    """The child of ``parent`` for ``byte``, made where there is none; 0 where there is no room."""
    one = int64(exits[parent, EXIT_CHILD])
    while one and exits[one, EXIT_BYTE] != byte:
        one = int64(exits[one, EXIT_SIBLING])
    if one == 0 and counts[COUNT_EXITS] < len(exits):
        one = counts[COUNT_EXITS]
        counts[COUNT_EXITS] += 1
        exits[one, EXIT_BYTE], exits[one, EXIT_CHILD], exits[one, EXIT_TOKENS] = byte, 0, 0
        exits[one, EXIT_SIBLING] = exits[parent, EXIT_CHILD]
        exits[parent, EXIT_CHILD] = one
    return one


@inner
def add_tokens(
    s: Memory, trie: int, node: int, exits: Int32Table, lists: Int32Table, counts: Int64Array, place: int
) -> bool:
    """Add the tokens of ``node`` to an exit node; whether there was room."""
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    for entry in range(load(firsts, node), load(firsts, node + 1)):
        row = counts[COUNT_TOKENS]
        if row == len(lists):
            return False
        lists[row, 0], lists[row, 1] = load(tokens, entry), exits[place, EXIT_TOKENS]
        exits[place, EXIT_TOKENS] = row
        counts[COUNT_TOKENS] += 1
    return True


@inner
def add_subtree(
    s: Memory,
    trie: int,
    top: int,
    exits: Int32Table,
    lists: Int32Table,
    counts: Int64Array,
    parent: int,
    work: Int32Table,
) -> bool:
    """Add the tokens at and below ``top`` below the exit node ``parent``; whether there was room."""
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    depth = 0
    work[0, 0], work[0, 1], work[0, 2] = top, top + 1, parent
    while depth >= 0:
        node = int64(work[depth, 0])
        if node == work[depth, 1]:
            depth -= 1
            continue
        work[depth, 0] = node + 1
        place = _descend(exits, counts, int64(work[depth, 2]), byte_of(nodes, node))
        if place == 0 or not add_tokens(s, trie, node, exits, lists, counts, place):
            return False
        depth += 1
        work[depth, 0], work[depth, 1] = first_child(children, node), first_child(children, node + 1)
        work[depth, 2] = place
    return True


@inner
def add_exits(
    s: Memory,
    trie: int,
    top: int,
    exits: Int32Table,
    lists: Int32Table,
    counts: Int64Array,
    read: Int64Array,
    first: int,
    depth: int,
    work: Int32Table,
) -> bool:
    """Add what is at and below ``top`` for every place of the path, ``read[first..depth]``, where the leaf may end."""
    for end in range(first, depth + 1):
        if read[end] < 256:
            continue
        parent = _descend(exits, counts, 0, read[end] | 255)  # the root of this label's trie
        if parent == 0:
            return False
        for level in range(end + 1, depth + 1):
            parent = _descend(exits, counts, parent, read[level] & 255)
            if parent == 0:
                return False
        if not add_subtree(s, trie, top, exits, lists, counts, parent, work):
            return False
    return True


@inner
def copied(tokens: Memory, first: int, end: int, inside: Int32Array, count: int) -> int:
    """Copy ``tokens[first:end]`` behind so many in ``inside``; returns how many there are then."""
    for place in range(end - first):
        inside[count + place] = load(tokens, first + place)
    return count + end - first


@inner
def _first_end(state: int, depth: int, byte: int) -> int:
    """Where on the path the leaf of ``state`` may first end before a ``byte`` that it does not read."""
    if state >= 0:
        return 1
    return depth if follows_space(byte) else depth + 1  # white space ends before what JSON has behind it, or not at all


@inner
def group_of(labels: Int64Array, counts: Int64Array, label: int) -> int:
    """The number of ``label``, from 1; 0 where the leaf may not end, -1 where there are too many."""
    if label < 0:
        return 0
    for group in range(counts[COUNT_GROUPS]):
        if labels[group] == label:
            return group + 1
    if counts[COUNT_GROUPS] == len(labels):
        return -1
    labels[counts[COUNT_GROUPS]] = label
    counts[COUNT_GROUPS] += 1
    return counts[COUNT_GROUPS]


@compiled
def collect(
    m: Memory,
    s: Memory,
    variant: int,
    trie: int,
    node: int,
    state: int,
    most: int,
    inside: Int32Array,
    exits: Int32Table,
    lists: Int32Table,
    labels: Int64Array,
    counts: Int64Array,
) -> int:
    """Compute the interior of ``state`` below ``node``: `DONE`, `NO_ROOM`, or `TOO_WIDE` after ``most`` nodes.

    Its tokens go to ``inside``, the exits to ``exits``, a trie for each of ``labels`` below a node of its own, and
    their tokens to ``lists``; the numbers of all, one more for the exits and their tokens, to ``counts``.
    """
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens, longest = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS), load(s, H_LONGEST) + 2
    work, path = np.empty((longest, 3), np.int32), np.empty((longest, 4), np.int64)
    # The bytes of the path, plus 256 times the label's number where the leaf may end.
    read = np.zeros(longest, np.int64)
    counts[COUNT_INSIDE], counts[COUNT_EXITS], counts[COUNT_TOKENS], counts[COUNT_GROUPS] = 0, 1, 1, 0
    exits[0, EXIT_CHILD] = exits[0, EXIT_TOKENS] = 0
    depth = ways = live = 0
    path[0, 0], path[0, 1] = first_child(children, node), first_child(children, node + 1)
    path[0, 2], path[0, 3] = uncounted(m, state)
    can_stretch, deep = trie == 0 and state >= 0 and path[0, 3] < 0, address(s, H_DEEP)
    loops = np.zeros(LOOPS, np.int64)
    is_plain = state >= 0 and path[0, 3] < 0 and variant <= UNCLOSED
    while depth >= 0:
        node = path[depth, 0]
        if node == path[depth, 1]:
            ways -= read[depth] >= 256
            depth -= 1
            continue
        path[depth, 0] = node + 1
        byte, target, count = byte_of(nodes, node), NO_STATE, -1
        if variant & UNCLOSED and depth == 0 and byte == QUOTE:
            target = NO_STATE
        elif is_plain:
            target = next_state(m, path[depth, 2], byte)
        else:
            target, count = read_on(m, path[depth, 2], path[depth, 3], variant, byte)
        if target == NO_STATE:
            first = _first_end(state, depth, byte)
            if ways and not add_exits(s, trie, node, exits, lists, counts, read, first, depth, work):
                return NO_ROOM
            continue
        live += 1
        group = group_of(labels, counts, label_at(m, target, variant))
        if group < 0 or live > most:
            return NO_ROOM if group < 0 else TOO_WIDE
        counts[COUNT_INSIDE] = copied(tokens, load(firsts, node), load(firsts, node + 1), inside, counts[COUNT_INSIDE])
        if can_stretch and load(children, node) >= LARGE:
            below = stretch(m, s, node, target, variant, loops)
            if below:
                counts[COUNT_INSIDE] = copied(deep, load(below, 9), load(below, 10), inside, counts[COUNT_INSIDE])
                continue
        depth += 1
        path[depth, 0], path[depth, 1] = first_child(children, node), first_child(children, node + 1)
        path[depth, 2], path[depth, 3] = target, count
        read[depth] = byte + 256 * group
        ways += group > 0
    return DONE


@compiled
def flatten(
    exits: Int32Table,
    lists: Int32Table,
    root: int,
    nodes: Int32Array,
    children: Int32Array,
    firsts: Int32Array,
    tokens: Int32Array,
    counts: Int64Array,
    seen: Int32Array,
) -> None:
    """Write the trie below ``root`` as `walk.Trie` has it, a byte to a number yet; ``counts``: its nodes and tokens.

    ``seen``: zeros for all tokens, where one may come to a node more than once, and is to be there once; else empty.
    """
    used, count, node = 0, 1, 0
    queue = np.empty(len(exits), np.int32)
    queue[0] = root
    while node < count:
        one = int64(queue[node])
        nodes[node], firsts[node], children[node] = exits[one, EXIT_BYTE], used, count
        entry = int64(exits[one, EXIT_TOKENS])
        while entry:
            token = int64(lists[entry, 0])
            if len(seen) == 0 or seen[token] != node + 1:
                tokens[used] = token
                used += 1
                if len(seen):
                    seen[token] = node + 1
            entry = int64(lists[entry, 1])
        child = int64(exits[one, EXIT_CHILD])
        while child:
            queue[count] = child
            count += 1
            child = int64(exits[child, EXIT_SIBLING])
        node += 1
    firsts[count], children[count] = used, count
    counts[0], counts[1] = count, used
    _mark_large(children, count)


@inner
def _mark_large(children: Int32Array, count: int) -> None:
    """Mark the nodes with many below them: the same may be taken whole there, time and again."""
    below = np.empty(count, np.int32)
    for node in range(count - 1, 0, -1):
        below[node] = 0
        for child in range(int64(children[node]) & CHILD, int64(children[node + 1]) & CHILD):
            below[node] += 1 + below[child]
        if below[node] > _MANY:
            children[node] |= LARGE


@compiled
def write_key(m: Memory, leaf: int, variant: int, trie: int, node: int, state: int, key: Int32Array) -> int:
    """Write the key of ``state`` below ``node``; returns its hash."""
    key[KEY_LEAF], key[KEY_TRIE], key[KEY_NODE] = leaf, trie, node
    for word in range(3):
        key[KEY_VARIANT + word] = (variant >> (31 * word)) & 0x7FFFFFFF
    for place in range(key_count(m, state)):
        key[KEY + place] = key_at(m, state, place)
    return key_hash(m, leaf, variant, trie, node, state)


@compiled
def key_size(m: Memory, state: int) -> int:
    """How many numbers `write_key` writes."""
    return KEY + key_count(m, state)


@compiled
def exit_roots(exits: Int32Table, roots: Int64Array, count: int) -> None:
    """Find the root of each label's trie, 0 where no token leaves with it."""
    for group in range(count):
        one = int64(exits[0, EXIT_CHILD])
        while one and exits[one, EXIT_BYTE] != 256 * (group + 1) + 255:
            one = int64(exits[one, EXIT_SIBLING])
        roots[group] = one


@compiled
def write_mask(tokens: Int32Array, row: Int32Array) -> None:
    """Set the bits of ``tokens``."""
    bits = row.ctypes.data
    for place in range(len(tokens)):
        set_bit(bits, int64(tokens[place]))
