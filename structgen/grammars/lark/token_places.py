"""Where tokens begin, and what is read from one such place to the next: a token, and what is skipped after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import EPSILON, NEVER, Expr, Rule, alternation, call, literal, sequence
from structgen.grammars.indentation import Indentation, grid_of, landing
from structgen.grammars.lark.embedded import Foreign
from structgen.grammars.lark.lexing import Lexing
from structgen.grammars.lark.moves import IGNORED, Context, explored, joined
from structgen.grammars.lark.newlines import LineStart, line_starts
from structgen.grammars.lark.scanning import Owed
from structgen.grammars.utf8_dfa import utf8_dfa
from structgen.grammars.values import Regular, regular

__all__ = ["TokenPlaces"]

_SKIPPED = "what is ignored"


class TokenPlaces:
    """The places of a grammar, by number.

    Parameters
    ----------
    lexing : Lexing
        Finds tokens.
    contexts : sequence of Context
        By number; texts begin in the first.
    following : mapping
        Of each terminal of the grammar the contexts that it may lead to.
    foreign : mapping
        Terminals without a pattern.
    newline : int
        The terminal that ends lines of blocks; -1 where there are none.
    tab : int
        Columns that a tab counts for in their indentation.

    Attributes
    ----------
    groups : list of int
        The group of each context; contexts of one group are not told apart.
    value_names : dict of Expr to str
        The terminals whose texts a value is, as far as they have been asked for.

    Raises
    ------
    UnsupportedGrammar
        As `Lexing.tokens`.
    """

    def __init__(
        self,
        lexing: Lexing,
        contexts: Sequence[Context],
        following: Mapping[int, Sequence[int]],
        foreign: Mapping[int, Foreign],
        newline: int = -1,
        tab: int = 1,
    ) -> None:
        table = explored(lexing, contexts, following, foreign)
        self.groups, gaps, places = joined(table, contexts, foreign)
        self.value_names: dict[Expr, str] = {}
        self._names = lexing.names
        self._ends: set[int] = set()
        self._left: dict[int, int] = {}
        self._edges: dict[int, dict[tuple[int, CharDfa | Expr], None]] = {}
        self._reads: defaultdict[tuple[int, int, int], dict[tuple[int, CharDfa | Expr], None]] = defaultdict(dict)
        self._tab = tab
        self._breaks: defaultdict[int, dict[tuple[CharDfa, Owed], None]] = defaultdict(dict)
        self._gaps = {(self.groups[context], owed): gap for (context, owed), gap in gaps.items()}
        for spot, moves in table.items():
            gap, place = gaps[spot], places[spot]
            self._left[gap] = place
            edges = self._edges.setdefault(gap, {})
            if not spot[1].ever:
                self._ends.add(place)
            for terminal, texts, after in moves:
                found = edges if terminal == IGNORED else self._reads[place, terminal, self.groups[after[0]]]
                found[gaps[after], texts] = None
                if terminal == newline and isinstance(texts, CharDfa):
                    self._breaks[place][texts, after[1]] = None
        self._first = gaps[next(iter(table))]
        self._skipped: dict[tuple[int, int], Expr] = {}
        self._after: dict[tuple[int, int, int], dict[int, Expr]] = {}
        self._starts: dict[int, dict[LineStart, Expr]] = {}
        self._landings: dict[tuple[LineStart, int], dict[int, Expr]] = {}

    @property
    def beginnings(self) -> dict[int, Expr]:
        """The places where the first token may begin, each with what is skipped before it."""
        return self._skips(self._first)

    def may_end(self, place: int) -> bool:
        """Whether a text may end in a place."""
        return place in self._ends

    def after(self, place: int, terminal: int, group: int) -> dict[int, Expr]:
        """The places after a terminal that leads to a group of contexts, each with what is read up to it."""
        key = (place, terminal, group)
        if key not in self._after:
            ways: defaultdict[int, list[Expr]] = defaultdict(list)
            for gap, texts in self._reads.get(key, ()):
                spelled = _spelled(texts)
                if terminal < len(self._names):  # and not foreign
                    self._name(spelled, self._names[terminal])
                for end, skipped in self._skips(gap).items():
                    ways[end].append(sequence(spelled, skipped))
            self._after[key] = {end: alternation(*its) for end, its in ways.items()}
        return self._after[key]

    def _name(self, spelled: Expr, name: str) -> None:
        if isinstance(spelled, Regular):
            known = self.value_names.get(spelled, "").split(" or ")
            self.value_names[spelled] = " or ".join(sorted({*filter(None, known), name}))

    def line_starts(self, place: int) -> dict[LineStart, Expr]:
        """The places in the line break that may follow, each with what is read up to it."""
        if place not in self._starts:
            found = line_starts(self._breaks.get(place, ()))
            self._starts[place] = {start: _spelled(texts) for start, texts in found.items()}
        return self._starts[place]

    def landings(self, start: LineStart, group: int) -> dict[int, Expr]:
        """The places of a group of contexts after a line break, each with the indentation that the block has."""
        key = (start, group)
        if key not in self._landings:
            ways: defaultdict[int, list[Expr]] = defaultdict(list)
            for texts, owed in start.ways:
                for end, skipped in self._skips(self._gaps[group, owed]).items():
                    ways[end].append(sequence(landing(Indentation(texts, self._tab)), skipped))
            self._landings[key] = {end: alternation(*its) for end, its in ways.items()}
        return self._landings[key]

    def openings(self, start: LineStart, group: int) -> list[tuple[Indentation, int, Expr]]:
        """The ways into a deeper block: its indentation, and then the place and what is skipped before it."""
        return [
            (indentation, end, skipped)
            for indentation, owed in ((Indentation(texts, self._tab), owed) for texts, owed in start.ways)
            if grid_of(indentation).columns
            for end, skipped in self._skips(self._gaps[group, owed]).items()
        ]

    def _skips(self, gap: int) -> dict[int, Expr]:
        """The places after what may be skipped in a gap, each with that."""
        reached = [gap]
        for one in reached:
            reached += [to for to, _ in self._edges[one] if to not in reached]
        ends = dict.fromkeys(self._left[one] for one in reached)
        return {end: self._skip(gap, end) for end in ends}

    def _skip(self, gap: int, end: int) -> Expr:
        """What is skipped from ``gap`` to ``end``: it ends with itself where it may go on and on."""
        if not any(self._edges[to] for to, _ in self._edges[gap]):
            return self._skip_body(gap, end)
        if (gap, end) not in self._skipped:
            self._skipped[gap, end] = call(Rule(_SKIPPED, lambda: self._skip_body(gap, end)))
        return self._skipped[gap, end]

    def _skip_body(self, gap: int, end: int) -> Expr:
        ways = [EPSILON if self._left[gap] == end else NEVER]
        for to, texts in self._edges[gap]:
            spelled = _spelled(texts)
            self._name(spelled, _SKIPPED)
            ways.append(sequence(spelled, self._skip(to, end)))
        return alternation(*ways)


@lru_cache(maxsize=4096)
def _spelled(texts: CharDfa | Expr) -> Expr:
    """The texts that an automaton accepts, in UTF-8."""
    if isinstance(texts, Expr):
        return texts
    text, state = "", 0
    while not texts.accepting[state]:
        spans = texts.spans(state)
        if len(spans) != 1 or spans[0][0] != spans[0][1]:
            return regular(utf8_dfa(texts))
        text, state = text + chr(spans[0][0]), spans[0][2]
    return regular(utf8_dfa(texts)) if texts.spans(state) else literal(text.encode())
