"""A grammar of tokens and the places between them to rules over bytes (the construction of Bar-Hillel, Perles, Shamir).

What a nonterminal matches depends on the place where it begins, and what may follow on the place where it ends. So it
is one rule for each pair of places that some text leads between; which pairs there are is found first, from the start
on, by following what has changed until nothing does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.expr import EPSILON, NEVER, Expr, Rule, alternation, call, sequence
from structgen.grammars.indentation import Indentation, indented
from structgen.grammars.lark.machines import BARRIER, END, Machines, Part, TokenGrammar
from structgen.grammars.lark.newlines import LineStart
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.limits import checkpoint

__all__ = ["rule_of"]

MAX_ENTRIES = 100_000
"""Nonterminals with the places where they begin, at most."""


def rule_of(grammar: TokenGrammar, places: TokenPlaces) -> Rule:
    """The rule of the texts that a grammar's start matches, what is ignored before it and behind included."""
    return _Product(grammar, places).rule()


_Place = tuple[int | LineStart, frozenset[int]]
"""A place between tokens, and the terminals that barriers keep from coming next."""
_ENDED = -1
"""In place of a place: the text has ended, and blocks may."""
_Entry = tuple[int, _Place]
"""A leader, and where it begins."""
_Node = tuple[int, _Place]
"""What is left of a leader, a state of `Machines`, and where it begins."""


class _Product:
    def __init__(self, grammar: TokenGrammar, places: TokenPlaces) -> None:
        self._grammar, self._places = grammar, places
        self._machines = Machines(grammar)
        self._ends: dict[_Entry, dict[_Place, None]] = {}
        self._users: defaultdict[_Entry, dict[_Entry, None]] = defaultdict(dict)
        self._rests: dict[tuple[int, _Place, _Place], Expr] = {}
        self._reached: dict[_Node, set[_Place]] = {}
        self._blocks_at: dict[tuple[tuple[int, _Place, _Place], Expr], Rule] = {}

    def rule(self) -> Rule:
        start, places = self._grammar.start, self._places
        beginnings: dict[_Place, Expr] = {(place, frozenset()): one for place, one in places.beginnings.items()}
        self._follow([(start, begin) for begin in beginnings])
        self._find_reached()
        ways = [
            sequence(skipped, self._call(start, begin, end))
            for begin, skipped in beginnings.items()
            for end in self._ends[start, begin]
            if self._may_end(end[0]) and END not in end[1]
        ]
        return Rule(self._grammar.names[start], lambda: alternation(*ways))

    def _may_end(self, place: int | LineStart) -> bool:
        return isinstance(place, int) and (place == _ENDED or self._places.may_end(place))

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
        leader, begin = entry
        found: dict[_Place, None] = {}
        pending = [(self._machines.starts[leader], begin)]
        seen = set(pending)
        while pending:
            state, place = pending.pop()
            if self._machines.accepting[state]:
                found[place] = None
            for part, after in self._machines.steps[state].items():
                self._ask(part, place, entry, waiting)
                for end in self._part_ends(part, place):
                    if (after, end) not in seen:
                        seen.add((after, end))
                        pending.append((after, end))
        return found

    def _find_reached(self) -> None:
        """Find the places where what is left may end."""
        before: defaultdict[_Node, dict[_Node, None]] = defaultdict(dict)
        pending = [(self._machines.starts[leader], begin) for leader, begin in self._ends]
        self._reached |= {node: set() for node in pending}
        for node in pending:  # grows as it goes
            checkpoint()
            state, place = node
            for part, after in self._machines.steps[state].items():
                for end in self._part_ends(part, place):
                    before[after, end][node] = None
                    if (after, end) not in self._reached:
                        self._reached[after, end] = set()
                        pending.append((after, end))
        changed: list[tuple[_Node, _Place]] = []
        for node in self._reached:
            if self._machines.accepting[node[0]]:
                self._reached[node].add(node[1])
                changed.append((node, node[1]))
        for node, end in changed:  # grows as it goes
            for earlier in before[node]:
                if end not in self._reached[earlier]:
                    self._reached[earlier].add(end)
                    changed.append((earlier, end))

    def _part_ends(self, part: Part, place: _Place) -> Iterable[_Place]:
        """The places after a part, as far as is known."""
        if part.is_terminal:
            return self._read(part, place)
        return self._blocks(part, place) if part.closing >= 0 else self._ends[part.number, place]

    def _ask(self, part: Part, place: _Place, user: _Entry, waiting: dict[_Entry, None]) -> None:
        """Have it found where a leader may end that is called at ``place``."""
        begins = () if part.is_terminal else self._openings(part, place) if part.closing >= 0 else (place,)
        for begin in begins:
            entry = (part.number, begin)
            self._users[entry][user] = None
            if entry not in self._ends:
                self._ends[entry] = {}
                waiting[entry] = None

    def _call(self, leader: int, begin: _Place, end: _Place) -> Expr:
        return self._rest(self._machines.starts[leader], begin, end)

    def _rest(self, state: int, place: _Place, end: _Place) -> Expr:
        """What is matched between two places; a rule where it may go on in several ways."""
        if end not in self._reached[state, place]:
            return NEVER
        key = (state, place, end)
        if key not in self._rests:
            ways = [
                (part, then, after)
                for part, after in self._machines.steps[state].items()
                for then in self._part_ends(part, place)
                if end in self._reached[after, then]
            ]
            ends_here = self._machines.accepting[state] and place == end
            if len(ways) + ends_here == 1:
                self._rests[key] = EPSILON if ends_here else self._bodies(place, end, ways)[0]
            else:
                last = (EPSILON,) if ends_here else ()
                rule = Rule(self._machines.names[state], lambda: alternation(*last, *self._bodies(place, end, ways)))
                self._rests[key] = call(rule)
        return self._rests[key]

    def _bodies(self, place: _Place, end: _Place, ways: list[tuple[Part, _Place, int]]) -> list[Expr]:
        """What is matched, in each of the ways: a part, the place after it, and what is left then."""
        return [sequence(self._ways(part, place)[then], self._rest(after, then, end)) for part, then, after in ways]

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
            if (key, skipped) not in self._blocks_at:
                self._blocks_at[key, skipped] = Rule(name, lambda its=skipped: sequence(its, self._call(*key)))
            ways.append(indented(indentation, (self._blocks_at[key, skipped],)))
        return alternation(*ways)
