"""Frames: objects and arrays being read.

A frame's state is (place, register, label, text): where between the brackets a text is, what it has had so far (see
`registers`), and, from the end of a key to that of its value, which key that was. Such states are rows of `STATES`
without transitions: a byte's effect is computed. Inside a key the place is that of the key's automaton (see
`strings`), as ``-state``; a key may go on only while some key can come of it that the register allows.

::

    { OPEN_OBJECT "key" AFTER_KEY : BEFORE_VALUE value AFTER_MEMBER , BEFORE_KEY "key" ... }
    [ OPEN_ARRAY element AFTER_ITEM , BEFORE_ITEM element ... ]
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, compiled, inner
from structgen.grammars.automaton.array_following import way_of
from structgen.grammars.automaton.determinize import after_call, next_state, start_state
from structgen.grammars.automaton.frame_distances import after_member, bit_at, bits_of, frame_distance, place_ahead
from structgen.grammars.automaton.frame_places import (
    AFTER_ITEM,
    AFTER_KEY,
    AFTER_MEMBER,
    BEFORE_ITEM,
    BEFORE_KEY,
    BEFORE_VALUE,
    EXACT,
    OPEN_ARRAY,
    OPEN_OBJECT,
    SPACES,
    START_ARRAY,
    START_OBJECT,
    is_prescribed,
    layout_of,
    may_follow,
    piece_at,
)
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed
from structgen.grammars.automaton.layouts import FLEXIBLE, space_length
from structgen.grammars.automaton.object_following import may_come
from structgen.grammars.automaton.registers import after_item, first_array, first_object
from structgen.grammars.automaton.spellings import longer_spelling
from structgen.grammars.automaton.string_keys import key_label, key_others
from structgen.grammars.automaton.strings import key_start
from structgen.grammars.automaton.tables import (
    A_RULE,
    ARRAY_RULE,
    ARRAYS,
    CALLS,
    CLOSED,
    F_BYTES,
    F_CALLS,
    F_FRAME,
    F_LABEL,
    FAR,
    FRAME_HASH,
    L_RULE,
    N_STATES,
    NAME_RULE,
    NAMES,
    NO_SPELLING,
    NO_STATE,
    O_FIRST_NAME,
    O_FIRST_OTHER,
    O_IS_SET,
    O_RULE,
    OBJECT_RULE,
    OBJECTS,
    OTHER_RULE,
    OTHERS,
    R_KEYS,
    R_MAY_END,
    R_MORE,
    R_SPEC,
    R_WAYS,
    REGISTERS,
    RULES,
    S_CALL_COUNT,
    S_CALLS,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_LABEL,
    S_PLACE,
    S_REGISTER,
    S_ROW,
    S_RULE,
    S_TEXT,
    STATES,
    U_KIND,
    U_NODE,
    UNKNOWN_SPELLING,
    WAYS,
    Y_RULE,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = [
    "NEW_LINE",
    "after_declared",
    "after_space",
    "after_undeclared",
    "back",
    "beyond_space",
    "callee",
    "next_of",
    "rehash_frames",
    "start_of",
    "undeclared_ways",
]

# White space: none yet; one space, after which there is no more; a line feed and 0, 1, ... MAX_INDENT spaces.
NO_SPACE, ONE_SPACE, NEW_LINE = range(3)
MAX_INDENT = 64


@inner
def _hash_frame(place: int, register: int, label: int, text: int) -> int:
    value = FNV_BASIS
    value = mixed(value, place)
    value = mixed(value, register)
    value = mixed(value, label)
    value = mixed(value, text)
    return folded(value)


@inner
def _frame(m: Memory, place: int, register: int, label: int, text: int) -> int:
    """The state of a frame."""
    last = rows_of(m, FRAME_HASH) - 1
    slot = _hash_frame(place, register, label, text) & last
    while cell(m, FRAME_HASH, slot, 0) != 0:
        state = cell(m, FRAME_HASH, slot, 0)
        if (
            cell(m, STATES, state, S_PLACE) == place
            and cell(m, STATES, state, S_REGISTER) == register
            and cell(m, STATES, state, S_LABEL) == label
            and cell(m, STATES, state, S_TEXT) == text
        ):
            return state
        slot = (slot + 1) & last
    distance = frame_distance(m, place, register, label)  # which may make states of keys
    state = get_count(m, N_STATES)
    need(m, STATES, state + 1)
    put(m, STATES, state, S_PLACE, place)
    put(m, STATES, state, S_REGISTER, register)
    put(m, STATES, state, S_LABEL, label)
    put(m, STATES, state, S_TEXT, text)
    put(m, STATES, state, S_COUNT, 0)
    put(m, STATES, state, S_ROW, 0)
    put(m, STATES, state, S_DISTANCE, min(FAR, distance))
    _describe(m, state, place, register, label)
    put(m, FRAME_HASH, slot, 0, state)
    set_count(m, N_STATES, state + 1)
    return state


@inner
def _describe(m: Memory, state: int, place: int, register: int, label: int) -> None:
    spec = cell(m, REGISTERS, register, R_SPEC)
    rule = cell(m, OBJECTS, spec, O_RULE) if spec >= 0 else cell(m, ARRAYS, -1 - spec, A_RULE)
    kind, calls, layout = place % EXACT // SPACES, 0, layout_of(m, register)
    if place < 0 or (layout != FLEXIBLE and place // EXACT < space_length(m, layout, piece_at(m, layout, kind))):
        calls = 0
    elif kind == BEFORE_VALUE:
        calls = 1 if label >= 0 else bits_of(-1 - label)
    elif kind in (OPEN_ARRAY, BEFORE_ITEM):
        calls = bits_of(cell(m, REGISTERS, register, R_WAYS))
    # Behind prescribed white space nothing comes but what is called.
    is_passed = layout != FLEXIBLE and calls > 0 and (kind != OPEN_ARRAY or place >= EXACT)
    put(m, STATES, state, S_RULE, rule)
    put(m, STATES, state, S_CALL_COUNT, calls)
    put(m, STATES, state, S_FLAGS, F_FRAME | (0 if is_passed else F_BYTES) | (F_CALLS if calls else 0))


@inner
def after_space(space: int, byte: int) -> int:
    """How far white space has come after one more byte of it, -1 where that may not be."""
    if space == NO_SPACE:
        return ONE_SPACE if byte == 0x20 else NEW_LINE
    if space >= NEW_LINE and space < NEW_LINE + MAX_INDENT and byte == 0x20:
        return space + 1
    return -1


@inner
def next_in_frame(m: Memory, state: int, byte: int) -> int:
    """The state of the same frame after ``byte``, or `NO_STATE`."""
    place, register = cell(m, STATES, state, S_PLACE), cell(m, STATES, state, S_REGISTER)
    label, text = cell(m, STATES, state, S_LABEL), cell(m, STATES, state, S_TEXT)
    if place < 0:
        return _next_in_key(m, -place, register, text, byte)
    kind = place % EXACT // SPACES
    if kind == START_OBJECT:
        return _frame(m, OPEN_OBJECT * SPACES, register, 0, 0) if byte == _opening(m, register) else NO_STATE
    if kind == START_ARRAY:
        return _frame(m, OPEN_ARRAY * SPACES, register, 0, 0) if byte == ord("[") else NO_STATE
    if layout_of(m, register) != FLEXIBLE:
        if is_prescribed(m, register, place, byte):
            return _frame(m, place + EXACT, register, label, text)
        if not may_follow(m, register, place, byte):
            return NO_STATE
    elif byte == 0x20 or byte == 0x0A:
        space = after_space(place % SPACES, byte)
        return _frame(m, kind * SPACES + space, register, label, text) if space >= 0 else NO_STATE
    if kind == AFTER_KEY:
        return _frame(m, BEFORE_VALUE * SPACES, register, label, text) if byte == ord(":") else NO_STATE
    if byte == ord('"'):
        opens = kind == BEFORE_KEY or (kind == OPEN_OBJECT and cell(m, REGISTERS, register, R_MORE) == 1)
        return _open_key(m, register) if opens else NO_STATE
    return _punctuation(m, kind, register, byte)


@inner
def _punctuation(m: Memory, kind: int, register: int, byte: int) -> int:
    """The state after a comma or a closing bracket."""
    if byte == ord(","):
        if cell(m, REGISTERS, register, R_MORE) == 1:
            if kind == AFTER_MEMBER:
                return _frame(m, BEFORE_KEY * SPACES, register, 0, 0)
            if kind == AFTER_ITEM:
                return _frame(m, BEFORE_ITEM * SPACES, register, 0, 0)
        return NO_STATE
    if kind in (AFTER_MEMBER, OPEN_OBJECT):
        closes = byte == _opening(m, register) + 2  # as ASCII has it
    else:
        closes = byte == ord("]") and (kind in (AFTER_ITEM, OPEN_ARRAY))
    return CLOSED if closes and cell(m, REGISTERS, register, R_MAY_END) else NO_STATE


@inner
def _opening(m: Memory, register: int) -> int:
    """What opens an object or a set of strings."""
    return ord("[") if cell(m, OBJECTS, cell(m, REGISTERS, register, R_SPEC), O_IS_SET) else ord("{")


# Calls: the values of members and the elements of arrays


@inner
def _frame_callee(m: Memory, state: int, number: int) -> int:
    """The rule of call number ``number`` of ``state``."""
    register, label = cell(m, STATES, state, S_REGISTER), cell(m, STATES, state, S_LABEL)
    spec = cell(m, REGISTERS, register, R_SPEC)
    if spec < 0:
        return cell(m, WAYS, way_of(m, register, bit_at(cell(m, REGISTERS, register, R_WAYS), number)), Y_RULE)
    if label >= 0:
        return cell(m, NAMES, cell(m, OBJECTS, spec, O_FIRST_NAME) + label, NAME_RULE)
    return cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + bit_at(-1 - label, number), OTHER_RULE)


@inner
def _frame_back(m: Memory, state: int, number: int) -> int:
    """The state to return to after call number ``number`` of ``state``."""
    register, label = cell(m, STATES, state, S_REGISTER), cell(m, STATES, state, S_LABEL)
    if cell(m, REGISTERS, register, R_SPEC) < 0:
        way = bit_at(cell(m, REGISTERS, register, R_WAYS), number)
        return _frame(m, AFTER_ITEM * SPACES, after_item(m, register, way), 0, 0)
    after = after_member(m, register, label, cell(m, STATES, state, S_TEXT), number)
    return _frame(m, AFTER_MEMBER * SPACES, after, 0, 0)


# Keys


@inner
def _open_key(m: Memory, register: int) -> int:
    """The state behind a key's opening quote."""
    return _next_in_key(m, key_start(m, cell(m, REGISTERS, register, R_KEYS)), register, NO_SPELLING, ord('"'))


