"""Registers: what an object or array has had so far, as a value, and what may follow.

A register is a row of `REGISTERS`: the spec (an object's number, or -1 less an array's), the automaton of the keys, a
count that goes no further than the spec can tell apart, the last name where keys are ordered (they are numbered in that
order), the obligations met, and words: for an object the bits of the names seen and those of the names that may come
next; for an array its counters. Equal registers are one row. Everything that may follow is computed when a register is
made, so that *completable* is asked once: what is allowed leads to a register from which an end can be reached.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, compiled, inner
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed
from structgen.grammars.automaton.layouts import closing_cost
from structgen.grammars.automaton.tables import (
    A_COUNTERS,
    A_FIRST_COUNTER,
    A_FIRST_PLACE,
    A_HIGH,
    A_LAYOUT,
    A_LOW,
    A_PREFIX,
    ARRAYS,
    FAR,
    N_REGISTERS,
    N_WORDS,
    NAME_COST,
    NAME_REQUIRED,
    NAME_RULE,
    NAMES,
    O_FIRST_IMPLICATION,
    O_FIRST_NAME,
    O_FIRST_OTHER,
    O_HIGH,
    O_IMPLICATIONS,
    O_IS_SET,
    O_KEYS,
    O_LAYOUT,
    O_LOW,
    O_NAMES,
    O_OBLIGATIONS,
    O_ORDERED,
    O_OTHERS,
    O_WORDS,
    OBJECTS,
    OTHER_COST,
    OTHER_MEETS,
    OTHERS,
    P_FIRST_WAY,
    P_MAY_COUNT,
    P_MUST_COUNT,
    P_WAYS,
    PLACES,
    R_BITS,
    R_COUNT,
    R_DISTANCE,
    R_KEYS,
    R_LAST,
    R_MAY_END,
    R_MET,
    R_MORE,
    R_NEXT,
    R_SPEC,
    R_WAYS,
    REGISTER_HASH,
    REGISTERS,
    WAYS,
    WORDS,
    Y_COST,
    Y_COUNTS,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)
from structgen.grammars.automaton.value_facts import MOST_LOOKS

__all__ = [
    "ANY_NEXT",
    "after_item",
    "after_name",
    "after_other",
    "array_of",
    "first_array",
    "first_object",
    "may_come",
    "rehash_registers",
    "way_of",
]


ANY_NEXT = FAR
"""`R_NEXT` where `R_DISTANCE` counts on no declared name in particular; else it is the number of one that is needed and
may come now."""


@inner
def _has(m: Memory, words: int, bit: int) -> bool:
    return (cell(m, WORDS, words + (bit >> 5), 0) >> (bit & 31)) & 1 == 1


@inner
def _add(m: Memory, words: int, bit: int) -> None:
    word = words + (bit >> 5)
    put(m, WORDS, word, 0, cell(m, WORDS, word, 0) | (1 << (bit & 31)))


@inner
def may_come(m: Memory, register: int, name: int) -> bool:
    """Whether the declared name with this number may be the next key; those that have been others have numbers too."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    if name >= cell(m, OBJECTS, spec, O_NAMES):
        return False
    return _has(m, cell(m, REGISTERS, register, R_BITS) + cell(m, OBJECTS, spec, O_WORDS), name)


# Making registers


@inner
def _hash_register(m: Memory, row: int, words: int) -> int:
    value = FNV_BASIS
    for column in range(R_MET + 1):
        value = mixed(value, cell(m, REGISTERS, row, column))
    first = cell(m, REGISTERS, row, R_BITS)
    for place in range(first, first + words):
        value = mixed(value, cell(m, WORDS, place, 0))
    return folded(value)


@inner
def _same_register(m: Memory, one: int, other: int, words: int) -> bool:
    for column in range(R_MET + 1):
        if cell(m, REGISTERS, one, column) != cell(m, REGISTERS, other, column):
            return False
    first, second = cell(m, REGISTERS, one, R_BITS), cell(m, REGISTERS, other, R_BITS)
    same = True
    for place in range(words):
        same &= cell(m, WORDS, first + place, 0) == cell(m, WORDS, second + place, 0)
    return same


@inner
def _words_of(m: Memory, spec: int) -> int:
    """Words that tell registers of ``spec`` apart."""
    return cell(m, OBJECTS, spec, O_WORDS) if spec >= 0 else cell(m, ARRAYS, -1 - spec, A_COUNTERS)


