"""Languages of string values as string machines read them: characters by rank, and what it costs to spell them."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import AFTER_SUPPLEMENTARY, LAST_RANK, SUPPLEMENTARY
from structgen.grammars.char_dfa import CharDfa

__all__ = ["ANY", "RankedDfa", "ranked", "ranks_of", "sorted_by_rank"]


class RankedDfa(NamedTuple):
    """An automaton over ranks, whose states may say which of several languages hold the text that leads to them."""

    starts: Int32Array
    """int32[states + 1]: where the intervals of each state begin."""
    firsts: Int32Array
    """int32[intervals]: sorted in each state; neighbours that touch lead to different states."""
    lasts: Int32Array
    targets: Int32Array
    labels: tuple[int, ...]
    """By state, a bit for each language."""
    masks: tuple[int, ...]
    """Of the languages that hold the text so far or a longer one."""


_NUMBERS = np.array([0, 1, LAST_RANK], np.int32)
ANY = RankedDfa(_NUMBERS[:2], _NUMBERS[:1], _NUMBERS[2:], _NUMBERS[:1], (1,), (1,))
"""Every string."""

_ranked: WeakKeyDictionary[CharDfa, RankedDfa] = WeakKeyDictionary()


def ranked(dfa: CharDfa | None) -> RankedDfa:
    """``dfa`` over ranks; ``None``: every string."""
    if dfa is None:
        return ANY
    found = _ranked.get(dfa)
    if found is None:
        starts, firsts, lasts, targets, accepting = dfa.intervals
        if len(lasts) and int(lasts.max()) >= SUPPLEMENTARY:
            starts, firsts, lasts, targets = _by_rank(starts, firsts, lasts, targets)
        labels = tuple(map(int, accepting))
        found = _ranked[dfa] = RankedDfa(starts, firsts, lasts, targets, labels, (1,) * len(labels))
    return found


def _by_rank(
    starts: Int32Array, lows: Int32Array, highs: Int32Array, targets: Int32Array
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array]:
    """Cut intervals between U+FFFF and U+10000, sort the pieces and join those that touch."""
    states = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    cut = np.flatnonzero((lows < 0x10000) & (highs >= 0x10000))
    states, targets = np.concatenate((states, states[cut])), np.concatenate((targets, targets[cut]))
    firsts = ranks_of(np.concatenate((lows, np.full(len(cut), 0x10000, np.int32))))
    ends = np.concatenate((highs, highs[cut]))
    ends[cut] = 0xFFFF
    lasts = ranks_of(ends)
    order = np.lexsort((firsts, states))
    states, firsts, lasts, targets = states[order], firsts[order], lasts[order], targets[order]
    touch = (states[1:] == states[:-1]) & (targets[1:] == targets[:-1]) & (firsts[1:] == lasts[:-1] + 1)
    begins, ends = np.append(True, ~touch), np.append(~touch, True)
    counts = np.bincount(states[begins], minlength=len(starts) - 1)
    return np.append(0, np.cumsum(counts)).astype(np.int32), firsts[begins], lasts[ends], targets[begins]


def ranks_of(points: Int32Array) -> Int32Array:
    """As `spelling.rank_of`."""
    ranks = np.where(points < 0x10000, points + (AFTER_SUPPLEMENTARY - 0xE000), points - (0x10000 - SUPPLEMENTARY))
    return np.where(points < SUPPLEMENTARY, points, ranks).astype(np.int32)


def sorted_by_rank(texts: tuple[str, ...]) -> tuple[tuple[str, ...], Int32Array]:
    """Texts, sorted by code points, in the order of their ranks, and the ranks of all their characters."""
    joined = "".join(texts)
    points = np.frombuffer(joined.encode("utf-32-le"), np.int32)
    if joined.isascii() or int(points.max()) < SUPPLEMENTARY:
        return texts, points
    texts = tuple(sorted(texts, key=lambda text: text.encode("utf-16-be")))  # which sorts as ranks do
    return texts, ranks_of(np.frombuffer("".join(texts).encode("utf-32-le"), np.int32))
