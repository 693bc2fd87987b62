"""Rests of an LALR(1) parser that derive the same in one, and the grammar of tokens of what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structgen.errors import UnsupportedGrammar
from structgen.grammars.lark import tries
from structgen.grammars.lark.loading import LalrParser
from structgen.grammars.lark.machines import BARRIER, END, Part, TokenGrammar
from structgen.grammars.lark.rests import Move, Rests
from structgen.grammars.limits import checkpoint

__all__ = ["united_grammar"]

_NO_END, _PLAIN = -2, -1
"""In place of the number of a barrier: no production ends in a rest, or one does before whatever may follow."""

_Parts = tuple[Part, ...]


class _Way(NamedTuple):
    """A production that is being written, up to a rest."""

    rest: int
    parts: _Parts
    depth: int = 0
    """Brackets that are open."""
    around: tuple[tuple[_Parts, int], ...] = ()
    """The blocks that are: what is before each, and the context of its beginning."""


def united_grammar(parser: LalrParser, rests: Rests, groups: Sequence[int], numbers: dict[str, int]) -> TokenGrammar:
    """The grammar with one nonterminal for each class of those that derive the same where they begin.

    Parameters
    ----------
    parser : LalrParser
        The parser.
    rests : Rests
        Its rests.
    groups : sequence of int
        Those of the contexts; contexts of one group are not told apart.
    numbers : dict
        Of the terminals by name.

    Raises
    ------
    UnsupportedGrammar
        Where lines are indented, a bracket or a block is not closed by the production that opens it.
    """
    return _Uniting(parser, rests, groups, numbers).grammar()


class _Uniting:
    def __init__(self, parser: LalrParser, rests: Rests, groups: Sequence[int], numbers: dict[str, int]) -> None:
        self._tries, self._lines, self._rests, self._groups = parser.tries, parser.loaded.lines, rests, groups
        self._numbers = numbers
        self._terminals = [numbers.get(name, -1) for name in self._tries.terminals]
        self._barriers: dict[frozenset[int], int] = {}
        lost = parser.tables.lost
        self._ends = [self._end(node, lost.get((state, node), 0)) for state, node, _ in rests.found]
        self._classes = self._found_classes()
        members = dict[int, int]()
        for root, its in self._classes.items():
            members.setdefault(its, root)
        self._roots = list(members.values())
        self._number_of = {its: number for number, its in enumerate(members)}
        self._blocks: dict[tuple[str, _Parts], int] = {}

    def _end(self, node: int, lost: int) -> int:
        if self._tries.ends[node] is None:
            return _NO_END
        if not lost:
            return _PLAIN
        names = self._tries.names_of(lost)
        kept = frozenset(END if name == tries.END else self._numbers.get(name, -1) for name in names)
        return self._barriers.setdefault(kept, len(self._barriers))

    def _found_classes(self) -> dict[int, int]:
        """The class of each rest that a nonterminal begins with; what derives the same is in one."""
        found, moves, groups = self._rests.found, self._rests.moves, self._groups
        origins = self._tries.origins
        classes = {0: origins[found[0][1]]}
        classes |= {one.label: ~one.symbol for its in moves for one in its if one.symbol < 0}
        upwards = sorted(range(len(found)), key=lambda rest: -found[rest][1])  # what is after a node comes before it
        count = 0
        while count < len(set(classes.values())):
            count = len(set(classes.values()))
            numbers: dict[object, int] = {}
            its = [0] * len(found)
            for rest in upwards:
                checkpoint()
                ways = [
                    (symbol, groups[label] if symbol >= 0 else classes[label], its[after])
                    for symbol, label, after in moves[rest]
                ]
                its[rest] = numbers.setdefault((self._ends[rest], *ways), len(numbers))
            parts: dict[tuple[int, int], int] = {}
            classes = {rest: parts.setdefault((one, its[rest]), len(parts)) for rest, one in classes.items()}
        return classes

    def grammar(self) -> TokenGrammar:
        """The grammar, with a nonterminal for each class, and then one for each block."""
        productions = [self._productions(root) for root in self._roots]
        names = [self._name(root) for root in self._roots]
        for name, parts in self._blocks:
            names.append(name)
            productions.append([parts])
        of_lines = (-1, -1, -1)
        if self._lines is not None:
            newline = self._numbers.get(self._lines.newline, -1)
            of_lines = (newline, self._numbers[self._lines.indent], self._numbers[self._lines.dedent])
        return TokenGrammar(0, names, productions, list(self._barriers), of_lines)

    def _name(self, rest: int) -> str:
        return self._tries.nonterminals[self._tries.origins[self._rests.found[rest][1]]]

    def _productions(self, root: int) -> list[_Parts]:
        """What a nonterminal derives that begins with a rest."""
        found: list[_Parts] = []
        pending = [_Way(root, ())]
        while pending:
            checkpoint()
            way = pending.pop()
            end = self._ends[way.rest]
            if end != _NO_END:
                self._check_closed(way)
                found.append(way.parts if end == _PLAIN else (*way.parts, Part(True, BARRIER, end)))
            pending += [self._further(way, move) for move in self._rests.moves[way.rest]]
        return found

    def _further(self, way: _Way, move: Move) -> _Way:
        symbol, label, after = move
        if symbol < 0:
            return way._replace(rest=after, parts=(*way.parts, Part(False, self._number_of[self._classes[label]])))
        context, name = self._groups[label], self._tries.terminals[symbol]
        if self._lines is not None and name == self._lines.indent:
            return _Way(after, (), 0, (*way.around, (way.parts, context)))
        if self._lines is not None and name == self._lines.dedent and way.around:
            *around, (before, opening) = way.around
            self._check_closed(way._replace(around=()))
            return _Way(after, (*before, Part(False, self._block(way), opening, context)), 0, tuple(around))
        depth = way.depth + (self._lines.nesting(name) if self._lines else 0)
        if depth < 0:
            raise self._unbalanced(way)
        return _Way(after, (*way.parts, Part(True, self._terminals[symbol], context)), depth, way.around)

    def _block(self, way: _Way) -> int:
        """A nonterminal for the lines of a block."""
        key = (self._name(way.rest), way.parts)
        return self._blocks.setdefault(key, len(self._roots) + len(self._blocks))

    def _check_closed(self, way: _Way) -> None:
        if way.depth:
            raise self._unbalanced(way)
        if way.around and self._lines is not None:
            raise UnsupportedGrammar(
                f"the rule {self._name(way.rest)} has {self._lines.indent} without {self._lines.dedent}, which is not "
                "held; have both in it"
            )

    def _unbalanced(self, way: _Way) -> UnsupportedGrammar:
        return UnsupportedGrammar(
            f"the rule {self._name(way.rest)} opens a bracket that it does not close, or closes one that it has not "
            "opened, which is not held where lines are indented; have each pair in one rule"
        )
