"""Grammar text in Lark's syntax, loaded by `lark` itself: rules, terminals, and the tables of its LALR(1) parser."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from lark import Lark
from lark.common import LexerConf, ParserConf
from lark.exceptions import GrammarError, LarkError, UnexpectedInput, VisitError
from lark.grammar import Rule as LarkRule
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef
from lark.parsers.lalr_analysis import LALR_Analyzer
from lark.parsers.lalr_parser import LALR_Parser

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.lark.indenter import Lines
from structgen.grammars.limits import checked_at_calls, checkpoint

__all__ = ["Conflict", "Loaded", "LoadedLalr", "TerminalOrder", "load_earley", "load_lalr"]

_PLACE = re.compile(r"(?s)(.*?),? at line (\d+),? column (\d+)")
_NAME = re.compile(r"'(\w+)'")


class Conflict(InvalidGrammar):
    """The grammar is not LALR(1), and Lark does not know how to decide."""


class Loaded:
    """What `lark` has made of a grammar.

    Parameters
    ----------
    lark : Lark
        The parser.

    Attributes
    ----------
    rules : list of lark.grammar.Rule
        Productions, written out.
    terminals : list of lark.lexer.TerminalDef
        Those that are used, or ignored.
    ignored : list of str
        Names of terminals.
    """

    def __init__(self, lark: Lark) -> None:
        self.rules: list[LarkRule] = list(lark.rules)
        self.terminals: list[TerminalDef] = list(lark.terminals)
        self.ignored: list[str] = [str(name) for name in lark.ignore_tokens]


class _Parser(LALR_Parser):
    """Lark's parser, which remembers the conflicts that Lark has decided.

    Attributes
    ----------
    lost : dict
        Of a state and a rule that could end there, the terminals before which Lark reads on, or ends another rule.
    """

    def __init__(self, parser_conf: ParserConf, debug: bool = False, strict: bool = False) -> None:
        checkpoint()
        analyzer = LALR_Analyzer(parser_conf, debug=debug, strict=strict)
        analyzer.compute_lalr()
        self.table = self._parse_table = analyzer.parse_table  # the latter is where Lark looks for it
        numbers = {
            state: number for number, state in enumerate({state.closure: None for state in analyzer.lr0_itemsets})
        }
        self.lost: defaultdict[tuple[int, LarkRule], set[str]] = defaultdict(set)
        for state in analyzer.lr0_itemsets:
            actions = cast("Any", self.table).states[numbers[state.closure]]
            for symbol, rules in state.lookaheads.items():
                for rule in rules:
                    if actions[symbol.name][1] != rule:
                        self.lost[numbers[state.closure], rule].add(symbol.name)


class _Lexers(ContextualLexer):
    """Lark's contextual lexer, its terminals checked once and not in each context."""

    def __init__(
        self, conf: LexerConf, states: dict[int, Collection[str]], always_accept: Collection[str] = ()
    ) -> None:
        taken = {name for accepts in states.values() for name in accepts}.union(conf.ignore, always_accept)
        for terminal in conf.terminals:
            if terminal.name in taken:
                _check_width(terminal)
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)


@dataclass(frozen=True, eq=False)
class TerminalOrder:
    """What one of Lark's lexers tries. Told apart by identity.

    Attributes
    ----------
    names : tuple of str
        The terminals, in order.
    spellings : mapping
        Of some of them, in order, the terminals that a token is instead where it is just their text: keywords.
    """

    names: tuple[str, ...]
    spellings: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, lexer: BasicLexer) -> TerminalOrder:
        """That of ``lexer``."""
        terminals = cast("list[TerminalDef]", lexer.scanner.terminals)
        callbacks: dict[str, Any] = lexer.callback
        spellings = {
            name: tuple(terminal.name for terminal in callback.scanner.terminals)
            for name, callback in callbacks.items()
        }
        return cls(tuple(terminal.name for terminal in terminals), spellings)


class LoadedLalr(Loaded):
    """A grammar with its LALR(1) parser.

    Attributes
    ----------
    actions : dict
        Of each state of the parser, by the name of a symbol, what is done: ``(kind, state or rule)``.
    first : int
        The state where a text begins.
    lost : dict
        Of a state and a rule that could end there, the terminals before which it does not: those of conflicts, which
        Lark decides for reading on, or for the rule of higher priority. Empty where the grammar is LALR(1).
    lines : Lines or None
        How indentation is read.
    """

    def __init__(
        self, lark: Lark, start: str, parser: _Parser, lexers: _Lexers, name: str, lines: Lines | None
    ) -> None:
        super().__init__(lark)
        self.lines = lines
        table = cast("Any", parser.table)
        self.actions: dict[int, dict[str, tuple[Any, Any]]] = table.states
        self.first: int = table.start_states[start]
        self.lost: dict[tuple[int, LarkRule], set[str]] = dict(parser.lost)
        self._lexers, self._name = cast("dict[int, BasicLexer]", lexers.lexers), name
        self._orders: dict[BasicLexer, TerminalOrder] = {}

    def order(self, state: int) -> TerminalOrder:
        """What the lexer of a state tries; states whose lexers take the same share it.

        Raises
        ------
        InvalidGrammar
            Python's `re` does not take the terminals together.
        """
        lexer = self._lexers[state]
        if lexer not in self._orders:
            try:
                self._orders[lexer] = TerminalOrder.of(lexer)
            except re.error as error:
                raise InvalidGrammar(f"{self._name}: the terminals cannot be tried together: {error}") from error
        return self._orders[lexer]


