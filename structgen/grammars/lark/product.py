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
from structgen.grammars.indentation import Indentation, indented
from structgen.grammars.lark.newlines import LineStart
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
    """Of a terminal: what its token leads to; of a barrier: which one it is; of a block: what its indentation does."""
    closing: int = -1
    """Of a block, a nonterminal whose lines are indented: what its end leads to; -1: it is none."""


class TokenGrammar(NamedTuple):
    """A context-free grammar over tokens."""

    start: int
    names: list[str]
    """Of the nonterminals, for people; several may have one name."""
    productions: list[list[tuple[Part, ...]]]
    """Of each nonterminal."""
    barriers: list[frozenset[int]]
    """The terminals that each of them keeps from coming next, or the end."""
    lines: tuple[int, int, int] = (-1, -1, -1)
    """The terminals that end a line, and stand before and behind a block; -1: there are none."""


def rule_of(grammar: TokenGrammar, places: TokenPlaces) -> Rule:
    """The rule of the texts that a grammar's start matches, what is ignored before it and behind included."""
    return _Product(grammar, places).rule()


_Rest = frozenset[tuple[Part, ...]]
"""What may be left of a nonterminal's productions: productions that begin alike are one until they differ."""

_Place = tuple[int | LineStart, frozenset[int]]
"""A place between tokens, and the terminals that barriers keep from coming next."""
_ENDED = -1
"""In place of a place: the text has ended, and blocks may."""
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
        self._bodies: dict[tuple[tuple[int, _Place, _Place], Expr], Rule] = {}

    def rule(self) -> Rule:
        start, places = self._grammar.start, self._places
        beginnings: dict[_Place, Expr] = {(place, frozenset()): one for place, one in places.beginnings.items()}
        self._follow([(start, begin) for begin in beginnings])
        ways = [
            sequence(skipped, self._call(start, begin, end))
            for begin, skipped in beginnings.items()
            for end in self._ends[start, begin]
            if self._may_end(end[0]) and END not in end[1]
        ]
        return Rule(self._grammar.names[start], lambda: alternation(*ways))

    def _may_end(self, place: int | LineStart) -> bool:
        return isinstance(place, int) and (place == _ENDED or self._places.may_end(place))

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
        if part.closing >= 0:
            for begin in self._openings(part, place):
                self._ask((part.number, begin), user, waiting)
            return list(self._blocks(part, place))
        self._ask((part.number, place), user, waiting)
        return list(self._ends[part.number, place])

    def _ask(self, entry: _Entry, user: _Entry, waiting: dict[_Entry, None]) -> None:
        self._users[entry][user] = None
        if entry not in self._ends:
            self._ends[entry] = {}
            waiting[entry] = None

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
        if part.closing >= 0:
            return {end: alternation(*ways) for end, ways in self._blocks(part, place).items()}
        return {end: self._call(part.number, place, end) for end in self._ends[part.number, place]}

    def _read(self, part: Part, place: _Place) -> dict[_Place, Expr]:
        """The places after a terminal, each with what is read up to it."""
        number, kept = place
        if part.number == BARRIER:
            return {(number, kept | self._grammar.barriers[part.context]): EPSILON}
        if part.number in kept:
            return {}
        if isinstance(number, LineStart) or number == _ENDED:
            return {}
        if part.number != self._grammar.lines[0]:
            after = self._places.after(number, part.number, part.context)
            return {(end, frozenset()): one for end, one in after.items()}
        ways: defaultdict[_Place, list[Expr]] = defaultdict(list)
        for start, texts in self._places.line_starts(number).items():
            ways[start, frozenset()].append(texts)
            for end, its in self._places.landings(start, part.context).items():
                ways[end, frozenset()].append(sequence(texts, its))
        return {end: alternation(*its) for end, its in ways.items()}

    def _openings(self, part: Part, place: _Place) -> dict[_Place, list[tuple[Indentation, Expr]]]:
        """The places where the first line of a block may begin, each with the white space before it."""
        start, kept = place
        found: defaultdict[_Place, list[tuple[Indentation, Expr]]] = defaultdict(list)
        if isinstance(start, LineStart) and start.is_fresh and self._grammar.lines[1] not in kept:
            for indentation, begin, skipped in self._places.openings(start, part.context):
                found[begin, frozenset()].append((indentation, skipped))
        return found

    def _blocks(self, part: Part, place: _Place) -> dict[_Place, list[Expr]]:
        """The places after a block, each with ways through it: a line of an outer one ends it, or the text does."""
        found: defaultdict[_Place, list[Expr]] = defaultdict(list)
        for begin, openings in self._openings(part, place).items():
            for end in self._ends.get((part.number, begin), ()):
                if self._grammar.lines[2] in end[1]:
                    continue
                after = end[0]
                if isinstance(after, LineStart):
                    whole = self._block(part, begin, end, openings)
                    found[after._replace(is_fresh=False), frozenset()].append(whole)
                    for then, its in self._places.landings(after, part.closing).items():
                        found[then, frozenset()].append(sequence(whole, its))
                elif self._may_end(after):
                    found[_ENDED, frozenset()].append(self._block(part, begin, end, openings))
        return found

    def _block(self, part: Part, begin: _Place, end: _Place, openings: list[tuple[Indentation, Expr]]) -> Expr:
        key = (part.number, begin, end)
        name = self._grammar.names[part.number]
        ways: list[Expr] = []
        for indentation, skipped in openings:
            if (key, skipped) not in self._bodies:
                body = sequence(skipped, self._call(*key))
                self._bodies[key, skipped] = Rule(name, lambda body=body: body)
            ways.append(indented(indentation, (self._bodies[key, skipped],)))
        return alternation(*ways)
