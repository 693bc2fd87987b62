"""Kinds: the characters that a string's automaton does not tell apart (see `projections`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    BACKSLASH,
    LAST_RANK,
    NONE,
    QUOTE,
    SUPPLEMENTARY,
)
from structgen.grammars.automaton.string_rests import interval_end
from structgen.grammars.automaton.string_values import ranks_of
from structgen.grammars.automaton.tables import (
    D_FIRST,
    G_VALUE,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    MACHINES,
    N_VALUES,
    RECORDS,
    S_COUNT,
    S_NODES,
    STATES,
    STRING,
    VALUES,
    X_COUNT,
    X_MACHINE,
    X_PHASE,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
)

__all__ = ["Kinds", "is_between", "is_counted", "kinds_of", "kinds_of_any", "kinds_of_sets", "place_of"]

_MOST_INTERVALS, _MOST_CELLS = 1 << 14, 1 << 20
"""An automaton that has more, or so many states times kinds, has no projection."""
_MARKS = np.array([0, 0x20, QUOTE, QUOTE + 1, BACKSLASH, BACKSLASH + 1], np.int32)
"""Where characters that a string holds in escapes only begin and end."""


class Kinds(NamedTuple):
    """The characters that an automaton tells apart."""

    firsts: Int32Array
    """The least ranks of intervals that cover all ranks."""
    spelled: Int64Array
    """The UTF-8 of the first character of its kind, as a little-endian number, 0 where that may never come: for each
    ASCII character, then for each interval."""

    def are_all_told_by(self, others: Kinds) -> bool:
        """Whether ``others`` tell apart whatever these do."""
        return _are_told(self.firsts, self.spelled, others.firsts, others.spelled)


@compiled
def _are_told(firsts: Int32Array, spelled: Int64Array, other_firsts: Int32Array, others: Int64Array) -> bool:
    """As `Kinds.are_all_told_by`: whatever is one of the others, is one of the own."""
    known = np.empty((len(other_firsts), 2), np.int64)  # one of the others, and the own it is
    own = other = count = 0
    while own < len(firsts) and other < len(other_firsts):
        place = 0
        while place < count and known[place, 0] != others[0x80 + other]:
            place += 1
        if place == count:
            known[place, 0], known[place, 1] = others[0x80 + other], spelled[0x80 + own]
            count += 1
        if known[place, 1] != spelled[0x80 + own]:
            return False
        next_own = int64(firsts[own + 1]) if own + 1 < len(firsts) else LAST_RANK + 2
        next_other = int64(other_firsts[other + 1]) if other + 1 < len(other_firsts) else LAST_RANK + 2
        own += next_own <= next_other
        other += next_other <= next_own
    return True


@compiled
def is_between(m: Memory, state: int) -> bool:
    """Whether ``state`` is one between two characters of a string that need not become one of some texts."""
    if state < 0 or cell(m, STATES, state, S_COUNT) != STRING:
        return False
    record = cell(m, STATES, state, S_NODES)
    is_whole = cell(m, RECORDS, record, X_PHASE) == NONE and cell(m, RECORDS, record, X_TEXT_END) == 0
    return is_whole and cell(m, RECORDS, record, X_VALUE) >= 0


@compiled
def is_counted(m: Memory, state: int) -> bool:
    """Whether the characters of the string that ``state`` is in are counted."""
    return cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_COUNT) >= 0


@compiled
def place_of(m: Memory, state: int) -> int:
    """The number of ``state``, which `is_between`, in the automaton of its string."""
    record = cell(m, STATES, state, S_NODES)
    return cell(m, RECORDS, record, X_VALUE) - cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_VALUE)


@compiled
def _read_automaton(m: Memory, state: int, intervals: Int32Table) -> int:
    """Write the intervals of what ``state`` leads to; returns their number, -1 where they do not fit.

    Each is a number for the state it belongs to, first and last rank, and one more than the number of the target;
    those of a state lie together, in order.
    """
    numbers, order = np.zeros(get_count(m, N_VALUES), np.int32), np.empty(get_count(m, N_VALUES), np.int32)
    order[0] = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_VALUE)
    numbers[order[0]] = 1
    reached, written, one = 1, 0, 0
    while one < reached:
        value = int64(order[one])
        for place in range(cell(m, VALUES, value, D_FIRST), interval_end(m, value)):
            target = cell(m, INTERVALS, place, INTERVAL_TARGET)
            if numbers[target] == 0:
                order[reached] = target
                reached += 1
                numbers[target] = reached
            if written == len(intervals):
                return -1
            intervals[written, 0], intervals[written, 1] = one, cell(m, INTERVALS, place, INTERVAL_FROM)
            intervals[written, 2], intervals[written, 3] = cell(m, INTERVALS, place, INTERVAL_TO), numbers[target]
            written += 1
        one += 1
    return written


def kinds_of(tables: Memory, state: int) -> Kinds | None:
    """What a string's automaton tells apart from ``state`` on, which `is_between`; ``None``: too much to say."""
    intervals = np.empty((_MOST_INTERVALS, 4), np.int32)
    count = _read_automaton(tables, state, intervals)
    return None if count < 0 else _kinds(intervals[:count])


