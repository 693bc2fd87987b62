"""String machines: the states inside a JSON string, by the language of its value.

A machine is the language of a string value, or the keys of an object: declared names, and the languages of the others.
A state is what has been read of the value and of a character that is not whole yet. The value is held as

- an interval of the machine's sorted texts, those that begin with what has been read;
- a state of its automaton over characters, which stands for what is in no list;

either or both, until nothing that is left fits. The partial character is a range of characters (see `spelling`), and a
byte may come exactly where some character of the range left leads on in one of the two. So nothing is built for a
machine ahead: its states are numbered records, made when they are reached.

A partial character that leads to one state of the automaton whatever it becomes is `FULL`: its value is that state
already, and all such characters of one form share the state, whatever came before.

After the closing quote of a key the state has the flag `F_LABEL` and says what the key was: a declared name, or the
languages of others that hold it. A declared name is never an other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.grammars.automaton._jit import Memory, compiled, inner, int64
from structgen.grammars.automaton.spelling import (
    ESCAPE,
    LOW,
    NONE,
    PAIR,
    PAIR_U,
    UNIT,
    UTF8,
    first_rank,
    hex_digit,
    last_rank,
    rank_cost,
    rank_of,
    rest_cost,
    short_escape,
)
from structgen.grammars.automaton.tables import (
    D_COUNT,
    D_DISTANCE,
    D_FIRST,
    D_LABEL,
    D_LABEL_2,
    D_MASK,
    D_MASK_2,
    F_BYTES,
    F_FINAL,
    F_LABEL,
    FAR,
    G_IS_KEYS,
    G_RULE,
    G_START,
    G_TEXT,
    G_TEXT_END,
    G_VALUE,
    HOLE,
    INTERVALS,
    MACHINES,
    N_FROM,
    N_RECORDS,
    N_ROWS,
    N_STATES,
    N_TARGET,
    N_TO,
    NO_ROW,
    NO_STATE,
    POOL,
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
    T_COST,
    T_FIRST,
    T_LABEL,
    T_LENGTH,
    TEXTS,
    TRANSITIONS,
    VALUES,
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

__all__ = [
    "fill_string_transition",
    "is_key",
    "key_interval",
    "key_label",
    "key_name",
    "key_others",
    "key_rest",
    "key_start",
    "rehash_strings",
    "string_start",
    "string_step",
]

# Phases beside those of `spelling`; FULL is added to a partial character's.
START, END, LABEL, FULL = 15, 16, 17, 32

QUOTE, BACKSLASH, LETTER_U = 0x22, 0x5C, 0x75

MANY_TEXTS = 8
"""Among fewer texts a state's transitions are computed anew each time, which takes no longer than to store them."""


@inner
def _hash_record(m: Memory, record: int) -> int:
    """Of what tells records apart: the columns up to `X_COUNT`."""
    value: Any = np.uint64(14695981039346656037)
    for column in range(X_COUNT + 1):
        value = (value ^ np.uint64(cell(m, RECORDS, record, column))) * np.uint64(1099511628211)
    return int64((value ^ (value >> np.uint64(29))) & np.uint64(0x7FFFFFFF))


@inner
def _are_alike(m: Memory, record: int, other: int) -> bool:
    alike = True
    for column in range(X_COUNT + 1):
        alike &= cell(m, RECORDS, record, column) == cell(m, RECORDS, other, column)
    return alike


@inner
def _intern(m: Memory, flags: int) -> int:
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
    put(m, STATES, state, S_DISTANCE, _distance(m, record) if flags == F_BYTES else 0)
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


@inner
def _write(m: Memory, machine: int, text: int, end: int, depth: int, value: int, phase: int, point: int) -> int:
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
def _inside(
    m: Memory, machine: int, text: int, end: int, depth: int, value: int, phase: int, point: int, spent: int
) -> int:
    """The state inside a string, or `NO_STATE` where neither a text nor the automaton is left."""
    if text >= end:
        text, end, depth, spent = 0, 0, 0, 0
    record = _write(m, machine, text, end, depth, value, phase, point)
    put(m, RECORDS, record, X_SPENT, spent)
    if value >= 0 and cell(m, MACHINES, machine, G_IS_KEYS):
        mask = _others(m, record)
        put(m, RECORDS, record, X_MASK, mask & 0x7FFFFFFF)
        put(m, RECORDS, record, X_MASK_2, mask >> 31)
        if mask == 0:
            value = -1
            put(m, RECORDS, record, X_VALUE, value)
    return _intern(m, F_BYTES) if value >= 0 or end else NO_STATE


