"""Stacks of rule states as values: sets of (state, set below), hash-consed and never changed.

A set stands for several stacks at once::

    {(key, S1), (space, S2)}    where S1 = {(after key, BOTTOM)} and S2 = {(key, S1)}

Every stack that begins with an item continues with one of the set below it. A set holds a state at most once:
two items with one state are one item over the union of what lies below them, which stands for the same stacks.
So a set is a deterministic automaton of stacks read from the top, and equal sets have equal numbers.

A *closed* set holds only what can be stepped next: states with bytes or tokens of their own, and `ACCEPT`
where the text may end. Calls were entered and finished rules were left when it was made.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Int64Table, Memory, compiled, inner, rare
from structgen.grammars.automaton.determinize import state_after_token
from structgen.grammars.automaton.frames import back, callee, next_of, start_of
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed, pair_hash
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    C_BACK,
    C_KEEPS_SPELLING,
    C_STATE_EPOCH,
    F_BYTES,
    F_COLUMN,
    F_FINAL,
    F_FRAME,
    F_TOKENS,
    FAR,
    I_BELOW,
    I_STATE,
    ITEMS,
    LANDING_RULE,
    M_ONE,
    M_OTHER,
    M_SET,
    MEMO,
    N_ITEMS,
    N_MEMO,
    N_SETS,
    NO_STATE,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    Q_HIGH,
    Q_LOW,
    RULES,
    S_CALL_COUNT,
    S_COLUMN,
    S_DISTANCE,
    S_FLAGS,
    SET_HASH,
    SETS,
    STATE_WORK,
    STATES,
    U_KIND,
    W_BELOW,
    W_DONE,
    W_EPOCH,
    W_PLACE,
    W_STATE,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = [
    "SEVERAL",
    "after_token",
    "entered",
    "exchanged",
    "leave",
    "pack",
    "rehash_sets",
    "start_set",
    "step",
    "unpack",
]

# While a text is walked, a closed set with one steppable item travels as that (state, set below), which costs no
# interning; any other as (SEVERAL, set), and nothing as (0, 0).
SEVERAL = -1
_LEFT = SEVERAL - 512
"""In the memo beside `SEVERAL` less a byte: what a set is after a rule above it has ended."""
_UNITED = _LEFT - 1
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
def _intern(m: Memory, items: Int64Table, count: int) -> int:
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
    return _intern(m, items, 1)


@inner
def _union(m: Memory, one: int, other: int) -> int:
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
    return _intern(m, items, kept)


@inner
def _memo_slot(m: Memory, one: int, other: int) -> int:
    """Where (``one``, ``other``) stands in the memo, or may be put."""
    last = rows_of(m, MEMO) - 1
    slot = pair_hash(one, other) & last
    while cell(m, MEMO, slot, M_ONE) != 0 and (
        cell(m, MEMO, slot, M_ONE) != one or cell(m, MEMO, slot, M_OTHER) != other
    ):
        slot = (slot + 1) & last
    return slot


@inner
def _remember(m: Memory, one: int, other: int, closed: int) -> int:
    """Put a closed set into the memo; returns its place there."""
    need(m, MEMO, 2 * get_count(m, N_MEMO))
    slot = _memo_slot(m, one, other)
    put(m, MEMO, slot, M_ONE, one)
    put(m, MEMO, slot, M_OTHER, other)
    put(m, MEMO, slot, M_SET, closed)
    set_count(m, N_MEMO, get_count(m, N_MEMO) + 1)
    return slot


@inner
def _united(m: Memory, one: int, other: int) -> int:
    """As `_union`, worked out once: what lies below in two sets is shared in many places, and so are unions of it."""
    if one == other:
        return one
    low, high = min(one, other), max(one, other)
    slot = _memo_slot(m, _UNITED - low, high)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = _remember(m, _UNITED - low, high, _union(m, low, high))
    return cell(m, MEMO, slot, M_SET)


@inner
def _within(m: Memory, closed: int, low: int, high: int) -> int:
    """What stands for the stacks of ``closed`` whose innermost block has a column from ``low`` to ``high``."""
    least, most = cell(m, SETS, closed, Q_LOW), cell(m, SETS, closed, Q_HIGH)
    if most < low or high < least:
        return NOTHING
    if low <= least and most <= high:
        return closed
    how = -1 - (low << 8) - min(high, 255)  # no set has such a number
    slot = _memo_slot(m, closed, how)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = _remember(m, closed, how, _cut(m, closed, low, high))
    return cell(m, MEMO, slot, M_SET)


@inner
def _cut(m: Memory, closed: int, low: int, high: int) -> int:
    """As `_within`, of a set that has other columns too."""
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
            below = _within(m, below, low, high)
            is_kept = below != NOTHING
        if is_kept:
            items[kept, I_STATE], items[kept, I_BELOW] = state, below
            kept += 1
    return _intern(m, items, kept)


@inner
def _open_work(m: Memory) -> None:
    set_count(m, C_STATE_EPOCH, get_count(m, C_STATE_EPOCH) + 1)


@inner
def _add(m: Memory, found: int, state: int, below: int) -> int:
    """Add an item to the worklist, or merge it there; returns the worklist's length."""
    epoch = get_count(m, C_STATE_EPOCH)
    if cell(m, STATE_WORK, state, W_EPOCH) != epoch:
        put(m, STATE_WORK, state, W_EPOCH, epoch)
        put(m, STATE_WORK, state, W_PLACE, found)
        put(m, STATE_WORK, found, W_STATE, state)
        put(m, STATE_WORK, found, W_BELOW, below)
        put(m, STATE_WORK, found, W_DONE, 0)
        return found + 1
    place = cell(m, STATE_WORK, state, W_PLACE)
    merged = _union(m, cell(m, STATE_WORK, place, W_BELOW), below)
    if merged != cell(m, STATE_WORK, place, W_BELOW):
        put(m, STATE_WORK, place, W_BELOW, merged)
        put(m, STATE_WORK, place, W_DONE, 0)
        set_count(m, C_BACK, min(get_count(m, C_BACK), place))
    return found


