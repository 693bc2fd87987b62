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

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.spelling import (
    BACKSLASH,
    MISSPELT,
    NONE,
    QUOTE,
    after_byte,
    first_rank,
    last_rank,
    plain_point,
    rank_cost,
)
from structgen.grammars.automaton.string_keys import (
    key_interval,
    key_label,
    key_name,
    key_others,
    other_rest,
    others_of,
)
from structgen.grammars.automaton.string_records import intern_record, write_record
from structgen.grammars.automaton.string_rests import (
    END,
    FULL,
    NEVER,
    START,
    bounded_rest,
    interval_end,
    interval_place,
    is_bounded,
    text_place,
)
from structgen.grammars.automaton.tables import (
    D_FIRST,
    D_LABEL,
    D_LABEL_2,
    ENDLESS,
    F_BYTES,
    F_FINAL,
    F_LABEL,
    FAR,
    G_HIGH,
    G_IS_KEYS,
    G_LOW,
    G_START,
    G_TEXT,
    G_TEXT_END,
    G_VALUE,
    HOLE,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    MACHINES,
    NO_STATE,
    RECORDS,
    S_NODES,
    S_ROW,
    STATES,
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
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
    put,
)

__all__ = [
    "fill_string_transition",
    "key_interval",
    "key_label",
    "key_name",
    "key_others",
    "key_start",
    "other_rest",
    "string_start",
    "string_step",
    "undeclared",
]


@inner
def _inside(
    m: Memory, machine: int, text: int, end: int, depth: int, value: int, phase: int, point: int, spent: int
) -> int:
    """The state inside a string, or `NO_STATE` where neither a text nor the automaton is left."""
    if text >= end:
        text, end, depth, spent = 0, 0, 0, 0
    record = write_record(m, machine, text, end, depth, value, phase, point)
    put(m, RECORDS, record, X_SPENT, spent)
    if value >= 0 and cell(m, MACHINES, machine, G_IS_KEYS):
        mask = others_of(m, record)
        put(m, RECORDS, record, X_MASK, mask & 0x7FFFFFFF)
        put(m, RECORDS, record, X_MASK_2, mask >> 31)
        if mask == 0:
            value = -1
            put(m, RECORDS, record, X_VALUE, value)
    return intern_record(m, F_BYTES) if value >= 0 or end else NO_STATE


@inner
def _opened(m: Memory, machine: int, phase: int) -> int:
    """The state before the opening quote, or after it."""
    text, end = cell(m, MACHINES, machine, G_TEXT), cell(m, MACHINES, machine, G_TEXT_END)
    return _inside(m, machine, text, end, 0, cell(m, MACHINES, machine, G_VALUE), phase, 0, 0)


@inner
def _after(m: Memory, record: int, phase: int, point: int) -> int:
    """The state once a character, or a part of it, stands for the ranks that ``phase`` and ``point`` say."""
    first, last = first_rank(phase, point), last_rank(phase, point)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    depth, spent = cell(m, RECORDS, record, X_DEPTH), cell(m, RECORDS, record, X_SPENT)
    value, full = cell(m, RECORDS, record, X_VALUE), cell(m, RECORDS, record, X_PHASE) & FULL
    if text < end:
        text = text_place(m, text, end, depth, first)
        end = text_place(m, text, end, depth, last + 1)
    if value >= 0 and not full:
        place = interval_place(m, value, first)
        if place == interval_end(m, value) or cell(m, INTERVALS, place, INTERVAL_FROM) > last:
            value = -1
        elif phase == NONE or (
            text >= end
            and cell(m, INTERVALS, place, INTERVAL_FROM) <= first
            and last <= cell(m, INTERVALS, place, INTERVAL_TO)
        ):
            full, value = FULL, cell(m, INTERVALS, place, INTERVAL_TARGET)
    if phase == NONE:
        depth, full, point = depth + 1, 0, 0
        spent = min(FAR, spent + rank_cost(m, first, last)) if text < end else 0
    elif full:
        point = plain_point(phase, point)
    return _inside(m, cell(m, RECORDS, record, X_MACHINE), text, end, depth, value, phase + full, point, spent)


@inner
def _close(m: Memory, record: int) -> int:
    """The state after the closing quote."""
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    text, end, mask, mask_2 = cell(m, RECORDS, record, X_TEXT), 0, 0, 0
    if text < cell(m, RECORDS, record, X_TEXT_END):
        end = text + 1 if cell(m, TEXTS, text, T_LENGTH) == cell(m, RECORDS, record, X_DEPTH) else 0
    if end == 0:
        text = 0
        if value >= 0:
            mask, mask_2 = cell(m, VALUES, value, D_LABEL), cell(m, VALUES, value, D_LABEL_2)
        if mask | mask_2 == 0:
            return NO_STATE
    is_keys = cell(m, MACHINES, machine, G_IS_KEYS)
    if not is_keys:
        text, end, mask, mask_2 = 0, 0, 0, 0
    new = write_record(m, machine, text, end, mask_2, -1, END, mask)
    put(m, RECORDS, new, X_MASK, mask)
    put(m, RECORDS, new, X_MASK_2, mask_2)
    return intern_record(m, F_LABEL if is_keys else F_FINAL)


