"""From the syntax tree to an NFA over characters, and to the minimal DFA of the texts in which it matches somewhere.

The NFA has nodes for characters and nodes without (Thompson 1968). Each is built knowing what comes after it, so a
repetition with a bound nests: ``x{0,3}`` is ``(x(x(x)?)?)?``, and a set of nodes stays small. Sets of nodes are
Python integers, a bit for each node. ``^`` is passed before the first character only; after ``$`` only an end counts.
"""

from __future__ import annotations

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.charset import ALL, NEWLINE, CharSet
from structgen.grammars.regex.edges import is_bound, opened
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Concatenation, Look, Node, Place, Repeat

__all__ = ["ACCEPT", "END", "LOOK", "REST", "SPLIT", "START", "Nfa"]

MAX_NODES = 50_000
"""Nodes that a pattern may have with its counted repetitions written out."""

_MAX_WORK = 3_000_000
"""Nodes looked at while it is made deterministic: some seconds."""

SPLIT, START, END, LOOK = -1, -2, -3, -4
ACCEPT, REST = 0, 1
_ACCEPTS, _ANYTHING = 1 << ACCEPT, 1 << REST


_LAST_LINE_END = Concatenation((Characters(NEWLINE), Anchor("$", 0, False, frozenset({Place.EDGE}))))


class Nfa:
    """The nodes of one pattern.

    Attributes
    ----------
    symbols : list of int
        Of each node the place of its set of characters among `sets`, or a negative number: no character is read.
    after : list
        What comes after a node; several nodes for a split.
    looks : dict
        Of each node that looks around, the first node of what it looks for.
    behinds : list of int
        The first nodes of what is looked for in what is before, each after any text; those inside others come first.
    """

    def __init__(self) -> None:
        self.sets: dict[tuple[tuple[int, int], ...], int] = {}
        self.symbols: list[int] = [SPLIT, SPLIT]  # the end of the pattern; the end with any text after it
        self.after: list[tuple[int, ...]] = [(), ()]
        self.looks: dict[int, tuple[int, Look]] = {}
        self.behinds: list[int] = []
        self._looked_for: dict[tuple[Node | CharSet, bool], int] = {}
        self._closed: dict[int, int] = {}
        self._chains: list[int] = []  # of optional repetitions of one set: a later node can do all that an earlier can

    def add(self, symbol: int, *after: int) -> int:
        """A new node."""
        if len(self.symbols) >= MAX_NODES:
            raise GrammarLimitExceeded(
                f"the pattern has more than {MAX_NODES:,} parts with its repetitions written out; lower the counts"
            )
        self.symbols.append(symbol)
        self.after.append(after)
        return len(self.symbols) - 1

    def characters(self, members: CharSet) -> int:
        """The symbol of a set of characters."""
        return self.sets.setdefault(members.ranges, len(self.sets))

    def build(self, node: Node, then: int) -> int:
        """Nodes that match ``node`` and go on to ``then``; returns the first."""
        if isinstance(node, Characters):
            return self.add(self.characters(node.members), then)
        if isinstance(node, Concatenation):
            for part in reversed(node.parts):
                then = self.build(part, then)
            return then
        if isinstance(node, Alternatives):
            return self.add(SPLIT, *(self.build(part, then) for part in node.parts))
        if isinstance(node, Repeat):
            return self._repeat(node, then)
        if isinstance(node, Anchor):
            return self._anchor(node, then)
        if isinstance(node, Look):
            return self._look(node, then)
        raise TypeError(f"no such node: {node!r}")

    def _anchor(self, node: Anchor, then: int) -> int:
        ways = [self.add(START if node.looks_back else END, then)]
        if Place.NEWLINE in node.places:
            ways.append(self._look(Look(Characters(NEWLINE), node.looks_back, negated=False), then))
        elif Place.FINAL_NEWLINE in node.places:
            ways.append(self._look(Look(_LAST_LINE_END, back=False, negated=False), then))
        return ways[0] if len(ways) == 1 else self.add(SPLIT, *ways)

    def _look(self, node: Look, then: int) -> int:
        body = node.body
        key = (body.members if isinstance(body, Characters) else body, node.back)
        inner = self._looked_for.get(key)
        if inner is None:
            body = opened(body, at_start=node.back)
            inner = self.anywhere(self.build(body, ACCEPT)) if node.back else self.build(body, REST)
            self._looked_for[key] = inner
            if node.back:
                self.behinds.append(inner)
        place = self.add(LOOK, then)
        self.looks[place] = (inner, node)
        return place

    def anywhere(self, entry: int) -> int:
        """Nodes that go on to ``entry`` after any text."""
        loop = self.add(SPLIT)
        self.after[loop] = (self.add(self.characters(ALL), loop), entry)
        return loop

    def build_search(self, tree: Node) -> int:
        """Nodes of the texts in which ``tree`` matches somewhere; returns the first."""
        starts, ends = is_bound(tree, at_start=True), is_bound(tree, at_start=False)
        if not starts:
            tree = opened(tree, at_start=True)
        if not ends:
            tree = opened(tree, at_start=False)
        entry = self.build(tree, ACCEPT if ends else REST)
        return entry if starts else self.anywhere(entry)

    def _repeat(self, node: Repeat, then: int) -> int:
        part, low = node.part, node.low
        if node.high is None:
            loop = self.add(SPLIT)
            first = self.build(part, loop)
            self.after[loop] = (first, then)
            then = first if low else loop
            low -= 1
        else:
            rest, optional = then, node.high - low
            chain = 0
            for _ in range(optional):
                inner = self.build(part, then)
                chain |= 1 << inner
                then = self.add(SPLIT, inner, rest)
            if optional > 8 and isinstance(part, Characters):
                self._chains.append(chain)
        for _ in range(low):
            then = self.build(part, then)
        return then

    def closure(self, node: int, at_start: bool = False) -> int:
        """The nodes that read a character, or end, and are reached from ``node`` without one."""
        found, ending = 0, False
        waiting = [(node, ending)]
        seen: set[tuple[int, bool]] = set()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            node, ending = place
            symbol = self.symbols[node]
            if symbol >= 0:
                found |= 0 if ending else 1 << node
            elif node <= REST:
                found |= _ACCEPTS if ending else 1 << node
            elif symbol != START or at_start:
                waiting += [(after, ending or symbol == END) for after in self.after[node]]
        return found

    def simplified(self, state: int) -> int:
        """A set of nodes without those that cannot do more than another of its nodes."""
        if state & _ANYTHING:
            return _ANYTHING
        for chain in self._chains:
            inside = state & chain
            if inside & (inside - 1):
                state ^= inside ^ (1 << (inside.bit_length() - 1))
        return state

    def closure_after(self, node: int) -> int:
        """The closure of what comes after a node that reads a character."""
        after = self.after[node][0]
        found = self._closed.get(after)
        if found is None:
            found = self._closed[after] = self.closure(after)
        return found
