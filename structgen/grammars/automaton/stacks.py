"""Steps of stacks: from a set of stacks (see `stack_sets`) to the one after a byte or a special token.

A *closed* set holds only what can be stepped next: states with bytes or tokens of their own, and `ACCEPT`
where the text may end. Calls were entered and finished rules were left when it was made.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Int64Table, Memory, compiled, inner, rare
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
    united,
    unpack,
    within,
)
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    C_KEEPS_SPELLING,
    C_MISSED,
    C_RANK,
    C_RULE_LEAF,
    C_STATE_EPOCH,
    C_WAITING,
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
    N_PARTS,
    N_WAITING,
    NO_STATE,
    NOTHING,
    OPEN_COLUMN,
    PART_BELOW,
    PART_NEXT,
    PART_STATE,
    PARTS,
    Q_COUNT,
    Q_FIRST,
    Q_HIGH,
    Q_LOW,
    RULES,
    S_CALL_COUNT,
    S_COLUMN,
    S_FLAGS,
    SETS,
    STATE_WORK,
    STATES,
    U_KIND,
    W_ABOVE,
    W_BELOW,
    W_DONE,
    W_EPOCH,
    W_PARTS,
    W_PLACE,
    W_RANK,
    W_STATE,
    WAITING,
    cell,
    get_count,
    need,
    put,
    set_count,
)

__all__ = ["after_token", "entered", "exchanged", "leave", "note_origin", "origin_of", "start_set", "step"]

_ORIGIN = -(1 << 20)
"""Beside a set, in the memo: what it was closed from, or one like it."""


# The worklist. What is added by something has a rank above it, as far as is known from before; so, taken by rank, a
# state mostly comes when all that lies below it is there, and is taken once.


@inner
def _open_work(m: Memory) -> None:
    set_count(m, C_STATE_EPOCH, get_count(m, C_STATE_EPOCH) + 1)
    set_count(m, C_RANK, -1)
    set_count(m, C_WAITING, 0)
    set_count(m, N_WAITING, 0)
    set_count(m, N_PARTS, 1)


@inner
def _wait(m: Memory, place: int) -> None:
    """Have the item at ``place`` taken, after all of lower rank."""
    hole, first = get_count(m, N_WAITING), get_count(m, C_WAITING)
    need(m, WAITING, hole + 1)
    set_count(m, N_WAITING, hole + 1)
    rank = cell(m, STATE_WORK, cell(m, STATE_WORK, place, W_STATE), W_RANK)
    while hole > first:
        other = cell(m, WAITING, hole - 1, 0)
        if cell(m, STATE_WORK, cell(m, STATE_WORK, other, W_STATE), W_RANK) <= rank:
            break
        put(m, WAITING, hole, 0, other)
        hole -= 1
    put(m, WAITING, hole, 0, place)


@inner
def _add(m: Memory, found: int, state: int, below: int) -> int:
    """Add an item to the worklist, or to one there; returns the worklist's length."""
    return _add_above(m, found, state, NO_STATE, below)


@inner
def _add_above(m: Memory, found: int, state: int, after: int, below: int) -> int:
    """As `_add`, above ``after``, or nothing where that is `NO_STATE`, which lies above ``below``."""
    rank = get_count(m, C_RANK)
    if cell(m, STATE_WORK, state, W_RANK) <= rank:
        put(m, STATE_WORK, state, W_RANK, min(rank + 1, FAR))
    if cell(m, STATE_WORK, state, W_EPOCH) != get_count(m, C_STATE_EPOCH):
        put(m, STATE_WORK, state, W_EPOCH, get_count(m, C_STATE_EPOCH))
        put(m, STATE_WORK, state, W_PLACE, found)
        put(m, STATE_WORK, found, W_STATE, state)
        put(m, STATE_WORK, found, W_BELOW, below)
        put(m, STATE_WORK, found, W_ABOVE, after)
        put(m, STATE_WORK, found, W_DONE, 0)
        put(m, STATE_WORK, found, W_PARTS, 0)
        _wait(m, found)
        return found + 1
    place = cell(m, STATE_WORK, state, W_PLACE)
    if cell(m, STATE_WORK, place, W_DONE):
        its = cell(m, STATE_WORK, place, W_BELOW)
        merged = union(m, its, below if after == NO_STATE else pack(m, after, below))
        if merged != its:
            put(m, STATE_WORK, place, W_BELOW, merged)
            put(m, STATE_WORK, place, W_DONE, 0)
            _wait(m, place)
    elif after == cell(m, STATE_WORK, place, W_ABOVE) and below == cell(m, STATE_WORK, place, W_BELOW):
        return found
    elif after != NO_STATE:
        _add_part(m, place, after, below)
    else:
        first = cell(m, SETS, below, Q_FIRST)
        for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
            _add_part(m, place, cell(m, ITEMS, item, I_STATE), cell(m, ITEMS, item, I_BELOW))
    return found


