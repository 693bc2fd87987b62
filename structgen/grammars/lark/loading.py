"""Grammar text in Lark's syntax, loaded by `lark` itself: rules and terminals, and the LALR(1) parser of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from lark.exceptions import GrammarError, LarkError, UnexpectedInput, VisitError
from lark.grammar import Rule as LarkRule
from lark.lexer import PatternStr, TerminalDef

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.lark.imports import loaded_grammar
from structgen.grammars.lark.indenter import Lines
from structgen.grammars.lark.runs import Runs, RunSpec, runs_of
from structgen.grammars.lark.tables import Conflict, Tables, lalr_tables
from structgen.grammars.lark.terminal_orders import TerminalOrder, TerminalOrders
from structgen.grammars.lark.tries import Tries
from structgen.grammars.limits import checked_at_calls, checkpoint

__all__ = ["LalrParser", "Loaded", "check_widths", "lalr_parser", "load"]

_PLACE = re.compile(r"(?s)(.*?),? at line (\d+),? column (\d+)")
_NAME = re.compile(r"'(\w+)'")


class Loaded(NamedTuple):
    """What `lark` has made of a grammar."""

    text: str
    start: str
    name: str
    """For messages, and where imports are looked for."""
    lines: Lines | None
    """How indentation is read."""
    rules: list[LarkRule]
    """Productions, written out."""
    terminals: list[TerminalDef]
    """Those that are used, or ignored, or end lines."""
    ignored: list[str]
    """Names of terminals."""
    runs: Mapping[int, Runs]
    """What characters of private use stand for in terminals, by code point."""


class LalrParser:
    """Lark's LALR(1) parser of a grammar, with its contextual lexer.

    Attributes
    ----------
    loaded : Loaded
        The grammar.
    tries : Tries
        Its productions.
    tables : Tables
        What the parser does.
    """

    def __init__(self, loaded: Loaded, tries: Tries, tables: Tables, always: Collection[str]) -> None:
        self.loaded, self.tries, self.tables = loaded, tries, tables
        self._orders = TerminalOrders(loaded.terminals, always, loaded.runs.values())
        self._by_accepts: dict[int, TerminalOrder] = {}

    def order(self, state: int) -> TerminalOrder:
        """What the lexer of a state tries.

        Raises
        ------
        InvalidGrammar
            Python's `re` does not take the terminals together.
        """
        accepts = self.tables.accepts[state]
        if accepts not in self._by_accepts:
            try:
                self._by_accepts[accepts] = self._orders.order(self.tries.names_of(accepts))
            except InvalidGrammar as error:
                raise InvalidGrammar(f"{self.loaded.name}: {error}") from error
        return self._by_accepts[accepts]


def load(
    text: str, start: str, name: str, lines: Lines | None = None, runs: Mapping[str, RunSpec] | None = None
) -> Loaded:
    """Load a grammar.

    Parameters
    ----------
    text : str
        The grammar.
    start : str
        The rule that a text must match.
    name : str
        Of the grammar, for messages; imports are looked for in its folder.
    lines : Lines, optional
        How indentation is read.
    runs : mapping, optional
        What characters of private use stand for in terminals.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with its name, line and column.
    """
    stand_ins = {ord(char): runs_of(spec, char) for char, spec in (runs or {}).items()}
    with _reading(name, text):
        grammar = loaded_grammar(text, name)
        terminals, rules, ignored = cast("Any", grammar).compile([start], set() if lines is None else {lines.newline})
        for terminal in terminals:
            _check(terminal)
        _check_rules(rules, start)
    return Loaded(text, start, name, lines, rules, terminals, [str(one) for one in ignored], stand_ins)


def lalr_parser(loaded: Loaded) -> LalrParser:
    """The parser that Lark makes with ``parser="lalr"``.

    Raises
    ------
    InvalidGrammar
        A terminal may be empty.
    Conflict
        The grammar is not LALR(1), and Lark does not decide for one way to read it; the message names the rules.
    """
    tries = Tries(loaded.rules, loaded.start)
    try:
        tables = lalr_tables(tries)
    except Conflict as error:
        raise Conflict(f"{loaded.name}: not LALR(1): {error}") from error
    always = [*loaded.ignored, *([] if loaded.lines is None else [loaded.lines.newline])]
    accepted = {name for accepts in set(tables.accepts) for name in tries.names_of(accepts)}.union(always)
    check_widths(loaded, [one for one in loaded.terminals if one.name in accepted])
    return LalrParser(loaded, tries, tables, always)


def check_widths(loaded: Loaded, terminals: list[TerminalDef]) -> None:
    """Refuse terminals that may be empty.

    Raises
    ------
    InvalidGrammar
        The first of them.
    """
    with _reading(loaded.name, loaded.text):
        for terminal in terminals:
            if terminal.pattern.min_width == 0:
                raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' may be empty, which Lark does not take")


def _check(terminal: TerminalDef) -> None:
    """Refuse a terminal that is no pattern."""
    checkpoint()
    if isinstance(terminal.pattern, PatternStr):
        return
    try:
        re.compile(terminal.pattern.to_regexp())
    except re.error as error:
        raise InvalidGrammar(f"the terminal '{terminal.user_repr()}' is malformed: {error}") from error


def _check_rules(rules: list[LarkRule], start: str) -> None:
    """Refuse nonterminals without a production."""
    known = {rule.origin.name for rule in rules}
    for name in (*(one.name for rule in rules for one in rule.expansion if not one.is_term), start):
        if name not in known:
            raise InvalidGrammar(f"Using an undefined rule: NonTerminal('{name}')")


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
