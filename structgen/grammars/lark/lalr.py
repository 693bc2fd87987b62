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

from structgen.errors import UnsupportedGrammar
from structgen.grammars.lark import tries
from structgen.grammars.lark.classes import alike
from structgen.grammars.lark.indenter import Lines
from structgen.grammars.lark.lexing import Lexer
from structgen.grammars.lark.loading import LalrParser
from structgen.grammars.lark.machines import BARRIER, END, Part, TokenGrammar
from structgen.grammars.lark.terminal_orders import TerminalOrder
from structgen.grammars.limits import checkpoint

__all__ = ["LalrGrammar"]


class LalrGrammar:
    """The parser's transitions by nonterminals, and the contexts of its tokens.

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
        loaded, ends = parser.loaded, parser.tries.ends
        self._parser, self._terminals = parser, numbers
        self._gotos, self._symbols = parser.tables.gotos, parser.tries.symbols
        self._lost = {(state, ends[node]): before for (state, node), before in parser.tables.lost.items()}
        self._by_origin: dict[str, list[LarkRule]] = {}
        for rule in loaded.rules:
            self._by_origin.setdefault(rule.origin.name, []).append(rule)
        self._lines = loaded.lines
        self._contexts: dict[tuple[TerminalOrder, bool], int] = {(parser.order(0), False): 0}
        self._blocks: dict[int, list[tuple[Part, ...] | None]] = {}
        self._barriers: dict[frozenset[int], int] = {}
        self._numbers: dict[tuple[int, str, bool], int] = {}
        self._found: list[tuple[int, str, bool]] = []
        self._productions: list[list[tuple[Part, ...]]] = []
        self._transition(0, loaded.start, False)
        for number, (state, nonterminal, is_inside) in enumerate(self._found):  # grows as it goes
            ways = self._blocks.get(number) or [
                self._parts(state, rule, is_inside) for rule in self._by_origin[nonterminal]
            ]
            self._productions.append([parts for parts in ways if parts is not None])
        self.contexts = [(self._lexer(order, is_inside),) for order, is_inside in self._contexts]
        self.following = self._contexts_after()

    def _contexts_after(self) -> dict[int, list[int]]:
        found: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for productions in self._productions:
            for part in (part for production in productions for part in production if part.is_terminal):
                if part.number != BARRIER:
                    found[part.number][part.context] = None
        if self._lines is not None and self._lines.newline in self._terminals:
            after_newline = found[self._terminals[self._lines.newline]]
            for part in (part for ways in self._productions for parts in ways for part in parts if part.closing >= 0):
                after_newline |= {part.context: None, part.closing: None}
        return {number: list(contexts) for number, contexts in found.items()}

    def _context(self, state: int, is_inside: bool) -> int:
        return self._contexts.setdefault((self._parser.order(state), is_inside), len(self._contexts))

    def _transition(self, state: int, nonterminal: str, is_inside: bool) -> int:
        key = (state, nonterminal, is_inside)
        number = self._numbers.setdefault(key, len(self._found))
        if number == len(self._found):
            self._found.append(key)
        return number

    def _block(self, state: int, name: str, parts: tuple[Part, ...] | None) -> int:
        """A nonterminal for the lines of a block."""
        self._blocks[len(self._found)] = [parts]
        self._found.append((state, name, False))
        return len(self._found) - 1

    def _parts(self, state: int, rule: LarkRule, is_inside: bool) -> tuple[Part, ...] | None:
        """What ``rule`` derives from ``state`` on; ``None`` where a line would have to end inside of brackets."""
        checkpoint()
        found = self._read(state, rule, 0, len(rule.expansion), is_inside)
        if found is None:
            return None
        parts, state = found
        lost = self._lost.get((state, rule))
        if lost:
            names = self._parser.tries.names_of(lost)
            kept = frozenset(END if name == tries.END else self._terminals.get(name, -1) for name in names)
            parts.append(Part(True, BARRIER, self._barriers.setdefault(kept, len(self._barriers))))
        return tuple(parts)

    def _read(self, state: int, rule: LarkRule, place: int, end: int, is_inside: bool) -> tuple[list[Part], int] | None:
        """A part of what ``rule`` derives, and the state after it."""
        parts: list[Part] = []
        depth = 0
        while place < end:
            symbol, inside = rule.expansion[place], is_inside or depth > 0
            if symbol.is_term and self._ends_line(symbol.name) and inside:
                return None
            after = self._gotos[state][self._symbols[symbol.name]]
            if not symbol.is_term:
                parts.append(Part(False, self._transition(state, symbol.name, inside)))
            elif self._lines is not None and symbol.name == self._lines.indent:
                place, first = _end_of_block(rule, place, end, self._lines), place + 1
                block = self._read(after, rule, first, place, False)
                if block is None:
                    return None
                opening, (inner, last) = self._context(after, False), block
                after = self._gotos[last][self._symbols[self._lines.dedent]]
                number = self._block(last, rule.origin.name, tuple(inner))
                parts.append(Part(False, number, opening, self._context(after, False)))
            else:
                depth += _nesting(symbol.name, self._lines)
                if depth < 0:
                    break
                number = self._terminals.get(symbol.name, -1)
                parts.append(Part(True, number, self._context(after, is_inside or depth > 0)))
            state, place = after, place + 1
        if depth:
            raise UnsupportedGrammar(
                f"the rule {rule.origin.name} opens a bracket that it does not close, or closes one that it has not "
                "opened, which is not held where lines are indented; have each pair in one rule"
            )
        return parts, state

    def _ends_line(self, name: str) -> bool:
        return self._lines is not None and name in (self._lines.newline, self._lines.indent, self._lines.dedent)

    def united(self, groups: Sequence[int]) -> TokenGrammar:
        """The grammar with one nonterminal for each class of transitions that derive the same.

        ``groups`` are those of the contexts: contexts of one group are not told apart.
        """
        names = [str(name) for _, name, _ in self._found]

        def renumbered(part: Part, classes: Sequence[int]) -> Part:
            if part.number == BARRIER:
                return part
            if part.is_terminal:
                return part._replace(context=groups[part.context])
            if part.closing < 0:
                return part._replace(number=classes[part.number])
            closing = groups[part.closing]
            return part._replace(number=classes[part.number], context=groups[part.context], closing=closing)

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
        numbers = self._terminals
        of_lines = (-1, -1, -1)
        if self._lines is not None:
            newline, indent, dedent = self._lines.newline, self._lines.indent, self._lines.dedent
            of_lines = (numbers.get(newline, -1), numbers[indent], numbers[dedent])
        names = [names[thing] for thing in order]
        return TokenGrammar(classes[0], names, productions, list(self._barriers), of_lines)

    def _lexer(self, order: TerminalOrder, is_inside: bool) -> Lexer:
        """The lexer of a context; inside of brackets it skips what ends lines elsewhere."""
        numbers = self._terminals
        ignored = frozenset(numbers[name] for name in self._parser.loaded.ignored)
        if is_inside and self._lines is not None and self._lines.newline in numbers:
            ignored |= {numbers[self._lines.newline]}
        terminals = tuple(numbers[name] for name in order.names)
        spellings = tuple((numbers[name], tuple(numbers[one] for one in its)) for name, its in order.spellings.items())
        return Lexer(terminals, spellings, ignored)


def _nesting(name: str, lines: Lines | None) -> int:
    """By how much a terminal changes the number of open brackets."""
    if lines is None:
        return 0
    return (name in lines.opening) - (name in lines.closing)


def _end_of_block(rule: LarkRule, place: int, end: int, lines: Lines) -> int:
    """Where the block ends whose beginning stands at ``place`` in what ``rule`` derives."""
    open_blocks = 0
    for at in range(place, end):
        name = rule.expansion[at].name
        open_blocks += (name == lines.indent) - (name == lines.dedent)
        if not open_blocks:
            return at
    raise UnsupportedGrammar(
        f"the rule {rule.origin.name} has {lines.indent} without {lines.dedent}, which is not held; have both in it"
    )
