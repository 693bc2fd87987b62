"""The keys of objects: what may come of those that are declared and of the others."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.spelling import (
    LAST_RANK,
    NONE,
    QUOTE,
    first_rank,
    last_rank,
    rank_cost,
    rest_cost,
)
from structgen.grammars.automaton.string_rests import FULL, START, interval_end, interval_place, text_place, text_rest
from structgen.grammars.automaton.tables import (
    D_DISTANCE,
    D_LABEL,
    D_LABEL_2,
    D_MASK,
    D_MASK_2,
    FAR,
    G_ENTRIES,
    G_FIRST_VALUE,
    G_NEAREST,
    G_SIZES,
    G_TEXT,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
    INTERVALS,
    MACHINES,
    POOL,
    RECORDS,
    S_NODES,
    STATES,
    T_FIRST,
    T_LABEL,
    T_LENGTH,
    T_MASK,
    T_MASK_2,
    TEXTS,
    VALUES,
    X_DEPTH,
    X_MACHINE,
    X_MASK,
    X_MASK_2,
    X_PHASE,
    X_POINT,
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
)

__all__ = [
    "is_ample",
    "key_interval",
    "key_label",
    "key_name",
    "key_others",
    "key_rest",
    "other_rest",
    "others_of",
]


@inner
def others_of(m: Memory, record: int) -> int:
    """The languages of others, a bit for each, that hold an undeclared key which may still come."""
    value, phase = cell(m, RECORDS, record, X_VALUE), cell(m, RECORDS, record, X_PHASE)
    if phase in (NONE, START) or phase & FULL:
        mask = cell(m, VALUES, value, D_MASK) | cell(m, VALUES, value, D_MASK_2) << 31
    else:
        point, mask = cell(m, RECORDS, record, X_POINT), 0
        last = last_rank(phase, point)
        for place in range(interval_place(m, value, first_rank(phase, point)), interval_end(m, value)):
            if cell(m, INTERVALS, place, INTERVAL_FROM) > last:
                break
            target = cell(m, INTERVALS, place, INTERVAL_TARGET)
            mask |= cell(m, VALUES, target, D_MASK) | cell(m, VALUES, target, D_MASK_2) << 31
    machine = cell(m, RECORDS, record, X_MACHINE)
    if cell(m, RECORDS, record, X_TEXT_END) > 0 and cell(m, MACHINES, machine, G_SIZES) > 0:
        for entry in range(cell(m, MACHINES, machine, G_ENTRIES)):
            if (mask >> entry) & 1 and not _has_undeclared(m, record, entry):
                mask ^= 1 << entry
    return mask


@inner
def _has_undeclared(m: Memory, record: int, entry: int) -> bool:
    """Whether language number ``entry`` holds more of the keys that may still come than are declared."""
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    phase, point = cell(m, RECORDS, record, X_PHASE), cell(m, RECORDS, record, X_POINT)
    declared, column = 0, T_MASK if entry < 31 else T_MASK_2
    for text in range(cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)):
        declared += (cell(m, TEXTS, text, column) >> (entry % 31)) & 1
    entries, sizes = cell(m, MACHINES, machine, G_ENTRIES), cell(m, MACHINES, machine, G_SIZES) + entry
    sizes -= entries * cell(m, MACHINES, machine, G_FIRST_VALUE)
    if phase in (NONE, START):
        return cell(m, POOL, sizes + entries * value, 0) > declared
    last, total = last_rank(phase, point), 0
    for place in range(interval_place(m, value, first_rank(phase, point)), interval_end(m, value)):
        start = max(first_rank(phase, point), cell(m, INTERVALS, place, INTERVAL_FROM))
        points = min(last, cell(m, INTERVALS, place, INTERVAL_TO)) + 1 - start
        if points <= 0 or total > declared:
            break
        total += points * cell(m, POOL, sizes + entries * cell(m, INTERVALS, place, INTERVAL_TARGET), 0)
    return total > declared


@inner
def _is_scarce(m: Memory, machine: int, value: int, ways: int, declared: int) -> bool:
    """Whether one of ``ways`` that may still come in ``value`` holds so few keys that all of them may be declared."""
    entries = cell(m, MACHINES, machine, G_ENTRIES)
    sizes = cell(m, MACHINES, machine, G_SIZES) + entries * (value - cell(m, MACHINES, machine, G_FIRST_VALUE))
    ways &= cell(m, VALUES, value, D_MASK) | cell(m, VALUES, value, D_MASK_2) << 31
    scarce = False
    for entry in range(entries):
        scarce |= (ways >> entry) & 1 == 1 and cell(m, POOL, sizes + entry, 0) <= declared
    return scarce


@inner
def is_ample(m: Memory, state: int, ways: int) -> bool:
    """Whether ``ways`` hold more keys than are declared wherever declared ones lead to from ``state``.

    Between two characters. Then those change nothing for the others but that they are none of them.
    """
    record = cell(m, STATES, state, S_NODES)
    machine, depth = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_DEPTH)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    if cell(m, MACHINES, machine, G_SIZES) == 0:
        return True
    for one in range(text, end):
        value, place = cell(m, RECORDS, record, X_VALUE), depth
        while value >= 0:
            if _is_scarce(m, machine, value, ways, end - text):
                return False
            rank = (
                cell(m, POOL, cell(m, TEXTS, one, T_FIRST) + place, 0) if place < cell(m, TEXTS, one, T_LENGTH) else -1
            )
            at = interval_place(m, value, rank)
            leads = rank >= 0 and at < interval_end(m, value) and cell(m, INTERVALS, at, INTERVAL_FROM) <= rank
            value, place = cell(m, INTERVALS, at, INTERVAL_TARGET) if leads else -1, place + 1
    return True


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
def _nearest(m: Memory, machine: int, value: int, ways: int) -> int:
    """The bytes before the closing quote of the cheapest text that leads from ``value`` into one of ``ways``."""
    first, entries = cell(m, MACHINES, machine, G_NEAREST), cell(m, MACHINES, machine, G_ENTRIES)
    if first == 0:
        return cell(m, VALUES, value, D_DISTANCE)
    first += entries * (value - cell(m, MACHINES, machine, G_FIRST_VALUE))
    best = FAR
    for entry in range(entries):
        if (ways >> entry) & 1:
            best = min(best, cell(m, POOL, first + entry, 0))
    return best


@inner
def _cost(m: Memory, phase: int, first: int, last: int) -> int:
    """Of the cheapest character from ``first`` to ``last``, or of the rest of it."""
    return rank_cost(m, first, last) if phase == NONE else rest_cost(m, phase, first, last)


@inner
def _free_cost(m: Memory, text: int, end: int, depth: int, phase: int, first: int, last: int) -> int:
    """Of the cheapest character from ``first`` to ``last`` with which none of the texts goes on."""
    best = FAR
    text = text_place(m, text, end, depth, first)
    while text < end and best > 1:
        rank = cell(m, POOL, cell(m, TEXTS, text, T_FIRST) + depth, 0)
        if rank > last:
            break
        if rank > first:
            best = min(best, _cost(m, phase, first, rank - 1))
        first = rank + 1
        text = text_place(m, text, end, depth, first)
    return min(best, _cost(m, phase, first, last)) if first <= last else best


@inner
def _new_rest(
    m: Memory, machine: int, text: int, end: int, depth: int, value: int, phase: int, first: int, last: int, ways: int
) -> int:
    """The bytes before the closing quote of the cheapest key in one of ``ways`` that is none of the texts.

    The next character, or what is left of it, is one from ``first`` to ``last``.
    """
    if text >= end and phase == NONE:
        return _nearest(m, machine, value, ways)
    if phase == NONE:
        if text < end and cell(m, TEXTS, text, T_LENGTH) == depth:
            text += 1
        elif (cell(m, VALUES, value, D_LABEL) | cell(m, VALUES, value, D_LABEL_2) << 31) & ways:
            return 0
    best = FAR
    for place in range(interval_place(m, value, first), interval_end(m, value)):
        start, final = (
            max(first, cell(m, INTERVALS, place, INTERVAL_FROM)),
            min(last, cell(m, INTERVALS, place, INTERVAL_TO)),
        )
        target = cell(m, INTERVALS, place, INTERVAL_TARGET)
        if start > last or best == 1:
            break
        free = _free_cost(m, text, end, depth, phase, start, final)
        best = min(best, free + _nearest(m, machine, target, ways)) if free < FAR else best
        one = text_place(m, text, end, depth, start)
        while one < end and best > 1:  # perhaps it is less to go on as some text does
            rank = cell(m, POOL, cell(m, TEXTS, one, T_FIRST) + depth, 0)
            if rank > final:
                break
            after = text_place(m, one, end, depth, rank + 1)
            rest = _new_rest(m, machine, one, after, depth + 1, target, NONE, 0, LAST_RANK, ways)
            best = min(best, _cost(m, phase, rank, rank) + rest)
            one = after
    return best


@inner
def other_rest(m: Memory, state: int, ways: int) -> int:
    """The bytes, closing quote included, that make the key an undeclared one in one of ``ways``, a bit for each.

    `FAR` or more where there is none, or single-byte tokens cannot spell it.
    """
    record = cell(m, STATES, state, S_NODES)
    machine, value = cell(m, RECORDS, record, X_MACHINE), cell(m, RECORDS, record, X_VALUE)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    depth, point = cell(m, RECORDS, record, X_DEPTH), cell(m, RECORDS, record, X_POINT)
    phase = cell(m, RECORDS, record, X_PHASE)
    ways &= key_others(m, state)
    if value < 0 or ways == 0:
        return FAR
    quotes = (2 if phase == START else 1) * cell(m, POOL, QUOTE, 0)
    if phase == START:
        phase = NONE
    whole = phase & ~FULL
    first, last = (first_rank(whole, point), last_rank(whole, point)) if whole != NONE else (0, LAST_RANK)
    if phase & FULL:
        return min(FAR, rest_cost(m, whole, first, last) + _nearest(m, machine, value, ways) + quotes)
    return min(FAR, _new_rest(m, machine, text, end, depth, value, phase, first, last, ways) + quotes)


@inner
def key_rest(m: Memory, state: int, place: int) -> int:
    """The bytes, closing quote included, that make the key the declared name at ``place``."""
    record = cell(m, STATES, state, S_NODES)
    quotes = 2 if cell(m, RECORDS, record, X_PHASE) == START else 1
    first = cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_TEXT)
    return min(FAR, text_rest(m, record, first + place) + quotes * cell(m, POOL, QUOTE, 0))


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
