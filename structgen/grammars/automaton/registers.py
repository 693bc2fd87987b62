"""Registers: what an object or array has had so far, as a value, and what may follow.

A register is a row of `REGISTERS`: the spec (an object's number, or -1 less an array's), the automaton of the keys, a
count that goes no further than the spec can tell apart, the last name where keys are ordered (they are numbered in that
order), the obligations met, and words: for an object the bits of the names seen, the members of cells (see
`obligations`) and the bits of the names that may come next; for an array its counters. Equal registers are one row.
Everything that may follow is computed when a register is made, so that *completable* is asked once: what is allowed
leads to a register from which an end can be reached.
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, compiled, inner
from structgen.grammars.automaton.array_following import array_of, most_elements, settle_array, way_of
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed
from structgen.grammars.automaton.object_following import add_bit, most_counted, settle_object
from structgen.grammars.automaton.obligations import meet
from structgen.grammars.automaton.tables import (
    A_COUNTERS,
    A_FIRST_COUNTER,
    ARRAYS,
    N_REGISTERS,
    N_WORDS,
    O_ALLOWED,
    O_IMPLICATIONS,
    O_KEYS,
    O_NAMES,
    O_ORDERED,
    O_WORDS,
    OBJECTS,
    R_BITS,
    R_COUNT,
    R_KEYS,
    R_LAST,
    R_MET,
    R_SPEC,
    REGISTER_HASH,
    REGISTERS,
    WAYS,
    WORDS,
    Y_COUNTS,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = ["after_item", "after_name", "after_other", "first_array", "first_object", "rehash_registers"]


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
    return cell(m, OBJECTS, spec, O_ALLOWED) if spec >= 0 else cell(m, ARRAYS, -1 - spec, A_COUNTERS)


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
        settle_object(m, row, spec)
    else:
        settle_array(m, row, -1 - spec)
    put(m, REGISTER_HASH, slot, 0, row)
    set_count(m, N_REGISTERS, row + 1)
    set_count(m, N_WORDS, cell(m, REGISTERS, row, R_BITS) + (2 * words if spec >= 0 else words))
    return row


@inner
def _count_on(m: Memory, row: int, limit: int) -> None:
    put(m, REGISTERS, row, R_COUNT, min(cell(m, REGISTERS, row, R_COUNT) + 1, limit))


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
    add_bit(m, cell(m, REGISTERS, row, R_BITS), name)
    if cell(m, OBJECTS, spec, O_ORDERED):
        put(m, REGISTERS, row, R_LAST, name)
        _forget(m, row, spec)
    _count_on(m, row, most_counted(m, spec))
    return _finish(m, row)


@inner
def after_other(m: Memory, register: int, other: int, keys: int) -> int:
    """The register after a member that entry ``other`` took; ``keys`` are the keys that may still come."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    row = _draft(m, register, spec)
    put(m, REGISTERS, row, R_KEYS, keys)
    meet(m, row, spec, other)
    if cell(m, OBJECTS, spec, O_ORDERED):
        put(m, REGISTERS, row, R_LAST, cell(m, OBJECTS, spec, O_NAMES))
        _forget(m, row, spec)
    _count_on(m, row, most_counted(m, spec))
    return _finish(m, row)


@inner
def _forget(m: Memory, row: int, spec: int) -> None:
    """Where keys are ordered, the last one tells all that is asked of the others, implications aside."""
    if cell(m, OBJECTS, spec, O_IMPLICATIONS) == 0:
        for word in range(cell(m, OBJECTS, spec, O_WORDS)):
            put(m, WORDS, cell(m, REGISTERS, row, R_BITS) + word, 0, 0)


@inner
def first_array(m: Memory, array: int) -> int:
    """The register of an array without elements yet."""
    return _finish(m, _draft(m, 0, -1 - array))


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
    _count_on(m, row, most_elements(m, array))
    return _finish(m, row)


@compiled
def rehash_registers(m: Memory) -> None:
    """Enter every register into an emptied `REGISTER_HASH`."""
    last = rows_of(m, REGISTER_HASH) - 1
    for row in range(1, get_count(m, N_REGISTERS)):
        slot = _hash_register(m, row, _words_of(m, cell(m, REGISTERS, row, R_SPEC))) & last
        while cell(m, REGISTER_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, REGISTER_HASH, slot, 0, row)
