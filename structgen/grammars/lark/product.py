"""A grammar of tokens and the places between them to rules over bytes (the construction of Bar-Hillel, Perles, Shamir).

What a nonterminal matches depends on the place where it begins, and what may follow on the place where it ends. So it
is one rule for each pair of places that some text leads between; which pairs there are is found first, from the start
on, by following what has changed until nothing does.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from structgen.grammars.expr import EPSILON, NEVER, Expr, Rule, alternation, call, sequence
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.limits import checkpoint

__all__ = ["Part", "TokenGrammar", "rule_of"]


class Part(NamedTuple):
    """One symbol of a production."""

    is_terminal: bool
    number: int
    """Of the terminal, or of the nonterminal among those of the grammar."""
    context: int = 0
    """Of a terminal: what its token leads to."""


class TokenGrammar(NamedTuple):
    """A context-free grammar over tokens."""

    start: int
    names: list[str]
    """Of the nonterminals, for people; several may have one name."""
    productions: list[list[tuple[Part, ...]]]
    """Of each nonterminal."""


def rule_of(grammar: TokenGrammar, places: TokenPlaces) -> Rule:
    """The rule of the texts that a grammar's start matches, what is ignored before it and behind included."""
    return _Product(grammar, places).rule()


class _Product:
    def __init__(self, grammar: TokenGrammar, places: TokenPlaces) -> None:
        self._grammar, self._places = grammar, places
        self._ends: dict[tuple[int, int], dict[int, None]] = {}
        self._users: defaultdict[tuple[int, int], dict[tuple[int, int], None]] = defaultdict(dict)
        self._rules: dict[tuple[int, int, int], Rule] = {}
        self._suffixes: dict[tuple[int, int, int, int, int], Expr] = {}

    def rule(self) -> Rule:
        start, places = self._grammar.start, self._places
        self._follow([(start, begin) for begin in places.beginnings])
        ways = [
            sequence(skipped, self._call(start, begin, end))
            for begin, skipped in places.beginnings.items()
            for end in self._ends[start, begin]
            if places.may_end(end)
        ]
        return Rule(self._grammar.names[start], lambda: alternation(*ways))

    def _follow(self, pending: list[tuple[int, int]]) -> None:
        """Find where nonterminals may end that begin in a place, and all that they reach."""
        waiting = dict.fromkeys(pending)
        self._ends |= {entry: {} for entry in waiting}
        while waiting:
            checkpoint(len(self._ends))
            entry = next(iter(waiting))
            del waiting[entry]
            nonterminal, begin = entry
            found: dict[int, None] = {}
            for production in self._grammar.productions[nonterminal]:
                at = {begin: None}
                for part in production:
                    at = {end: None for place in at for end in self._part_ends(part, place, entry, waiting)}
                found |= at
            if len(found) > len(self._ends[entry]):
                self._ends[entry] = found
                waiting |= self._users[entry]

    def _part_ends(
        self, part: Part, place: int, user: tuple[int, int], waiting: dict[tuple[int, int], None]
    ) -> list[int]:
        if part.is_terminal:
            return list(self._places.after(place, part.number, part.context))
        entry = (part.number, place)
        self._users[entry][user] = None
        if entry not in self._ends:
            self._ends[entry] = {}
            waiting[entry] = None
        return list(self._ends[entry])

    def _call(self, nonterminal: int, begin: int, end: int) -> Expr:
        key = (nonterminal, begin, end)
        if key not in self._rules:
            self._rules[key] = Rule(self._grammar.names[nonterminal], lambda: self._body(*key))
        return call(self._rules[key])

    def _body(self, nonterminal: int, begin: int, end: int) -> Expr:
        count = len(self._grammar.productions[nonterminal])
        return alternation(*(self._suffix(nonterminal, production, 0, begin, end) for production in range(count)))

    def _suffix(self, nonterminal: int, production: int, at: int, place: int, end: int) -> Expr:
        """What a production matches from part ``at`` on between two places."""
        parts = self._grammar.productions[nonterminal][production]
        if at == len(parts):
            return EPSILON if place == end else NEVER
        key = (nonterminal, production, at, place, end)
        if key not in self._suffixes:
            ways: list[Expr] = []
            for then, one in self._ways(parts[at], place).items():
                rest = self._suffix(nonterminal, production, at + 1, then, end)
                if rest is not NEVER:
                    ways.append(sequence(one, rest))
            self._suffixes[key] = alternation(*ways)
        return self._suffixes[key]

    def _ways(self, part: Part, place: int) -> dict[int, Expr]:
        if part.is_terminal:
            return self._places.after(place, part.number, part.context)
        return {end: self._call(part.number, place, end) for end in self._ends[part.number, place]}
