"""The keys of objects: what may come of those that are declared and of the others."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.spelling import (
    NONE,
    QUOTE,
    first_rank,
    last_rank,
)
from structgen.grammars.automaton.string_rests import FULL, START, interval_end, interval_place, text_rest, value_rest
from structgen.grammars.automaton.tables import (
    D_MASK,
    D_MASK_2,
    FAR,
    G_ENTRIES,
    G_FIRST_VALUE,
    G_IS_KEYS,
    G_SIZES,
    G_TEXT,
    INTERVALS,
    MACHINES,
    N_FROM,
    N_TARGET,
    N_TO,
    POOL,
    RECORDS,
    S_COUNT,
    S_NODES,
    STATES,
    STRING,
    T_LABEL,
    T_MASK,
    T_MASK_2,
    TEXTS,
    VALUES,
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

__all__ = ["is_key", "key_interval", "key_label", "key_name", "key_others", "key_rest", "others_of"]


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
            if cell(m, INTERVALS, place, N_FROM) > last:
                break
            target = cell(m, INTERVALS, place, N_TARGET)
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
        start = max(first_rank(phase, point), cell(m, INTERVALS, place, N_FROM))
        points = min(last, cell(m, INTERVALS, place, N_TO)) + 1 - start
        if points <= 0 or total > declared:
            break
        total += points * cell(m, POOL, sizes + entries * cell(m, INTERVALS, place, N_TARGET), 0)
    return total > declared


@inner
def is_key(m: Memory, state: int) -> bool:
    """Whether ``state`` is one before, in or after a key."""
    if cell(m, STATES, state, S_COUNT) != STRING:
        return False
    machine = cell(m, RECORDS, cell(m, STATES, state, S_NODES), X_MACHINE)
    return cell(m, MACHINES, machine, G_IS_KEYS) == 1


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
def key_rest(m: Memory, state: int, place: int) -> int:
    """The bytes, closing quote included, that make the key the declared name at ``place``, or for -1 some other one."""
    record = cell(m, STATES, state, S_NODES)
    first = cell(m, MACHINES, cell(m, RECORDS, record, X_MACHINE), G_TEXT)
    rest = text_rest(m, record, first + place) if place >= 0 else value_rest(m, record)
    return min(FAR, rest + cell(m, POOL, QUOTE, 0))


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