@inner
def _leave(m: Memory, found: int, state: int, below: int) -> int:
    """Add what lies below a rule that may end here."""
    if cell(m, STATES, state, S_FLAGS) & F_FINAL:
        first = cell(m, SETS, below, Q_FIRST)
        for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
            found = _add(m, found, cell(m, ITEMS, item, I_STATE), cell(m, ITEMS, item, I_BELOW))
    return found


@inner
def _call(m: Memory, found: int, state: int, below: int) -> int:
    """Add the starts of the rules that ``state`` calls, above the states that they return to."""
    for call in range(cell(m, STATES, state, S_CALL_COUNT)):
        rule, after = callee(m, state, call), back(m, state, call)
        start = start_of(m, rule)
        # A last call returns to what its caller would: the stack of a list does not grow with the list.
        is_last = cell(m, STATES, after, S_FLAGS) == F_FINAL
        if cell(m, RULES, rule, U_KIND) == LANDING_RULE:
            found = _land(m, found, start, after, below, is_last)
            continue
        if cell(m, STATES, after, S_FLAGS) & F_COLUMN:
            outer = _within(m, below, 0, cell(m, STATES, after, S_COLUMN) - 1)
            if outer != NOTHING:
                found = _add(m, found, start, pack(m, after, outer))
            continue
        found = _add(m, found, start, below if is_last else pack(m, after, below))
    return found


@inner
def _land(m: Memory, found: int, start: int, after: int, below: int, is_last: bool) -> int:
    """Add the starts of a landing, the one of each column above the stacks whose innermost block has it."""
    while below != NOTHING:
        column = cell(m, SETS, below, Q_LOW)
        one = _within(m, below, column, column)
        found = _add(m, found, start + column, one if is_last else pack(m, after, one))
        below = _within(m, below, column + 1, FAR)
    return found


@inner
def _reads(m: Memory, state: int, below: int) -> bool:
    """Whether a state can be stepped; one before the first line of a block only while that may still be deep enough."""
    flags = cell(m, STATES, state, S_FLAGS)
    if flags & F_COLUMN and flags & F_BYTES:
        return cell(m, STATES, state, S_COLUMN) > cell(m, SETS, below, Q_LOW)
    return flags & (F_BYTES | F_TOKENS) != 0


@inner
def _collect(m: Memory, found: int) -> int:
    """The set of the worklist's items that can be stepped, or end the text."""
    items = np.empty((found, 2), np.int64)
    kept = 0
    for place in range(found):
        state = cell(m, STATE_WORK, place, W_STATE)
        if state != ACCEPT and not _reads(m, state, cell(m, STATE_WORK, place, W_BELOW)):
            continue
        hole = kept  # insertion sort: a set has few items
        while hole and items[hole - 1, I_STATE] > state:
            items[hole, I_STATE], items[hole, I_BELOW] = items[hole - 1, I_STATE], items[hole - 1, I_BELOW]
            hole -= 1
        items[hole, I_STATE], items[hole, I_BELOW] = state, cell(m, STATE_WORK, place, W_BELOW)
        kept += 1
    return _intern(m, items, kept)


