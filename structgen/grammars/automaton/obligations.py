"""What an object still owes: obligations (see `values.ObjectSpec`), each met by some undeclared member.

Entries of others with the same finitely many keys share a cell (see `covering`). As long as anything is owed a register
counts the members of each cell, in the words behind those of the names seen; so it is known whether the keys that are
left can meet it all.
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.tables import (
    FAR,
    O_ALLOWED,
    O_FIRST_OTHER,
    O_HIGH,
    O_OBLIGATIONS,
    O_OTHERS,
    O_WORDS,
    OBJECTS,
    OTHER_CELL,
    OTHER_COST,
    OTHER_MEETS,
    OTHER_ROOM,
    OTHERS,
    R_BITS,
    R_COUNT,
    R_MET,
    REGISTERS,
    WORDS,
    cell,
    put,
)

__all__ = ["IMPOSSIBLE", "fewest_owed", "may_take", "meet", "owed_cost", "unmet_of"]

IMPOSSIBLE = 2 * FAR
"""A cost that stands for none at all; any other is at most `FAR`."""


@inner
def unmet_of(m: Memory, row: int, spec: int) -> int:
    """The obligations that no member has met yet, a bit for each."""
    return ((1 << cell(m, OBJECTS, spec, O_OBLIGATIONS)) - 1) & ~cell(m, REGISTERS, row, R_MET)


@inner
def _spend(m: Memory, row: int, other: int, spec: int, keys: int) -> None:
    """Count ``keys`` more of the cell of row ``other`` of `OTHERS`, if it has one."""
    number = cell(m, OTHERS, other, OTHER_CELL)
    if number >= 0:
        word = cell(m, REGISTERS, row, R_BITS) + cell(m, OBJECTS, spec, O_WORDS) + number
        put(m, WORDS, word, 0, cell(m, WORDS, word, 0) + keys)


@inner
def _has_room(m: Memory, row: int, other: int, spec: int) -> bool:
    """Whether the cell of row ``other`` of `OTHERS` has keys left."""
    number = cell(m, OTHERS, other, OTHER_CELL)
    if number < 0:
        return True
    word = cell(m, REGISTERS, row, R_BITS) + cell(m, OBJECTS, spec, O_WORDS) + number
    return cell(m, WORDS, word, 0) < cell(m, OTHERS, other, OTHER_ROOM)


@inner
def meet(m: Memory, row: int, spec: int, other: int) -> None:
    """Write into the draft ``row`` that a member of entry ``other`` has been there."""
    other += cell(m, OBJECTS, spec, O_FIRST_OTHER)
    put(m, REGISTERS, row, R_MET, cell(m, REGISTERS, row, R_MET) | cell(m, OTHERS, other, OTHER_MEETS))
    _spend(m, row, other, spec, 1)
    if unmet_of(m, row, spec) == 0:
        for word in range(cell(m, OBJECTS, spec, O_WORDS), cell(m, OBJECTS, spec, O_ALLOWED)):
            put(m, WORDS, cell(m, REGISTERS, row, R_BITS) + word, 0, 0)


@inner
def owed_cost(m: Memory, row: int, spec: int, unmet: int, members: int) -> int:
    """Tokens that suffice for exactly so many members, each meeting more of ``unmet``, that together meet all of it."""
    if unmet == 0 or members == 0:
        return 0 if unmet == 0 and members == 0 else IMPOSSIBLE
    first, best = cell(m, OBJECTS, spec, O_FIRST_OTHER), IMPOSSIBLE
    for other in range(first, first + cell(m, OBJECTS, spec, O_OTHERS)):
        met = cell(m, OTHERS, other, OTHER_MEETS)
        if met & unmet & -unmet and _has_room(m, row, other, spec):
            _spend(m, row, other, spec, 1)
            rest = owed_cost(m, row, spec, unmet & ~met, members - 1)
            _spend(m, row, other, spec, -1)
            if rest < IMPOSSIBLE:
                best = min(best, FAR, rest + cell(m, OTHERS, other, OTHER_COST))
    return best


@inner
def fewest_owed(m: Memory, row: int, spec: int, unmet: int) -> int:
    """How few members can meet all of ``unmet``; `FAR` where none can."""
    for members in range(cell(m, OBJECTS, spec, O_OBLIGATIONS) + 1):
        if owed_cost(m, row, spec, unmet, members) < IMPOSSIBLE:
            return members
    return FAR


@inner
def may_take(m: Memory, row: int, spec: int, other: int, missing: int) -> bool:
    """Whether a member of entry ``other`` leaves room for the ``missing`` names and for all that is still owed."""
    high, unmet = cell(m, OBJECTS, spec, O_HIGH), unmet_of(m, row, spec)
    counted = cell(m, OBJECTS, spec, O_WORDS) < cell(m, OBJECTS, spec, O_ALLOWED)
    owed, other = 0, other + cell(m, OBJECTS, spec, O_FIRST_OTHER)
    if unmet and (high >= 0 or counted):
        if not _has_room(m, row, other, spec):
            return False
        _spend(m, row, other, spec, 1)
        owed = fewest_owed(m, row, spec, unmet & ~cell(m, OTHERS, other, OTHER_MEETS))
        _spend(m, row, other, spec, -1)
    return owed < FAR and (high < 0 or cell(m, REGISTERS, row, R_COUNT) + 1 + missing + owed <= high)