@inner
def _draft(m: Memory, old: int, spec: int) -> int:
    """Begin a register in the row behind the last: a copy of ``old``, or an empty one of ``spec`` where that is 0."""
    row, first = get_count(m, N_REGISTERS), get_count(m, N_WORDS)
    words = _words_of(m, spec)
    need(m, REGISTERS, row + 1)
    need(m, WORDS, first + 2 * words)
    for column in range(R_MET + 1):
        put(m, REGISTERS, row, column, cell(m, REGISTERS, old, column))
    put(m, REGISTERS, row, R_SPEC, spec)
    put(m, REGISTERS, row, R_BITS, first)
    for word in range(words):
        before = cell(m, WORDS, cell(m, REGISTERS, old, R_BITS) + word, 0) if old else 0
        put(m, WORDS, first + word, 0, before)
        put(m, WORDS, first + words + word, 0, 0)
    return row


@inner
def _finish(m: Memory, row: int) -> int:
    """The register equal to the draft ``row``: an old one, or the draft, settled."""
    spec = cell(m, REGISTERS, row, R_SPEC)
    words = _words_of(m, spec)
    last = rows_of(m, REGISTER_HASH) - 1
    slot = _hash_register(m, row, words) & last
    while cell(m, REGISTER_HASH, slot, 0) != 0:
        found = cell(m, REGISTER_HASH, slot, 0)
        if _same_register(m, found, row, words):
            return found
        slot = (slot + 1) & last
    if spec >= 0:
        _settle_object(m, row, spec)
    else:
        _settle_array(m, row, -1 - spec)
    put(m, REGISTER_HASH, slot, 0, row)
    set_count(m, N_REGISTERS, row + 1)
    set_count(m, N_WORDS, cell(m, REGISTERS, row, R_BITS) + (2 * words if spec >= 0 else words))
    return row


@inner
def _count_on(m: Memory, row: int, limit: int) -> None:
    put(m, REGISTERS, row, R_COUNT, min(cell(m, REGISTERS, row, R_COUNT) + 1, limit))


# Objects


@inner
def first_object(m: Memory, spec: int) -> int:
    """The register of an object without members yet."""
    row = _draft(m, 0, spec)
    put(m, REGISTERS, row, R_KEYS, cell(m, OBJECTS, spec, O_KEYS))
    put(m, REGISTERS, row, R_LAST, -1)
    return _finish(m, row)


@inner
def after_name(m: Memory, register: int, name: int) -> int:
    """The register after a member with a declared name."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    row = _draft(m, register, spec)
    _add(m, cell(m, REGISTERS, row, R_BITS), name)
    if cell(m, OBJECTS, spec, O_ORDERED):
        put(m, REGISTERS, row, R_LAST, name)
        _forget(m, row, spec)
    _count_on(m, row, _count_limit(m, spec))
    return _finish(m, row)


@inner
def after_other(m: Memory, register: int, other: int, keys: int) -> int:
    """The register after a member that entry ``other`` took; ``keys`` are the keys that may still come."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    row = _draft(m, register, spec)
    put(m, REGISTERS, row, R_KEYS, keys)
    met = cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + other, OTHER_MEETS)
    put(m, REGISTERS, row, R_MET, cell(m, REGISTERS, row, R_MET) | met)
    if cell(m, OBJECTS, spec, O_ORDERED):
        put(m, REGISTERS, row, R_LAST, cell(m, OBJECTS, spec, O_NAMES))
        _forget(m, row, spec)
    _count_on(m, row, _count_limit(m, spec))
    return _finish(m, row)


@inner
def _forget(m: Memory, row: int, spec: int) -> None:
    """Where keys are ordered, the last one tells all that is asked of the others, implications aside."""
    if cell(m, OBJECTS, spec, O_IMPLICATIONS) == 0:
        for word in range(cell(m, OBJECTS, spec, O_WORDS)):
            put(m, WORDS, cell(m, REGISTERS, row, R_BITS) + word, 0, 0)


@inner
def _count_limit(m: Memory, spec: int) -> int:
    high = cell(m, OBJECTS, spec, O_HIGH)
    return high if high >= 0 else cell(m, OBJECTS, spec, O_LOW)


@inner
def _is_seen(m: Memory, row: int, spec: int, name: int) -> bool:
    """Whether ``name``, if it is required or in an implication, has been there."""
    if cell(m, OBJECTS, spec, O_ORDERED) and cell(m, OBJECTS, spec, O_IMPLICATIONS) == 0:
        return name <= cell(m, REGISTERS, row, R_LAST)
    return _has(m, cell(m, REGISTERS, row, R_BITS), name)


