"""Productions of nonterminals as tries, symbols as numbers: what LR automata and grammars of tokens are made from.

Items of one nonterminal whose productions agree up to the dot are together in any state of an LR(0) automaton, as a
closure takes all productions of a nonterminal. So the node of a trie stands for all of them: ``a? b? c? d`` is eight
productions of 28 items, and 16 nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lark.grammar import Rule as LarkRule

from structgen.grammars.limits import checkpoint

__all__ = ["END", "Tries"]

END = "$END"
"""Lark's name of the terminal at the end of a text."""


class Tries:
    """The productions of a grammar.

    Parameters
    ----------
    rules : sequence of lark.grammar.Rule
        The productions.
    start : str
        The nonterminal that a text must match. Each has a production.

    Attributes
    ----------
    terminals, nonterminals : list of str
        Names by number; `END` is the last of the terminals, and a nonterminal that is just the start the last one. A
        symbol is the number of a terminal, or ``~`` that of a nonterminal.
    symbols : dict of str to int
        By name.
    start : int
        A symbol.
    children : list of dict
        Of each node, by symbol, the node after it. The first nodes are the roots, that of a nonterminal has its number.
    ends : list of lark.grammar.Rule or None
        Of each node the production that is complete there.
    origins : list of int
        Of each node its nonterminal.
    nullable : list of bool
        Of each node whether what is left after it may be nothing.
    """

    def __init__(self, rules: Sequence[LarkRule], start: str) -> None:
        self.nonterminals = list(dict.fromkeys(str(rule.origin.name) for rule in rules))
        self.symbols: dict[str, int] = {name: ~number for number, name in enumerate(self.nonterminals)}
        self.terminals = list(dict.fromkeys(str(one.name) for rule in rules for one in rule.expansion if one.is_term))
        self.symbols |= {name: number for number, name in enumerate(self.terminals)}
        self.terminals.append(END)
        self.nonterminals.append(f"$root_{start}")
        self.origins = list(range(len(self.nonterminals)))
        self.children: list[dict[int, int]] = [{} for _ in self.origins]
        self.ends: list[LarkRule | None] = [None] * len(self.origins)
        for rule in rules:
            checkpoint()
            node = self._node(~self.symbols[rule.origin.name], (self.symbols[one.name] for one in rule.expansion))
            self.ends[node] = rule
        self.start = self.symbols[start]
        self._node(len(self.nonterminals) - 1, (self.start,))
        self._find_nullable()

    def names_of(self, terminals: int) -> list[str]:
        """The names of terminals given as bits."""
        return [name for number, name in enumerate(self.terminals) if terminals >> number & 1]

    def _node(self, origin: int, expansion: Iterable[int]) -> int:
        """The node of a nonterminal after these symbols."""
        node = origin
        for symbol in expansion:
            after = self.children[node].get(symbol, -1)
            if after < 0:
                after = self.children[node][symbol] = len(self.children)
                self.children.append({})
                self.origins.append(origin)
                self.ends.append(None)
            node = after
        return node

    def _find_nullable(self) -> None:
        self.nullable = [rule is not None for rule in self.ends]
        is_new = True
        while is_new:
            is_new = False
            for node in range(len(self.children) - 1, -1, -1):  # what is after a node has a higher number
                if not self.nullable[node] and any(
                    symbol < 0 and self.nullable[~symbol] and self.nullable[after]
                    for symbol, after in self.children[node].items()
                ):
                    self.nullable[node] = is_new = True