@inner
def _counted(m: Memory, base: int, count: int) -> int:
    """The state of a machine with bounds on the length that is ``base`` after ``count`` characters, or `NO_STATE`."""
    if base == NO_STATE:
        return NO_STATE
    old = cell(m, STATES, base, S_NODES)
    machine, phase = cell(m, RECORDS, old, X_MACHINE), cell(m, RECORDS, old, X_PHASE)
    low, high = cell(m, MACHINES, machine, G_LOW), cell(m, MACHINES, machine, G_HIGH)
    if phase == END:
        return base if count >= low else NO_STATE
    if high == ENDLESS and count >= low:
        return base
    if bounded_rest(m, old, count) == NEVER:
        return NO_STATE
    value, point = cell(m, RECORDS, old, X_VALUE), cell(m, RECORDS, old, X_POINT)
    record = write_record(m, machine, 0, 0, 0, value, phase, point)
    put(m, RECORDS, record, X_COUNT, count)
    put(m, RECORDS, record, X_BASE, base)
    return intern_record(m, F_BYTES)


@inner
def _step(m: Memory, state: int, byte: int) -> int:
    """As `string_step`, without a count of characters."""
    record = cell(m, STATES, state, S_NODES)
    phase = cell(m, RECORDS, record, X_PHASE)
    if byte == QUOTE and phase == NONE:
        return _close(m, record)
    if phase == START:
        return _opened(m, cell(m, RECORDS, record, X_MACHINE), NONE) if byte == QUOTE else NO_STATE
    if phase == END:
        return NO_STATE
    phase, point = after_byte(phase & ~FULL, cell(m, RECORDS, record, X_POINT), byte)
    return _after(m, record, phase, point) if phase != MISSPELT else NO_STATE


@inner
def fill_string_transition(m: Memory, state: int, byte: int) -> int:
    """Write to the row of ``state`` where ``byte`` leads, and with it the bytes beside it that lead there too."""
    target = _step(m, state, byte)
    record, row = cell(m, STATES, state, S_NODES), cell(m, STATES, state, S_ROW)
    first, last = byte, byte
    if cell(m, RECORDS, record, X_PHASE) == NONE and byte < 0x80 and byte != QUOTE and byte != BACKSLASH:
        if byte < 0x20:
            first, last = 0, 0x1F
        elif cell(m, RECORDS, record, X_TEXT_END) == 0:
            value = cell(m, RECORDS, record, X_VALUE)
            place, first, last = interval_place(m, value, byte), 0x20, 0x7F
            if place < interval_end(m, value):
                start = cell(m, INTERVALS, place, INTERVAL_FROM)
                last = min(last, cell(m, INTERVALS, place, INTERVAL_TO) if start <= byte else start - 1)
                first = max(first, start) if start <= byte else first
            if target == NO_STATE and place > cell(m, VALUES, value, D_FIRST):
                first = max(first, cell(m, INTERVALS, place - 1, INTERVAL_TO) + 1)
    for other in range(first, last + 1):
        if other == byte or (other != QUOTE and other != BACKSLASH):
            put(m, TRANSITIONS, row, other, target)
    return target


@inner
def string_step(m: Memory, state: int, byte: int) -> int:
    """The state of the same machine after ``byte``, or `NO_STATE`, computed."""
    record = cell(m, STATES, state, S_NODES)
    base, count = cell(m, RECORDS, record, X_BASE), cell(m, RECORDS, record, X_COUNT)
    if base == NO_STATE:
        target = _step(m, state, byte)
        begins = cell(m, RECORDS, record, X_PHASE) == START and is_bounded(m, cell(m, RECORDS, record, X_MACHINE))
        return _counted(m, target, 0) if begins else target
    target = cell(m, TRANSITIONS, cell(m, STATES, base, S_ROW), byte)
    if target == HOLE:
        target = fill_string_transition(m, base, byte)
    if target != NO_STATE and cell(m, RECORDS, cell(m, STATES, target, S_NODES), X_PHASE) == NONE:
        count += 1
    return _counted(m, target, count)


@inner
def string_start(m: Memory, machine: int) -> int:
    """The state before the opening quote."""
    state = cell(m, MACHINES, machine, G_START)
    if state == HOLE:
        state = _opened(m, machine, START)
        put(m, MACHINES, machine, G_START, state)
    return state


@inner
def undeclared(m: Memory, state: int) -> int:
    """The state between two characters of a key that can become none of the declared names."""
    record = cell(m, STATES, state, S_NODES)
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    return _inside(m, machine, 0, 0, 0, value, NONE, 0, 0)


@inner
def key_start(m: Memory, keys: int) -> int:
    """The state before a key, or `NO_STATE` where there can be none; ``keys`` as `StringTables.keys` gave it."""
    return string_start(m, keys)
