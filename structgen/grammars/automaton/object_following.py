"""What may follow in an object, as its register tells (see `registers`): which members, and how few tokens suffice."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, inner
from structgen.grammars.automaton.layouts import closing_cost
from structgen.grammars.automaton.obligations import IMPOSSIBLE, fewest_owed, may_take, owed_cost, unmet_of
from structgen.grammars.automaton.tables import (
    FAR,
    NAME_COST,
    NAME_REQUIRED,
    NAME_RULE,
    NAMES,
    O_ALLOWED,
    O_FIRST_IMPLICATION,
    O_FIRST_NAME,
    O_FIRST_OTHER,
    O_HIGH,
    O_IMPLICATIONS,
    O_IS_SET,
    O_LAYOUT,
    O_LOW,
    O_NAMES,
    O_OBLIGATIONS,
    O_ORDERED,
    O_OTHERS,
    OBJECTS,
    OTHER_COST,
    OTHERS,
    R_BITS,
    R_COUNT,
    R_DISTANCE,
    R_LAST,
    R_MAY_END,
    R_MORE,
    R_NEXT,
    R_SPEC,
    R_WAYS,
    REGISTERS,
    WORDS,
    cell,
    put,
)
from structgen.grammars.automaton.value_facts import MOST_LOOKS

__all__ = ["add_bit", "may_come", "most_counted", "settle_object"]

ANY_NEXT = FAR
"""`R_NEXT` where `R_DISTANCE` counts on no declared name in particular; else it is the number of one that is needed and
may come now."""


@inner
def _has_bit(m: Memory, words: int, bit: int) -> bool:
    return (cell(m, WORDS, words + (bit >> 5), 0) >> (bit & 31)) & 1 == 1


@inner
def add_bit(m: Memory, words: int, bit: int) -> None:
    """Set a bit of those that begin at row ``words`` of `WORDS`."""
    word = words + (bit >> 5)
    put(m, WORDS, word, 0, cell(m, WORDS, word, 0) | (1 << (bit & 31)))


@inner
def may_come(m: Memory, register: int, name: int) -> bool:
    """Whether the declared name with this number may be the next key; those that have been others have numbers too."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    if name >= cell(m, OBJECTS, spec, O_NAMES):
        return False
    return _has_bit(m, cell(m, REGISTERS, register, R_BITS) + cell(m, OBJECTS, spec, O_ALLOWED), name)


@inner
def most_counted(m: Memory, spec: int) -> int:
    """Members after which more of them tell nothing new."""
    high = cell(m, OBJECTS, spec, O_HIGH)
    return high if high >= 0 else cell(m, OBJECTS, spec, O_LOW)


@inner
def _is_seen(m: Memory, row: int, spec: int, name: int) -> bool:
    """Whether ``name``, if it is required or in an implication, has been there."""
    if cell(m, OBJECTS, spec, O_ORDERED) and cell(m, OBJECTS, spec, O_IMPLICATIONS) == 0:
        return name <= cell(m, REGISTERS, row, R_LAST)
    return _has_bit(m, cell(m, REGISTERS, row, R_BITS), name)


@inner
def _is_open(m: Memory, row: int, spec: int, name: int) -> bool:
    """Whether ``name`` could still come, whatever is required."""
    if cell(m, NAMES, cell(m, OBJECTS, spec, O_FIRST_NAME) + name, NAME_RULE) < 0:
        return False
    if cell(m, OBJECTS, spec, O_ORDERED):
        return name > cell(m, REGISTERS, row, R_LAST)
    return not _has_bit(m, cell(m, REGISTERS, row, R_BITS), name)


@inner
def _wanted(m: Memory, row: int, spec: int, name: int) -> Int64Array:
    """For each name whether it must come, if ``name`` (-1: none) is the next; [-1] is 1 where that cannot be."""
    names, first = cell(m, OBJECTS, spec, O_NAMES), cell(m, OBJECTS, spec, O_FIRST_NAME)
    wanted = np.zeros(names + 1, np.int64)
    for one in range(names):
        wanted[one] = cell(m, NAMES, first + one, NAME_REQUIRED) or one == name or _is_seen(m, row, spec, one)
    _imply(m, spec, wanted)
    for one in range(names):
        if wanted[one] and _is_seen(m, row, spec, one):
            wanted[one] = 0
        elif wanted[one] and not _is_open(m, row, spec, one):
            wanted[names] = 1
    return wanted


@inner
def _imply(m: Memory, spec: int, wanted: Int64Array) -> None:
    """Add what the implications ask for; the last element becomes 1 where they forbid what is there."""
    changed = cell(m, OBJECTS, spec, O_IMPLICATIONS) > 0
    while changed:
        changed = False
        at = cell(m, OBJECTS, spec, O_FIRST_IMPLICATION)
        for _ in range(cell(m, OBJECTS, spec, O_IMPLICATIONS)):
            count, then = cell(m, WORDS, at, 0), cell(m, WORDS, at + 1, 0)
            holds = True
            for place in range(at + 2, at + 2 + count):
                holds &= wanted[cell(m, WORDS, place, 0)] == 1
            if holds and wanted[then] == 0:  # `then` is the last element where it may not hold
                wanted[then] = 1
                changed = True
            at += 2 + count


@inner
def _missing_after(m: Memory, row: int, spec: int, name: int) -> int:
    """How many names must come after ``name``, where there are implications; `FAR` where it may not come."""
    names, ordered = cell(m, OBJECTS, spec, O_NAMES), cell(m, OBJECTS, spec, O_ORDERED)
    wanted = _wanted(m, row, spec, name)
    missing = FAR if wanted[names] else -1
    for one in range(names):
        missing += FAR if wanted[one] and ordered and one < name else wanted[one]
    return missing


