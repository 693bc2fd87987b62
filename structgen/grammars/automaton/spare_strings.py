"""How long a string of a language must be when others of it are taken, as the keys of an object are."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    COST_ASCII,
    COST_BYTE,
    COST_UTF8,
    LAST_RANK,
    QUOTE,
    SUPPLEMENTARY,
)
from structgen.grammars.automaton.string_costs import spelling_costs, weight_of
from structgen.grammars.automaton.string_texts import texts_of
from structgen.grammars.automaton.string_values import RankedDfa, ranked
from structgen.grammars.automaton.tables import FAR, T_COST
from structgen.grammars.language import Language

__all__ = ["spare_string"]

_FURTHER = 1024
"""Lengths that are looked at from the first one that a text has; a language as thin as `(a{99})*` has few texts of
them."""


@lru_cache(maxsize=4096)
def spare_string(language: Language, taken: int, single: int) -> int:
    """Bytes that suffice for a string of ``language`` whichever ``taken`` others of it may not be used.

    Quotes included, in single-byte tokens; `FAR` where they cannot spell it. Where the language has no more than
    ``taken`` texts it is what suffices for any of them.

    Parameters
    ----------
    language : Language
        Not empty.
    taken : int
        How many.
    single : int
        A 256-bit integer: the bytes that are tokens.
    """
    quotes = 2 * int(spelling_costs(single)[COST_BYTE + QUOTE])
    if language.texts is not None:
        costs = sorted(texts_of(language.texts, single).rows[:, T_COST].tolist())
        return min(FAR, quotes + costs[min(taken, len(costs) - 1)])
    return min(FAR, quotes + _spare_bytes(language, taken, single))


def _spare_bytes(language: Language, taken: int, single: int) -> int:
    """Counts the texts by length, those that are spelled with characters of no more than a certain cost."""
    automaton, cost = ranked(language.dfa), weight_of(language.dfa, single)
    sources = np.repeat(np.arange(len(automaton.labels)), np.diff(automaton.starts))
    moves = _characters(automaton, cost, single).astype(np.float64)
    accepting = np.array(automaton.labels, np.bool_)
    texts = np.zeros(len(accepting))
    texts[0], found, length, first = 1, 0.0, 0, -1
    while texts.any() and (language.high is None or length <= language.high):
        if length >= language.low:
            found += texts[accepting].sum()
            if found > taken or (0 <= first < length - _FURTHER):
                return cost * length
            first = length if found and first < 0 else first
        texts = np.bincount(automaton.targets, texts[sources] * moves, len(accepting)).clip(0, taken + 1)
        length += 1
    return _dearest(automaton, single) * (length - 1)  # that was all of them


def _characters(automaton: RankedDfa, cost: int, single: int) -> Int32Array:
    """int32[intervals]: how many characters of each cost no more than this."""
    costs, firsts, lasts = spelling_costs(single), automaton.firsts, automaton.lasts
    ascii_up_to = np.append(0, np.cumsum(costs[COST_ASCII : COST_ASCII + 128] <= cost))
    counts = ascii_up_to[np.minimum(lasts + 1, 128)] - ascii_up_to[np.minimum(firsts, 128)]
    for tail, first, last in (
        (1, 0x80, 0x7FF),
        (2, 0x800, SUPPLEMENTARY - 1),
        (3, SUPPLEMENTARY, AFTER_SUPPLEMENTARY - 1),
        (2, AFTER_SUPPLEMENTARY, LAST_RANK),
    ):
        if costs[COST_UTF8 + tail] <= cost:
            counts += np.maximum(0, np.minimum(lasts, last) + 1 - np.maximum(firsts, first))
    return counts


def _dearest(automaton: RankedDfa, single: int) -> int:
    """The cost that no character of ``automaton`` exceeds."""
    every = _characters(automaton, FAR, single)
    costs = np.unique(spelling_costs(single)[COST_ASCII:])
    return next(int(cost) for cost in costs if (_characters(automaton, int(cost), single) == every).all())