@inner
def _text_place(m: Memory, text: int, end: int, depth: int, rank: int) -> int:
    """The first of the texts ``text`` to ``end`` whose character number ``depth`` is ``rank`` or a greater one."""
    while text < end:
        middle = (text + end) >> 1
        found = -1
        if depth < cell(m, TEXTS, middle, T_LENGTH):
            found = cell(m, POOL, cell(m, TEXTS, middle, T_FIRST) + depth, 0)
        if found < rank:
            text = middle + 1
        else:
            end = middle
    return text


@inner
def _interval_place(m: Memory, value: int, rank: int) -> int:
    """The first interval of ``value`` that ends at ``rank`` or behind it; the end of its intervals if there is none."""
    place = cell(m, VALUES, value, D_FIRST)
    end = place + cell(m, VALUES, value, D_COUNT)
    while place < end:
        middle = (place + end) >> 1
        if cell(m, INTERVALS, middle, N_TO) < rank:
            place = middle + 1
        else:
            end = middle
    return place


@inner
def _interval_end(m: Memory, value: int) -> int:
    return cell(m, VALUES, value, D_FIRST) + cell(m, VALUES, value, D_COUNT)


@inner
def _character(m: Memory, record: int, code_point: int) -> int:
    """The state after a whole character."""
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    if cell(m, RECORDS, record, X_PHASE) & FULL:
        return _inside(m, machine, 0, 0, 0, value, NONE, 0, 0)
    rank = rank_of(code_point)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    depth, spent = cell(m, RECORDS, record, X_DEPTH), cell(m, RECORDS, record, X_SPENT)
    if text < end:
        text = _text_place(m, text, end, depth, rank)
        end = _text_place(m, text, end, depth, rank + 1)
        spent = min(FAR, spent + rank_cost(m, rank, rank))
    if value >= 0:
        place = _interval_place(m, value, rank)
        is_there = place < _interval_end(m, value) and cell(m, INTERVALS, place, N_FROM) <= rank
        value = cell(m, INTERVALS, place, N_TARGET) if is_there else -1
    return _inside(m, machine, text, end, depth + 1, value, NONE, 0, spent)


@inner
def _plain(phase: int, point: int) -> int:
    """The point that stands for all those after which the same bytes may come."""
    if phase < ESCAPE:
        if phase == UTF8 + 1:
            return 0x80
        is_edge = point == 0 or point == (0xD000 if phase == UTF8 + 2 else 0x100000)
        return point if is_edge else 0x1000 if phase == UTF8 + 2 else 0x40000
    if phase <= UNIT + 4:
        if phase == UNIT + 3:
            return 0xD000 if point == 0xD000 else 0
        return 0xD800 if 0xD800 <= point < 0xDC00 else 0
    return 0x10000


@inner
def _partial(m: Memory, record: int, phase: int, point: int) -> int:
    """The state after a byte that does not finish a character."""
    first, last = first_rank(phase, point), last_rank(phase, point)
    if first > last:
        return NO_STATE
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    depth, value = cell(m, RECORDS, record, X_DEPTH), cell(m, RECORDS, record, X_VALUE)
    full = cell(m, RECORDS, record, X_PHASE) & FULL
    if text < end:
        text = _text_place(m, text, end, depth, first)
        end = _text_place(m, text, end, depth, last + 1)
    if value >= 0 and not full:
        place = _interval_place(m, value, first)
        if place == _interval_end(m, value) or cell(m, INTERVALS, place, N_FROM) > last:
            value = -1
        elif text >= end and cell(m, INTERVALS, place, N_FROM) <= first and last <= cell(m, INTERVALS, place, N_TO):
            full, value = FULL, cell(m, INTERVALS, place, N_TARGET)
    if full:
        point = _plain(phase, point)
    machine, spent = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_SPENT)
    return _inside(m, machine, text, end, depth, value, phase + full, point, spent)


