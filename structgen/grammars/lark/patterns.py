"""The terminals of a grammar as one NFA whose branches are in the order in which Python's `re` tries them.

A match of `re` is the first one that trying alternatives from left to right finds, a greedy repetition once more
before it goes on, a lazy one after. A simulation that keeps its threads in this order finds the same one without
going back (Pike's virtual machine, as Cox describes it in "Regular Expression Matching: the Virtual Machine Approach").
"""

from __future__ import annotations

from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded, UnsupportedGrammar
from structgen.grammars.charset import ALL, NEWLINE, NONE, CharSet
from structgen.grammars.lark.runs import Runs
from structgen.grammars.limits import checkpoint
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Concatenation, Look, Node, Place, Repeat

__all__ = ["AHEAD", "BACK", "CHARACTERS", "LOOP", "MATCH", "SPLIT", "Step", "Steps"]

CHARACTERS, SPLIT, LOOP, BACK, AHEAD, MATCH = range(6)
"""Kinds of steps: read a character of a set; go on in several ways, the first one first; the same, but a second time at
one place in the text only by the way out; look at the character before; look at what follows; the pattern ends."""

MAX_STEPS = 20_000
"""Of all terminals together, counted repetitions written out."""

_SOME_MORE = Characters(ALL)
_NO_NEWLINE = Characters(ALL - NEWLINE)
_NOT_AT_LAST = Alternatives((_NO_NEWLINE, Concatenation((Characters(NEWLINE), Characters(ALL)))))


class Step(NamedTuple):
    """One node of the NFA."""

    kind: int
    argument: int
    """`CHARACTERS` and `BACK`: the number of a set; `AHEAD`: the first step of what is looked for; `MATCH`: the number
    of the terminal; `LOOP`: which of the ways leads out."""
    after: tuple[int, ...]
    negated: bool = False
    """`BACK` and `AHEAD`: whether it must not be there."""


class Steps:
    """The steps of all terminals.

    Attributes
    ----------
    steps : list of Step
        By number.
    sets : dict of CharSet to int
        Sets of characters and their numbers.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.sets: dict[CharSet, int] = {}
        self._terminal = ""
        self._looked_for: dict[Node, int] = {}

    def add_terminal(self, name: str, number: int, tree: Node) -> int:
        """Make the steps of a terminal; returns the first.

        Raises
        ------
        UnsupportedGrammar
            It looks back further than to the character before.
        GrammarLimitExceeded
            The terminals have too many steps.
        """
        self._terminal = name
        return self._build(tree, self._add(MATCH, number))

    def _add(self, kind: int, argument: int, *after: int, negated: bool = False) -> int:
        checkpoint()
        if len(self.steps) >= MAX_STEPS:
            raise GrammarLimitExceeded(
                f"the terminals have more than {MAX_STEPS:,} parts with their repetitions written out, at "
                f"{self._terminal}; lower the counts"
            )
        self.steps.append(Step(kind, argument, after, negated))
        return len(self.steps) - 1

    def _set(self, members: CharSet) -> int:
        return self.sets.setdefault(members, len(self.sets))

    def _build(self, node: Node, then: int) -> int:
        """Steps that match ``node`` and go on to ``then``; returns the first."""
        if isinstance(node, Characters):
            return self._add(CHARACTERS, self._set(node.members), then)
        if isinstance(node, Concatenation):
            for part in reversed(node.parts):
                then = self._build(part, then)
            return then
        if isinstance(node, Alternatives):
            return self._add(SPLIT, 0, *(self._build(part, then) for part in node.parts))
        if isinstance(node, Repeat):
            return self._repeat(node, then)
        if isinstance(node, Anchor):
            return self._anchor(node, then)
        if isinstance(node, Look):
            return self._back(node, then) if node.back else self._ahead(node.body, then, node.negated)
        if isinstance(node, Runs):
            return self._runs(node, then)
        raise TypeError(f"no such node: {node!r}")

    def _repeat(self, node: Repeat, then: int) -> int:
        rest = then
        if node.high is None:
            then = self._loop(node, then)
        else:
            for _ in range(node.high - node.low):
                inner = self._build(node.part, then)
                then = self._add(SPLIT, 0, rest, inner) if node.lazy else self._add(SPLIT, 0, inner, rest)
        for _ in range(node.low):
            then = self._build(node.part, then)
        return then

    def _loop(self, node: Repeat, then: int) -> int:
        loop = self._add(LOOP, 0 if node.lazy else 1)
        inner = self._build(node.part, loop)
        after = (then, inner) if node.lazy else (inner, then)
        self.steps[loop] = self.steps[loop]._replace(after=after)
        return loop

    def _runs(self, node: Runs, then: int) -> int:
        """A run goes on as long as it can."""
        firsts = [self._add(SPLIT, 0) for _ in node.rows]
        for first, row, ends in zip(firsts, node.rows, node.ends, strict=True):
            sets = {char: self._set(CharSet.single(ord(char))) for char in row}
            ways = [self._add(CHARACTERS, sets[char], firsts[after]) for char, after in row.items()]
            self.steps[first] = self.steps[first]._replace(after=(*ways, then) if ends else tuple(ways))
        return firsts[0]

    def _back(self, node: Look, then: int) -> int:
        members = _only_character(node.body)
        if members is None:
            raise UnsupportedGrammar(
                f"the terminal {self._terminal} looks back at more than one character, which is not held; "
                "write it without that lookbehind"
            )
        return self._add(BACK, self._set(members), then, negated=node.negated)

    def _ahead(self, body: Node, then: int, negated: bool) -> int:
        first = self._looked_for.get(body)
        if first is None:
            first = self._looked_for[body] = self._build(body, self._add(MATCH, -1))
        return self._add(AHEAD, first, then, negated=negated)

    def _anchor(self, node: Anchor, then: int) -> int:
        if node.looks_back:  # a text begins before its first character only, a line after a line feed too
            return self._add(BACK, self._set(NEWLINE if Place.NEWLINE in node.places else NONE), then)
        if Place.NEWLINE in node.places:
            return self._ahead(_NO_NEWLINE, then, negated=True)
        body = _NOT_AT_LAST if Place.FINAL_NEWLINE in node.places else _SOME_MORE
        return self._ahead(body, then, negated=True)


def _only_character(node: Node) -> CharSet | None:
    """The characters that a node matches one of, ``None`` where it may match anything else."""
    if isinstance(node, Characters):
        return node.members
    if isinstance(node, Concatenation):
        return _only_character(node.parts[0]) if len(node.parts) == 1 else None
    if not isinstance(node, Alternatives):
        return None
    members = NONE
    for part in node.parts:
        more = _only_character(part)
        if more is None:
            return None
        members = members | more
    return members
