"""``%regex {"substring_words": text}``: in a terminal any words of a text that follow each other there.

So it is with ``substring_chars`` and the characters of a text, and with ``substring_chunks`` and a list of texts. Lark
reads a pattern in its place whose texts are as long: a character that is not in the grammar, repeated. The terminal's
steps are made from an automaton of the runs, with a state for each set of places that a run may have come to (as suffix
automata, Blumer et al. 1985). There is one way for each text, so that the longest run is the first match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, NamedTuple, cast

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.charset import CharSet
from structgen.grammars.limits import checkpoint
from structgen.grammars.regex.syntax import Alternatives, Characters, Concatenation, Node, Repeat
from structgen.grammars.regex.unicode_properties import unicode_property

__all__ = ["RunSpec", "Runs", "chunks_of", "pattern_of", "runs_of", "with_runs"]

MAX_STATES = 20_000
"""Of the automaton of some runs."""


class RunSpec(NamedTuple):
    """What is written, as plain data."""

    chunks: tuple[str, ...]
    is_optional: bool
    """Whether no chunk at all will do."""


@dataclass(frozen=True, eq=False)
class Runs(Node):
    """The runs of some chunks.

    Parameters
    ----------
    pattern : str
        What stands for them in the grammar that Lark reads.
    rows : list of dict of str to int
        Of each state, the first of which is the start, the state after a character.
    ends : list of bool
        Whether a run may end in a state.
    """

    pattern: str
    rows: list[dict[str, int]]
    ends: list[bool]

    def pattern_within(self, text: str) -> str:
        """A pattern of the runs that are somewhere in ``text``, in the order in which they are tried."""
        found = {""} if self.ends[0] else set[str]()
        for begin in range(len(text)):
            state = 0
            for end in range(begin, len(text)):
                state = self.rows[state].get(text[end], -1)
                if state < 0:
                    break
                if self.ends[state]:
                    found.add(text[begin : end + 1])
        return f"(?:{'|'.join(map(re.escape, sorted(found, key=len, reverse=True)))})" if found else "(?!)"


def chunks_of(structure: object) -> tuple[str, ...]:
    """The chunks that ``%regex`` names.

    Raises
    ------
    ValueError
        It is malformed; the message says how.
    """
    given = cast("dict[str, Any]", structure) if isinstance(structure, dict) else {}
    kind, content = next(iter(given.items()), ("", None))
    if len(given) != 1 or kind not in ("substring_words", "substring_chars", "substring_chunks"):
        raise ValueError('after %regex comes an object with "substring_words", "substring_chars" or "substring_chunks"')
    if kind == "substring_chunks":
        if not isinstance(content, list) or not all(isinstance(one, str) for one in cast("list[object]", content)):
            raise ValueError(f'"{kind}" is a list of texts')
        chunks = cast("list[str]", content)
    elif isinstance(content, str):
        chunks = _words(content) if kind == "substring_words" else list(content)
    else:
        raise ValueError(f'"{kind}" is a text')
    if not any(chunks):
        raise ValueError(f'"{kind}" has no characters')
    if any("\ud800" <= char <= "\udfff" for chunk in chunks for char in chunk):
        raise ValueError(f'"{kind}" has half of a surrogate pair')
    return tuple(chunks)


def _words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, of white space, and of all other characters."""
    space = unicode_property("White_Space", None, 0)
    word = unicode_property("Alphabetic", None, 0) | unicode_property("N", None, 0) | CharSet.single(ord("_"))
    return ["".join(its) for _, its in groupby(text, lambda char: (ord(char) in word, ord(char) in space))]


def runs_of(spec: RunSpec, stand_in: str) -> Runs:
    """The automaton of the runs of chunks; the character ``stand_in`` stands for them in the grammar.

    Raises
    ------
    GrammarLimitExceeded
        It has too many states.
    """
    text = "".join(spec.chunks)
    borders = frozenset(accumulate(map(len, spec.chunks), initial=0))
    numbers, states, rows = {borders: 0}, [borders], list[dict[str, int]]()
    for places in states:  # grows as it goes
        checkpoint(len(states))
        if len(states) > MAX_STATES:
            raise GrammarLimitExceeded(f"%regex needs more than {MAX_STATES:,} states; give it a shorter text")
        after: dict[str, set[int]] = {}
        for place in sorted(places):
            if place < len(text):
                after.setdefault(text[place], set()).add(place + 1)
        row: dict[str, int] = {}
        for char, its in after.items():
            row[char] = numbers.setdefault(frozenset(its), len(states))
            if row[char] == len(states):
                states.append(frozenset(its))
        rows.append(row)
    ends = [not places.isdisjoint(borders) for places in states]
    ends[0] = spec.is_optional
    return Runs(pattern_of(spec, stand_in), rows, ends)


def pattern_of(spec: RunSpec, stand_in: str) -> str:
    """What stands for runs in the grammar that Lark reads."""
    lengths = [len(one) for one in spec.chunks if one]
    return f"[{stand_in}]{{{0 if spec.is_optional else min(lengths)},{sum(lengths)}}}"


def with_runs(tree: Node, runs: Mapping[int, Runs]) -> Node:
    """The tree of a terminal with runs where their characters stand for them; ``runs`` are by code point."""
    if not runs:
        return tree
    if isinstance(tree, Repeat):
        if isinstance(tree.part, Characters) and len(tree.part.members.ranges) == 1:
            first, last = tree.part.members.ranges[0]
            if first == last and first in runs:
                return runs[first]
        return Repeat(with_runs(tree.part, runs), tree.low, tree.high, tree.lazy)
    if isinstance(tree, (Alternatives, Concatenation)):
        return type(tree)(tuple(with_runs(part, runs) for part in tree.parts))
    return tree
