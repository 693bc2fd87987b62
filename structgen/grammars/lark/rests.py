"""What may be left of a nonterminal in each state of an LALR(1) parser, as a graph.

A *rest* is a state, a node of the nonterminal's trie, and whether it stands inside of brackets, where lines have no
ends. A nonterminal that begins in a state, one of the transitions of DeRemer and Pennello (1982), is the rest of its
root.
"""

from __future__ import annotations

from typing import NamedTuple

from structgen.grammars.lark.indenter import Lines
from structgen.grammars.lark.loading import LalrParser
from structgen.grammars.lark.terminal_orders import TerminalOrder
from structgen.grammars.lark.tries import Tries
from structgen.grammars.limits import checkpoint

__all__ = ["Move", "Rests"]


class Move(NamedTuple):
    """What may come next in a rest."""

    symbol: int
    label: int
    """Of a terminal the context that it leads to, of a nonterminal the rest that it begins with."""
    after: int
    """The rest after it."""


class Rests:
    """The rests of a grammar, by number; the first is that of the start.

    Parameters
    ----------
    parser : LalrParser
        The parser.

    Attributes
    ----------
    found : list of tuple
        ``(state, node, is_inside)``.
    moves : list of list of Move
        What may come in each.
    contexts : dict
        Numbers of the contexts: what a lexer tries, and whether that is inside of brackets.
    blocks : list of bool
        Of each node of the tries whether it is within a block.
    """

    def __init__(self, parser: LalrParser) -> None:
        self._parser, tries = parser, parser.tries
        self._tries, self._lines = tries, parser.loaded.lines
        self._depths, self.blocks = _nesting(tries, self._lines)
        self._live = [self._alive(is_inside=False), self._alive(is_inside=True)]
        self.contexts: dict[tuple[TerminalOrder, bool], int] = {(parser.order(0), False): 0}
        self.found: list[tuple[int, int, bool]] = []
        self.moves: list[list[Move]] = []
        self._numbers: dict[tuple[int, int, bool], int] = {}
        self._number(0, ~tries.start, False)
        for state, node, is_inside in self.found:  # grows as it goes
            checkpoint(len(self.found))
            self.moves.append(self._moves(state, node, is_inside))

    def _number(self, state: int, node: int, is_inside: bool) -> int:
        key = (state, node, is_inside)
        number = self._numbers.get(key, -1)
        if number < 0:
            number = self._numbers[key] = len(self.found)
            self.found.append(key)
        return number

    def _moves(self, state: int, node: int, is_inside: bool) -> list[Move]:
        gotos, moves = self._parser.tables.gotos[state], list[Move]()
        for symbol, after in self._tries.children[node].items():
            if not self._may_come(node, symbol, is_inside) or not self._live[is_inside][after]:
                continue
            if symbol < 0:
                label = self._number(state, ~symbol, is_inside or self._depths[node] > 0)
            else:
                context = (self._parser.order(gotos[symbol]), is_inside or self._depths[after] > 0)
                label = self.contexts.setdefault(context, len(self.contexts))
            moves.append(Move(symbol, label, self._number(gotos[symbol], after, is_inside)))
        return moves

    def _may_come(self, node: int, symbol: int, is_inside: bool) -> bool:
        """Whether it is nothing that ends a line, inside of brackets."""
        lines = self._lines
        if symbol < 0 or lines is None or not (is_inside or self._depths[node] > 0):
            return True
        name = self._tries.terminals[symbol]
        return name not in (lines.newline, lines.indent) and (name != lines.dedent or self.blocks[node])

    def _alive(self, is_inside: bool) -> list[bool]:
        """Of each node whether a production that goes through it may be complete."""
        live = [rule is not None for rule in self._tries.ends]
        if self._lines is None:
            return [True] * len(live)
        for node in range(len(live) - 1, -1, -1):  # what is after a node has a higher number
            live[node] |= any(
                live[after] and self._may_come(node, symbol, is_inside)
                for symbol, after in self._tries.children[node].items()
            )
        return live


def _nesting(tries: Tries, lines: Lines | None) -> tuple[list[int], list[bool]]:
    """Of each node how many brackets are open, and whether it is within a block."""
    depths, blocks = [0] * len(tries.children), [0] * len(tries.children)
    if lines is not None:
        for node, its in enumerate(tries.children):
            for symbol, after in its.items():
                name = tries.terminals[symbol] if symbol >= 0 else ""
                depths[after] = depths[node] + lines.nesting(name)
                blocks[after] = max(0, blocks[node] + (name == lines.indent) - (name == lines.dedent))
    return depths, [count > 0 for count in blocks]
