"""A grammar of tokens and the places between them as rules over bytes.

A leader that is called to end in any of some places, its *targets*, is one table of states: what is left of it and
where that begins. States from which the same is read up to the targets are one rule, and places where it is all the
same to the caller where the leader ends are targets together: most callers do not care which kind of number it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from structgen.grammars.expr import EPSILON, NEVER, Expr, Rule, alternation, call, sequence
from structgen.grammars.indentation import Indentation, indented
from structgen.grammars.lark.machines import TokenGrammar
from structgen.grammars.lark.product import Entry, Node, Place, Product
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.limits import checkpoint
from structgen.grammars.partitions import alike

__all__ = ["rule_of"]

_Targets = frozenset[Place]


def rule_of(grammar: TokenGrammar, places: TokenPlaces) -> Rule:
    """The rule of the texts that a grammar's start matches, what is ignored before it and behind included."""
    product = Product(grammar, places)
    writer, start = _Writer(product), grammar.start
    ways: list[Expr] = []
    for begin, skipped in product.beginnings.items():
        targets = frozenset(filter(product.is_last, product.ends[start, begin]))
        ways.append(sequence(skipped, writer.call((start, begin), targets)))
    return Rule(grammar.names[start], lambda: alternation(*ways), value_names=places.value_names)


class _Block(NamedTuple):
    """A block that is begun and ended in some way, and what is read behind it."""

    entry: Entry
    targets: _Targets
    openings: tuple[tuple[Indentation, Expr], ...]
    landing: Expr


class _Moves(NamedTuple):
    """What may come in a node, and the nodes after it."""

    reads: list[tuple[Expr, Node]]
    calls: list[tuple[Entry, Place, Node]]
    blocks: list[tuple[_Block, Node]]


_Numbered = tuple[list[tuple[Expr, int]], list[tuple[Entry, Place, int]], list[tuple[_Block, int]]]
"""As `_Moves`, with the numbers of nodes that are in a table."""


class _Writer:
    def __init__(self, product: Product) -> None:
        self.product = product
        self._tables: dict[tuple[int, _Targets], _Table] = {}
        self._bodies: dict[tuple[Entry, _Targets, Expr], Rule] = {}
        self._moves: dict[Node, _Moves] = {}

    def call(self, entry: Entry, targets: _Targets) -> Expr:
        """What a leader matches that begins in a place and ends in one of ``targets``."""
        key = (entry[0], targets)
        if key not in self._tables:
            self._tables[key] = _Table(self, entry[0], targets)
        return self._tables[key].rest((self.product.machines.starts[entry[0]], entry[1]))

    def block(self, block: _Block) -> Expr:
        """What a block matches, the white space before it included."""
        name, ways = self.product.grammar.names[block.entry[0]], list[Expr]()
        for indentation, skipped in block.openings:
            key = (block.entry, block.targets, skipped)
            if key not in self._bodies:
                self._bodies[key] = Rule(name, lambda its=skipped: sequence(its, self.call(block.entry, block.targets)))
            ways.append(indented(indentation, (self._bodies[key],)))
        return sequence(alternation(*ways), block.landing)

    def moves(self, node: Node) -> _Moves:
        """What may come in a node."""
        if node not in self._moves:
            self._moves[node] = self._found(node)
        return self._moves[node]

    def _found(self, node: Node) -> _Moves:
        product, (state, place), found = self.product, node, _Moves([], [], [])
        for part, after in product.machines.steps[state].items():
            if part.is_terminal:
                found.reads.extend((one, (after, end)) for end, one in product.read(part, place).items())
            elif part.closing < 0:
                entry = (part.number, place)
                found.calls.extend((entry, end, (after, end)) for end in product.ends[entry])
            else:
                openings = product.openings(part, place)
                for end, ways in product.block_ends(part, place).items():
                    for begin, ends, landing in ways:
                        block = _Block((part.number, begin), ends, tuple(openings[begin]), landing)
                        found.blocks.append((block, (after, end)))
        return found