@inner
def _next_in_key(m: Memory, key: int, register: int, text: int, byte: int) -> int:
    target = next_state(m, key, byte)
    if target == NO_STATE:
        return NO_STATE
    ways = key_others(m, target) & cell(m, REGISTERS, register, R_WAYS)
    if cell(m, STATES, target, S_FLAGS) & F_LABEL:
        name = key_label(m, target)
        if name >= 0:
            return _after_key(m, register, name, NO_SPELLING) if may_come(m, register, name) else NO_STATE
        return _after_key(m, register, -1 - ways, text) if ways else NO_STATE
    if ways == 0:
        return _frame(m, -target, register, 0, NO_SPELLING) if place_ahead(m, target, register) >= 0 else NO_STATE
    return _frame(m, -target, register, 0, longer_spelling(m, text, byte))


@inner
def _after_key(m: Memory, register: int, label: int, text: int) -> int:
    """The state behind a key's closing quote; a set of strings has no values."""
    if cell(m, OBJECTS, cell(m, REGISTERS, register, R_SPEC), O_IS_SET):
        return _frame(m, AFTER_MEMBER * SPACES, after_member(m, register, label, text, 0), 0, 0)
    return _frame(m, AFTER_KEY * SPACES, register, label, text)


@inner
def undeclared_ways(m: Memory, state: int, key: int) -> int:
    """The entries of others, a bit for each, that may take an undeclared key which ``key`` may still become."""
    return key_others(m, key) & cell(m, REGISTERS, cell(m, STATES, state, S_REGISTER), R_WAYS)


