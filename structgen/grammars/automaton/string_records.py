"""The records of string machines' states: written, and found again."""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.grammars.automaton._jit import Memory, compiled, inner, int64
from structgen.grammars.automaton.string_rests import START, distance_of
from structgen.grammars.automaton.tables import (
    F_BYTES,
    G_RULE,
    MACHINES,
    N_RECORDS,
    N_ROWS,
    N_STATES,
    NO_ROW,
    NO_STATE,
    RECORD_HASH,
    RECORDS,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    S_ROW,
    S_RULE,
    STATES,
    STRING,
    TRANSITIONS,
    X_BASE,
    X_COUNT,
    X_DEPTH,
    X_MACHINE,
    X_MASK,
    X_MASK_2,
    X_PHASE,
    X_POINT,
    X_SPENT,
    X_STATE,
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = ["intern_record", "rehash_strings", "write_record"]

MANY_TEXTS = 8
"""Among fewer texts a state's transitions are computed anew each time, which takes no longer than to store them."""


@inner
def _hash_record(m: Memory, record: int) -> int:
    """Of what tells records apart: the columns up to `X_COUNT`."""
    value: Any = np.uint64(0)
    factor: Any = np.uint64(0x9E3779B97F4A7C15)
    for column in range(X_COUNT + 1):  # products that do not wait for each other
        value ^= np.uint64(cell(m, RECORDS, record, column)) * factor
        factor *= np.uint64(0xD1342543DE82EF95)
    value ^= value >> np.uint64(32)
    value *= np.uint64(0x9E3779B97F4A7C15)
    return int64(value >> np.uint64(33))


@inner
def _are_alike(m: Memory, record: int, other: int) -> bool:
    alike = True
    for column in range(X_COUNT + 1):
        alike &= cell(m, RECORDS, record, column) == cell(m, RECORDS, other, column)
    return alike


@inner
def write_record(m: Memory, machine: int, text: int, end: int, depth: int, value: int, phase: int, point: int) -> int:
    """Write a record behind the last one, where it stays if it is new; returns its number."""
    record = get_count(m, N_RECORDS)
    need(m, RECORDS, record + 1)
    put(m, RECORDS, record, X_MACHINE, machine)
    put(m, RECORDS, record, X_TEXT, text)
    put(m, RECORDS, record, X_TEXT_END, end)
    put(m, RECORDS, record, X_DEPTH, depth)
    put(m, RECORDS, record, X_VALUE, value)
    put(m, RECORDS, record, X_PHASE, phase)
    put(m, RECORDS, record, X_POINT, point)
    put(m, RECORDS, record, X_COUNT, -1)
    put(m, RECORDS, record, X_SPENT, 0)
    put(m, RECORDS, record, X_BASE, NO_STATE)
    put(m, RECORDS, record, X_MASK, 0)
    put(m, RECORDS, record, X_MASK_2, 0)
    return record


@inner
def intern_record(m: Memory, flags: int) -> int:
    """The state whose record was written behind the last one; an old one where there is one."""
    record = get_count(m, N_RECORDS)
    last = rows_of(m, RECORD_HASH) - 1
    slot = _hash_record(m, record) & last
    while cell(m, RECORD_HASH, slot, 0) != 0:
        known = cell(m, RECORD_HASH, slot, 0) - 1
        if _are_alike(m, record, known):
            return cell(m, RECORDS, known, X_STATE)
        slot = (slot + 1) & last
    state = _append(m, record, flags)
    put(m, RECORD_HASH, slot, 0, record + 1)
    return state


@inner
def _append(m: Memory, record: int, flags: int) -> int:
    state, row = get_count(m, N_STATES), get_count(m, N_ROWS)
    has_row = flags == F_BYTES and _is_worth_a_row(m, record)
    need(m, STATES, state + 1)
    need(m, TRANSITIONS, row + has_row)
    put(m, RECORDS, record, X_STATE, state)
    put(m, STATES, state, S_NODES, record)
    put(m, STATES, state, S_COUNT, STRING)
    put(m, STATES, state, S_FLAGS, flags)
    put(m, STATES, state, S_DISTANCE, distance_of(m, record) if flags == F_BYTES else 0)
    put(m, STATES, state, S_RULE, cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_RULE))
    put(m, STATES, state, S_ROW, row if has_row else NO_ROW)
    set_count(m, N_STATES, state + 1)
    set_count(m, N_ROWS, row + has_row)
    set_count(m, N_RECORDS, record + 1)
    return state


@inner
def _is_worth_a_row(m: Memory, record: int) -> bool:
    texts = cell(m, RECORDS, record, X_TEXT_END) - cell(m, RECORDS, record, X_TEXT)
    is_inside = cell(m, RECORDS, record, X_PHASE) != START and cell(m, RECORDS, record, X_COUNT) < 0
    return is_inside and (texts >= MANY_TEXTS or texts == 0)


@compiled
def rehash_strings(m: Memory) -> None:
    """Enter every record into an emptied `RECORD_HASH`."""
    last = rows_of(m, RECORD_HASH) - 1
    for record in range(get_count(m, N_RECORDS)):
        slot = _hash_record(m, record) & last
        while cell(m, RECORD_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, RECORD_HASH, slot, 0, record + 1)