@inner
def settle_object(m: Memory, row: int, spec: int) -> None:
    """Compute what may follow."""
    names, first = cell(m, OBJECTS, spec, O_NAMES), cell(m, OBJECTS, spec, O_FIRST_NAME)
    ordered, implied = cell(m, OBJECTS, spec, O_ORDERED), cell(m, OBJECTS, spec, O_IMPLICATIONS) > 0
    count, high = cell(m, REGISTERS, row, R_COUNT), cell(m, OBJECTS, spec, O_HIGH)
    wanted = _wanted(m, row, spec, -1)
    missing, barrier, opened = 0, names, 0
    bracket = ord("]") if cell(m, OBJECTS, spec, O_IS_SET) else ord("}")
    cost = closing_cost(m, cell(m, OBJECTS, spec, O_LAYOUT), bracket)
    for one in range(names):
        opened += _is_open(m, row, spec, one)
        if wanted[one]:
            missing += 1
            cost += cell(m, NAMES, first + one, NAME_COST)
            barrier = min(barrier, one)
    unmet = unmet_of(m, row, spec)
    owed = fewest_owed(m, row, spec, unmet)
    others = cell(m, OBJECTS, spec, O_OTHERS)
    short = cell(m, OBJECTS, spec, O_LOW) - count
    ahead = opened
    allowed = cell(m, REGISTERS, row, R_BITS) + cell(m, OBJECTS, spec, O_ALLOWED)
    more = 0
    for name in range(names):
        if not _is_open(m, row, spec, name):
            continue
        ahead -= 1  # those behind it where keys are ordered, all others where they are not
        still = _missing_after(m, row, spec, name) if implied else missing - wanted[name]
        is_late = ordered and not implied and name > barrier
        is_full = high >= 0 and count + 1 + still + owed > high
        is_short = others == 0 and 1 + (ahead if ordered else opened - 1) < short
        if still < FAR and not is_late and not is_full and not is_short:
            add_bit(m, allowed, name)
            more = 1
    ways = 0
    for other in range(others):
        if not (ordered and missing) and may_take(m, row, spec, other, missing):
            ways |= 1 << other
    put(m, REGISTERS, row, R_WAYS, ways)
    put(m, REGISTERS, row, R_MORE, 1 if more or ways else 0)
    put(m, REGISTERS, row, R_MAY_END, 1 if missing == 0 and unmet == 0 and short <= 0 else 0)
    further, following = _further(m, row, spec, missing, wanted)
    following = min(following, barrier) if missing else following
    put(m, REGISTERS, row, R_NEXT, following if following < names and _has_bit(m, allowed, following) else ANY_NEXT)
    put(m, REGISTERS, row, R_DISTANCE, min(FAR, cost + further))


@inner
def _further(m: Memory, row: int, spec: int, missing: int, wanted: Int64Array) -> tuple[int, int]:
    """Tokens that suffice for what is owed and for the members that are short beside those wanted, and the first name
    of these, as `_short` gives it.
    """
    unmet, high = unmet_of(m, row, spec), cell(m, OBJECTS, spec, O_HIGH)
    left = high - cell(m, REGISTERS, row, R_COUNT) - missing if high >= 0 else FAR
    short = cell(m, OBJECTS, spec, O_LOW) - cell(m, REGISTERS, row, R_COUNT) - missing
    best, following = FAR, cell(m, OBJECTS, spec, O_NAMES)
    for members in range(min(left, cell(m, OBJECTS, spec, O_OBLIGATIONS)) + 1):
        owed = owed_cost(m, row, spec, unmet, members)
        if owed < IMPOSSIBLE:
            cost, name = _short(m, row, spec, short - members, wanted)
            if owed + cost < best:
                best, following = owed + cost, name
    return best, following


@inner
def _short(m: Memory, row: int, spec: int, short: int, wanted: Int64Array) -> tuple[int, int]:
    """Tokens that suffice for as many members as are short, the cheapest, and the first name of these, if any has one.

    See `value_facts.counts_dearest`.
    """
    names, first = cell(m, OBJECTS, spec, O_NAMES), cell(m, OBJECTS, spec, O_FIRST_NAME)
    if short <= 0:
        return 0, names
    cheapest, dearest = FAR, 0
    for other in range(cell(m, OBJECTS, spec, O_OTHERS)):
        cost = cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + other, OTHER_COST)
        cheapest, dearest = min(cheapest, cost), max(dearest, cost)
    if cell(m, OBJECTS, spec, O_IMPLICATIONS) > 0 or short * names > MOST_LOOKS:
        for name in range(names):
            if _is_open(m, row, spec, name):
                dearest = max(dearest, cell(m, NAMES, first + name, NAME_COST))
        return min(FAR, short * dearest), names
    total, following, last, last_name = 0, names, -1, -1
    while short > 0:
        best, found = cheapest, -1
        for name in range(names):
            cost = cell(m, NAMES, first + name, NAME_COST)
            comes_later = cost > last or (cost == last and name > last_name)
            if cost < best and comes_later and _is_open(m, row, spec, name) and not wanted[name]:
                best, found = cost, name
        if found < 0:
            return min(FAR, total + short * cheapest), following
        total, following, short = min(FAR, total + best), min(following, found), short - 1
        last, last_name = best, found
    return total, following
