"""Stretches: what lies below a node of the vocabulary's trie where nothing that comes can end or leave a leaf.

Inside a string most bytes lead to where the same bytes may come again. Below a node with no bytes but such, every token
stays inside, and none has to be looked at.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int64Array, Memory, inner, int64, load
from structgen.grammars.automaton.determinize import next_state
from structgen.grammars.automaton.interiors import H_BELOW, H_LARGE, H_LARGE_COUNT, address
from structgen.grammars.automaton.leaves import UNCLOSED
from structgen.grammars.automaton.spelling import BACKSLASH, LAST_RANK, NONE, QUOTE
from structgen.grammars.automaton.string_keys import key_others
from structgen.grammars.automaton.string_rests import interval_end, interval_place
from structgen.grammars.automaton.tables import (
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    N_VALUES,
    NO_STATE,
    RECORDS,
    S_COUNT,
    S_NODES,
    STATES,
    STRING,
    X_PHASE,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
)
from structgen.grammars.automaton.walk import BELOW

__all__ = ["ALONE", "LOOPS", "stretch"]

_STATES, _MOST_REACHED, _MOST_ROUNDS = 256, 64, 8
ALONE = -1
_ROW = 10
_FAILED = _STATES * _ROW + _MOST_REACHED
_INSIDE, _MOST_INSIDE = _FAILED + 1, 16
LOOPS = _INSIDE + 3 * (_MOST_INSIDE + 1)
"""Room for what is kept of so many states (the state, 8 words of bytes, whether all of UTF-8 beyond ASCII), for those
reached while it is found out, for how often these were too many, which takes long: once is enough; and for the states
inside a character, those with 3, 2 and 1 bytes to come."""
_ASCII_WORDS = 4
_VALUE = -2
"""Less a number of a string's automaton, in place of the state: what is kept of all states between two characters that
have it."""


@inner
def _loops_of(m: Memory, state: int, variant: int, loops: Int64Array) -> int:
    """The place in ``loops`` of the bytes after any of which, from ``state`` on, any of them may come again.

    With the variant `ALONE` only bytes that lead back to ``state`` itself.
    """
    key = _key_of(m, state, variant)
    base = (key & (_STATES - 1)) * _ROW
    if loops[base] != key:
        loops[base] = key
        for word in range(1, 9):
            loops[base + word] = 0xFFFFFFFF if word <= _ASCII_WORDS else 0
        if key <= _VALUE:
            _find_loops_of_value(m, _VALUE - key, loops, base)
        else:
            _find_loops(m, state, variant, loops, base)
    return base


@inner
def _key_of(m: Memory, state: int, variant: int) -> int:
    """What is kept of ``state`` is kept by this."""
    if cell(m, STATES, state, S_COUNT) != STRING or not 0 <= variant <= UNCLOSED:
        return state
    record = cell(m, STATES, state, S_NODES)
    is_whole = cell(m, RECORDS, record, X_PHASE) == NONE and cell(m, RECORDS, record, X_TEXT_END) == 0
    return _VALUE - cell(m, RECORDS, record, X_VALUE) if is_whole and cell(m, RECORDS, record, X_VALUE) >= 0 else state


@inner
def _share(loops: Int64Array, base: int, key: int) -> None:
    """What holds of a state holds of all that it leads to."""
    place = (key & (_STATES - 1)) * _ROW
    if place != base and loops[place] != key:
        loops[place] = key
        for word in range(1, _ROW):
            loops[place + word] = loops[base + word]


@inner
def _begin_entry(loops: Int64Array, base: int, reached: int) -> None:
    """No bytes, where too many states were reached or bytes had to be left out to the last; all of UTF-8, so far."""
    if reached < 0:
        loops[_FAILED] = 1
    if reached <= 0:
        for word in range(1, 9):
            loops[base + word] = 0
    loops[base + 9] = 1


@inner
def _find_loops(m: Memory, state: int, variant: int, loops: Int64Array, base: int) -> None:
    """Write what `_loops_of` is of, given the bytes to begin with."""
    reached, rounds = 0, 0
    while reached == 0 and rounds < _MOST_ROUNDS and not loops[_FAILED]:
        reached = _reach(m, state, variant, loops, base)
        rounds += 1
    _begin_entry(loops, base, reached)
    for one in range(reached):
        if not _takes_any_character(m, loops, reached, loops[_STATES * _ROW + one]):
            loops[base + 9] = 0
    for one in range(1, reached):
        _share(loops, base, loops[_STATES * _ROW + one])


@inner
def _find_loops_of_value(m: Memory, value: int, loops: Int64Array, base: int) -> None:
    """As `_find_loops`, of all states between two characters of a string whose automaton is in ``value``."""
    order, seen = np.empty(_STATES, np.int32), np.zeros(get_count(m, N_VALUES), np.int32)
    loops[base + 1] = 0
    loops[base + 1 + (QUOTE >> 5)] &= ~(1 << (QUOTE & 31))
    loops[base + 1 + (BACKSLASH >> 5)] &= ~(1 << (BACKSLASH & 31))
    reached, rounds = 0, 0
    while reached == 0 and rounds < _MOST_ROUNDS:
        reached = _reach_values(m, value, loops, base, order, seen, rounds + 1)
        rounds += 1
    _begin_entry(loops, base, reached)
    for one in range(reached):
        if not _leads_on(m, int64(order[one]), seen, rounds):
            loops[base + 9] = 0
    for one in range(1, reached):
        _share(loops, base, _VALUE - order[one])


@inner
def _reach_values(
    m: Memory, value: int, loops: Int64Array, base: int, order: Int32Array, seen: Int32Array, mark: int
) -> int:
    """As `_reach`, in the automaton of a string; ``seen`` has ``mark`` where it has been."""
    order[0], seen[value] = value, mark
    count, one, left_out = 1, 0, False
    while one < count:
        value = int64(order[one])
        place, end = interval_place(m, value, 0x20), interval_end(m, value)
        for byte in range(0x20, 0x80):
            if not (loops[base + 1 + (byte >> 5)] >> (byte & 31)) & 1:
                continue
            while place < end and cell(m, INTERVALS, place, INTERVAL_TO) < byte:
                place += 1
            if place == end or cell(m, INTERVALS, place, INTERVAL_FROM) > byte:
                loops[base + 1 + (byte >> 5)] &= ~(1 << (byte & 31))
                left_out = True
                continue
            target = cell(m, INTERVALS, place, INTERVAL_TARGET)
            if seen[target] != mark:
                if count == len(order):
                    return -1
                seen[target], order[count] = mark, target
                count += 1
        one += 1
    return 0 if left_out else count


@inner
def _leads_on(m: Memory, value: int, seen: Int32Array, mark: int) -> bool:
    """Whether every character beyond ASCII leads from ``value`` to where ``seen`` has ``mark``."""
    following = 0x80
    for place in range(interval_place(m, value, 0x80), interval_end(m, value)):
        if seen[cell(m, INTERVALS, place, INTERVAL_TARGET)] != mark:
            return False
        if cell(m, INTERVALS, place, INTERVAL_FROM) > following:
            return False
        following = cell(m, INTERVALS, place, INTERVAL_TO) + 1
    return following > LAST_RANK


@inner
def _reach(m: Memory, state: int, variant: int, loops: Int64Array, base: int) -> int:
    """List the states that the bytes at ``base`` lead to; returns their number, 0 where some byte had to be left out.

    -1 where they are too many.
    """
    reached = loops[_STATES * _ROW :]
    reached[0] = state
    count, one, left_out = 1, 0, False
    while one < count:
        for byte in range(256):
            if not (loops[base + 1 + (byte >> 5)] >> (byte & 31)) & 1:
                continue
            target = next_state(m, reached[one], byte)
            if not _may_be_passed(m, target, variant) or (variant == ALONE and target != state):
                loops[base + 1 + (byte >> 5)] &= ~(1 << (byte & 31))
                left_out = True
                continue
            place = one  # where most bytes lead back to
            if reached[place] != target:
                place = 0
                while place < count and reached[place] != target:
                    place += 1
            if place == _MOST_REACHED:
                return -1
            if place == count:
                reached[count] = target
                count += 1
        one += 1
    return 0 if left_out else count


@inner
def _may_be_passed(m: Memory, state: int, variant: int) -> bool:
    """Whether a token may go on through ``state``, of a string only if it is between two characters."""
    if state == NO_STATE:
        return False
    if cell(m, STATES, state, S_COUNT) != STRING:
        return True
    is_between = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_PHASE) == NONE
    return is_between and (variant <= UNCLOSED or key_others(m, state) & (variant >> 1) != 0)


@inner
def _takes_any_character(m: Memory, loops: Int64Array, reached: int, state: int) -> bool:
    """Whether every character beyond ASCII leads ``state`` to one of the states reached."""
    if cell(m, STATES, state, S_COUNT) != STRING:
        return _takes_utf8(m, loops, reached, state)
    record = cell(m, STATES, state, S_NODES)
    value = cell(m, RECORDS, record, X_VALUE)
    if cell(m, RECORDS, record, X_PHASE) != NONE or cell(m, RECORDS, record, X_TEXT_END) or value < 0:
        return False
    following = 0x80
    for place in range(interval_place(m, value, 0x80), interval_end(m, value)):
        is_known = False
        for one in range(reached):
            known = cell(m, STATES, loops[_STATES * _ROW + one], S_NODES)
            if cell(m, RECORDS, known, X_VALUE) == cell(m, INTERVALS, place, INTERVAL_TARGET):
                is_known = True
        if not is_known or cell(m, INTERVALS, place, INTERVAL_FROM) > following:
            return False
        following = cell(m, INTERVALS, place, INTERVAL_TO) + 1
    return following > LAST_RANK


@inner
def _takes_utf8(m: Memory, loops: Int64Array, reached: int, state: int) -> bool:
    """The same of a state that is stepped by bytes; False too where many states stand inside of the characters."""
    for left in range(3):
        loops[_INSIDE + left * (_MOST_INSIDE + 1)] = 0
    if not (
        _enter(m, loops, 3, state, 0xF1, 0xF4)
        and _enter(m, loops, 2, state, 0xE1, 0xED)
        and _enter(m, loops, 2, state, 0xEE, 0xF0)
        and _enter(m, loops, 2, next_state(m, state, 0xF0), 0x90, 0xC0)
        and _enter(m, loops, 2, next_state(m, state, 0xF4), 0x80, 0x90)
        and _enter(m, loops, 1, state, 0xC2, 0xE0)
        and _enter(m, loops, 1, next_state(m, state, 0xE0), 0xA0, 0xC0)
        and _enter(m, loops, 1, next_state(m, state, 0xED), 0x80, 0xA0)
    ):
        return False
    for left in range(3, 1, -1):
        place = _INSIDE + (left - 1) * (_MOST_INSIDE + 1)
        for one in range(loops[place]):
            if not _enter(m, loops, left - 1, loops[place + 1 + one], 0x80, 0xC0):
                return False
    for one in range(loops[_INSIDE]):
        for byte in range(0x80, 0xC0):
            target, is_known = next_state(m, loops[_INSIDE + 1 + one], byte), False
            for other in range(reached):
                if loops[_STATES * _ROW + other] == target:
                    is_known = True
            if not is_known:
                return False
    return True


@inner
def _enter(m: Memory, loops: Int64Array, left: int, state: int, first: int, end: int) -> bool:
    """Add what the bytes from ``first`` on lead to from ``state`` to the states with ``left`` bytes to come.

    False where one of them may not come, or there is no room.
    """
    if state == NO_STATE:
        return False
    place = _INSIDE + (left - 1) * (_MOST_INSIDE + 1)
    for byte in range(first, end):
        target, one = next_state(m, state, byte), 0
        while one < loops[place] and loops[place + 1 + one] != target:
            one += 1
        if target == NO_STATE or one == _MOST_INSIDE:
            return False
        if one == loops[place]:
            loops[place + 1 + one] = target
            loops[place] += 1
    return True


@inner
def stretch(m: Memory, s: Memory, node: int, state: int, variant: int, loops: Int64Array) -> int:
    """The address of what `walk.Trie.below` says of a `LARGE` node, where all below it stays inside; else 0."""
    if loops[_FAILED]:
        return 0
    large, first, end = address(s, H_LARGE), 0, load(s, H_LARGE_COUNT)
    while first < end:
        middle = (first + end) >> 1
        if load(large, middle) < node:
            first = middle + 1
        else:
            end = middle
    below, base = address(s, H_BELOW) + 4 * BELOW * first, _loops_of(m, state, variant, loops)
    any_character = variant != ALONE and loops[base + 9] and load(below, 8)
    for word in range(4 if any_character else 8):
        if load(below, word) & ~loops[base + 1 + word] & 0xFFFFFFFF:
            return 0
    return below
