"""Keys as they were spelled, and the keys that are left once one of them has been there.

A key that an object does not declare may come once only. So the bytes of such a key are kept while it is read, as a
value like everything else; behind its member the object's keys are *extended*: Python writes an automaton of the same
keys in which that one, however it is spelled, is a declared name that may not come.
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, UInt8Array, compiled, inner
from structgen.grammars.automaton.hashing import pair_hash
from structgen.grammars.automaton.tables import (
    B_BEFORE,
    B_BYTE,
    C_KEEPS_SPELLING,
    C_WANTED_KEYS,
    C_WANTED_SPELLING,
    EXTENSION_HASH,
    EXTENSIONS,
    N_EXTENSIONS,
    N_SPELLINGS,
    NO_SPELLING,
    SPELLING_HASH,
    SPELLINGS,
    UNKNOWN_SPELLING,
    Z_EXTENDED,
    Z_KEYS,
    Z_SPELLING,
    KeysWanted,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = [
    "enter_extension",
    "extended_keys",
    "longer_spelling",
    "read_spelling",
    "rehash_extensions",
    "rehash_spellings",
]


@inner
def _slot_of(m: Memory, table: int, hashes: int, one: int, other: int) -> int:
    """Where the row of ``table`` that begins with (``one``, ``other``) stands in its hash table, or may be put."""
    last = rows_of(m, hashes) - 1
    slot = pair_hash(one, other) & last
    while cell(m, hashes, slot, 0) != 0:
        row = cell(m, hashes, slot, 0)
        if cell(m, table, row, 0) == one and cell(m, table, row, 1) == other:
            return slot
        slot = (slot + 1) & last
    return slot


@inner
def longer_spelling(m: Memory, spelling: int, byte: int) -> int:
    """``spelling`` and one more byte; `UNKNOWN_SPELLING` in a walk, or where it was."""
    if spelling == UNKNOWN_SPELLING or get_count(m, C_KEEPS_SPELLING) == 0:
        return UNKNOWN_SPELLING
    slot = _slot_of(m, SPELLINGS, SPELLING_HASH, spelling, byte)
    if cell(m, SPELLING_HASH, slot, 0) == 0:
        row = get_count(m, N_SPELLINGS)
        need(m, SPELLINGS, row + 1)
        put(m, SPELLINGS, row, B_BEFORE, spelling)
        put(m, SPELLINGS, row, B_BYTE, byte)
        put(m, SPELLING_HASH, slot, 0, row)
        set_count(m, N_SPELLINGS, row + 1)
    return cell(m, SPELLING_HASH, slot, 0)


@compiled
def read_spelling(m: Memory, spelling: int, text: UInt8Array) -> int:
    """Write the bytes of ``spelling``, the last first, as many as there is room for; returns how many there are."""
    count = 0
    while spelling != NO_SPELLING:
        if count < len(text):
            text[count] = cell(m, SPELLINGS, spelling, B_BYTE)
        count += 1
        spelling = cell(m, SPELLINGS, spelling, B_BEFORE)
    return count


@inner
def extended_keys(m: Memory, keys: int, spelling: int) -> int:
    """``keys`` less the one that was spelled so."""
    if spelling == UNKNOWN_SPELLING:
        return keys
    slot = _slot_of(m, EXTENSIONS, EXTENSION_HASH, keys, spelling)
    if cell(m, EXTENSION_HASH, slot, 0) == 0:
        set_count(m, C_WANTED_KEYS, keys)
        set_count(m, C_WANTED_SPELLING, spelling)
        raise KeysWanted
    return cell(m, EXTENSIONS, cell(m, EXTENSION_HASH, slot, 0), Z_EXTENDED)


@compiled
def enter_extension(m: Memory, keys: int, spelling: int, extended: int) -> None:
    """Write down what `extended_keys` gives."""
    row = get_count(m, N_EXTENSIONS)
    need(m, EXTENSIONS, row + 1)
    slot = _slot_of(m, EXTENSIONS, EXTENSION_HASH, keys, spelling)
    put(m, EXTENSIONS, row, Z_KEYS, keys)
    put(m, EXTENSIONS, row, Z_SPELLING, spelling)
    put(m, EXTENSIONS, row, Z_EXTENDED, extended)
    put(m, EXTENSION_HASH, slot, 0, row)
    set_count(m, N_EXTENSIONS, row + 1)


@inner
def _rehash(m: Memory, table: int, hashes: int, rows: int) -> None:
    for row in range(1, rows):
        slot = _slot_of(m, table, hashes, cell(m, table, row, 0), cell(m, table, row, 1))
        put(m, hashes, slot, 0, row)


@compiled
def rehash_spellings(m: Memory) -> None:
    """Enter every spelling into an emptied `SPELLING_HASH`."""
    _rehash(m, SPELLINGS, SPELLING_HASH, get_count(m, N_SPELLINGS))


@compiled
def rehash_extensions(m: Memory) -> None:
    """Enter every extension into an emptied `EXTENSION_HASH`."""
    _rehash(m, EXTENSIONS, EXTENSION_HASH, get_count(m, N_EXTENSIONS))
