"""A grammar with its LALR(1) parser and contextual lexer to a grammar of tokens that knows the contexts.

Lark reads each token with the lexer of the state that the token before it was shifted to. So a symbol is told apart by
the state that the parser is in before it: after a terminal, that state says which lexer is next. Where the table has no
conflict, the parser takes what the grammar derives, and nothing of it but these contexts is needed (as the nonterminal
transitions of DeRemer and Pennello 1982). Where it has, a rule that lost cannot end before the terminal that it lost:
a barrier keeps that from coming next. Symbols that derive the same from two states are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lark.grammar import Rule as LarkRule

from structgen.grammars.lark.classes import alike
from structgen.grammars.lark.lexing import Lexer
from structgen.grammars.lark.loading import LoadedLalr, TerminalOrder
from structgen.grammars.lark.product import BARRIER, END, Part, TokenGrammar
from structgen.grammars.limits import checkpoint

__all__ = ["LalrGrammar"]


class LalrGrammar:
    """The parser's transitions by nonterminals, and the contexts of its tokens.

    Parameters
    ----------
    loaded : LoadedLalr
        The grammar.
    start : str
        The rule that a text must match.
    numbers : dict
        Of the terminals by name.

    Attributes
    ----------
    contexts : list of tuple of Lexer
        By number; the first is that of the beginning of a text.
    following : dict
        Of each terminal the contexts that it may lead to.
    """

    def __init__(self, loaded: LoadedLalr, start: str, numbers: dict[str, int]) -> None:
        self._loaded, self._terminals = loaded, numbers
        self._by_origin: dict[str, list[LarkRule]] = {}
        for rule in loaded.rules:
            self._by_origin.setdefault(rule.origin.name, []).append(rule)
        self._orders = {loaded.order(loaded.first): 0}
        self._barriers: dict[frozenset[int], int] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._found: list[tuple[int, str]] = []
        self._productions: list[list[tuple[Part, ...]]] = []
        self._transition(loaded.first, start)
        for state, nonterminal in self._found:  # grows as it goes
            self._productions.append([self._parts(state, rule) for rule in self._by_origin[nonterminal]])
        ignored = frozenset(numbers[name] for name in loaded.ignored)
        self.contexts = [(self._lexer(order, ignored),) for order in self._orders]
        self.following = self._contexts_after()

    def _contexts_after(self) -> dict[int, list[int]]:
        found: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for productions in self._productions:
            for part in (part for production in productions for part in production if part.is_terminal):
                if part.number != BARRIER:
                    found[part.number][part.context] = None
        return {number: list(contexts) for number, contexts in found.items()}

    def _context(self, state: int) -> int:
        return self._orders.setdefault(self._loaded.order(state), len(self._orders))

    def _transition(self, state: int, nonterminal: str) -> int:
        number = self._numbers.setdefault((state, nonterminal), len(self._found))
        if number == len(self._found):
            self._found.append((state, nonterminal))
        return number

    def _parts(self, state: int, rule: LarkRule) -> tuple[Part, ...]:
        """What ``rule`` derives from ``state`` on."""
        checkpoint()
        parts: list[Part] = []
        for symbol in rule.expansion:
            after: int = self._loaded.actions[state][symbol.name][1]
            if symbol.is_term:
                parts.append(Part(True, self._terminals.get(symbol.name, -1), self._context(after)))
            else:
                parts.append(Part(False, self._transition(state, symbol.name)))
            state = after
        lost = self._loaded.lost.get((state, rule))
        if lost:
            kept = frozenset(END if name == "$END" else self._terminals.get(name, -1) for name in lost)
            parts.append(Part(True, BARRIER, self._barriers.setdefault(kept, len(self._barriers))))
        return tuple(parts)

    def united(self, groups: Sequence[int]) -> TokenGrammar:
        """The grammar with one nonterminal for each class of transitions that derive the same.

        ``groups`` are those of the contexts: contexts of one group are not told apart.
        """
        names = [str(name) for _, name in self._found]

        def renumbered(part: Part, classes: Sequence[int]) -> Part:
            if part.number == BARRIER:
                return part
            if part.is_terminal:
                return part._replace(context=groups[part.context])
            return part._replace(number=classes[part.number])

        def signature(thing: int, classes: Sequence[int]) -> object:
            its = self._productions[thing]
            return names[thing], tuple(tuple(renumbered(part, classes) for part in parts) for parts in its)

        classes = alike(len(names), signature)
        members = {its: thing for thing, its in reversed(list(enumerate(classes)))}
        order = [members[one] for one in range(len(members))]
        productions = [
            [tuple(renumbered(part, classes) for part in parts) for parts in self._productions[thing]]
            for thing in order
        ]
        return TokenGrammar(classes[0], [names[thing] for thing in order], productions, list(self._barriers))

    def _lexer(self, order: TerminalOrder, ignored: frozenset[int]) -> Lexer:
        numbers = self._terminals
        terminals = tuple(numbers[name] for name in order.names)
        spellings = tuple((numbers[name], tuple(numbers[one] for one in its)) for name, its in order.spellings.items())
        return Lexer(terminals, spellings, ignored)
