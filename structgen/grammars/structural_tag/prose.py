"""Prose: the texts in which no marker occurs, as DFAs over bytes (Aho and Corasick, 1975).

The automaton of a set of markers is the trie of their bytes. A state is how much of the text's end begins a marker;
where a byte does not go on in the trie, the longest shorter beginning takes it. The states of UTF-8 stand below: they
are what is left where nothing of a marker has been read, so that a text is whole characters whatever is marked.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.limits import checkpoint

__all__ = ["Prose", "prose_without"]

_Row = npt.NDArray[Any]

_INVALID, _ROOT = -1, 0
_UTF8 = (
    (range(0xC2, 0xE0), range(0x80, 0xC0), _ROOT),
    (range(0xE0, 0xE1), range(0xA0, 0xC0), 1),
    (range(0xE1, 0xED), range(0x80, 0xC0), 1),
    (range(0xED, 0xEE), range(0x80, 0xA0), 1),
    (range(0xEE, 0xF0), range(0x80, 0xC0), 1),
    (range(0xF0, 0xF1), range(0x90, 0xC0), 3),
    (range(0xF1, 0xF4), range(0x80, 0xC0), 3),
    (range(0xF4, 0xF5), range(0x80, 0x90), 3),
)
"""State ``i + 1`` of every automaton: the first bytes of a character that lead to it from the root, those that may
follow, and the state after them (Unicode 15, table 3-7)."""


class Prose:
    """The texts in which none of some markers occurs; made by `prose_without`, which keeps equal ones identical.

    Parameters
    ----------
    markers : tuple of bytes
        Each whole characters in UTF-8, and not empty.
    forbidden : tuple of bytes
        The same of what may not come as a marker either.
    """

    def __init__(self, markers: tuple[bytes, ...], forbidden: tuple[bytes, ...]) -> None:
        nodes = _trie({*markers, *forbidden})
        rows, fails = _rows_of(nodes)
        self._targets = np.array(rows)  # [states, 256]
        self._between = _inherited({_ROOT}, fails)
        self._ends = _inherited({nodes[one] for one in (*markers, *forbidden)}, fails)
        self._forbids = _inherited({nodes[one] for one in forbidden}, fails)
        self.whole: ByteDfa = self._trimmed(self._between & ~self._ends)
        """All prose; the empty text is some."""
        self._before: dict[bytes, ByteDfa | None] = {}  # by the text that comes
        self._by_ends: dict[bytes, ByteDfa | None] = {(self._between & ~self._ends).tobytes(): self.whole}

    def before(self, text: bytes) -> ByteDfa | None:
        """The automaton of the prose after which ``text`` may come, so that the first marker ends where ``text`` does.

        Equal ones are one object, `whole` among them. ``None`` where there is no such prose.

        Parameters
        ----------
        text : bytes
            One of the markers.
        """
        if text not in self._before:  # two threads may both work one out; what is kept first stays
            self._before[text] = self._ending_in(self._accepting(text))
        return self._before[text]

    def _ending_in(self, accepting: _Row) -> ByteDfa | None:
        """The automaton of the prose that ends in one of these states."""
        key = accepting.tobytes()
        if key not in self._by_ends:
            found = self._trimmed(accepting) if self._live(accepting)[_ROOT] else None
            self._by_ends.setdefault(key, found)
        return self._by_ends[key]

    def _accepting(self, text: bytes) -> _Row:
        """The states between characters from which ``text`` completes no marker but at its end, bool[states]."""
        after_one = self._targets[:, text[0]]
        started = np.unique(after_one)  # few, since a byte leads most states to the same one
        places, goes_on = started, started >= 0
        for byte in text[1:]:
            goes_on &= ~self._ends[places]
            places = np.where(places < 0, _INVALID, self._targets[places, byte])
            goes_on &= places >= 0
        goes_on &= ~self._forbids[places]
        return self._between & ~self._ends & goes_on[np.searchsorted(started, after_one)]

    @property
    def _open(self) -> _Row:
        """As `_targets`, without what completes a marker."""
        return np.where(self._ends[self._targets] | (self._targets < 0), _INVALID, self._targets)

    def _live(self, accepting: _Row) -> _Row:
        """The states that reach an accepting one, bool[states]."""
        targets, live = self._open, accepting
        while True:
            checkpoint()
            more = live | (live[targets] & (targets >= 0)).any(axis=1)
            if (more == live).all():
                return live
            live = more

    def _trimmed(self, accepting: _Row) -> ByteDfa:
        """The states that are reached from the root, and reach an accepting one, as does the root."""
        targets, live = self._open, self._live(accepting)
        reached, numbers = [_ROOT], np.full(len(live) + 1, _INVALID, np.int32)  # the last one for -1
        numbers[_ROOT] = 0
        for state in reached:
            for target in np.unique(targets[state]).tolist():
                if target >= 0 and live[target] and numbers[target] < 0:
                    numbers[target] = len(reached)
                    reached.append(target)
        return ByteDfa(numbers[targets[reached]], accepting[reached])


def prose_without(markers: Iterable[bytes], forbidden: Iterable[bytes] = ()) -> Prose:
    """The texts without any of these, as `Prose` takes them; of equal sets one object, but for large ones."""
    ordered = tuple(sorted(set(markers))), tuple(sorted(set(forbidden)))
    is_small = sum(map(len, chain(*ordered))) <= _SMALL
    return _kept_prose(*ordered) if is_small else Prose(*ordered)


_SMALL = 2048
"""Prose of so many bytes of markers is kept."""
_kept_prose = lru_cache(maxsize=32)(Prose)


def _trie(markers: set[bytes]) -> dict[bytes, int]:
    """The states of all beginnings of the markers, shorter ones first."""
    beginnings = {marker[:size] for marker in markers for size in range(1, len(marker) + 1)}
    ordered = sorted(beginnings, key=lambda one: (len(one), one))
    return {b"": _ROOT} | {beginning: number for number, beginning in enumerate(ordered, 1 + len(_UTF8))}


def _rows_of(states: dict[bytes, int]) -> tuple[list[_Row], list[int]]:
    """Where each byte leads from each state, and the state of the longest shorter beginning that each one ends with."""
    children: dict[int, dict[int, int]] = {}
    for beginning, state in states.items():
        if beginning:
            children.setdefault(states[beginning[:-1]], {})[beginning[-1]] = state
    rows, fails = _utf8_rows(), [_ROOT] * (len(_UTF8) + len(states))
    for state in states.values():
        checkpoint(len(rows))
        row: _Row = np.array(rows[_ROOT if state == _ROOT else fails[state]])
        for byte, child in children.get(state, {}).items():
            fails[child], row[byte] = int(row[byte]), child
        if state == _ROOT:
            rows[_ROOT] = row
        else:
            rows.append(row)
    return rows, fails


def _utf8_rows() -> list[_Row]:
    """The rows of the root and of the states inside a character, without markers."""
    rows = [np.full(256, _INVALID, np.int32) for _ in range(1 + len(_UTF8))]
    rows[_ROOT][:0x80] = _ROOT
    for state, (firsts, seconds, target) in enumerate(_UTF8, 1):
        rows[_ROOT][firsts] = state
        rows[state][seconds] = target
    return rows


def _inherited(states: set[int], fails: list[int]) -> _Row:
    """Which states are among these, or end with one that is, bool[states]; a fail is in front of its state."""
    found = np.zeros(len(fails), np.bool_)
    found[list(states)] = True
    for state in range(1 + len(_UTF8), len(fails)):
        found[state] |= found[fails[state]]
    return found
