"""Steps of stacks: from a set of stacks (see `stack_sets`) to the one after a byte or a special token.

A *closed* set holds only what can be stepped next: states with bytes or tokens of their own, and `ACCEPT`
where the text may end. Calls were entered and finished rules were left when it was made.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, compiled, inner, rare
from structgen.grammars.automaton.determinize import state_after_token
from structgen.grammars.automaton.frames import back, callee, next_of, start_of
from structgen.grammars.automaton.stack_sets import (
    LEFT,
    SEVERAL,
    interned,
    memo_slot,
    pack,
    remember,
    union,
    unpack,
    within,
)
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
    M_SET,
    MEMO,
    NO_STATE,
    NOTHING,
    Q_COUNT,
    Q_FIRST,
    Q_LOW,
    RULES,
    S_CALL_COUNT,
    S_COLUMN,
    S_FLAGS,
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
    put,
    set_count,
)

__all__ = ["after_token", "entered", "exchanged", "leave", "start_set", "step"]


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
    merged = union(m, cell(m, STATE_WORK, place, W_BELOW), below)
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
            outer = within(m, below, 0, cell(m, STATES, after, S_COLUMN) - 1)
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
        one = within(m, below, column, column)
        found = _add(m, found, start + column, one if is_last else pack(m, after, one))
        below = within(m, below, column + 1, FAR)
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
    return interned(m, items, kept)


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
    slot = memo_slot(m, state, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        _open_work(m)
        slot = remember(m, state, below, _close(m, _add(m, 0, state, below)))
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
    slot = memo_slot(m, how, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = remember(m, how, below, _step_several(m, below, byte))
    return unpack(m, cell(m, MEMO, slot, M_SET))


@inner
def leave(m: Memory, below: int) -> int:
    """The closed set after the end of a rule with ``below`` below it."""
    if below == BOTTOM:
        return BOTTOM
    slot = memo_slot(m, LEFT, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        _open_work(m)
        first, found = cell(m, SETS, below, Q_FIRST), 0
        for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
            found = _add(m, found, cell(m, ITEMS, item, I_STATE), cell(m, ITEMS, item, I_BELOW))
        slot = remember(m, LEFT, below, _close(m, found))
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