@inner
def _add_part(m: Memory, place: int, state: int, below: int) -> None:
    part = get_count(m, N_PARTS)
    need(m, PARTS, part + 1)
    put(m, PARTS, part, PART_STATE, state)
    put(m, PARTS, part, PART_BELOW, below)
    put(m, PARTS, part, PART_NEXT, cell(m, STATE_WORK, place, W_PARTS))
    put(m, STATE_WORK, place, W_PARTS, part)
    set_count(m, N_PARTS, part + 1)


@inner
def _settled(m: Memory, place: int) -> int:
    """What lies below the item at ``place``, with its parts, all at once."""
    part, below = cell(m, STATE_WORK, place, W_PARTS), cell(m, STATE_WORK, place, W_BELOW)
    above = cell(m, STATE_WORK, place, W_ABOVE)
    if above != NO_STATE:
        below = pack(m, above, below)
        put(m, STATE_WORK, place, W_BELOW, below)
        put(m, STATE_WORK, place, W_ABOVE, NO_STATE)
    return below if part == 0 else _joined(m, place, part, below)


@inner
def _joined(m: Memory, place: int, part: int, below: int) -> int:
    """What lies below the item at ``place``: ``below`` and all of its parts."""
    count, one = cell(m, SETS, below, Q_COUNT), part
    while one:
        count += 1
        one = cell(m, PARTS, one, PART_NEXT)
    items, kept = np.empty((count, 2), np.int64), 0
    first = cell(m, SETS, below, Q_FIRST)
    for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
        items[kept, I_STATE], items[kept, I_BELOW] = cell(m, ITEMS, item, I_STATE), cell(m, ITEMS, item, I_BELOW)
        kept += 1
    while part:
        kept = _insert(m, items, kept, cell(m, PARTS, part, PART_STATE), cell(m, PARTS, part, PART_BELOW))
        part = cell(m, PARTS, part, PART_NEXT)
    below = interned(m, items, kept)
    put(m, STATE_WORK, place, W_BELOW, below)
    put(m, STATE_WORK, place, W_PARTS, 0)
    return below


@inner
def _insert(m: Memory, items: Int64Table, kept: int, state: int, below: int) -> int:
    """Put an item where it belongs among so many; returns how many there are."""
    hole = kept  # insertion sort: a set has few items
    while hole and items[hole - 1, I_STATE] > state:
        hole -= 1
    if hole and items[hole - 1, I_STATE] == state:
        items[hole - 1, I_BELOW] = united(m, items[hole - 1, I_BELOW], below)
        return kept
    place = kept
    while place > hole:
        items[place, I_STATE], items[place, I_BELOW] = items[place - 1, I_STATE], items[place - 1, I_BELOW]
        place -= 1
    items[hole, I_STATE], items[hole, I_BELOW] = state, below
    return kept + 1


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
            found = _miss(m, found, below)
            outer = within(m, below, 0, cell(m, STATES, after, S_COLUMN) - 1)
            if outer != NOTHING:
                found = _add_above(m, found, start, after, outer)
            continue
        found = _add_above(m, found, start, NO_STATE if is_last else after, below)
    return found


@inner
def _miss(m: Memory, found: int, below: int) -> int:
    """Note that the column of the block around is looked at, where it is not known."""
    if cell(m, SETS, below, Q_HIGH) == OPEN_COLUMN:
        return _add(m, found, get_count(m, C_MISSED), NOTHING)
    return found


@inner
def _land(m: Memory, found: int, start: int, after: int, below: int, is_last: bool) -> int:
    """Add the starts of a landing, the one of each column above the stacks whose innermost block has it."""
    found = _miss(m, found, below)
    while below != NOTHING:
        column = cell(m, SETS, below, Q_LOW)
        if column == OPEN_COLUMN:
            break
        one = within(m, below, column, column)
        found = _add_above(m, found, start + column, NO_STATE if is_last else after, one)
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
        state, below = cell(m, STATE_WORK, place, W_STATE), _settled(m, place)
        if state == ACCEPT or _reads(m, state, below):
            kept = _insert(m, items, kept, state, below)
    return interned(m, items, kept)


