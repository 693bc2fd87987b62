"""A grammar with its LALR(1) parser and contextual lexer to a grammar of tokens that knows the contexts.

Lark reads each token with the lexer of the state that the token before it was shifted to. So a symbol is told apart by
the state that the parser is in before it: after a terminal, that state says which lexer is next. Where the table has no
conflict, the parser takes what the grammar derives, and nothing of it but these contexts is needed. Where it has, a
production that lost cannot end before the terminal that it lost: a barrier keeps that from coming next. Symbols that
derive the same from two states are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from structgen.grammars.lark.lexing import Lexer
from structgen.grammars.lark.loading import LalrParser
from structgen.grammars.lark.machines import TokenGrammar
from structgen.grammars.lark.rests import Rests
from structgen.grammars.lark.terminal_orders import TerminalOrder
from structgen.grammars.lark.uniting import united_grammar

__all__ = ["LalrGrammar"]


class LalrGrammar:
    """The grammar of tokens of a parser.

    Parameters
    ----------
    parser : LalrParser
        The parser.
    numbers : dict
        Of the terminals by name.

    Attributes
    ----------
    contexts : list of tuple of Lexer
        By number; the first is that of the beginning of a text.
    following : dict
        Of each terminal the contexts that it may lead to.
    """

    def __init__(self, parser: LalrParser, numbers: dict[str, int]) -> None:
        self._parser, self._numbers, self._lines = parser, numbers, parser.loaded.lines
        self._rests = Rests(parser)
        self.contexts = [(self._lexer(order, is_inside),) for order, is_inside in self._rests.contexts]
        self.following = self._contexts_after()

    def _lexer(self, order: TerminalOrder, is_inside: bool) -> Lexer:
        """The lexer of a context; inside of brackets it skips what ends lines elsewhere."""
        numbers = self._numbers
        ignored = frozenset(numbers[name] for name in self._parser.loaded.ignored)
        if is_inside and self._lines is not None and self._lines.newline in numbers:
            ignored |= {numbers[self._lines.newline]}
        terminals = tuple(numbers[name] for name in order.names)
        spellings = tuple((numbers[name], tuple(numbers[one] for one in its)) for name, its in order.spellings.items())
        return Lexer(terminals, spellings, ignored)

    def _contexts_after(self) -> dict[int, list[int]]:
        names, lines = self._parser.tries.terminals, self._lines
        found: defaultdict[int, dict[int, None]] = defaultdict(dict)
        of_blocks: dict[int, None] = {}
        for (_, node, _), moves in zip(self._rests.found, self._rests.moves, strict=True):
            for symbol, label, _ in (move for move in moves if move.symbol >= 0):
                name = names[symbol]
                if lines and (name == lines.indent or (name == lines.dedent and self._rests.blocks[node])):
                    of_blocks[label] = None
                else:
                    found[self._numbers.get(name, -1)][label] = None
        if lines and lines.newline in self._numbers:
            found[self._numbers[lines.newline]] |= of_blocks
        return {number: list(contexts) for number, contexts in found.items()}

    def united(self, groups: Sequence[int]) -> TokenGrammar:
        """The grammar with one nonterminal for each class of those that derive the same where they begin.

        ``groups`` are those of the contexts: contexts of one group are not told apart.
        """
        return united_grammar(self._parser, self._rests, groups, self._numbers)
