"""Tables of a DFA over elementary intervals of the alphabet, and the minimal automaton of them.

While an automaton is built, the alphabet is cut at every place where anything in it changes; a set of characters is
then a Python integer with a bit for each piece. Runs of ones are the intervals in the end.

Minimisation refines blocks of states by what their transitions do (see `partitions`). States start apart by their
distance to an end and by the length of their longest text, which are known after two linear passes and tell most of
them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from structgen.grammars._distances import distances_to_end
from structgen.grammars.char_dfa import FIRST_SURROGATE, LAST_SURROGATE, MAX_CODE_POINT, CharDfa
from structgen.grammars.partitions import refined

__all__ = ["Alphabet", "Rows", "minimal"]

Rows = list[list[tuple[int, int]]]
"""Of each state, ``(characters, target)``: disjoint sets of characters."""

_ENDS = (0, FIRST_SURROGATE, LAST_SURROGATE + 1, MAX_CODE_POINT + 1)


class Alphabet:
    """The pieces of the alphabet.

    Parameters
    ----------
    cuts : iterable of int
        Code points where a piece begins.

    Attributes
    ----------
    all : int
        Every character. Surrogates are a piece that is never in a set, so no interval crosses them.
    """

    __slots__ = ("_cuts", "_places", "_runs", "all")

    def __init__(self, cuts: Iterable[int]) -> None:
        self._cuts = sorted({*cuts, *_ENDS})
        self._places = {cut: place for place, cut in enumerate(self._cuts)}
        self._runs: dict[int, list[tuple[int, int]]] = {}
        self.all = 0
        self.all = self.set([(0, FIRST_SURROGATE - 1), (LAST_SURROGATE + 1, MAX_CODE_POINT)])

    def set(self, ranges: Iterable[tuple[int, int]]) -> int:
        """The characters in ``ranges``, each of which begins and ends at cuts."""
        places, mask = self._places, 0
        for first, last in ranges:
            mask |= (1 << places[last + 1]) - (1 << places[first])
        return mask & self.all if self.all else mask

    def ranges(self, mask: int) -> list[tuple[int, int]]:
        """The intervals of a set."""
        found = self._runs.get(mask)
        if found is None:
            found = self._runs[mask] = []
            place, rest = 0, mask
            while rest:
                skipped = (rest & -rest).bit_length() - 1
                rest >>= skipped
                run = (~rest & (rest + 1)).bit_length() - 1
                rest >>= run
                place += skipped + run
                found.append((self._cuts[place - run], self._cuts[place] - 1))
        return found


def minimal(alphabet: Alphabet, rows: Rows, accepting: list[bool], is_refined: bool = False) -> CharDfa | None:
    """The minimal automaton, ``None`` where it accepts nothing. All states are reached from state 0.

    ``is_refined``: no two states are alike already.
    """
    before: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for _, target in row:
            before[target].append(state)
    distances = distances_to_end(accepting, before)
    if distances[0] < 0:
        return None
    if -1 in distances:
        rows = [[move for move in row if distances[move[1]] >= 0] for row in rows]
    blocks = list(range(len(rows)))
    if not is_refined:
        blocks = _refine(rows, before, _first_blocks(rows, before, distances))
    return _quotient(alphabet, rows, accepting, blocks)


def _first_blocks(rows: Rows, before: list[list[int]], distances: list[int]) -> list[int]:
    """Blocks by the distance to an end and the height above it, which is the same (0) for all that reach a circle."""
    waiting = [len(row) for row in rows]
    heights = [0] * len(rows)
    done = [state for state, count in enumerate(waiting) if not count and distances[state] >= 0]
    for state in done:
        above = heights[state] + 1
        for earlier in before[state]:
            waiting[earlier] -= 1
            if not waiting[earlier]:
                heights[earlier] = above  # the last one counted down from is the highest
                done.append(earlier)
    names: dict[tuple[int, int], int] = {}
    is_done = [not count for count in waiting]
    return [
        -1 if distance < 0 else names.setdefault((distance, height if is_finite else -1), len(names))
        for distance, height, is_finite in zip(distances, heights, is_done, strict=True)
    ]


def _refine(rows: Rows, before: list[list[int]], blocks: list[int]) -> list[int]:
    """Split blocks until the states of each have equal transitions; dead states have block -1."""
    return refined(blocks, lambda state, blocks: _signature(rows[state], blocks), before)


def _signature(row: list[tuple[int, int]], blocks: Sequence[int]) -> frozenset[tuple[int, int]]:
    united: dict[int, int] = {}
    for mask, target in row:
        block = blocks[target]
        united[block] = united.get(block, 0) | mask
    return frozenset(united.items())


def _quotient(alphabet: Alphabet, rows: Rows, accepting: list[bool], blocks: list[int]) -> CharDfa:
    """One state for each block, numbered as they are reached through sorted intervals."""
    numbers = {blocks[0]: 0}
    representatives = [0]
    starts, lows, highs, targets = [0], list[int](), list[int](), list[int]()
    for state in representatives:
        united: dict[int, int] = {}
        example: dict[int, int] = {}
        for mask, target in rows[state]:
            block = blocks[target]
            united[block] = united.get(block, 0) | mask
            example[block] = target
        moves = [(low, high, block) for block, mask in united.items() for low, high in alphabet.ranges(mask)]
        if len(united) > 1:
            moves.sort()
        for low, high, block in moves:
            if block not in numbers:
                numbers[block] = len(representatives)
                representatives.append(example[block])
            lows.append(low)
            highs.append(high)
            targets.append(numbers[block])
        starts.append(len(lows))
    return CharDfa.of(
        tuple(starts), tuple(lows), tuple(highs), tuple(targets), tuple(accepting[state] for state in representatives)
    )
