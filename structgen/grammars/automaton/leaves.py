"""Leaves: what is read by its bytes alone, without a look at the stack.

Strings, numbers, other rules that call none, and the white space of objects and arrays. A state of a leaf has a *key*
by which every automaton of a vocabulary knows it, so that what depends on it alone is computed once (see `interiors`).

White space is no rule: in this module its states are `WHITE_SPACE` less how far it has come (see `frames`).
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Int64Array, Memory, inner
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.frames import after_space
from structgen.grammars.automaton.spelling import BACKSLASH, NONE, QUOTE
from structgen.grammars.automaton.string_keys import key_others, other_rest
from structgen.grammars.automaton.string_rests import END, NEVER, START, bounded_rest, interval_end, text_place
from structgen.grammars.automaton.string_tables import ANY_VALUE
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BYTES,
    BYTESETS,
    C_LONGEST,
    D_FIRST,
    ENDLESS,
    F_FINAL,
    F_FRAME,
    F_LABEL,
    FAR,
    G_HIGH,
    G_LOW,
    G_RULE,
    G_SET_COUNT,
    G_TEXT,
    G_VALUE,
    I_STATE,
    INTERVAL_FROM,
    INTERVAL_TO,
    INTERVALS,
    ITEMS,
    K_ARGUMENT,
    K_KIND,
    MACHINES,
    NO_STATE,
    NODES,
    POOL,
    Q_COUNT,
    Q_FIRST,
    RECORDS,
    RULES,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    S_PLACE,
    S_ROW,
    S_RULE,
    SETS,
    STATE_NODES,
    STATES,
    STRING,
    T_FIRST,
    T_LENGTH,
    TEXTS,
    TRANSITIONS,
    U_FIRST,
    U_LEAF,
    VALUES,
    X_BASE,
    X_COUNT,
    X_DEPTH,
    X_MACHINE,
    X_PHASE,
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
)

__all__ = [
    "ANY_STRING",
    "LEAVES",
    "SPACE",
    "UNCLOSED",
    "WHITE_SPACE",
    "first_bytes",
    "follows_space",
    "key_at",
    "key_count",
    "label_at",
    "leaf_of",
    "mark_texts",
    "read_on",
    "rest_of",
    "uncounted",
]

ANY_STRING, SPACE, LEAVES = 1, 2, 3
"""Numbers of leaves: the strings of any kind, white space, and the first of the others."""
WHITE_SPACE = -16

UNCLOSED = 1
"""A *variant* of a leaf: its first byte is no quote. Of keys there is a variant for each set of `Others` that may take
them, the set shifted by one bit; a key that none of these may take does not come, and those that may are its label."""


@inner
def leaf_of(m: Memory, state: int) -> int:
    """The number of the leaf that ``state`` belongs to, 0 where it belongs to none."""
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return 0
    if cell(m, STATES, state, S_COUNT) == STRING:
        record = cell(m, STATES, state, S_NODES)
        if cell(m, RECORDS, record, X_VALUE) == ANY_VALUE and cell(m, RECORDS, record, X_TEXT_END) == 0:
            return ANY_STRING
    return cell(m, RULES, cell(m, STATES, state, S_RULE), U_LEAF)


@inner
def key_count(m: Memory, state: int) -> int:
    """How many numbers tell ``state`` from others of its leaf."""
    if state < 0:
        return 2
    count = cell(m, STATES, state, S_COUNT)
    return _COLUMNS if count == STRING else max(1, count)


@inner
def key_at(m: Memory, state: int, place: int) -> int:
    """Number ``place`` of those that tell ``state`` from others of its leaf."""
    if state < 0:
        return state if place else 0
    count, first = cell(m, STATES, state, S_COUNT), cell(m, STATES, state, S_NODES)
    if count == STRING:
        return _record_at(m, first, place)
    base = cell(m, RULES, cell(m, STATES, state, S_RULE), U_FIRST)
    return (cell(m, STATE_NODES, first + place, 0) if count else state) - base


_COLUMNS = 8
"""Numbers that tell apart the states of string machines: those that stand in their records, but for the machine, and
how many characters are still to come at least and at most."""


@inner
def _record_at(m: Memory, record: int, place: int) -> int:
    machine = cell(m, RECORDS, record, X_MACHINE)
    if place == _COLUMNS - 2:
        return _least(m, record, machine)
    if place == _COLUMNS - 1:
        return _most(m, record, machine)
    value = cell(m, RECORDS, record, X_TEXT + place)
    if place < 2:
        return value - cell(m, MACHINES, machine, G_TEXT) if cell(m, RECORDS, record, X_TEXT_END) else 0
    if place == X_VALUE - X_TEXT and value >= 0:
        return value - cell(m, MACHINES, machine, G_VALUE)
    return value


@inner
def _least(m: Memory, record: int, machine: int) -> int:
    if cell(m, RECORDS, record, X_COUNT) < 0:
        return 0
    least = max(0, cell(m, MACHINES, machine, G_LOW) - cell(m, RECORDS, record, X_COUNT))
    return min(least, get_count(m, C_LONGEST)) if cell(m, RECORDS, record, X_VALUE) == ANY_VALUE else least


@inner
def _most(m: Memory, record: int, machine: int) -> int:
    """-1 where a token is too short for it to matter."""
    high = cell(m, MACHINES, machine, G_HIGH)
    if cell(m, RECORDS, record, X_COUNT) < 0 or high == ENDLESS:
        return -1
    most = high - cell(m, RECORDS, record, X_COUNT)
    far = get_count(m, C_LONGEST) + cell(m, RULES, cell(m, MACHINES, machine, G_RULE), U_FIRST)
    return -1 if most >= far and cell(m, MACHINES, machine, G_SET_COUNT) == 0 else most


@inner
def read_on(m: Memory, state: int, count: int, variant: int, byte: int) -> tuple[int, int]:
    """The state of the same leaf after ``byte``, or `NO_STATE`; of a string with bounds on its length the one without.

    The other number is the count, -1 where there is none.
    """
    if state < 0:
        if byte != 0x20 and byte != 0x0A:
            return NO_STATE, -1
        space = after_space(WHITE_SPACE - state, byte)
        return (WHITE_SPACE - space if space >= 0 else NO_STATE), -1
    target = next_state(m, state, byte)
    if target == NO_STATE or (count < 0 and variant <= UNCLOSED):
        return target, -1
    record = cell(m, STATES, target, S_NODES)
    if count >= 0:
        phase = cell(m, RECORDS, record, X_PHASE)
        count += phase == NONE
        if phase == END:
            may_come = count >= cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_LOW)
        else:
            may_come = bounded_rest(m, record, count) != NEVER
    else:
        may_come = key_others(m, target) & (variant >> 1) != 0
    return (target if may_come else NO_STATE), count


@inner
def follows_space(byte: int) -> bool:
    """Whether JSON has ``byte`` behind white space: a mark, or the first byte of a value."""
    if byte < 0x40:
        return byte in (0x22, 0x2C, 0x2D, 0x3A) or 0x30 <= byte <= 0x39  # quote, comma, minus, colon, digits
    return byte in (0x5B, 0x5D, 0x66, 0x6E, 0x74, 0x7B, 0x7D)  # brackets; false, null and true; braces


@inner
def uncounted(m: Memory, state: int) -> tuple[int, int]:
    """A state of a leaf as `read_on` takes it."""
    if state >= 0 and cell(m, STATES, state, S_COUNT) == STRING:
        record = cell(m, STATES, state, S_NODES)
        if cell(m, RECORDS, record, X_COUNT) >= 0:
            return cell(m, RECORDS, record, X_BASE), cell(m, RECORDS, record, X_COUNT)
    return state, -1


@inner
def label_at(m: Memory, state: int, variant: int) -> int:
    """-1 where the leaf may not end; else 0, or what may take a key."""
    if state >= 0 and not cell(m, STATES, state, S_FLAGS) & (F_FINAL | F_LABEL):
        return -1
    return key_others(m, state) & (variant >> 1) if variant > UNCLOSED else 0


@inner
def rest_of(m: Memory, state: int, count: int, variant: int) -> int:
    """Tokens that suffice from a state, given as `read_on` gives it, to the end of its leaf; of a key, to its end."""
    if variant > UNCLOSED:
        return other_rest(m, state, variant >> 1)
    if count >= 0:
        record = cell(m, STATES, state, S_NODES)
        machine, phase = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_PHASE)
        is_free = cell(m, MACHINES, machine, G_HIGH) == ENDLESS and count >= cell(m, MACHINES, machine, G_LOW)
        if phase != END and not is_free:
            return min(FAR, bounded_rest(m, record, count) + cell(m, POOL, QUOTE, 0))
    return cell(m, STATES, state, S_DISTANCE)


# The bytes that may come first


@inner
def _mark(live: Int64Array, byte: int) -> None:
    live[byte >> 5] |= 1 << (byte & 31)


@inner
def _mark_all(live: Int64Array) -> None:
    for word in range(8):
        live[word] = 0xFFFFFFFF


@inner
def first_bytes(m: Memory, state: int, below: int, live: Int64Array) -> None:
    """Add to the set of 8 words all bytes that may come next, and maybe some others; takes a travelling form."""
    for word in range(8):
        live[word] = 0
    if state > 0:
        _first_bytes_of(m, state, live)
        return
    first = cell(m, SETS, below, Q_FIRST)
    for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
        if cell(m, ITEMS, item, I_STATE) != ACCEPT:
            _first_bytes_of(m, cell(m, ITEMS, item, I_STATE), live)


@inner
def _first_bytes_of(m: Memory, state: int, live: Int64Array) -> None:
    count, first = cell(m, STATES, state, S_COUNT), cell(m, STATES, state, S_NODES)
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        place = cell(m, STATES, state, S_PLACE)
        if place < 0:
            _first_of_string(m, cell(m, STATES, -place, S_NODES), live)
        else:
            _first_of_frame(live)
    elif count == STRING:
        _first_of_string(m, first, live)
    elif count:
        for place in range(first, first + count):
            node = cell(m, STATE_NODES, place, 0)
            if cell(m, NODES, node, K_KIND) == BYTES:
                for word in range(8):
                    live[word] |= cell(m, BYTESETS, cell(m, NODES, node, K_ARGUMENT), word) & 0xFFFFFFFF
    else:
        row = cell(m, STATES, state, S_ROW)
        for byte in range(256):
            if cell(m, TRANSITIONS, row, byte) != NO_STATE:
                _mark(live, byte)


@inner
def _first_of_frame(live: Int64Array) -> None:
    live[0] |= 1 << 0x09 | 1 << 0x0A | 1 << 0x0D
    live[1] |= 1 | 1 << (0x22 - 32) | 1 << (0x2C - 32) | 1 << (0x3A - 32)  # space, quote, comma, colon
    live[2] |= 1 << (0x5B - 64) | 1 << (0x5D - 64)  # brackets
    live[3] |= 1 << (0x7B - 96) | 1 << (0x7D - 96)


@inner
def _first_of_string(m: Memory, record: int, live: Int64Array) -> None:
    phase, depth = cell(m, RECORDS, record, X_PHASE), cell(m, RECORDS, record, X_DEPTH)
    if phase == START:
        _mark(live, QUOTE)
        return
    if phase != NONE:
        _mark_all(live)
        return
    if cell(m, RECORDS, record, X_VALUE) >= 0:
        _mark_value(m, cell(m, RECORDS, record, X_VALUE), live)
    mark_texts(m, cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END), depth, live)


@inner
def _mark_value(m: Memory, value: int, live: Int64Array) -> None:
    """Add the bytes that may come between two characters where the automaton is in ``value``, and some others."""
    _mark(live, BACKSLASH)
    _mark(live, QUOTE)
    for place in range(cell(m, VALUES, value, D_FIRST), interval_end(m, value)):
        first, last = cell(m, INTERVALS, place, INTERVAL_FROM), cell(m, INTERVALS, place, INTERVAL_TO)
        for byte in range(max(first, 0x20), min(last, 0x7F) + 1):
            _mark(live, byte)
        if last >= 0x80:
            live[6], live[7] = 0xFFFFFFFF, 0xFFFFFFFF


@inner
def mark_texts(m: Memory, text: int, end: int, depth: int, live: Int64Array) -> None:
    """Add the bytes with which character number ``depth`` of some of the texts may begin, and some others."""
    _mark(live, BACKSLASH)
    while text < end:
        rank = -1
        if depth < cell(m, TEXTS, text, T_LENGTH):
            rank = cell(m, POOL, cell(m, TEXTS, text, T_FIRST) + depth, 0)
        if rank >= 0x80:
            for word in range(6, 8):  # the first bytes of longer characters, and a few more
                live[word] = 0xFFFFFFFF
            return
        _mark(live, QUOTE if rank < 0 else rank)
        text = text_place(m, text, end, depth, rank + 1)