def load_lalr(text: str, start: str, name: str, lines: Lines | None = None) -> LoadedLalr:
    """Load a grammar for Lark's LALR(1) parser and contextual lexer, with an indenter where there are ``lines``.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with its name, line and column.
    Conflict
        It is not LALR(1), and Lark does not decide for one way to read it; the message names the rules.
    """
    parsers: list[_Parser] = []
    lexers: list[_Lexers] = []

    def parser(*args: Any, **kwargs: Any) -> _Parser:
        parsers.append(_Parser(*args, **kwargs))
        return parsers[0]

    def lexer(*args: Any, **kwargs: Any) -> _Lexers:
        lexers.append(_Lexers(*args, **kwargs))
        return lexers[0]

    plugins = {"LALR_Parser": parser, "ContextualLexer": lexer}
    with _reading(name, text):
        lark = Lark(
            text,
            start=start,
            source_path=name,
            parser="lalr",
            edit_terminals=_check,
            postlex=None if lines is None else lines.as_indenter(),
            _plugins=plugins,
        )
    return LoadedLalr(lark, start, parsers[0], lexers[0], name, lines)


def load_earley(text: str, start: str, name: str) -> Loaded:
    """Load a grammar for Lark's Earley parser with ``lexer="dynamic_complete"``.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with its name, line and column.
    """
    with _reading(name, text):
        lark = Lark(
            text, start=start, source_path=name, parser="earley", lexer="dynamic_complete", edit_terminals=_check_both
        )
    return Loaded(lark)


def _check(terminal: TerminalDef) -> None:
    """Refuse a terminal that is no pattern."""
    checkpoint()
    try:
        re.compile(terminal.pattern.to_regexp())
    except re.error as error:
        raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' is malformed: {error}") from error


def _check_width(terminal: TerminalDef) -> None:
    if terminal.pattern.min_width == 0:
        raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' may be empty, which Lark does not take")


def _check_both(terminal: TerminalDef) -> None:
    _check(terminal)
    _check_width(terminal)


@contextmanager
def _reading(name: str, text: str) -> Generator[None]:
    """Turn the errors of `lark` into ours, with the grammar's name, the line and the column."""
    try:
        with checked_at_calls():
            yield
    except VisitError as error:
        first = error
        while isinstance(first.orig_exc, VisitError):  # a visitor within another
            first = first.orig_exc
        if isinstance(first.orig_exc, GrammarLimitExceeded):
            raise first.orig_exc from None
        raise _invalid(str(first.orig_exc) or f"this {first.rule} is malformed", name, text) from error
    except InvalidGrammar as error:
        raise _invalid(str(error), name, text) from error.__cause__
    except UnexpectedInput as error:
        raise InvalidGrammar(f"{name}, line {error.line}, column {error.column}: {_what(error)}") from error
    except GrammarError as error:
        if "Reduce/Reduce" in str(error):
            raise Conflict(f"{name}: not LALR(1): {' '.join(str(error).split())}") from error
        raise _invalid(str(error), name, text) from error
    except (LarkError, re.error, OSError, ValueError, TypeError, AssertionError) as error:  # `lark` raises them all
        raise _invalid(str(error) or type(error).__name__, name, text) from error


def _what(error: UnexpectedInput) -> str:
    """What is there, and what was expected."""
    token: object = getattr(error, "token", None)
    found = str(error).splitlines()[0] if token is None else f"unexpected {str(token)!r}"
    expected: set[str] = getattr(error, "accepts", None) or getattr(error, "expected", None) or set()
    names = sorted(name.strip("_").lower() for name in expected)
    return f"{found}; expected {', '.join(names)}" if names else found


def _invalid(message: str, name: str, text: str) -> InvalidGrammar:
    """With the place that the message says, or that of the rule or terminal that it names."""
    placed = _PLACE.match(message)
    if placed:
        return InvalidGrammar(f"{name}, line {placed[2]}, column {placed[3]}: {placed[1]}")
    what, named = message.splitlines()[0], _NAME.search(message)
    at = _place_of(named[1], text) if named else None
    if at is None:
        return InvalidGrammar(f"{name}: {what}")
    lines = text[:at].split("\n")
    return InvalidGrammar(f"{name}, line {len(lines)}, column {len(lines[-1]) + 1}: {what}")


def _place_of(symbol: str, text: str) -> int | None:
    """Where a symbol is defined for the last time, or where it is used if it is not."""
    definitions = re.finditer(rf"(?m)^[ \t]*[?!]*({re.escape(symbol)})\b[^:\n]*:", text)
    place = next((found.start(1) for found in reversed(list(definitions))), None)
    if place is None:
        used = re.search(rf"\b{re.escape(symbol)}\b", text)
        place = used.start() if used else None
    return place