@inner
def _after_tail(m: Memory, record: int, phase: int, point: int, byte: int) -> int:
    """A byte within a character's UTF-8 (Unicode 15, table 3-7)."""
    if byte & 0xC0 != 0x80:
        return NO_STATE
    if phase == UTF8 + 2 and ((point == 0 and byte < 0xA0) or (point == 0xD000 and byte >= 0xA0)):
        return NO_STATE
    if phase == UTF8 + 3 and ((point == 0 and byte < 0x90) or (point == 0x100000 and byte >= 0x90)):
        return NO_STATE
    left = phase - UTF8 - 1
    point += (byte & 63) << (6 * left)
    return _partial(m, record, UTF8 + left, point) if left else _character(m, record, point)


@inner
def _after_digit(m: Memory, record: int, phase: int, point: int, digit: int) -> int:
    r"""A digit of ``\u``."""
    if digit < 0:
        return NO_STATE
    if phase <= UNIT + 4:
        left = phase - UNIT - 1
        point += digit << (4 * left)
        if left:
            return _partial(m, record, UNIT + left, point)
        if 0xD800 <= point < 0xE000:
            is_high = point < 0xDC00
            return _partial(m, record, PAIR, 0x10000 + ((point - 0xD800) << 10)) if is_high else NO_STATE
        return _character(m, record, point)
    left = phase - LOW - 1
    if left == 3:
        return _partial(m, record, LOW + 3, point) if digit == 13 else NO_STATE
    if left == 2:
        digit -= 12
        if digit < 0:
            return NO_STATE
    point += digit << (4 * left)
    return _partial(m, record, LOW + left, point) if left else _character(m, record, point)


@inner
def _within(m: Memory, record: int, byte: int) -> int:
    """A byte in a partial character."""
    phase, point = cell(m, RECORDS, record, X_PHASE) & ~FULL, cell(m, RECORDS, record, X_POINT)
    if phase < ESCAPE:
        return _after_tail(m, record, phase, point, byte)
    if phase == ESCAPE:
        character = short_escape(byte)
        if character >= 0:
            return _character(m, record, character)
        return _partial(m, record, UNIT + 4, 0) if byte == LETTER_U else NO_STATE
    if phase == PAIR:
        return _partial(m, record, PAIR_U, point) if byte == BACKSLASH else NO_STATE
    if phase == PAIR_U:
        return _partial(m, record, LOW + 4, point) if byte == LETTER_U else NO_STATE
    return _after_digit(m, record, phase, point, hex_digit(byte))


@inner
def _between(m: Memory, record: int, byte: int) -> int:
    """A byte between two characters."""
    if byte == QUOTE:
        return _close(m, record)
    if byte == BACKSLASH:
        return _partial(m, record, ESCAPE, 0)
    if byte < 0x80:
        return _character(m, record, byte) if byte >= 0x20 else NO_STATE
    if byte < 0xC2 or byte > 0xF4:
        return NO_STATE
    tail = 1 + (byte >= 0xE0) + (byte >= 0xF0)
    return _partial(m, record, UTF8 + tail, (byte & (0x3F >> tail)) << (6 * tail))


@inner
def _close(m: Memory, record: int) -> int:
    """The state after the closing quote."""
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    text, depth = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_DEPTH)
    is_text = text < cell(m, RECORDS, record, X_TEXT_END) and cell(m, TEXTS, text, T_LENGTH) == depth
    mask, mask_2 = 0, 0
    if not is_text:
        if value >= 0:
            mask, mask_2 = cell(m, VALUES, value, D_LABEL), cell(m, VALUES, value, D_LABEL_2)
        if mask | mask_2 == 0:
            return NO_STATE
    if not cell(m, MACHINES, machine, G_IS_KEYS):
        _write(m, machine, 0, 0, 0, -1, END, 0)
        return _intern(m, F_FINAL)
    if is_text:
        _write(m, machine, text, text + 1, 0, -1, LABEL, 0)
        return _intern(m, F_LABEL)
    new = _write(m, machine, 0, 0, mask_2, -1, LABEL, mask)
    put(m, RECORDS, new, X_MASK, mask)
    put(m, RECORDS, new, X_MASK_2, mask_2)
    return _intern(m, F_LABEL)


