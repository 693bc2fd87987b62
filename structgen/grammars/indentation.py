"""Indentation in the grammar IR: how far a line is indented says which block it belongs to.

A block holds lines that are indented alike, each further than the line that opens it. `Indented` reads the white space
before the first line of a block and then the block; `Landing` reads that before a line of the innermost block that is
open. Both measure in columns; the column of a block stands on the stack of the automaton, and nowhere in the rules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.grammars._distances import distances_to_end
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import Expr, Rule, intern
from structgen.grammars.limits import checkpoint
from structgen.grammars.utf8_dfa import utf8_dfa
from structgen.grammars.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_COLUMN", "Grid", "Indentation", "Indented", "Landing", "grid_of", "indented", "landing"]

MAX_COLUMN = 100
"""No block is indented further."""

_TAB, _SPACE = ord("\t"), ord(" ")


class Indentation(NamedTuple):
    """What may stand before a line, from the last line feed on."""

    texts: CharDfa
    """Holds no line feed."""
    tab: int
    """Columns that a tab counts for, at least one; a space counts for one, and any other character for none."""


class Landing(Value):
    """White space that is as wide as the innermost block is indented; outside of any block it has no columns."""

    __slots__ = ("indentation",)

    def __init__(self, indentation: Indentation) -> None:
        self.indentation = indentation


class Indented(Value):
    """White space that is wider than the innermost block is indented, and then a block of that column.

    Of ``bodies`` a block is the last one that is still possible: number ``n`` opens blocks in itself at most ``n``
    deep, the last one any. So the block of `MAX_COLUMN` is the first.
    """

    __slots__ = ("bodies", "indentation")

    def __init__(self, indentation: Indentation, bodies: tuple[Rule, ...]) -> None:
        self.indentation, self.bodies = indentation, bodies


def landing(indentation: Indentation) -> Expr:
    """White space up to the column of the block."""
    return intern(Landing, indentation)


def indented(indentation: Indentation, bodies: tuple[Rule, ...]) -> Expr:
    """White space beyond the column of the block, and a block."""
    return intern(Indented, indentation, bodies)


class Grid(NamedTuple):
    """An indentation together with the columns that it has, up to `MAX_COLUMN`: an automaton over bytes.

    State ``s * (MAX_COLUMN + 1) + left`` is state ``s`` of the texts with ``left`` columns to go; the states inside of
    characters follow.
    """

    landing: ByteDfa
    """Accepts where no columns are left; begins in the state with as many as the block's. Dead states have no moves."""
    opening: ByteDfa
    """Accepts after any columns but none; begins with all of them left."""
    tops: npt.NDArray[np.int32]
    """int32[states]: the most columns that a text may have which comes through a state of `opening`; 0: it is dead."""
    nearest: npt.NDArray[np.int32]
    """int32[states]: bytes to the nearest end with so many columns."""
    columns: tuple[int, ...]
    """Those that blocks may have, in order."""


@lru_cache(maxsize=64)
def grid_of(indentation: Indentation) -> Grid:
    """The grid of an indentation."""
    size, texts = MAX_COLUMN + 1, indentation.texts
    starts, lows, highs, targets = [0], list[int](), list[int](), list[int]()
    for state in range(len(texts)):
        checkpoint()
        moves = list(_moves(indentation, state))
        for left in range(size):
            for low, high, target, width in moves:
                if width <= left:
                    lows.append(low)
                    highs.append(high)
                    targets.append(target * size + left - width)
            starts.append(len(lows))
    ends = np.repeat(np.array(texts.accepting, np.bool_), size)
    encoded = utf8_dfa(CharDfa(tuple(starts), tuple(lows), tuple(highs), tuple(targets), tuple(ends.tolist())))
    left = np.full(len(encoded.accepting), -1)
    left[: len(ends)] = np.tile(np.arange(size), len(texts))
    tops, nearest = _tops(encoded, left)
    at_end = encoded.accepting & (left == 0)
    is_alive = np.array(distances_to_end(at_end.tolist(), _before(encoded))) >= 0
    opening = _pruned(encoded, tops > 0, encoded.accepting & (left < MAX_COLUMN) & (left >= 0))
    return Grid(
        _pruned(encoded, is_alive, at_end),
        opening,
        tops,
        nearest,
        tuple(sorted({int(one) for one in MAX_COLUMN - left[opening.accepting]})),
    )


def _moves(indentation: Indentation, state: int) -> Iterator[tuple[int, int, int, int]]:
    """The intervals of a state, each with the columns that its characters count for."""
    for low, high, target in indentation.texts.spans(state):
        for first, last, width in (
            (0, _TAB - 1, 0),
            (_TAB, _TAB, indentation.tab),
            (_TAB + 1, _SPACE - 1, 0),
            (_SPACE, _SPACE, 1),
            (_SPACE + 1, high, 0),
        ):
            if max(low, first) <= min(high, last):
                yield max(low, first), min(high, last), target, width


def _before(dfa: ByteDfa) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in dfa.accepting]
    sources, bytes_read = np.nonzero(dfa.transitions >= 0)
    targets = dfa.transitions[sources, bytes_read]
    pairs: set[tuple[int, int]] = set(zip(sources.tolist(), targets.tolist(), strict=True))
    for source, target in pairs:
        before[target].append(source)
    return before


def _tops(dfa: ByteDfa, left: npt.NDArray[np.int_]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """`Grid.tops` and `Grid.nearest`: backwards from the ends, the widest first."""
    before, tops = _before(dfa), np.zeros(len(dfa.accepting), np.int32)
    nearest = np.zeros(len(dfa.accepting), np.int32)
    for columns in range(MAX_COLUMN, 0, -1):
        reached = [int(one) for one in np.flatnonzero(dfa.accepting & (left == MAX_COLUMN - columns) & (tops == 0))]
        tops[reached] = columns
        for state in reached:
            for earlier in before[state]:
                if not tops[earlier]:
                    tops[earlier], nearest[earlier] = columns, nearest[state] + 1
                    reached.append(earlier)
    return tops, nearest


def _pruned(dfa: ByteDfa, is_alive: npt.NDArray[np.bool_], accepting: npt.NDArray[np.bool_]) -> ByteDfa:
    """Without moves from and to what is dead."""
    targets = dfa.transitions
    kept = (targets >= 0) & is_alive[:, None] & is_alive[np.maximum(targets, 0)]
    return ByteDfa(np.where(kept, targets, -1).astype(np.int32), accepting & is_alive)
