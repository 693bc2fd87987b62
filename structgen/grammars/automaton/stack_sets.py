"""Stacks of rule states as values: sets of (state, set below), hash-consed and never changed.

A set stands for several stacks at once::

    {(key, S1), (space, S2)}    where S1 = {(after key, BOTTOM)} and S2 = {(key, S1)}

Every stack that begins with an item continues with one of the set below it. A set holds a state at most once:
two items with one state are one item over the union of what lies below them, which stands for the same stacks.
So a set is a deterministic automaton of stacks read from the top, and equal sets have equal numbers.

The *memo* keeps sets that were worked out once, by pairs of numbers.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Table, Memory, compiled, inner
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed, pair_hash
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    F_BYTES,
    F_COLUMN,
    FAR,
    I_BELOW,
    I_STATE,
    ITEMS,
    M_ONE,
    M_OTHER,
    M_SET,
    MEMO,
    N_ITEMS,
    N_MEMO,
    N_SETS,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    Q_HIGH,
    Q_LOW,
    S_COLUMN,
    S_DISTANCE,
    S_FLAGS,
    SET_HASH,
    SETS,
    STATES,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = [
    "LEFT",
    "SEVERAL",
    "interned",
    "memo_slot",
    "pack",
    "rehash_sets",
    "remember",
    "union",
    "unpack",
    "within",
]

# While a text is walked, a closed set with one steppable item travels as that (state, set below), which costs no
# interning; any other as (SEVERAL, set), and nothing as (0, 0).
SEVERAL = -1
LEFT = SEVERAL - 512
"""In the memo beside `SEVERAL` less a byte: what a set is after a rule above it has ended."""
_UNITED = LEFT - 1
"""Less a set, in the memo: its union with another."""


@inner
def _hash_items(items: Int64Table, count: int) -> int:
    value = FNV_BASIS
    for place in range(count):
        value = mixed(value, items[place, I_STATE])
        value = mixed(value, items[place, I_BELOW])
    return folded(value)


@inner
def _has_items(m: Memory, number: int, items: Int64Table, count: int) -> bool:
    if cell(m, SETS, number, Q_COUNT) != count:
        return False
    first = cell(m, SETS, number, Q_FIRST)
    for place in range(count):
        if cell(m, ITEMS, first + place, I_STATE) != items[place, I_STATE]:
            return False
        if cell(m, ITEMS, first + place, I_BELOW) != items[place, I_BELOW]:
            return False
    return True


@inner
def _column_over(m: Memory, state: int, below: int, which: int) -> int:
    """The column of the innermost block of what lies above ``state``, `Q_LOW` or `Q_HIGH`."""
    if _holds_column(m, state):
        return cell(m, STATES, state, S_COLUMN)
    return cell(m, SETS, below, which)


@inner
def _holds_column(m: Memory, state: int) -> bool:
    return cell(m, STATES, state, S_FLAGS) & (F_COLUMN | F_BYTES) == F_COLUMN


@inner
def _append_set(m: Memory, items: Int64Table, count: int) -> int:
    number, first = get_count(m, N_SETS), get_count(m, N_ITEMS)
    need(m, SETS, number + 1)
    need(m, ITEMS, first + count)
    distance, low, high = FAR, FAR, 0
    for place in range(count):
        state, below = items[place, I_STATE], items[place, I_BELOW]
        put(m, ITEMS, first + place, I_STATE, state)
        put(m, ITEMS, first + place, I_BELOW, below)
        through = cell(m, STATES, state, S_DISTANCE) + cell(m, SETS, below, Q_DISTANCE) if state != ACCEPT else 0
        distance = min(distance, through)
        low = min(low, _column_over(m, state, below, Q_LOW))
        high = max(high, _column_over(m, state, below, Q_HIGH))
    put(m, SETS, number, Q_FIRST, first)
    put(m, SETS, number, Q_COUNT, count)
    put(m, SETS, number, Q_DISTANCE, distance)
    put(m, SETS, number, Q_LOW, low)
    put(m, SETS, number, Q_HIGH, high)
    set_count(m, N_SETS, number + 1)
    set_count(m, N_ITEMS, first + count)
    return number


@inner
def interned(m: Memory, items: Int64Table, count: int) -> int:
    """The number of the set with these items, which are sorted by state."""
    if count == 0:
        return NOTHING
    if count == 1 and items[0, I_STATE] == ACCEPT:
        return BOTTOM
    last = rows_of(m, SET_HASH) - 1
    slot = _hash_items(items, count) & last
    while cell(m, SET_HASH, slot, 0) != 0:
        if _has_items(m, cell(m, SET_HASH, slot, 0), items, count):
            return cell(m, SET_HASH, slot, 0)
        slot = (slot + 1) & last
    number = _append_set(m, items, count)
    put(m, SET_HASH, slot, 0, number)
    return number


@inner
def unpack(m: Memory, closed: int) -> tuple[int, int]:
    """The travelling form of a closed set."""
    first = cell(m, SETS, closed, Q_FIRST)
    if cell(m, SETS, closed, Q_COUNT) == 1 and cell(m, ITEMS, first, I_STATE) != ACCEPT:
        return cell(m, ITEMS, first, I_STATE), cell(m, ITEMS, first, I_BELOW)
    return (SEVERAL, closed) if closed != NOTHING else (0, 0)


@inner
def pack(m: Memory, state: int, below: int) -> int:
    """The closed set of a travelling form."""
    if state == SEVERAL:
        return below
    if state == 0:
        return NOTHING
    items = np.empty((1, 2), np.int64)
    items[0, I_STATE], items[0, I_BELOW] = state, below
    return interned(m, items, 1)


@inner
def union(m: Memory, one: int, other: int) -> int:
    """The set that stands for the stacks of both."""
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    a, b = cell(m, SETS, one, Q_FIRST), cell(m, SETS, other, Q_FIRST)
    a_end, b_end = a + cell(m, SETS, one, Q_COUNT), b + cell(m, SETS, other, Q_COUNT)
    items = np.empty((a_end - a + b_end - b, 2), np.int64)
    kept = 0
    while a < a_end or b < b_end:
        left = cell(m, ITEMS, a, I_STATE) if a < a_end else FAR
        right = cell(m, ITEMS, b, I_STATE) if b < b_end else FAR
        items[kept, I_STATE] = min(left, right)
        if left < right:
            items[kept, I_BELOW] = cell(m, ITEMS, a, I_BELOW)
        elif right < left:
            items[kept, I_BELOW] = cell(m, ITEMS, b, I_BELOW)
        else:
            items[kept, I_BELOW] = _united(m, cell(m, ITEMS, a, I_BELOW), cell(m, ITEMS, b, I_BELOW))
        a += left <= right
        b += right <= left
        kept += 1
    return interned(m, items, kept)


@inner
def memo_slot(m: Memory, one: int, other: int) -> int:
    """Where (``one``, ``other``) stands in the memo, or may be put."""
    last = rows_of(m, MEMO) - 1
    slot = pair_hash(one, other) & last
    while cell(m, MEMO, slot, M_ONE) != 0 and (
        cell(m, MEMO, slot, M_ONE) != one or cell(m, MEMO, slot, M_OTHER) != other
    ):
        slot = (slot + 1) & last
    return slot


@inner
def remember(m: Memory, one: int, other: int, closed: int) -> int:
    """Put a closed set into the memo; returns its place there."""
    need(m, MEMO, 2 * get_count(m, N_MEMO))
    slot = memo_slot(m, one, other)
    put(m, MEMO, slot, M_ONE, one)
    put(m, MEMO, slot, M_OTHER, other)
    put(m, MEMO, slot, M_SET, closed)
    set_count(m, N_MEMO, get_count(m, N_MEMO) + 1)
    return slot


@inner
def _united(m: Memory, one: int, other: int) -> int:
    """As `union`, worked out once: what lies below in two sets is shared in many places, and so are unions of it."""
    if one == other:
        return one
    low, high = min(one, other), max(one, other)
    slot = memo_slot(m, _UNITED - low, high)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = remember(m, _UNITED - low, high, union(m, low, high))
    return cell(m, MEMO, slot, M_SET)


@inner
def within(m: Memory, closed: int, low: int, high: int) -> int:
    """What stands for the stacks of ``closed`` whose innermost block has a column from ``low`` to ``high``."""
    least, most = cell(m, SETS, closed, Q_LOW), cell(m, SETS, closed, Q_HIGH)
    if most < low or high < least:
        return NOTHING
    if low <= least and most <= high:
        return closed
    how = -1 - (low << 8) - min(high, 255)  # no set has such a number
    slot = memo_slot(m, closed, how)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = remember(m, closed, how, _cut(m, closed, low, high))
    return cell(m, MEMO, slot, M_SET)


@inner
def _cut(m: Memory, closed: int, low: int, high: int) -> int:
    """As `within`, of a set that has other columns too."""
    first, count = cell(m, SETS, closed, Q_FIRST), cell(m, SETS, closed, Q_COUNT)
    items = np.empty((count, 2), np.int64)
    kept = 0
    for place in range(first, first + count):
        state, below = cell(m, ITEMS, place, I_STATE), cell(m, ITEMS, place, I_BELOW)
        if state == ACCEPT:
            is_kept = low == 0
        elif _holds_column(m, state):
            is_kept = low <= cell(m, STATES, state, S_COLUMN) <= high
        else:
            below = within(m, below, low, high)
            is_kept = below != NOTHING
        if is_kept:
            items[kept, I_STATE], items[kept, I_BELOW] = state, below
            kept += 1
    return interned(m, items, kept)


@inner
def _hash_set(m: Memory, number: int) -> int:
    """As `_hash_items`, of a set that there is."""
    value = FNV_BASIS
    first = cell(m, SETS, number, Q_FIRST)
    for place in range(first, first + cell(m, SETS, number, Q_COUNT)):
        value = mixed(value, cell(m, ITEMS, place, I_STATE))
        value = mixed(value, cell(m, ITEMS, place, I_BELOW))
    return folded(value)


@compiled
def rehash_sets(m: Memory) -> None:
    """Enter every set into an emptied `SET_HASH`."""
    last = rows_of(m, SET_HASH) - 1
    for number in range(BOTTOM + 1, get_count(m, N_SETS)):
        slot = _hash_set(m, number) & last
        while cell(m, SET_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, SET_HASH, slot, 0, number)
