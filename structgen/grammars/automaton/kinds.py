"""Kinds: the characters that a string's automaton does not tell apart (see `projections`)."""

from __future__ import annotations

from bisect import bisect_right
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

_MOST_BOUNDS, _MOST_CELLS = 1 << 12, 1 << 20
"""An automaton that tells more intervals apart, or these in so many states together, has no projection."""
_MARKS = np.array([0, 0x20, QUOTE, QUOTE + 1, BACKSLASH, BACKSLASH + 1], np.int32)
"""Where characters that a string holds in escapes only begin and end."""
_NEVER_PLAIN = '"\\'


class Kinds(NamedTuple):
    """The characters that an automaton tells apart."""

    firsts: Int32Array
    """The least ranks of intervals that cover all ranks."""
    spelled: Int64Array
    """The UTF-8 of the first character of its kind, as a little-endian number, 0 where that may never come: for each
    ASCII character, then for each interval."""

    @property
    def number(self) -> int:
        """How many kinds there are, one of them what may never come."""
        return len(set(self.spelled.tolist()))

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


def kinds_of(tables: Memory, state: int) -> Kinds | None:
    """What a string's automaton tells apart from ``state`` on, which `is_between`; ``None``: too much to say."""
    bounds, spelled = np.empty(_MOST_BOUNDS, np.int32), np.zeros(0x80 + _MOST_BOUNDS, np.int64)
    count = _tell_apart(tables, state, _MARKS, bounds, spelled)
    return Kinds(np.array(bounds[:count]), np.array(spelled[: 0x80 + count])) if count else None


@inner
def _insert(bounds: Int32Array, count: int, rank: int) -> int:
    """Put ``rank`` where it belongs among so many, if it is not there; returns how many there are."""
    first, end = 0, count
    while first < end:
        middle = (first + end) >> 1
        if bounds[middle] < rank:
            first = middle + 1
        else:
            end = middle
    if first < count and bounds[first] == rank:
        return count
    for place in range(count, first, -1):
        bounds[place] = bounds[place - 1]
    bounds[first] = rank
    return count + 1


@inner
def _reach(m: Memory, state: int, order: Int32Array) -> int:
    """Write to ``order`` what the value of ``state`` leads to, itself first; returns how many these are."""
    seen = np.zeros(len(order), np.int8)
    order[0] = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_VALUE)
    seen[order[0]] = 1
    reached, one = 1, 0
    while one < reached:
        value = int64(order[one])
        for place in range(cell(m, VALUES, value, D_FIRST), interval_end(m, value)):
            target = cell(m, INTERVALS, place, INTERVAL_TARGET)
            if seen[target] == 0:
                seen[target] = 1
                order[reached] = target
                reached += 1
        one += 1
    return reached


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
def _refine(m: Memory, value: int, bounds: Int32Array, count: int, slots: Int32Table, kinds: Int32Array) -> None:
    """Tell apart what leads from ``value`` to different targets; 0 is what has led nowhere yet."""
    place, end, kind = cell(m, VALUES, value, D_FIRST), interval_end(m, value), 1
    for bound in range(count):
        while place < end and cell(m, INTERVALS, place, INTERVAL_TO) < bounds[bound]:
            place += 1
        target = 0
        if place < end and cell(m, INTERVALS, place, INTERVAL_FROM) <= bounds[bound]:
            target = cell(m, INTERVALS, place, INTERVAL_TARGET) + 1
        if kinds[bound] or target:
            number = _number_of(slots, value + 1, int64(kinds[bound]), target, kind)
            kinds[bound] = number
            kind += number == kind


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


@inner
def _spell(bounds: Int32Array, count: int, kinds: Int32Array, spelled: Int64Array) -> None:
    """Write what `Kinds.spelled` is; it is zeros."""
    words = np.zeros(count + 1, np.int64)
    for bound in range(count):
        rank = int64(bounds[bound])
        if kinds[bound] and 0x20 <= rank <= LAST_RANK and rank not in (QUOTE, BACKSLASH):
            if words[kinds[bound]] == 0:
                words[kinds[bound]] = _utf8(rank)
            spelled[0x80 + bound] = words[kinds[bound]]
        last = int64(bounds[bound + 1]) if bound + 1 < count else LAST_RANK
        for one in range(rank, min(last, 0x80)):
            spelled[one] = spelled[0x80 + bound]


@compiled
def _tell_apart(m: Memory, state: int, marks: Int32Array, bounds: Int32Array, spelled: Int64Array) -> int:
    """Write what `kinds_of` is of; returns how many intervals there are, 0 where these are too many."""
    order, count = np.empty(get_count(m, N_VALUES), np.int32), 0
    reached = _reach(m, state, order)
    for mark in range(len(marks)):
        count = _insert(bounds, count, int64(marks[mark]))
    for one in range(reached):
        value = int64(order[one])
        for place in range(cell(m, VALUES, value, D_FIRST), interval_end(m, value)):
            if count + 2 > len(bounds) or reached * count > _MOST_CELLS:
                return 0
            count = _insert(bounds, count, cell(m, INTERVALS, place, INTERVAL_FROM))
            count = _insert(bounds, count, cell(m, INTERVALS, place, INTERVAL_TO) + 1)
    size = 16
    while size < 2 * count:
        size *= 2
    slots, kinds = np.zeros((size, 4), np.int32), np.zeros(count, np.int32)
    for one in range(reached):
        _refine(m, int64(order[one]), bounds, count, slots, kinds)
    _spell(bounds, count, kinds, spelled)
    return count


def kinds_of_sets(sets: Sequence[str], others: str = "") -> Kinds:
    """Of each of ``sets``, of each other ASCII character by itself, and of all the others.

    ``others``: ASCII characters that are of the same kind as all the others.
    """
    known = frozenset("".join((*sets, others)))
    single = (chr(one) for one in range(0x20, 0x80) if chr(one) not in known)
    members = {one: its for its in (*sets, *single) for one in its if one >= " " and one not in _NEVER_PLAIN}
    ranks = dict(zip(members, ranks_of(np.array(list(map(ord, members)), np.int32)).tolist(), strict=True))
    rest = min((*others, "\x80"))
    at = {0: "", 0x20: rest, QUOTE: "", QUOTE + 1: rest, BACKSLASH: "", BACKSLASH + 1: rest, LAST_RANK + 1: ""}
    for one, rank in ranks.items():
        at.setdefault(rank + 1, rest)
        at[rank] = min(members[one], key=ranks.__getitem__)
    firsts = sorted(at)
    words = [int.from_bytes(at[first].encode(), "little") for first in firsts]
    ascii_words = [words[bisect_right(firsts, one) - 1] for one in range(0x80)]
    return Kinds(np.array(firsts, np.int32), np.array(ascii_words + words, np.int64))


def kinds_of_any() -> Kinds:
    """Of the strings of any kind."""
    return kinds_of_sets((), "".join(map(chr, range(0x20, 0x80))))