@inner
def _is_open(m: Memory, row: int, spec: int, name: int) -> bool:
    """Whether ``name`` could still come, whatever is required."""
    if cell(m, NAMES, cell(m, OBJECTS, spec, O_FIRST_NAME) + name, NAME_RULE) < 0:
        return False
    if cell(m, OBJECTS, spec, O_ORDERED):
        return name > cell(m, REGISTERS, row, R_LAST)
    return not _has(m, cell(m, REGISTERS, row, R_BITS), name)


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
def _settle_object(m: Memory, row: int, spec: int) -> None:
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
    unmet = ((1 << cell(m, OBJECTS, spec, O_OBLIGATIONS)) - 1) & ~cell(m, REGISTERS, row, R_MET)
    others = cell(m, OBJECTS, spec, O_OTHERS)
    short = cell(m, OBJECTS, spec, O_LOW) - count
    ahead = opened
    allowed = cell(m, REGISTERS, row, R_BITS) + cell(m, OBJECTS, spec, O_WORDS)
    more = 0
    for name in range(names):
        if not _is_open(m, row, spec, name):
            continue
        ahead -= 1  # those behind it where keys are ordered, all others where they are not
        still = _missing_after(m, row, spec, name) if implied else missing - wanted[name]
        is_late = ordered and not implied and name > barrier
        is_full = high >= 0 and count + 1 + still + (unmet != 0) > high
        is_short = others == 0 and 1 + (ahead if ordered else opened - 1) < short
        if still < FAR and not is_late and not is_full and not is_short:
            _add(m, allowed, name)
            more = 1
    ways = 0
    for other in range(others):
        met = cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + other, OTHER_MEETS)
        rest = (unmet & ~met) != 0
        if (ordered and missing) or (high >= 0 and count + 1 + missing + rest > high):
            continue
        ways |= 1 << other
    put(m, REGISTERS, row, R_WAYS, ways)
    put(m, REGISTERS, row, R_MORE, 1 if more or ways else 0)
    put(m, REGISTERS, row, R_MAY_END, 1 if missing == 0 and unmet == 0 and short <= 0 else 0)
    owed, pending = _owed(m, spec, unmet)
    further, following = _short(m, row, spec, short - missing - pending, wanted)
    following = min(following, barrier) if missing else following
    put(m, REGISTERS, row, R_NEXT, following if following < names and _has(m, allowed, following) else ANY_NEXT)
    put(m, REGISTERS, row, R_DISTANCE, min(FAR, cost + owed + further))


@inner
def _owed(m: Memory, spec: int, unmet: int) -> tuple[int, int]:
    """Tokens that suffice for a member for each of the obligations ``unmet``, and how many these are."""
    first, cost, pending = cell(m, OBJECTS, spec, O_FIRST_OTHER), 0, 0
    for number in range(cell(m, OBJECTS, spec, O_OBLIGATIONS)):
        if (unmet >> number) & 1:
            best = FAR
            for other in range(first, first + cell(m, OBJECTS, spec, O_OTHERS)):
                if (cell(m, OTHERS, other, OTHER_MEETS) >> number) & 1:
                    best = min(best, cell(m, OTHERS, other, OTHER_COST))
            cost, pending = min(FAR, cost + best), pending + 1
    return cost, pending


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


# Arrays


@inner
def first_array(m: Memory, array: int) -> int:
    """The register of an array without elements yet."""
    return _finish(m, _draft(m, 0, -1 - array))


@inner
def array_of(m: Memory, register: int) -> int:
    """The number of the array that ``register`` belongs to."""
    return -1 - cell(m, REGISTERS, register, R_SPEC)


@inner
def way_of(m: Memory, register: int, way: int) -> int:
    """The row of `WAYS` of way number ``way`` of the next element."""
    array = array_of(m, register)
    place = min(cell(m, REGISTERS, register, R_COUNT), cell(m, ARRAYS, array, A_PREFIX))
    return cell(m, PLACES, cell(m, ARRAYS, array, A_FIRST_PLACE) + place, P_FIRST_WAY) + way


@inner
def after_item(m: Memory, register: int, way: int) -> int:
    """The register after an element that was read in this way."""
    array = array_of(m, register)
    counts = cell(m, WAYS, way_of(m, register, way), Y_COUNTS)
    row = _draft(m, register, -1 - array)
    words, first = cell(m, REGISTERS, row, R_BITS), cell(m, ARRAYS, array, A_FIRST_COUNTER)
    for counter in range(cell(m, ARRAYS, array, A_COUNTERS)):
        if (counts >> counter) & 1:
            high = cell(m, WORDS, first + 2 * counter + 1, 0)
            limit = high if high >= 0 else cell(m, WORDS, first + 2 * counter, 0)
            put(m, WORDS, words + counter, 0, min(limit, cell(m, WORDS, words + counter, 0) + 1))
    _count_on(m, row, _length_limit(m, array))
    return _finish(m, row)


@inner
def _length_limit(m: Memory, array: int) -> int:
    high = cell(m, ARRAYS, array, A_HIGH)
    return max(cell(m, ARRAYS, array, A_PREFIX), high if high >= 0 else cell(m, ARRAYS, array, A_LOW))


