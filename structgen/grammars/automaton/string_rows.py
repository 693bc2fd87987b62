"""The rows that an automaton over characters takes in the tables, its own states and intervals numbered from 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.string_costs import costs_of
from structgen.grammars.automaton.string_values import ANY, RankedDfa, ranked
from structgen.grammars.automaton.tables import (
    D_COUNT,
    D_DISTANCE,
    D_FIRST,
    D_LABEL,
    D_LABEL_2,
    D_LONGEST,
    D_MASK,
    D_MASK_2,
    ENDLESS,
    FAR,
    INTERVAL_FROM,
    INTERVAL_TARGET,
    INTERVAL_TO,
)
from structgen.grammars.char_dfa import CharDfa

__all__ = ["ValueRows", "in_words", "rows_of", "value_rows"]

_LOW_BITS = 0x7FFFFFFF


class ValueRows(NamedTuple):
    """Rows of VALUES and INTERVALS."""

    values: Int32Array
    """int32[states, 9]: without the lengths to an end, but for those of any string."""
    intervals: Int32Array
    """int32[intervals, 3]"""


_known: WeakKeyDictionary[CharDfa, dict[int, ValueRows]] = WeakKeyDictionary()


def rows_of(dfa: CharDfa | None, single: int) -> ValueRows:
    """The rows of ``dfa``, ``None``: any string, for a vocabulary with the bytes ``single``; computed once."""
    if dfa is None:
        return _any_rows()
    known = _known.setdefault(dfa, {})
    found = known.get(single)
    if found is None:
        found = known[single] = value_rows(ranked(dfa), costs_of(dfa, single).distances)
    return found


@lru_cache(maxsize=1)
def _any_rows() -> ValueRows:
    rows = value_rows(ANY, (0,))
    rows.values[:, D_LONGEST] = ENDLESS
    return rows


def value_rows(automaton: RankedDfa, distances: Sequence[int]) -> ValueRows:
    """The rows of ``automaton``, from whose states an end is so many bytes away."""
    intervals = np.empty((len(automaton.firsts), 3), np.int32)
    intervals[:, INTERVAL_FROM], intervals[:, INTERVAL_TO] = automaton.firsts, automaton.lasts
    intervals[:, INTERVAL_TARGET] = automaton.targets
    values = np.zeros((len(distances), 9), np.int32)
    values[:, D_FIRST] = automaton.starts[:-1]
    values[:, D_COUNT] = np.diff(automaton.starts)
    values[:, D_DISTANCE] = np.minimum(np.array(distances, np.int64), FAR)
    values[:, D_LABEL], values[:, D_LABEL_2] = in_words(automaton.labels)
    values[:, D_MASK], values[:, D_MASK_2] = in_words(automaton.masks)
    return ValueRows(values, intervals)


def in_words(masks: Sequence[int]) -> tuple[Int32Array, Int32Array]:
    """Sets of languages as two words of 31 bits."""
    array = np.array(masks, np.int64)
    return array & _LOW_BITS, array >> 31