@inner
def _open(m: Memory, record: int) -> int:
    """The state after the opening quote."""
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    return _inside(
        m, machine, cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END), 0, value, NONE, 0, 0
    )


@inner
def string_step(m: Memory, state: int, byte: int) -> int:
    """The state of the same machine after ``byte``, or `NO_STATE`, computed."""
    record = cell(m, STATES, state, S_NODES)
    phase = cell(m, RECORDS, record, X_PHASE)
    if phase == NONE:
        return _between(m, record, byte)
    if phase == START:
        return _open(m, record) if byte == QUOTE else NO_STATE
    return NO_STATE if phase in (END, LABEL) else _within(m, record, byte)


@inner
def fill_string_transition(m: Memory, state: int, byte: int) -> int:
    """Write to the row of ``state`` where ``byte`` leads, and with it the bytes beside it that lead there too."""
    target = string_step(m, state, byte)
    record, row = cell(m, STATES, state, S_NODES), cell(m, STATES, state, S_ROW)
    first, last = byte, byte
    if cell(m, RECORDS, record, X_PHASE) == NONE and byte < 0x80 and byte != QUOTE and byte != BACKSLASH:
        if byte < 0x20:
            first, last = 0, 0x1F
        elif cell(m, RECORDS, record, X_TEXT_END) == 0:
            value = cell(m, RECORDS, record, X_VALUE)
            place, first, last = _interval_place(m, value, byte), 0x20, 0x7F
            if place < _interval_end(m, value):
                start = cell(m, INTERVALS, place, N_FROM)
                last = min(last, cell(m, INTERVALS, place, N_TO) if start <= byte else start - 1)
                first = max(first, start) if start <= byte else first
            if target == NO_STATE and place > cell(m, VALUES, value, D_FIRST):
                first = max(first, cell(m, INTERVALS, place - 1, N_TO) + 1)
    for other in range(first, last + 1):
        if other == byte or (other != QUOTE and other != BACKSLASH):
            put(m, TRANSITIONS, row, other, target)
    return target


@inner
def _others(m: Memory, record: int) -> int:
    """The languages of others, a bit for each, that hold a text which may still come."""
    value, phase = cell(m, RECORDS, record, X_VALUE), cell(m, RECORDS, record, X_PHASE)
    if phase in (NONE, START) or phase & FULL:
        return cell(m, VALUES, value, D_MASK) | cell(m, VALUES, value, D_MASK_2) << 31
    point, mask = cell(m, RECORDS, record, X_POINT), 0
    last = last_rank(phase, point)
    for place in range(_interval_place(m, value, first_rank(phase, point)), _interval_end(m, value)):
        if cell(m, INTERVALS, place, N_FROM) > last:
            break
        target = cell(m, INTERVALS, place, N_TARGET)
        mask |= cell(m, VALUES, target, D_MASK) | cell(m, VALUES, target, D_MASK_2) << 31
    return mask


@inner
def _rest_of(m: Memory, record: int, text: int) -> int:
    """The bytes before the closing quote of ``text`` that are still to come."""
    phase, depth = cell(m, RECORDS, record, X_PHASE), cell(m, RECORDS, record, X_DEPTH)
    cost = cell(m, TEXTS, text, T_COST)
    if cost >= FAR:
        return FAR
    if phase != NONE and phase != START:
        rank = cell(m, POOL, cell(m, TEXTS, text, T_FIRST) + depth, 0)
        cost += rest_cost(m, phase, rank, rank) - rank_cost(m, rank, rank)
    return cost - cell(m, RECORDS, record, X_SPENT)


@inner
def _text_distance(m: Memory, record: int) -> int:
    """The bytes before the closing quote of the text that is cheapest to finish."""
    best = FAR
    for text in range(cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)):
        best = min(best, _rest_of(m, record, text))
    return best


