"""Interiors: what a rule that reads bytes only allows below a node of a trie, whoever called the rule.

A text inside such a rule (a *leaf*: a string, a number, a line break) is stepped without looking at the stack. So
below a node of the trie and in a state of the leaf the tokens fall in three: those that stay inside, or end where
the rule may end; those that leave it and go on; and the others. The first are the same for every stack and every
grammar. Of the second only the *remainders* after the leaf matter, and they are few: ``",``, ``":``, ``"}``. Both
are computed once for a vocabulary and kept in its store (see `interior_store`); a mask then takes the tokens of
the first kind whole and walks the small trie of remainders from what lies below on its own stack.

The store, one int32 array, read without a lock: rows are written before anything leads to them::

    | header | first nodes | end tokens | spans, members, elements | hash table | interiors, tokens, and tries |

A trie is named by the place of its interior in the store; 0 is the vocabulary's own.
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Int64Array, Memory, inlined, inner, load
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed, pair_hash
from structgen.grammars.automaton.leaves import LEAVES, key_at, key_count, label_at, read_on, uncounted
from structgen.grammars.automaton.tables import (
    C_WALKS,
    C_WANTED_LEAF,
    C_WANTED_NODE,
    C_WANTED_STATE,
    C_WANTED_TRIE,
    C_WANTED_VARIANT,
    C_WANTED_VARIANT_2,
    LINK_INTERIOR,
    LINK_LEAF,
    LINK_NODE,
    LINK_STATE,
    LINK_TRIE,
    LINK_VARIANT,
    LINK_VARIANT_2,
    LINKS,
    N_LINKS,
    NO_STATE,
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
    "byte_of",
    "find_interior",
    "first_child",
    "forget_links",
    "key_hash",
    "part_of",
]

ROOT = 0

# The header of the store. Addresses take two places; those of a trie's parts come first.
H_PARTS, H_TEXT, H_STARTS, H_LARGE, H_BELOW, H_DEEP = 0, 8, 10, 12, 14, 16
H_TOKEN_COUNT, H_WORDS, H_LONGEST, H_GENERATION, H_FIRST_NODES, H_ENDS, H_END_COUNT, H_HASH, H_HASH_ROWS = range(18, 27)
H_LARGE_COUNT, H_SPANS, H_SPAN_COUNT, H_MEMBER_COUNT, H_ELEMENT_COUNT, HEADER = range(27, 33)

# An interior. Its tokens are a list, or where they are many a mask; `E_LIST` or `E_MASK` is 0 then. The parts of the
# trie of its exits are places in the store; `E_EXITS` is the number of its nodes, 0 where there is none but the root.
# Where keys leave with several labels (of three words), `E_NEXT` is the place of a further trie, for the next of them.
E_PARTS, E_COUNT, E_LIST, E_MASK, E_EXITS, E_KEY, E_KEY_COUNT, E_LABEL, E_NEXT = 0, 4, 5, 6, 7, 8, 9, 10, 13
ENTRY = 14

# Its key: three words of the variant, and what `leaves` says of the state.
KEY_LEAF, KEY_VARIANT, KEY_TRIE, KEY_NODE, KEY = 0, 1, 4, 5, 6

# The parts of a trie, see `walk.Trie`.
BYTES_OF, CHILDREN, FIRSTS, TOKENS = range(4)
CHILD, LARGE = (1 << 24) - 1, 1 << 24
"""A number in `CHILDREN` is a node, and whether many are below the one whose first child it is."""

_WIDE, _WIDE_ENDS = 64, 6
"""A leaf is walked below a node where it has fewer live nodes, and fewer of them may end it."""


@inlined
def address(s: Memory, place: int) -> int:
    """The address that takes two places of the header."""
    return (load(s, place) & 0xFFFFFFFF) | (load(s, place + 1) << 32)


@inner
def part_of(s: Memory, trie: int, part: int) -> Memory:
    """Where a part of ``trie`` lies."""
    return s + 4 * load(s, trie + E_PARTS + part) if trie else address(s, H_PARTS + 2 * part)


@inlined
def byte_of(nodes: Memory, node: int) -> int:
    """The byte of ``node``, given `BYTES_OF` its trie."""
    return (load(nodes, node >> 2) >> ((node & 3) << 3)) & 255


@inlined
def first_child(children: Memory, node: int) -> int:
    """The first child of ``node``; the children end where those of the next node begin."""
    return load(children, node) & CHILD


@inner
def key_hash(m: Memory, leaf: int, variant: int, trie: int, node: int, state: int) -> int:
    """FNV-1a over the numbers of the key, folded."""
    value = FNV_BASIS
    value = mixed(value, leaf)
    value = mixed(value, variant)
    value = mixed(value, trie)
    value = mixed(value, node)
    for place in range(key_count(m, state)):
        value = mixed(value, key_at(m, state, place))
    return folded(value)


@inner
def _is_key(m: Memory, s: Memory, interior: int, leaf: int, variant: int, trie: int, node: int, state: int) -> bool:
    first, count = load(s, interior + E_KEY), key_count(m, state)
    same = load(s, interior + E_KEY_COUNT) == KEY + count and load(s, first + KEY_LEAF) == leaf
    same &= load(s, first + KEY_TRIE) == trie and load(s, first + KEY_NODE) == node
    for word in range(3):
        same &= load(s, first + KEY_VARIANT + word) == (variant >> (31 * word)) & 0x7FFFFFFF
    if same:
        for place in range(count):
            same &= load(s, first + KEY + place) == key_at(m, state, place)
    return same


@inner
def _look_up(m: Memory, s: Memory, leaf: int, variant: int, trie: int, node: int, state: int) -> int:
    last, first = load(s, H_HASH_ROWS) - 1, load(s, H_HASH)
    slot = key_hash(m, leaf, variant, trie, node, state) & last
    while load(s, first + slot) != 0:
        if _is_key(m, s, load(s, first + slot), leaf, variant, trie, node, state):
            return load(s, first + slot)
        slot = (slot + 1) & last
    return 0


@inner
def _is_wide(m: Memory, s: Memory, variant: int, trie: int, node: int, state: int, path: Int64Array) -> bool:
    """Whether a walk below ``node`` would go far enough for an interior to pay."""
    nodes, children, longest = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN), load(s, H_LONGEST) + 2
    states, counts, next_nodes, ends = path[:longest], path[longest:], path[2 * longest :], path[3 * longest :]
    states[0], counts[0] = uncounted(m, state)
    next_nodes[0], ends[0] = first_child(children, node), first_child(children, node + 1)
    depth = live = final = 0
    while depth >= 0:
        node = next_nodes[depth]
        if node == ends[depth]:
            depth -= 1
            continue
        next_nodes[depth] = node + 1
        target, count = read_on(m, states[depth], counts[depth], variant, byte_of(nodes, node))
        if target == NO_STATE:
            continue
        live += 1
        final += label_at(m, target, variant) >= 0
        if live >= _WIDE or final >= _WIDE_ENDS:
            return True
        depth += 1
        states[depth], counts[depth] = target, count
        next_nodes[depth], ends[depth] = first_child(children, node), first_child(children, node + 1)
    return False


@inner
def _link_slot(m: Memory, leaf: int, variant: int, trie: int, node: int, state: int) -> int:
    last = rows_of(m, LINKS) - 1
    slot = pair_hash(((leaf ^ variant) * 0x10001 + trie) * 0x10001 + node, state) & last
    while cell(m, LINKS, slot, LINK_STATE) != 0 and (
        cell(m, LINKS, slot, LINK_STATE) != state
        or cell(m, LINKS, slot, LINK_NODE) != node
        or cell(m, LINKS, slot, LINK_TRIE) != trie
        or cell(m, LINKS, slot, LINK_LEAF) != leaf
        or cell(m, LINKS, slot, LINK_VARIANT) != variant & 0x7FFFFFFF
        or cell(m, LINKS, slot, LINK_VARIANT_2) != variant >> 31
    ):
        slot = (slot + 1) & last
    return slot


@inner
def _link(m: Memory, leaf: int, variant: int, trie: int, node: int, state: int, interior: int) -> None:
    need(m, LINKS, 2 * get_count(m, N_LINKS) + 2)
    slot = _link_slot(m, leaf, variant, trie, node, state)
    put(m, LINKS, slot, LINK_LEAF, leaf)
    put(m, LINKS, slot, LINK_VARIANT, variant & 0x7FFFFFFF)
    put(m, LINKS, slot, LINK_VARIANT_2, variant >> 31)
    put(m, LINKS, slot, LINK_TRIE, trie)
    put(m, LINKS, slot, LINK_NODE, node)
    put(m, LINKS, slot, LINK_STATE, state)
    put(m, LINKS, slot, LINK_INTERIOR, interior)
    set_count(m, N_LINKS, get_count(m, N_LINKS) + 1)


@inner
def forget_links(m: Memory) -> None:
    """Empty `LINKS`."""
    for row in range(rows_of(m, LINKS)):
        put(m, LINKS, row, LINK_STATE, 0)
    set_count(m, N_LINKS, 0)


@inner
def find_interior(
    m: Memory, s: Memory, leaf: int, variant: int, trie: int, node: int, state: int, path: Int64Array
) -> int:
    """The interior of ``state``, one of ``leaf``, below ``node``; 0 where it is to be walked.

    Raises `InteriorWanted` where it is still to be computed.
    """
    slot = _link_slot(m, leaf, variant, trie, node, state)
    if cell(m, LINKS, slot, LINK_STATE) != 0:
        return max(0, cell(m, LINKS, slot, LINK_INTERIOR))
    interior = _look_up(m, s, leaf, variant, trie, node, state)
    if interior == 0:
        is_kept = leaf < LEAVES or variant or get_count(m, C_WALKS) < (1 if trie else 2)
        if is_kept and (leaf < LEAVES or variant or _is_wide(m, s, variant, trie, node, state, path)):
            set_count(m, C_WANTED_LEAF, leaf)
            set_count(m, C_WANTED_TRIE, trie)
            set_count(m, C_WANTED_NODE, node)
            set_count(m, C_WANTED_STATE, state)
            set_count(m, C_WANTED_VARIANT, variant & 0x7FFFFFFF)
            set_count(m, C_WANTED_VARIANT_2, variant >> 31)
            raise InteriorWanted
        interior = -1
    _link(m, leaf, variant, trie, node, state, interior)
    return max(0, interior)
