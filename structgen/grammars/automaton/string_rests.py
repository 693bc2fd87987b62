"""What is left of a string: which characters may come, in how many characters and bytes it can end."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.spelling import (
    NONE,
    QUOTE,
    first_rank,
    last_rank,
    rank_cost,
    rest_cost,
)
from structgen.grammars.automaton.tables import (
    D_COUNT,
    D_DISTANCE,
    D_FIRST,
    D_LONGEST,
    D_SHORTEST,
    ENDLESS,
    FAR,
    G_FIRST_VALUE,
    G_HIGH,
    G_LOW,
    G_SET_COUNT,
    G_SET_LOOP,
    G_SET_WORDS,
    G_SETS,
    G_WEIGHT,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    MACHINES,
    POOL,
    RECORDS,
    T_COST,
    T_FIRST,
    T_LENGTH,
    TEXTS,
    VALUES,
    X_COUNT,
    X_DEPTH,
    X_MACHINE,
    X_PHASE,
    X_POINT,
    X_SPENT,
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
)

__all__ = [
    "END",
    "FULL",
    "NEVER",
    "START",
    "bounded_rest",
    "distance_of",
    "interval_end",
    "interval_place",
    "is_bounded",
    "text_place",
    "text_rest",
]

# Phases beside those of `spelling`; FULL is added to a partial character's.
START, END, FULL = 15, 16, 32

NEVER = (1 << 31) - 1
"""More characters than a text can have."""


@inner
def text_place(m: Memory, text: int, end: int, depth: int, rank: int) -> int:
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
def interval_place(m: Memory, value: int, rank: int) -> int:
    """The first interval of ``value`` that ends at ``rank`` or behind it; the end of its intervals if there is none."""
    place = cell(m, VALUES, value, D_FIRST)
    end = place + cell(m, VALUES, value, D_COUNT)
    while place < end:
        middle = (place + end) >> 1
        if cell(m, INTERVALS, middle, INTERVAL_TO) < rank:
            place = middle + 1
        else:
            end = middle
    return place


@inner
def interval_end(m: Memory, value: int) -> int:
    """The end of the intervals of ``value``."""
    return cell(m, VALUES, value, D_FIRST) + cell(m, VALUES, value, D_COUNT)


@inner
def is_bounded(m: Memory, machine: int) -> bool:
    """Whether characters are counted."""
    return cell(m, MACHINES, machine, G_LOW) > 0 or cell(m, MACHINES, machine, G_HIGH) != ENDLESS


@inner
def _remainder(number: int, divisor: int) -> int:
    shifted = divisor
    while shifted <= number:
        shifted <<= 1
    while shifted > divisor:
        shifted >>= 1
        if number >= shifted:
            number -= shifted
    return number


@inner
def _length(m: Memory, machine: int, value: int, least: int) -> int:
    """How many characters lead from ``value`` to an end, the fewest that are ``least`` or more; `NEVER`: none do."""
    length, words = max(least, cell(m, VALUES, value, D_SHORTEST)), cell(m, MACHINES, machine, G_SET_WORDS)
    if words == 0:
        longest = cell(m, VALUES, value, D_LONGEST)
        return length if longest == ENDLESS or length <= longest else NEVER
    sets, count = cell(m, MACHINES, machine, G_SETS), cell(m, MACHINES, machine, G_SET_COUNT)
    loop, bit = cell(m, MACHINES, machine, G_SET_LOOP), value - cell(m, MACHINES, machine, G_FIRST_VALUE)
    place = length if length < count else loop + _remainder(length - loop, count - loop)
    for number in range(length, length + count):  # comes by every set that may still come
        if (cell(m, POOL, sets + place * words + (bit >> 5), 0) >> (bit & 31)) & 1:
            return number
        place = place + 1 if place + 1 < count else loop
    return NEVER


@inner
def bounded_rest(m: Memory, record: int, count: int) -> int:
    """Bytes that suffice before the closing quote within the bounds on the length, after ``count`` characters.

    `NEVER` where the bounds cannot be kept. `FAR` where there is no spelling in single-byte tokens.
    """
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    phase, point = cell(m, RECORDS, record, X_PHASE), cell(m, RECORDS, record, X_POINT)
    is_partial = phase not in (NONE, START)
    low, high = cell(m, MACHINES, machine, G_LOW), cell(m, MACHINES, machine, G_HIGH)
    least, most = max(0, low - count - is_partial), high - count - is_partial if high != ENDLESS else NEVER - 1
    weight, full = cell(m, MACHINES, machine, G_WEIGHT), phase & FULL
    if not is_partial:
        length = _length(m, machine, value, least)
        return min(FAR, weight * length) if length <= most else NEVER
    phase -= full
    first, last = first_rank(phase, point), last_rank(phase, point)
    if full:
        length = _length(m, machine, value, least)
        return min(FAR, rest_cost(m, phase, first, last) + weight * length) if length <= most else NEVER
    best = NEVER
    for place in range(interval_place(m, value, first), interval_end(m, value)):
        start, end = (
            max(first, cell(m, INTERVALS, place, INTERVAL_FROM)),
            min(last, cell(m, INTERVALS, place, INTERVAL_TO)),
        )
        if start > last:
            break
        length = _length(m, machine, cell(m, INTERVALS, place, INTERVAL_TARGET), least)
        if length <= most:
            best = min(best, FAR, rest_cost(m, phase, start, end) + weight * length)
    return best


@inner
def text_rest(m: Memory, record: int, text: int) -> int:
    """The bytes before the closing quote of ``text`` that are still to come."""
    phase, cost = cell(m, RECORDS, record, X_PHASE), cell(m, TEXTS, text, T_COST)
    if cost >= FAR:
        return FAR
    if phase not in (NONE, START):
        rank = cell(m, POOL, cell(m, TEXTS, text, T_FIRST) + cell(m, RECORDS, record, X_DEPTH), 0)
        cost += rest_cost(m, phase, rank, rank) - rank_cost(m, rank, rank)
    return min(FAR, cost - cell(m, RECORDS, record, X_SPENT))


@inner
def _text_distance(m: Memory, record: int) -> int:
    """The bytes before the closing quote of the text that is cheapest to finish."""
    best = FAR
    for text in range(cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)):
        best = min(best, text_rest(m, record, text))
    return best


@inner
def _value_rest(m: Memory, record: int) -> int:
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
    for place in range(interval_place(m, value, first), interval_end(m, value)):
        start, end = (
            max(first, cell(m, INTERVALS, place, INTERVAL_FROM)),
            min(last, cell(m, INTERVALS, place, INTERVAL_TO)),
        )
        if start > last:
            break
        through = cell(m, VALUES, cell(m, INTERVALS, place, INTERVAL_TARGET), D_DISTANCE)
        best = min(best, rest_cost(m, phase, start, end) + through)
    return best


@inner
def distance_of(m: Memory, record: int) -> int:
    """The single-byte tokens that suffice from the state of ``record`` to the end, `FAR` where they cannot do it."""
    quotes, count = 2 if cell(m, RECORDS, record, X_PHASE) == START else 1, cell(m, RECORDS, record, X_COUNT)
    if count >= 0 or (quotes == 2 and is_bounded(m, cell(m, RECORDS, record, X_MACHINE))):
        best = bounded_rest(m, record, max(count, 0))
    else:
        best = min(_text_distance(m, record), _value_rest(m, record))
    return min(FAR, best + quotes * cell(m, POOL, QUOTE, 0))
