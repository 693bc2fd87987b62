"""Masks as compiled code writes them."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inlined, inner, load, store
from structgen.grammars.automaton.tables import C_BLANK, get_count, set_count

__all__ = ["add_mask", "begin_row", "clear_bit", "has_bit", "set_bit", "set_bits"]


@inlined
def set_bit(row: Memory, token: int) -> None:
    """Set the bit of ``token`` in the mask at ``row``."""
    store(row, token >> 5, load(row, token >> 5) | (1 << (token & 31)))


@inlined
def has_bit(row: Memory, token: int) -> int:
    """The bit of ``token`` in the mask at ``row``."""
    return (load(row, token >> 5) >> (token & 31)) & 1


@inner
def clear_bit(row: Memory, token: int) -> None:
    """Clear the bit of ``token`` in the mask at ``row``."""
    store(row, token >> 5, load(row, token >> 5) & ~(1 << (token & 31)))


@inner
def set_bits(row: Memory, tokens: Memory, first: int, end: int) -> None:
    """Set the bits of the tokens ``tokens[first:end]``."""
    while first < end:
        set_bit(row, load(tokens, first))
        first += 1


@inner
def begin_row(m: Memory, words: int, row: Memory) -> None:
    """Empty the row, unless something is in it."""
    if get_count(m, C_BLANK):
        for word in range(words):
            store(row, word, 0)
        set_count(m, C_BLANK, 0)


@inner
def add_mask(m: Memory, words: int, mask: Memory, row: Memory) -> None:
    """Set the bits that are set in ``mask``."""
    if get_count(m, C_BLANK):
        for word in range(words):
            store(row, word, load(mask, word))
        set_count(m, C_BLANK, 0)
        return
    for word in range(words):
        store(row, word, load(row, word) | load(mask, word))