@inner
def _value_distance(m: Memory, record: int) -> int:
    """The bytes before the closing quote of the cheapest text that the automaton still accepts."""
    value, phase = cell(m, RECORDS, record, X_VALUE), cell(m, RECORDS, record, X_PHASE)
    if value < 0:
        return FAR
    if phase in (NONE, START):
        return cell(m, VALUES, value, D_DISTANCE)
    point = cell(m, RECORDS, record, X_POINT)
    first, last = first_rank(phase & ~FULL, point), last_rank(phase & ~FULL, point)
    if phase & FULL:
        return rest_cost(m, phase & ~FULL, first, last) + cell(m, VALUES, value, D_DISTANCE)
    best = FAR
    for place in range(_interval_place(m, value, first), _interval_end(m, value)):
        start, end = max(first, cell(m, INTERVALS, place, N_FROM)), min(last, cell(m, INTERVALS, place, N_TO))
        if start > last:
            break
        through = cell(m, VALUES, cell(m, INTERVALS, place, N_TARGET), D_DISTANCE)
        best = min(best, rest_cost(m, phase, start, end) + through)
    return best


@inner
def _distance(m: Memory, record: int) -> int:
    quotes = 2 if cell(m, RECORDS, record, X_PHASE) == START else 1
    best = min(_text_distance(m, record), _value_distance(m, record))
    return min(FAR, best + quotes * cell(m, POOL, QUOTE, 0))


@inner
def string_start(m: Memory, machine: int) -> int:
    """The state before the opening quote."""
    state = cell(m, MACHINES, machine, G_START)
    if state == HOLE:
        text, end = cell(m, MACHINES, machine, G_TEXT), cell(m, MACHINES, machine, G_TEXT_END)
        state = _inside(m, machine, text, end, 0, cell(m, MACHINES, machine, G_VALUE), START, 0, 0)
        put(m, MACHINES, machine, G_START, state)
    return state


@inner
def key_start(m: Memory, keys: int) -> int:
    """The state before a key, or `NO_STATE` where there can be none; ``keys`` as `StringTables.keys` gave it."""
    return string_start(m, keys)


@inner
def is_key(m: Memory, state: int) -> bool:
    """Whether ``state`` is one before, in or after a key."""
    if cell(m, STATES, state, S_COUNT) != STRING:
        return False
    machine = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_MACHINE)
    return cell(m, MACHINES, machine, G_IS_KEYS) == 1


@inner
def key_interval(m: Memory, state: int) -> tuple[int, int]:
    """The declared names that may still come, as an interval of their places among all, sorted.

    After the closing quote: the one that came, or none.
    """
    record = cell(m, STATES, state, S_NODES)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    if end == 0:
        return 0, 0
    first = cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_TEXT)
    return text - first, end - first


@inner
def key_others(m: Memory, state: int) -> int:
    """The entries of others, a bit for each, that hold an undeclared key which may still come.

    After the closing quote: those that hold the key; 0 for a declared one.
    """
    record = cell(m, STATES, state, S_NODES)
    return cell(m, RECORDS, record, X_MASK) | cell(m, RECORDS, record, X_MASK_2) << 31


@inner
def key_rest(m: Memory, state: int, place: int) -> int:
    """The bytes, closing quote included, that make the key the declared name at ``place``, or for -1 some other one."""
    record = cell(m, STATES, state, S_NODES)
    first = cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_TEXT)
    rest = _rest_of(m, record, first + place) if place >= 0 else _value_distance(m, record)
    return min(FAR, rest + cell(m, POOL, QUOTE, 0))


@inner
def key_name(m: Memory, keys: int, place: int) -> int:
    """The number in `ObjectSpec.names` of the declared name at ``place`` of the sorted ones."""
    return cell(m, TEXTS, cell(m, MACHINES, keys, G_TEXT) + place, T_LABEL)


@inner
def key_label(m: Memory, state: int) -> int:
    """After the closing quote: the key's number in `ObjectSpec.names`, or -1 where it is not declared."""
    record = cell(m, STATES, state, S_NODES)
    if cell(m, RECORDS, record, X_TEXT_END) == 0:
        return -1
    return cell(m, TEXTS, cell(m, RECORDS, record, X_TEXT), T_LABEL)


@compiled
def rehash_strings(m: Memory) -> None:
    """Enter every record into an emptied `RECORD_HASH`."""
    last = rows_of(m, RECORD_HASH) - 1
    for record in range(get_count(m, N_RECORDS)):
        slot = _hash_record(m, record) & last
        while cell(m, RECORD_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, RECORD_HASH, slot, 0, record + 1)
