"""A grammar of tokens and the places between them to rules over bytes (the construction of Bar-Hillel, Perles, Shamir).

What a nonterminal matches depends on the place where it begins, and what may follow on the place where it ends. So it
is one rule for each pair of places that some text leads between; which pairs there are is found first, from the start
on, by following what has changed until nothing does.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.expr import EPSILON, Alternation, Expr, Rule, alternation, call, sequence
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.limits import checkpoint

__all__ = ["BARRIER", "END", "Part", "TokenGrammar", "rule_of"]

MAX_ENTRIES = 100_000
"""Nonterminals with the places where they begin, at most."""

BARRIER, END = -2, -3
"""In the place of a terminal's number: what keeps some terminals from coming next, and the end of the text."""


class Part(NamedTuple):
    """One symbol of a production."""

    is_terminal: bool
    number: int
    """Of the terminal, or of the nonterminal among those of the grammar; or `BARRIER`."""
    context: int = 0
    """Of a terminal: what its token leads to; of a barrier: which one it is."""


class TokenGrammar(NamedTuple):
    """A context-free grammar over tokens."""

    start: int
    names: list[str]
    """Of the nonterminals, for people; several may have one name."""
    productions: list[list[tuple[Part, ...]]]
    """Of each nonterminal."""
    barriers: list[frozenset[int]]
    """The terminals that each of them keeps from coming next, or the end."""


def rule_of(grammar: TokenGrammar, places: TokenPlaces) -> Rule:
    """The rule of the texts that a grammar's start matches, what is ignored before it and behind included."""
    return _Product(grammar, places).rule()


_Rest = frozenset[tuple[Part, ...]]
"""What may be left of a nonterminal's productions: productions that begin alike are one until they differ."""

_Place = tuple[int, frozenset[int]]
"""A place between tokens, and the terminals that barriers keep from coming next."""
_Entry = tuple[int, _Place]
"""A nonterminal, and where it begins."""


class _Product:
    def __init__(self, grammar: TokenGrammar, places: TokenPlaces) -> None:
        self._grammar, self._places = grammar, places
        self._whole = [frozenset(productions) for productions in grammar.productions]
        self._after: dict[_Rest, dict[Part, _Rest]] = {}
        self._ends: dict[_Entry, dict[_Place, None]] = {}
        self._users: defaultdict[_Entry, dict[_Entry, None]] = defaultdict(dict)
        self._rules: dict[tuple[int, _Place, _Place], Rule] = {}
        self._rests: dict[tuple[_Rest, _Place, _Place], Expr] = {}

    def rule(self) -> Rule:
        start, places = self._grammar.start, self._places
        beginnings: dict[_Place, Expr] = {(place, frozenset()): one for place, one in places.beginnings.items()}
        self._follow([(start, begin) for begin in beginnings])
        ways = [
            sequence(skipped, self._call(start, begin, end))
            for begin, skipped in beginnings.items()
            for end in self._ends[start, begin]
            if places.may_end(end[0]) and END not in end[1]
        ]
        return Rule(self._grammar.names[start], lambda: alternation(*ways), value_names=places.value_names)

    def _steps(self, rest: _Rest) -> dict[Part, _Rest]:
        """What is left after each part that may come next."""
        if rest not in self._after:
            found: defaultdict[Part, set[tuple[Part, ...]]] = defaultdict(set)
            for parts in sorted(rest):
                if parts:
                    found[parts[0]].add(parts[1:])
            self._after[rest] = {part: frozenset(tails) for part, tails in found.items()}
        return self._after[rest]

    def _follow(self, entries: list[_Entry]) -> None:
        """Find where nonterminals may end that begin in a place, and all that they reach."""
        waiting = dict.fromkeys(entries)
        self._ends |= {entry: {} for entry in waiting}
        while waiting:
            checkpoint(len(self._ends))
            if len(self._ends) > MAX_ENTRIES:
                raise GrammarLimitExceeded(
                    f"the grammar's rules begin in more than {MAX_ENTRIES:,} different places; simplify its terminals"
                )
            entry = next(iter(waiting))
            del waiting[entry]
            found = self._ends_of(entry, waiting)
            if len(found) > len(self._ends[entry]):
                self._ends[entry] = found
                waiting |= self._users[entry]

    def _ends_of(self, entry: _Entry, waiting: dict[_Entry, None]) -> dict[_Place, None]:
        """As far as is known; what it depends on and is new is added to ``waiting``."""
        nonterminal, begin = entry
        found: dict[_Place, None] = {}
        pending = [(self._whole[nonterminal], begin)]
        seen = set(pending)
        while pending:
            rest, place = pending.pop()
            if () in rest:
                found[place] = None
            for part, tails in self._steps(rest).items():
                for end in self._part_ends(part, place, entry, waiting):
                    if (tails, end) not in seen:
                        seen.add((tails, end))
                        pending.append((tails, end))
        return found

    def _part_ends(self, part: Part, place: _Place, user: _Entry, waiting: dict[_Entry, None]) -> list[_Place]:
        if part.is_terminal:
            return list(self._read(part, place))
        entry = (part.number, place)
        self._users[entry][user] = None
        if entry not in self._ends:
            self._ends[entry] = {}
            waiting[entry] = None
        return list(self._ends[entry])

    def _call(self, nonterminal: int, begin: _Place, end: _Place) -> Expr:
        key = (nonterminal, begin, end)
        if key not in self._rules:
            name = self._grammar.names[nonterminal]
            self._rules[key] = Rule(name, lambda: self._body(self._whole[nonterminal], begin, end, name))
        return call(self._rules[key])

    def _body(self, rest: _Rest, place: _Place, end: _Place, name: str) -> Expr:
        """What is matched of ``rest`` between two places."""
        ways = [EPSILON] if () in rest and place == end else []
        for part, tails in self._steps(rest).items():
            for then, one in self._ways(part, place).items():
                ways.append(sequence(one, self._rest(tails, then, end, name)))
        return alternation(*ways)

    def _rest(self, rest: _Rest, place: _Place, end: _Place, name: str) -> Expr:
        """As `_body`; where it may go on in several ways it is a rule, written once."""
        key = (rest, place, end)
        if key not in self._rests:
            body = self._body(rest, place, end, name)
            self._rests[key] = call(Rule(name, lambda: body)) if isinstance(body, Alternation) else body
        return self._rests[key]

    def _ways(self, part: Part, place: _Place) -> dict[_Place, Expr]:
        if part.is_terminal:
            return self._read(part, place)
        return {end: self._call(part.number, place, end) for end in self._ends[part.number, place]}

    def _read(self, part: Part, place: _Place) -> dict[_Place, Expr]:
        """The places after a terminal, each with what is read up to it."""
        number, kept = place
        if part.number == BARRIER:
            return {(number, kept | self._grammar.barriers[part.context]): EPSILON}
        if part.number in kept:
            return {}
        return {(end, frozenset()): one for end, one in self._places.after(number, part.number, part.context).items()}