class _Table:
    """The rules of a leader that ends in one of its targets."""

    def __init__(self, writer: _Writer, leader: int, targets: _Targets) -> None:
        self._writer, self._targets = writer, targets
        machines = writer.product.machines
        self._accepting = machines.accepting
        starts = [(machines.starts[leader], begin) for one, begin in writer.product.ends if one == leader]
        nodes = self._live(starts)
        self._numbers = {node: number for number, node in enumerate(nodes)}
        self._moves = moves = [self._numbered(writer.moves(node)) for node in nodes]
        self._ends = ends = [self._is_target(node) for node in nodes]
        before: list[list[int]] = [[] for _ in nodes]
        for node, its in enumerate(moves):
            for after in (one[-1] for ways in its for one in ways):
                before[after].append(node)

        def signature(node: int, classes: Sequence[int]) -> object:
            reads, calls, blocks = moves[node]
            return (
                ends[node],
                frozenset((one, classes[after]) for one, after in reads),
                frozenset((entry, end, classes[after]) for entry, end, after in calls),
                frozenset((block, classes[after]) for block, after in blocks),
            )

        self._classes = alike(len(nodes), signature, before)
        self._members: dict[int, int] = {}
        for node, its in enumerate(self._classes):
            self._members.setdefault(its, node)
        self._names = [machines.names[state] for state, _ in nodes]
        self._rests: dict[int, Expr] = {}

    def _is_target(self, node: Node) -> bool:
        return self._accepting[node[0]] and node[1] in self._targets

    def _numbered(
        self, moves: _Moves
    ) -> tuple[list[tuple[Expr, int]], list[tuple[Entry, Place, int]], list[tuple[_Block, int]]]:
        numbers = self._numbers
        return (
            [(one, numbers[after]) for one, after in moves.reads if after in numbers],
            [(entry, end, numbers[after]) for entry, end, after in moves.calls if after in numbers],
            [(block, numbers[after]) for block, after in moves.blocks if after in numbers],
        )

    def _live(self, starts: list[Node]) -> list[Node]:
        """The nodes from which a target is reached."""
        before: dict[Node, list[Node]] = {node: [] for node in starts}
        pending = list(before)
        for node in pending:  # grows as it goes
            checkpoint()
            moves = self._writer.moves(node)
            for after in (one[-1] for its in moves for one in its):
                if after not in before:
                    before[after] = []
                    pending.append(after)
                before[after].append(node)
        live = dict.fromkeys(node for node in before if self._is_target(node))
        pending = list(live)
        while pending:
            new = [one for one in before[pending.pop()] if one not in live]
            live.update(dict.fromkeys(new))
            pending += new
        return list(live)

    def rest(self, node: Node) -> Expr:
        """What is matched from a node on."""
        number = self._numbers.get(node)
        return NEVER if number is None else self._rest(self._classes[number], "")

    def _rest(self, its: int, around: str) -> Expr:
        """A rule, but where there is only one way and it goes on with what is being read ``around`` it."""
        node = self._members[its]
        name = self._names[node]
        if its not in self._rests:
            if name == around and self._ways(node) == 1:
                return self._body(node)
            self._rests[its] = EPSILON if self._is_end(node) else call(Rule(name, lambda: self._body(node)))
        return self._rests[its]

    def _is_end(self, node: int) -> bool:
        return self._ends[node] and self._ways(node) == 1

    def _ways(self, node: int) -> int:
        reads, calls, blocks = self._moves[node]
        ways = len(reads) + len({(entry, self._classes[after]) for entry, _, after in calls}) + len(blocks)
        return ways + self._ends[node]

    def _body(self, node: int) -> Expr:
        """What is matched from a node on, written out up to what is left after its first parts."""
        reads, calls, blocks = self._moves[node]
        after_reads: defaultdict[int, list[Expr]] = defaultdict(list)
        for one, after in reads:
            after_reads[self._classes[after]].append(one)
        ends_of: defaultdict[tuple[Entry, int], set[Place]] = defaultdict(set)
        for entry, end, after in calls:
            ends_of[entry, self._classes[after]].add(end)
        ways = [EPSILON] if self._ends[node] else []
        name = self._names[node]
        ways += [sequence(alternation(*its), self._rest(then, name)) for then, its in after_reads.items()]
        for (entry, then), ends in ends_of.items():
            ways.append(sequence(self._writer.call(entry, frozenset(ends)), self._rest(then, name)))
        ways += [sequence(self._writer.block(block), self._rest(self._classes[after], name)) for block, after in blocks]
        return alternation(*ways)