def _kinds(intervals: Int32Table) -> Kinds | None:
    """As `kinds_of`, of intervals as `_read_automaton` writes them."""
    bounds = np.sort(np.concatenate((_MARKS, intervals[:, 1], intervals[:, 2] + 1)))
    bounds = bounds[np.append(True, bounds[1:] != bounds[:-1])]
    if len(bounds) * len(intervals) > _MOST_CELLS:
        return None
    slots = np.zeros((1 << (2 * len(bounds)).bit_length(), 4), np.int32)
    spelled = np.zeros(0x80 + len(bounds), np.int64)
    _spell(intervals, bounds, slots, spelled)
    return Kinds(bounds, spelled)


@inner
def _number_of(slots: Int32Table, owner: int, kind: int, target: int, count: int) -> int:
    """The number of what was of ``kind`` and now leads to ``target``, for this ``owner``; ``count`` where it is new."""
    last = len(slots) - 1
    slot = (kind * 0x9E3779B1 + target) & last
    while slots[slot, 0] == owner and (slots[slot, 1] != kind or slots[slot, 2] != target):
        slot = (slot + 1) & last
    if slots[slot, 0] != owner:
        slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = owner, kind, target, count
    return int64(slots[slot, 3])


@inner
def _refine(
    intervals: Int32Table, begin: int, end: int, bounds: Int32Array, slots: Int32Table, kinds: Int32Array
) -> None:
    """Tell apart what leads to different targets in these intervals, which are all that one state has."""
    place, count = begin, 1  # 0: what may come in no state
    for bound in range(len(bounds)):
        while place < end and intervals[place, 2] < bounds[bound]:
            place += 1
        target = int64(intervals[place, 3]) if place < end and intervals[place, 1] <= bounds[bound] else 0
        if kinds[bound] or target:
            number = _number_of(slots, begin + 1, int64(kinds[bound]), target, count)
            kinds[bound] = number
            count += number == count


@inner
def _utf8(rank: int) -> int:
    """The bytes of a character, as a little-endian number."""
    point = rank
    if rank >= SUPPLEMENTARY:
        point = rank - 0xFF800 if rank >= AFTER_SUPPLEMENTARY else rank + 0x2800
    if point < 0x80:
        return point
    if point < 0x800:
        return 0x80C0 | point >> 6 | (point & 63) << 8
    if point < 0x10000:
        return 0x8080E0 | point >> 12 | (point >> 6 & 63) << 8 | (point & 63) << 16
    return 0x808080F0 | point >> 18 | (point >> 12 & 63) << 8 | (point >> 6 & 63) << 16 | (point & 63) << 24


@compiled
def _spell(intervals: Int32Table, bounds: Int32Array, slots: Int32Table, spelled: Int64Array) -> None:
    """Write what `Kinds.spelled` is."""
    kinds, words = np.zeros(len(bounds), np.int32), np.zeros(len(bounds) + 1, np.int64)
    begin = 0
    for end in range(1, len(intervals) + 1):
        if end == len(intervals) or intervals[end, 0] != intervals[begin, 0]:
            _refine(intervals, begin, end, bounds, slots, kinds)
            begin = end
    for bound in range(len(bounds)):
        rank = int64(bounds[bound])
        if kinds[bound] and 0x20 <= rank <= LAST_RANK and rank != QUOTE and rank != BACKSLASH:
            if words[kinds[bound]] == 0:
                words[kinds[bound]] = _utf8(rank)
            spelled[0x80 + bound] = words[kinds[bound]]
        last = int64(bounds[bound + 1]) if bound + 1 < len(bounds) else LAST_RANK
        for one in range(rank, min(last, 0x80)):
            spelled[one] = spelled[0x80 + bound]


def kinds_of_any() -> Kinds:
    """Of the strings of any kind."""
    return _known(np.array([[0, 0, LAST_RANK, 1]], np.int32))


def kinds_of_sets(sets: Sequence[str]) -> Kinds:
    """Of each of ``sets``, of each other ASCII character by itself, and of all others."""
    known = frozenset("".join(sets))
    kinds = [*sets, *(chr(one) for one in range(0x80) if chr(one) not in known)]
    ranks = ranks_of(np.array([ord(one) for members in kinds for one in members], np.int32))
    numbers = np.repeat(np.arange(2, len(kinds) + 2), [len(members) for members in kinds])
    single = np.stack((0 * ranks, ranks, ranks, numbers), axis=1)
    single = single[np.argsort(ranks)]
    after, until = np.append(0, single[:, 1] + 1), np.append(single[:, 1] - 1, LAST_RANK)
    others = np.stack((0 * after, after, until, 0 * after + 1), axis=1)[after <= until]
    intervals = np.concatenate((single, others))
    return _known(intervals[np.argsort(intervals[:, 1])].astype(np.int32))


def _known(intervals: Int32Table) -> Kinds:
    kinds = _kinds(intervals)
    assert kinds is not None, "few intervals"
    return kinds
