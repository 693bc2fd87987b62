"""Line breaks, parted after their last line feed: what is before it, and the indentation of the line that begins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from structgen.grammars._minimal import Alphabet, Rows, minimal
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.lark.scanning import Owed

__all__ = ["LineStart", "line_starts"]

_LINE_FEED = ord("\n")


class LineStart(NamedTuple):
    """A place after a line feed."""

    ways: tuple[tuple[CharDfa, Owed], ...]
    """The rest of the line break, each with what is owed after it; no line feed is in it."""
    is_fresh: bool = True
    """Whether no block has ended since."""


def line_starts(breaks: Iterable[tuple[CharDfa, Owed]]) -> dict[LineStart, CharDfa]:
    """The places that line breaks lead to, each with the texts up to it.

    A line break is known by its texts and what is owed after them; those without a line feed lead nowhere.
    """
    found: defaultdict[CharDfa, dict[tuple[CharDfa, Owed], None]] = defaultdict(dict)
    for texts, owed in breaks:
        for rest, before in _parted(texts).items():
            found[before][rest, owed] = None
    return {LineStart(tuple(ways)): before for before, ways in found.items()}


@lru_cache(maxsize=256)
def _parted(texts: CharDfa) -> dict[CharDfa, CharDfa]:
    """The rests after the last line feed, each with the texts before it."""
    alphabet = Alphabet([_LINE_FEED, _LINE_FEED + 1, *texts.lows, *(high + 1 for high in texts.highs)])
    line_feed = alphabet.set([(_LINE_FEED, _LINE_FEED)])
    rows: Rows = [
        [(alphabet.set([(low, high)]), target) for low, high, target in texts.spans(state)]
        for state in range(len(texts))
    ]
    begun: defaultdict[CharDfa, set[int]] = defaultdict(set)
    for state in sorted({target for row in rows for mask, target in row if mask & line_feed}):
        rest = _rest(alphabet, rows, texts, state, line_feed)
        if rest is not None:
            begun[rest].add(state)
    return {rest: _before(alphabet, rows, states, line_feed) for rest, states in begun.items()}


def _rest(alphabet: Alphabet, rows: Rows, texts: CharDfa, first: int, line_feed: int) -> CharDfa | None:
    """The texts from a state on without a line feed."""
    numbers, states = {first: 0}, [first]
    found: Rows = []
    for state in states:  # grows as it goes
        row: list[tuple[int, int]] = []
        for mask, target in rows[state]:
            if mask & ~line_feed:
                number = numbers.setdefault(target, len(states))
                if number == len(states):
                    states.append(target)
                row.append((mask & ~line_feed, number))
        found.append(row)
    return minimal(alphabet, found, [texts.accepting[state] for state in states])


def _before(alphabet: Alphabet, rows: Rows, ends: set[int], line_feed: int) -> CharDfa:
    """The texts whose last line feed leads to one of ``ends``."""
    count = len(rows)
    found: Rows = []
    for row in (*rows, *rows):
        moves: list[tuple[int, int]] = []
        for mask, target in row:
            if mask & line_feed and target in ends:
                moves.append((line_feed, count + target))
                moves += [(mask & ~line_feed, target)] if mask != line_feed else []
            else:
                moves.append((mask, target))
        found.append(moves)
    dfa = minimal(alphabet, found, [False] * count + [True] * count)
    if dfa is None:
        raise ValueError("no line feed leads to where one has led")
    return dfa