@inner
def after_undeclared(m: Memory, state: int, ways: int) -> int:
    """The state behind an undeclared key that these may take."""
    return _after_key(m, cell(m, STATES, state, S_REGISTER), -1 - ways, UNKNOWN_SPELLING)


@inner
def after_declared(m: Memory, state: int, name: int) -> int:
    """The state behind the declared key ``name``, `NO_STATE` where it may not come."""
    register = cell(m, STATES, state, S_REGISTER)
    return _after_key(m, register, name, NO_SPELLING) if may_come(m, register, name) else NO_STATE


@inner
def beyond_space(m: Memory, state: int) -> int:
    """The state at the same place where no more white space may come."""
    kind = cell(m, STATES, state, S_PLACE) // SPACES
    register, label = cell(m, STATES, state, S_REGISTER), cell(m, STATES, state, S_LABEL)
    return _frame(m, kind * SPACES + ONE_SPACE, register, label, cell(m, STATES, state, S_TEXT))


# What stacks are made of: states of either kind


@inner
def next_of(m: Memory, state: int, byte: int) -> int:
    """The state of the same rule after ``byte``, or `NO_STATE`."""
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return next_in_frame(m, state, byte)
    return next_state(m, state, byte)


@inner
def callee(m: Memory, state: int, number: int) -> int:
    """The rule of call number ``number`` of ``state``."""
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return _frame_callee(m, state, number)
    return cell(m, CALLS, cell(m, STATES, state, S_CALLS) + number, L_RULE)


@inner
def back(m: Memory, state: int, number: int) -> int:
    """The state to return to after call number ``number`` of ``state``."""
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return _frame_back(m, state, number)
    return after_call(m, state, number)


@inner
def start_of(m: Memory, rule: int) -> int:
    """The start state of ``rule``."""
    kind, number = cell(m, RULES, rule, U_KIND), cell(m, RULES, rule, U_NODE)
    if number >= 0 and kind == OBJECT_RULE:
        return _frame(m, START_OBJECT * SPACES, first_object(m, number), 0, 0)
    if number >= 0 and kind == ARRAY_RULE:
        return _frame(m, START_ARRAY * SPACES, first_array(m, number), 0, 0)
    return start_state(m, rule)


@compiled
def rehash_frames(m: Memory) -> None:
    """Enter every frame's state into an emptied `FRAME_HASH`."""
    last = rows_of(m, FRAME_HASH) - 1
    for state in range(CLOSED + 1, get_count(m, N_STATES)):
        if cell(m, STATES, state, S_FLAGS) & F_FRAME == 0:
            continue
        slot = (
            _hash_frame(
                cell(m, STATES, state, S_PLACE),
                cell(m, STATES, state, S_REGISTER),
                cell(m, STATES, state, S_LABEL),
                cell(m, STATES, state, S_TEXT),
            )
            & last
        )
        while cell(m, FRAME_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, FRAME_HASH, slot, 0, state)