@rare
def _close(m: Memory, found: int) -> int:
    """Close the worklist: enter every call, leave every finished rule, until nothing new comes."""
    while get_count(m, C_WAITING) < get_count(m, N_WAITING):
        place = cell(m, WAITING, get_count(m, C_WAITING), 0)
        set_count(m, C_WAITING, get_count(m, C_WAITING) + 1)
        if cell(m, STATE_WORK, place, W_DONE):
            continue
        state, below = cell(m, STATE_WORK, place, W_STATE), _settled(m, place)
        put(m, STATE_WORK, place, W_DONE, 1)
        if state != ACCEPT:
            set_count(m, C_RANK, cell(m, STATE_WORK, state, W_RANK))
            if cell(m, STATES, state, S_FLAGS) & (F_COLUMN | F_BYTES) == F_COLUMN | F_BYTES:
                found = _miss(m, found, below)
            found = _leave(m, found, state, below)
            found = _call(m, found, state, below)
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
    if get_count(m, C_RULE_LEAF):
        return leave(m, _after_byte(m, closed, byte))  # the same after many bytes
    _open_work(m)
    first, found = cell(m, SETS, closed, Q_FIRST), 0
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        target = next_of(m, state, byte) if state != ACCEPT else NO_STATE
        if target != NO_STATE:
            found = _add(m, found, target, cell(m, ITEMS, item, I_BELOW))
    return _close(m, found)


@inner
def _after_byte(m: Memory, closed: int, byte: int) -> int:
    """The set after a byte, which is not closed yet."""
    first, count = cell(m, SETS, closed, Q_FIRST), cell(m, SETS, closed, Q_COUNT)
    items, kept = np.empty((count, 2), np.int64), 0
    for item in range(first, first + count):
        state = cell(m, ITEMS, item, I_STATE)
        target = next_of(m, state, byte) if state != ACCEPT else NO_STATE
        if target != NO_STATE:
            kept = _insert(m, items, kept, target, cell(m, ITEMS, item, I_BELOW))
    return interned(m, items, kept)


@inner
def step(m: Memory, state: int, below: int, byte: int) -> tuple[int, int]:
    """One byte on, both in travelling form; (0, 0) where ``byte`` cannot come."""
    if state != SEVERAL:
        target = next_of(m, state, byte)
        if target == NO_STATE:
            return 0, 0
        flags = cell(m, STATES, target, S_FLAGS)
        if flags & ~F_FRAME == F_BYTES:
            return target, below
        if flags == F_BYTES | F_COLUMN and cell(m, SETS, below, Q_HIGH) != OPEN_COLUMN:
            return (target, below) if _reads(m, target, below) else (0, 0)
        return _enter(m, target, below)
    how = SEVERAL - byte - 256 * get_count(m, C_KEEPS_SPELLING)
    slot = memo_slot(m, how, below)
    if cell(m, MEMO, slot, M_ONE) == 0:
        slot = remember(m, how, below, _step_several(m, below, byte))
    return unpack(m, cell(m, MEMO, slot, M_SET))


@inner
def note_origin(m: Memory, closed: int, state: int, below: int, byte: int) -> None:
    """Note for `origin_of` that ``closed`` is what (``state``, ``below``), a travelling form, is after ``byte``."""
    if closed > BOTTOM and cell(m, MEMO, memo_slot(m, closed, _ORIGIN), M_ONE) == 0:
        is_one = state != SEVERAL
        origin = pack(m, next_of(m, state, byte), below) if is_one else _after_byte(m, below, byte)
        remember(m, closed, _ORIGIN, origin)


@inner
def origin_of(m: Memory, closed: int) -> int:
    """A set that is ``closed`` once its calls are entered and what has ended is left; itself where none is known."""
    slot = memo_slot(m, closed, _ORIGIN)
    return cell(m, MEMO, slot, M_SET) if cell(m, MEMO, slot, M_ONE) != 0 else closed


@inner
def leave(m: Memory, below: int) -> int:
    """The closed set after the end of a rule with ``below`` below it."""
    if below <= BOTTOM:
        return below
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
