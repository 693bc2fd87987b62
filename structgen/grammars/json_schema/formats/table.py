"""The automata of formats as a file has them: made once, when a definition changes, since some take a second.

A line of the file is a JSON array for one format: its key, the bounds on the length, the accepting states, the sets
of characters (low and high of each interval), and for each state pairs of a set and the state it leads to.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import cast

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import Language

__all__ = ["KEYS", "PATH", "line_of", "read"]

KEYS = frozenset(
    {
        *("date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri"),
        *("iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference"),
        *("uri-template", "uuid"),
    }
)
"""The formats in the file; it is read when the first is asked for."""

PATH = Path(__file__).with_name("formats.txt")

_Pairs = list[int]
_Line = tuple[str, int, int | None, list[int], list[_Pairs], list[_Pairs]]


@cache
def read(key: str) -> Language:
    """The language that the file has for ``key``."""
    _, low, high, accepting, sets, states = cast("_Line", json.loads(_lines()[key]))
    starts, moves = [0], list[tuple[int, int, int]]()
    for pairs in states:
        its = [(*span, target) for place, target in _paired(pairs) for span in _paired(sets[place])]
        if len(pairs) > 2:
            its.sort()
        moves += its
        starts.append(len(moves))
    lows, highs, targets = (tuple([move[place] for move in moves]) for place in range(3))
    ends = set(accepting)
    dfa = CharDfa.of(tuple(starts), lows, highs, targets, tuple([state in ends for state in range(len(states))]))
    return Language.of_dfa(dfa, low, high)


def _paired(numbers: _Pairs) -> zip[tuple[int, int]]:
    return zip(numbers[::2], numbers[1::2], strict=True)


@cache
def _lines() -> dict[str, str]:
    return {line.split('"', 2)[1]: line for line in PATH.read_text("ascii").splitlines()}


def line_of(key: str, language: Language) -> str:
    """The line of a format, whose language is one of an automaton."""
    dfa = language.dfa
    if dfa is None:
        raise ValueError(f"{key} is no language of an automaton")
    sets: dict[tuple[int, ...], int] = {}
    states: list[_Pairs] = []
    for state in range(len(dfa)):
        spans: dict[int, list[int]] = {}
        for place in range(dfa.starts[state], dfa.starts[state + 1]):
            spans.setdefault(dfa.targets[place], []).extend((dfa.lows[place], dfa.highs[place]))
        moves = [(sets.setdefault(tuple(its), len(sets)), target) for target, its in spans.items()]
        states.append([number for move in moves for number in move])
    accepting = [state for state in range(len(dfa)) if dfa.accepting[state]]
    return json.dumps([key, language.low, language.high, accepting, list(sets), states], separators=(",", ":"))
