"""Where tokens begin, in classes, and what is read from one to the next.

A *place* is a context (what the lexer may take there) and what is owed. From a place a token is read, the context then
is another, and what is ignored there may be skipped; then the next place is reached. Places that the same tokens lead
on from in the same ways are one: after a number that nothing could lengthen, the digits that it must not be followed by
are forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import EPSILON, NEVER, Expr, Rule, alternation, call, literal, sequence
from structgen.grammars.lark.classes import alike
from structgen.grammars.lark.lexing import Lexer, Lexing
from structgen.grammars.lark.scanning import NOTHING_OWED, Owed
from structgen.grammars.limits import checkpoint
from structgen.grammars.utf8_dfa import utf8_dfa
from structgen.grammars.values import regular

__all__ = ["Context", "TokenPlaces"]

Context = tuple[Lexer, ...]
"""Lexers any of which may take the next token."""


class _Gap(NamedTuple):
    """What may be skipped: a place before the ignored tokens."""

    place: int
    """Where it is left as it is."""
    skips: list[tuple[int, CharDfa]]
    """Ignored tokens, each with the gap after it."""


class _Place(NamedTuple):
    may_end: bool
    reads: dict[tuple[int, int, int], CharDfa]
    """By terminal, the context after it, and the gap there."""


class TokenPlaces:
    """The places of a grammar.

    Parameters
    ----------
    lexing : Lexing
        Finds tokens.
    contexts : sequence of Context
        By number.
    following : mapping
        Of each terminal of the grammar the contexts that it may lead to.
    first : int
        The context where texts begin.

    Raises
    ------
    UnsupportedGrammar
        As `Lexing.tokens`.
    """

    def __init__(
        self, lexing: Lexing, contexts: Sequence[Context], following: Mapping[int, Sequence[int]], first: int
    ) -> None:
        self._lexing, self._contexts, self._following = lexing, contexts, following
        self._numbers: dict[tuple[int, Owed], int] = {}
        self._gaps: list[_Gap] = []
        self._places: list[_Place] = []
        self._number(first, NOTHING_OWED)
        self._explore()
        self._unite()
        self._skipped: dict[tuple[int, int], Expr] = {}
        self._read: dict[tuple[int, int, int], dict[int, Expr]] = {}

    def _number(self, context: int, owed: Owed) -> int:
        """Of a gap, and of the place where nothing is skipped there."""
        return self._numbers.setdefault((context, owed), len(self._numbers))

    def _explore(self) -> None:
        pending = list(self._numbers)
        for context, owed in pending:
            checkpoint(len(pending))
            skips: list[tuple[int, CharDfa]] = []
            reads: dict[tuple[int, int, int], CharDfa] = {}
            for lexer in self._contexts[context]:
                for token, dfa in self._lexing.tokens(lexer, owed).items():
                    if token.is_ignored:
                        skips.append((self._number(context, token.owed), dfa))
                        continue
                    for after in self._following.get(token.terminal, ()):
                        reads[token.terminal, after, self._number(after, token.owed)] = dfa
            self._gaps.append(_Gap(len(self._gaps), skips))
            self._places.append(_Place(not owed.ever, reads))
            pending += list(self._numbers)[len(pending) :]

    def _unite(self) -> None:
        """Gaps come first in the list of things, then places."""
        count = len(self._gaps)

        def signature(thing: int, classes: Sequence[int]) -> object:
            if thing < count:
                gap = self._gaps[thing]
                return classes[count + gap.place], frozenset((classes[to], dfa) for to, dfa in gap.skips)
            place = self._places[thing - count]
            reads = frozenset((terminal, after, classes[to], dfa) for (terminal, after, to), dfa in place.reads.items())
            return place.may_end, reads

        classes = alike(2 * count, signature)
        self._gap_class, self._place_class = classes[:count], classes[count:]
        self._a_gap = {its: gap for gap, its in reversed(list(enumerate(self._gap_class)))}
        self._a_place = {its: place for place, its in reversed(list(enumerate(self._place_class)))}

    @property
    def beginnings(self) -> dict[int, Expr]:
        """The places where the first token may begin, each with what is skipped before it."""
        return self._skips(self._gap_class[0])

    def may_end(self, place: int) -> bool:
        """Whether a text may end in a place."""
        return self._places[self._a_place[place]].may_end

    def after(self, place: int, terminal: int, context: int) -> dict[int, Expr]:
        """The places after a terminal that leads to a context, each with what is read up to it."""
        key = (place, terminal, context)
        if key not in self._read:
            ways: defaultdict[int, list[Expr]] = defaultdict(list)
            seen: set[tuple[CharDfa, int]] = set()
            for (its, after, gap), dfa in self._places[self._a_place[place]].reads.items():
                if (its, after) != (terminal, context) or (dfa, self._gap_class[gap]) in seen:
                    continue
                seen.add((dfa, self._gap_class[gap]))
                for end, skipped in self._skips(self._gap_class[gap]).items():
                    ways[end].append(sequence(_texts(dfa), skipped))
            self._read[key] = {end: alternation(*its) for end, its in ways.items()}
        return self._read[key]

    def _edges(self, gap: int) -> dict[int, list[CharDfa]]:
        """The ignored tokens of a class of gaps by the class after them."""
        found: defaultdict[int, list[CharDfa]] = defaultdict(list)
        for to, dfa in self._gaps[self._a_gap[gap]].skips:
            if dfa not in found[self._gap_class[to]]:
                found[self._gap_class[to]].append(dfa)
        return found

    def _skips(self, gap: int) -> dict[int, Expr]:
        """The places after a class of gaps, each with what is skipped up to it."""
        reached = [gap]
        for one in reached:
            reached += [to for to in self._edges(one) if to not in reached]
        ends = dict.fromkeys(self._left(one) for one in reached)
        return {end: self._skip(gap, end) for end in ends}

    def _left(self, gap: int) -> int:
        """The place where nothing more is skipped."""
        return self._place_class[self._gaps[self._a_gap[gap]].place]

    def _skip(self, gap: int, end: int) -> Expr:
        """What is skipped from ``gap`` to ``end``: ends with itself where it may go on and on."""
        if not self._edges(gap):
            return EPSILON if self._left(gap) == end else NEVER
        if not any(self._edges(to) for to in self._edges(gap)):
            return self._skip_body(gap, end)
        if (gap, end) not in self._skipped:
            self._skipped[gap, end] = call(Rule("what is ignored", lambda: self._skip_body(gap, end)))
        return self._skipped[gap, end]

    def _skip_body(self, gap: int, end: int) -> Expr:
        ways = [EPSILON] if self._left(gap) == end else []
        for to, dfas in self._edges(gap).items():
            ways += [sequence(_texts(dfa), self._skip(to, end)) for dfa in dfas]
        return alternation(*ways)


@lru_cache(maxsize=4096)
def _texts(dfa: CharDfa) -> Expr:
    """The texts that an automaton accepts, in UTF-8."""
    text, state = "", 0
    while not dfa.accepting[state]:
        spans = dfa.spans(state)
        if len(spans) != 1 or spans[0][0] != spans[0][1]:
            return regular(utf8_dfa(dfa))
        text, state = text + chr(spans[0][0]), spans[0][2]
    return regular(utf8_dfa(dfa)) if dfa.spans(state) else literal(text.encode())
