"""Where the leaders of a grammar may begin and end between its tokens (the construction of Bar-Hillel, Perles, Shamir).

What a leader matches depends on the place where it begins, and what may follow on the place where it ends. Which pairs
of places some text leads between is found here, from the start on, by following what has changed until nothing does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.expr import EPSILON, Expr, alternation, sequence
from structgen.grammars.indentation import Indentation
from structgen.grammars.lark.machines import BARRIER, END, Machines, Part, TokenGrammar
from structgen.grammars.lark.newlines import LineStart
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.limits import checkpoint

__all__ = ["ENDED", "BlockEnd", "Entry", "Node", "Place", "Product"]

MAX_ENTRIES = 100_000
"""Leaders with the places where they begin, at most."""

Place = tuple[int | LineStart, frozenset[int]]
"""A place between tokens, and the terminals that barriers keep from coming next."""
ENDED = -1
"""In place of a place: the text has ended, and blocks may."""
Entry = tuple[int, Place]
"""A leader, and where it begins."""
Node = tuple[int, Place]
"""What is left of a leader, a state of `Machines`, and where it begins."""


class BlockEnd(NamedTuple):
    """A way to go on after a block."""

    begin: Place
    """Where the block's first line begins."""
    ends: frozenset[Place]
    """Where its last one ends."""
    landing: Expr
    """What is read behind it."""


class Product:
    """A grammar and the places between its tokens.

    Parameters
    ----------
    grammar : TokenGrammar
        The grammar.
    places : TokenPlaces
        The places.

    Attributes
    ----------
    machines : Machines
        The leaders.
    beginnings : dict of Place to Expr
        Where the start may begin, and what is skipped before it.
    ends : dict of Entry to dict of Place
        Where each leader that begins in a place may end.
    """

    def __init__(self, grammar: TokenGrammar, places: TokenPlaces) -> None:
        self.grammar, self._places = grammar, places
        self.machines = Machines(grammar)
        self.ends: dict[Entry, dict[Place, None]] = {}
        self._users: defaultdict[Entry, dict[Entry, None]] = defaultdict(dict)
        self._reads: dict[tuple[Part, Place], dict[Place, Expr]] = {}
        self.beginnings: dict[Place, Expr] = {(place, frozenset()): one for place, one in places.beginnings.items()}
        self._follow([(grammar.start, begin) for begin in self.beginnings])

    def may_end(self, place: Place) -> bool:
        """Whether a text may end in a place, but for blocks."""
        return isinstance(place[0], int) and (place[0] == ENDED or self._places.may_end(place[0]))

    def is_last(self, place: Place) -> bool:
        """Whether a text may end in a place."""
        return self.may_end(place) and END not in place[1]

    def _follow(self, entries: list[Entry]) -> None:
        """Find where nonterminals may end that begin in a place, and all that they reach."""
        waiting = dict.fromkeys(entries)
        self.ends |= {entry: {} for entry in waiting}
        while waiting:
            checkpoint(len(self.ends))
            if len(self.ends) > MAX_ENTRIES:
                raise GrammarLimitExceeded(
                    f"the grammar's rules begin in more than {MAX_ENTRIES:,} different places; simplify its terminals"
                )
            entry = next(iter(waiting))
            del waiting[entry]
            found = self._ends_of(entry, waiting)
            if len(found) > len(self.ends[entry]):
                self.ends[entry] = found
                waiting |= self._users[entry]

    def _ends_of(self, entry: Entry, waiting: dict[Entry, None]) -> dict[Place, None]:
        """As far as is known; what it depends on and is new is added to ``waiting``."""
        leader, begin = entry
        found: dict[Place, None] = {}
        pending = [(self.machines.starts[leader], begin)]
        seen = set(pending)
        while pending:
            state, place = pending.pop()
            if self.machines.accepting[state]:
                found[place] = None
            for part, after in self.machines.steps[state].items():
                self._ask(part, place, entry, waiting)
                for end in self.part_ends(part, place):
                    if (after, end) not in seen:
                        seen.add((after, end))
                        pending.append((after, end))
        return found

    def part_ends(self, part: Part, place: Place) -> Iterable[Place]:
        """The places after a part, as far as is known."""
        if part.is_terminal:
            return self.read(part, place)
        return self.block_ends(part, place) if part.closing >= 0 else self.ends[part.number, place]

    def _ask(self, part: Part, place: Place, user: Entry, waiting: dict[Entry, None]) -> None:
        """Have it found where a leader may end that is called at ``place``."""
        begins = () if part.is_terminal else self.openings(part, place) if part.closing >= 0 else (place,)
        for begin in begins:
            entry = (part.number, begin)
            self._users[entry][user] = None
            if entry not in self.ends:
                self.ends[entry] = {}
                waiting[entry] = None

    def read(self, part: Part, place: Place) -> dict[Place, Expr]:
        """The places after a terminal or barrier, each with what is read up to it."""
        if (part, place) not in self._reads:
            self._reads[part, place] = self._read(part, place)
        return self._reads[part, place]

    def _read(self, part: Part, place: Place) -> dict[Place, Expr]:
        number, kept = place
        if part.number == BARRIER:
            return {(number, kept | self.grammar.barriers[part.context]): EPSILON}
        if part.number in kept:
            return {}
        if isinstance(number, LineStart) or number == ENDED:
            return {}
        if part.number != self.grammar.lines[0]:
            after = self._places.after(number, part.number, part.context)
            return {(end, frozenset()): one for end, one in after.items()}
        ways: defaultdict[Place, list[Expr]] = defaultdict(list)
        for start, texts in self._places.line_starts(number).items():
            ways[start, frozenset()].append(texts)
            for end, its in self._places.landings(start, part.context).items():
                ways[end, frozenset()].append(sequence(texts, its))
        return {end: alternation(*its) for end, its in ways.items()}

    def openings(self, part: Part, place: Place) -> dict[Place, list[tuple[Indentation, Expr]]]:
        """The places where the first line of a block may begin, each with the white space before it."""
        start, kept = place
        found: defaultdict[Place, list[tuple[Indentation, Expr]]] = defaultdict(list)
        if isinstance(start, LineStart) and start.is_fresh and self.grammar.lines[1] not in kept:
            for indentation, begin, skipped in self._places.openings(start, part.context):
                found[begin, frozenset()].append((indentation, skipped))
        return found

    def block_ends(self, part: Part, place: Place) -> dict[Place, list[BlockEnd]]:
        """The places after a block, each with ways through it: a line of an outer one ends it, or the text does."""
        found: defaultdict[Place, list[BlockEnd]] = defaultdict(list)
        for begin in self.openings(part, place):
            ends = [end for end in self.ends.get((part.number, begin), ()) if self.grammar.lines[2] not in end[1]]
            for end in ends:
                after = end[0]
                if isinstance(after, LineStart):
                    its = frozenset({end})
                    found[after._replace(is_fresh=False), frozenset()].append(BlockEnd(begin, its, EPSILON))
                    for then, landing in self._places.landings(after, part.closing).items():
                        found[then, frozenset()].append(BlockEnd(begin, its, landing))
            last = frozenset(filter(self.may_end, ends))
            if last:
                found[ENDED, frozenset()].append(BlockEnd(begin, last, EPSILON))
        return found