@inner
def _elements_to(m: Memory, array: int, count: int, counter: int, moved: int) -> int:
    """How many elements after the first ``count`` can bring ``counter``, now at ``moved``, within its bounds.

    The fewest with which the array is long enough too, `FAR` where none will do. In each place an element may move
    the counter, must, or cannot, so that with so many elements it can come to anything between two numbers.
    """
    low, high = cell(m, ARRAYS, array, A_LOW), cell(m, ARRAYS, array, A_HIGH)
    prefix, first = cell(m, ARRAYS, array, A_PREFIX), cell(m, ARRAYS, array, A_FIRST_PLACE)
    bounds = cell(m, ARRAYS, array, A_FIRST_COUNTER) + 2 * counter
    lacking, most = cell(m, WORDS, bounds, 0) - moved, cell(m, WORDS, bounds + 1, 0)
    elements, gained, forced = 0, 0, 0
    while count + elements < low or gained < lacking:
        place = first + min(count + elements, prefix)
        may = (cell(m, PLACES, place, P_MAY_COUNT) >> counter) & 1
        must = (cell(m, PLACES, place, P_MUST_COUNT) >> counter) & 1
        times = 1
        if count + elements >= prefix:  # all further places are alike
            if cell(m, PLACES, place, P_WAYS) == 0 or (gained < lacking and may == 0):
                return FAR
            times = max(1, low - count - elements, (lacking - gained) * may)
        elements, gained, forced = elements + times, gained + times * may, forced + times * must
    if (high >= 0 and count + elements > high) or (most >= 0 and moved + forced > most):
        return FAR
    return elements


@inner
def _settle_array(m: Memory, row: int, array: int) -> None:
    """Compute what may follow."""
    words, first = cell(m, REGISTERS, row, R_BITS), cell(m, ARRAYS, array, A_FIRST_COUNTER)
    count, low, high = cell(m, REGISTERS, row, R_COUNT), cell(m, ARRAYS, array, A_LOW), cell(m, ARRAYS, array, A_HIGH)
    counters, short = cell(m, ARRAYS, array, A_COUNTERS), low - count
    place = cell(m, ARRAYS, array, A_FIRST_PLACE) + min(count, cell(m, ARRAYS, array, A_PREFIX))
    fits_now, elements = True, 0
    for counter in range(counters):
        moved = cell(m, WORDS, words + counter, 0)
        fits_now &= moved >= cell(m, WORDS, first + 2 * counter, 0)
        elements += min(FAR, _elements_to(m, array, count, counter, moved))
    ways = 0
    for way in range(cell(m, PLACES, place, P_WAYS)):
        counts = cell(m, WAYS, cell(m, PLACES, place, P_FIRST_WAY) + way, Y_COUNTS)
        fits = high < 0 or count < high
        for counter in range(counters):
            moved = cell(m, WORDS, words + counter, 0) + ((counts >> counter) & 1)
            most = cell(m, WORDS, first + 2 * counter + 1, 0)
            fits &= (most < 0 or moved <= most) and _elements_to(m, array, count + 1, counter, moved) < FAR
        if fits:
            ways |= 1 << way
    put(m, REGISTERS, row, R_WAYS, ways)
    put(m, REGISTERS, row, R_MORE, 1 if ways else 0)
    put(m, REGISTERS, row, R_MAY_END, 1 if short <= 0 and fits_now else 0)
    put(m, REGISTERS, row, R_DISTANCE, _array_distance(m, array, count, max(short, elements)))


@inner
def _array_distance(m: Memory, array: int, count: int, short: int) -> int:
    """Tokens that suffice for ``short`` more elements, each at its dearest, and the bracket."""
    prefix, first = cell(m, ARRAYS, array, A_PREFIX), cell(m, ARRAYS, array, A_FIRST_PLACE)
    cost = closing_cost(m, cell(m, ARRAYS, array, A_LAYOUT), ord("]"))
    while short > 0 and cost < FAR:
        place, dearest = min(count, prefix), 0
        for way in range(cell(m, PLACES, first + place, P_WAYS)):
            dearest = max(dearest, cell(m, WAYS, cell(m, PLACES, first + place, P_FIRST_WAY) + way, Y_COST))
        times = 1 if place < prefix else short
        cost += times * dearest
        count, short = count + times, short - times
    return min(cost, FAR)


@compiled
def rehash_registers(m: Memory) -> None:
    """Enter every register into an emptied `REGISTER_HASH`."""
    last = rows_of(m, REGISTER_HASH) - 1
    for row in range(1, get_count(m, N_REGISTERS)):
        slot = _hash_register(m, row, _words_of(m, cell(m, REGISTERS, row, R_SPEC))) & last
        while cell(m, REGISTER_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, REGISTER_HASH, slot, 0, row)