@rare
def _close(m: Memory, found: int) -> int:
    """Close the worklist: enter every call, leave every finished rule, until nothing new comes."""
    place = 0
    while place < found:
        set_count(m, C_BACK, place + 1)
        if not cell(m, STATE_WORK, place, W_DONE):
            put(m, STATE_WORK, place, W_DONE, 1)
            state, below = cell(m, STATE_WORK, place, W_STATE), cell(m, STATE_WORK, place, W_BELOW)
            if state != ACCEPT:
                found = _leave(m, found, state, below)
                found = _call(m, found, state, below)
        place = get_count(m, C_BACK)
    return _collect(m, found)


@inner
def _enter(m: Memory, state: int, below: int) -> tuple[int, int]:
    slot = _memo_slot(m, state, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        _open_work(m)
        slot = _remember(m, state, below, _close(m, _add(m, 0, state, below)))
    return unpack(m, cell(m, MEMO, slot, M_SET))


@rare
def _step_several(m: Memory, closed: int, byte: int) -> int:
    _open_work(m)
    first, found = cell(m, SETS, closed, Q_FIRST), 0
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        target = next_of(m, state, byte) if state != ACCEPT else NO_STATE
        if target != NO_STATE:
            found = _add(m, found, target, cell(m, ITEMS, item, I_BELOW))
    return _close(m, found)


@inner
def step(m: Memory, state: int, below: int, byte: int) -> tuple[int, int]:
    """One byte on, both in travelling form; (0, 0) where ``byte`` cannot come."""
    if state != SEVERAL:
        target = next_of(m, state, byte)
        if target == NO_STATE:
            return 0, 0
        if cell(m, STATES, target, S_FLAGS) & ~F_FRAME == F_BYTES:
            return target, below
        return _enter(m, target, below)
    how = SEVERAL - byte - 256 * get_count(m, C_KEEPS_SPELLING)
    slot = _memo_slot(m, how, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = _remember(m, how, below, _step_several(m, below, byte))
    return unpack(m, cell(m, MEMO, slot, M_SET))


@inner
def leave(m: Memory, below: int) -> int:
    """The closed set after the end of a rule with ``below`` below it."""
    if below == BOTTOM:
        return BOTTOM
    slot = _memo_slot(m, _LEFT, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        _open_work(m)
        first, found = cell(m, SETS, below, Q_FIRST), 0
        for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
            found = _add(m, found, cell(m, ITEMS, item, I_STATE), cell(m, ITEMS, item, I_BELOW))
        slot = _remember(m, _LEFT, below, _close(m, found))
    return cell(m, MEMO, slot, M_SET)


@inner
def entered(m: Memory, state: int, below: int) -> int:
    """The closed set of the one item."""
    state, below = _enter(m, state, below)
    return pack(m, state, below)


@inner
def exchanged(m: Memory, closed: int, places: Int64Array, count: int) -> tuple[int, int]:
    """The travelling form of ``closed`` with other states at some of its places, 0 for none at all.

    ``places`` holds ``count`` pairs of a place and a state, the places in order.
    """
    _open_work(m)
    first, found, pair = cell(m, SETS, closed, Q_FIRST), 0, 0
    for place in range(cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, first + place, I_STATE)
        if pair < count and places[2 * pair] == place:
            state = places[2 * pair + 1]
            pair += 1
            if state == 0:
                continue
        found = _add(m, found, state, cell(m, ITEMS, first + place, I_BELOW))
    return unpack(m, _collect(m, found))


@compiled
def after_token(m: Memory, closed: int, token: int) -> int:
    """The closed set after the special token ``token``, or `NOTHING`."""
    _open_work(m)
    first, found = cell(m, SETS, closed, Q_FIRST), 0
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        if state != ACCEPT and cell(m, STATES, state, S_FLAGS) & F_TOKENS:
            target = state_after_token(m, state, token)
            if target != NO_STATE:
                found = _add(m, found, target, cell(m, ITEMS, item, I_BELOW))
    return _close(m, found)


@compiled
def start_set(m: Memory, rule: int) -> int:
    """The closed set before the first symbol of a text of ``rule``."""
    state = start_of(m, rule)
    _open_work(m)
    return _close(m, _add(m, 0, state, BOTTOM))


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
