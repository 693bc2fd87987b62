"""Masks that were made before: each a mask of the store (see `interiors`), but for some words.

A mask is mostly what one leaf allows, which the store holds for all automata, and few tokens beside. So it is kept in
little memory, and read from the store's mask, which is in the cache of the processor more often than its own copy
would be. `MASKS` holds them one after the other, from row 1 on, as two rows and one for each word that differs::

    (base, count) (set, -) (word, bits) (word, bits) ...

They are all forgotten where the table is full, and where the store begins anew.
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner, load, store
from structgen.grammars.automaton.rows import add_mask, begin_row
from structgen.grammars.automaton.tables import (
    C_BASE_MASK,
    C_BLANK,
    KEPT_BASE,
    KEPT_BITS,
    KEPT_COUNT,
    KEPT_SET,
    KEPT_WORD,
    MASKS,
    N_MASKS,
    Q_MASK,
    SETS,
    cell,
    get_count,
    put,
    rows_of,
    set_count,
)

__all__ = ["forget_masks", "keep_mask", "read_mask"]

_MOST_WORDS = 512
"""A mask that differs from its base in more words is not kept."""
_RUN, _FEW = 64, 8
"""So many words are compared at once; and of those in which some differ, so many."""


@inner
def forget_masks(m: Memory) -> None:
    """Keep none any more."""
    place = 1
    while place < get_count(m, N_MASKS):
        put(m, SETS, cell(m, MASKS, place + 1, KEPT_SET), Q_MASK, 0)
        place += 2 + cell(m, MASKS, place, KEPT_COUNT)
    _clear(m, 1, place)
    set_count(m, N_MASKS, 1)


@inner
def _clear(m: Memory, first: int, end: int) -> None:
    """Rows that are not counted are zeros."""
    for row in range(first, end):
        put(m, MASKS, row, 0, 0)
        put(m, MASKS, row, 1, 0)


@inner
def read_mask(m: Memory, s: Memory, words: int, closed: int, row: Memory) -> bool:
    """Write the mask of ``closed``, if it is kept."""
    place = cell(m, SETS, closed, Q_MASK)
    if place == 0:
        return False
    base = cell(m, MASKS, place, KEPT_BASE)
    set_count(m, C_BLANK, 1)
    if base:
        add_mask(m, words, s + 4 * base, row)
    begin_row(m, words, row)
    for entry in range(place + 2, place + 2 + cell(m, MASKS, place, KEPT_COUNT)):
        store(row, cell(m, MASKS, entry, KEPT_WORD), cell(m, MASKS, entry, KEPT_BITS))
    return True


@inner
def _differs(mask: Memory, row: Memory, first: int) -> bool:
    """Whether any of `_RUN` words differs; ``mask`` is 0 for an empty one."""
    different = 0
    if mask:
        for word in range(first, first + _RUN):
            different |= load(row, word) ^ load(mask, word)
    else:
        for word in range(first, first + _RUN):
            different |= load(row, word)
    return different != 0


@inner
def _few_differ(mask: Memory, row: Memory, first: int) -> bool:
    """As `_differs` of `_FEW` words."""
    different = 0
    for word in range(first, first + _FEW):
        different |= load(row, word) ^ load(mask, word)
    return different != 0


@inner
def _add_words(m: Memory, mask: Memory, row: Memory, first: int, end: int, place: int) -> int:
    """Note the words that differ at ``place``; returns the next place."""
    while mask and first + _FEW <= end:
        if _few_differ(mask, row, first):
            place = _add_each(m, mask, row, first, first + _FEW, place)
        first += _FEW
    return _add_each(m, mask, row, first, end, place)


@inner
def _add_each(m: Memory, mask: Memory, row: Memory, first: int, end: int, place: int) -> int:
    for word in range(first, end):
        bits = load(row, word)
        if bits != (load(mask, word) if mask else 0):
            put(m, MASKS, place, KEPT_WORD, word)
            put(m, MASKS, place, KEPT_BITS, bits)
            place += 1
    return place


@inner
def keep_mask(m: Memory, s: Memory, words: int, closed: int, row: Memory) -> None:
    """Keep the mask of ``closed``, which is in ``row`` and began with the mask `C_BASE_MASK` of the store, if any."""
    if max(1, get_count(m, N_MASKS)) + 2 + _MOST_WORDS + _RUN > rows_of(m, MASKS):
        forget_masks(m)
    begin = max(1, get_count(m, N_MASKS))
    base, place, word, most = get_count(m, C_BASE_MASK), begin + 2, 0, begin + 2 + _MOST_WORDS
    mask = s + 4 * base if base else 0
    while word + _RUN <= words and place <= most:
        if _differs(mask, row, word):
            place = _add_words(m, mask, row, word, word + _RUN, place)
        word += _RUN
    if place <= most:
        place = _add_words(m, mask, row, word, words, place)
    if place > most:
        _clear(m, begin + 2, place)
        return
    put(m, MASKS, begin, KEPT_BASE, base)
    put(m, MASKS, begin, KEPT_COUNT, place - begin - 2)
    put(m, MASKS, begin + 1, KEPT_SET, closed)
    set_count(m, N_MASKS, place)
    put(m, SETS, closed, Q_MASK, begin)
