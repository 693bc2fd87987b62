"""Grammar text in Lark's syntax, loaded by `lark` itself: rules, terminals, and the tables of its LALR(1) parser."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from lark import Lark
from lark.common import LexerConf, ParserConf
from lark.exceptions import LarkError, UnexpectedInput, UnexpectedToken
from lark.grammar import Rule as LarkRule
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef
from lark.parsers.lalr_analysis import LALR_Analyzer
from lark.parsers.lalr_parser import LALR_Parser

from structgen.errors import InvalidGrammar, UnsupportedGrammar
from structgen.grammars.limits import checkpoint

__all__ = ["Conflict", "Loaded", "LoadedLalr", "TerminalOrder", "load_earley", "load_lalr"]

_PLACE = re.compile(r"(?s)(.*?),? at line (\d+),? column (\d+)")
_NAME = re.compile(r"'(\w+)'")


class Conflict(UnsupportedGrammar):
    """The grammar is not LALR(1)."""


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
    """Lark's parser, of a grammar without conflicts: Lark resolves some in favour of one way to parse."""

    def __init__(self, parser_conf: ParserConf, debug: bool = False, strict: bool = False) -> None:
        checkpoint()
        analyzer = LALR_Analyzer(parser_conf, debug=debug, strict=strict)
        analyzer.compute_lr0_states()
        analyzer.compute_reads_relations()
        analyzer.compute_includes_lookback()
        analyzer.compute_lookaheads()
        for state in analyzer.lr0_itemsets:
            for symbol, rules in state.lookaheads.items():
                if len(rules) > 1 or symbol in state.transitions:
                    _conflict(symbol.name, sorted(rules, key=lambda rule: (rule.origin.name, rule.order)))
        analyzer.compute_lalr1_states()
        self.table = analyzer.parse_table
        self._parse_table = self.table  # where Lark looks for it


class _Lexers(ContextualLexer):
    """Lark's contextual lexer; its terminals have been checked, and need not be in each context."""

    def __init__(
        self, conf: LexerConf, states: dict[int, Collection[str]], always_accept: Collection[str] = ()
    ) -> None:
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
    """

    def __init__(self, lark: Lark, start: str, parser: _Parser, lexers: _Lexers, name: str) -> None:
        super().__init__(lark)
        table = cast("Any", parser.table)
        self.actions: dict[int, dict[str, tuple[Any, Any]]] = table.states
        self.first: int = table.start_states[start]
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


def load_lalr(text: str, start: str, name: str) -> LoadedLalr:
    """Load a grammar for Lark's LALR(1) parser and contextual lexer.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with its name, line and column.
    Conflict
        It is not LALR(1): the message names the rules.
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
        lark = Lark(text, start=start, source_path=name, parser="lalr", edit_terminals=_check, _plugins=plugins)
    return LoadedLalr(lark, start, parsers[0], lexers[0], name)


def load_earley(text: str, start: str, name: str) -> Loaded:
    """Load a grammar for Lark's Earley parser with ``lexer="dynamic_complete"``.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with its name, line and column.
    """
    with _reading(name, text):
        lark = Lark(
            text, start=start, source_path=name, parser="earley", lexer="dynamic_complete", edit_terminals=_check
        )
    return Loaded(lark)


def _check(terminal: TerminalDef) -> None:
    """Refuse what Lark refuses in a terminal."""
    checkpoint()
    try:
        re.compile(terminal.pattern.to_regexp())
    except re.error as error:
        raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' is malformed: {error}") from error
    if terminal.pattern.min_width == 0:
        raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' may be empty, which Lark does not take")


def _conflict(terminal: str, rules: list[LarkRule]) -> NoReturn:
    written = " and ".join(f"{rule.origin.name}: {' '.join(one.name for one in rule.expansion)}" for rule in rules)
    raise Conflict(
        f"the grammar is not LALR(1): before {terminal} it cannot be told whether {written} has ended; "
        'write the rules otherwise, or use parser="earley"'
    )


@contextmanager
def _reading(name: str, text: str) -> Generator[None]:
    """Turn the errors of `lark` into ours, with the grammar's name, the line and the column."""
    try:
        yield
    except Conflict as error:
        raise Conflict(f"{name}: {error}") from None
    except InvalidGrammar as error:
        raise _invalid(str(error), name, text) from error.__cause__
    except UnexpectedInput as error:
        raise InvalidGrammar(f"{name}, line {error.line}, column {error.column}: {_what(error)}") from error
    except (LarkError, re.error, OSError, ValueError, TypeError, AssertionError) as error:  # `lark` raises them all
        raise _invalid(str(error) or type(error).__name__, name, text) from error


def _what(error: UnexpectedInput) -> str:
    """What is there, and what was expected."""
    found = (
        f"unexpected {str(cast('object', error.token))!r}"
        if isinstance(error, UnexpectedToken)
        else str(error).splitlines()[0]
    )
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
