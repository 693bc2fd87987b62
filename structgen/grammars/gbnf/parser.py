"""From the text of a GBNF grammar to rules."""

from __future__ import annotations

import re

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import charset
from structgen.grammars.expr import (
    Alternation,
    Expr,
    Literal,
    Repetition,
    Rule,
    Sequence,
    alternation,
    call,
    literal,
    repetition,
    sequence,
    special_token,
)
from structgen.grammars.gbnf.symbols import Symbol, Symbols
from structgen.grammars.limits import checkpoint
from structgen.grammars.utf8 import utf8
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Parser"]

_MOST_NESTED = 100
"""Groups within groups and repetitions of repetitions, at most."""
_MOST_SYMBOLS = 100_000
"""Symbols of a rule with its repetitions written out, at most."""
_COUNTS = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*([0-9]+)?\s*)?\}")
_TOKEN_ID = re.compile(r"<\[([0-9]{1,10})\]>")


class Parser:
    """Reads a grammar. Rules call each other by name, so that one may be used before it is defined.

    Parameters
    ----------
    text : str
        The grammar.
    vocabulary : TokenVocabulary
        Whose special tokens it may name.
    """

    symbols = Symbols
    """What reads the text."""

    def __init__(self, text: str, vocabulary: TokenVocabulary) -> None:
        self._source, self._vocabulary = self.symbols(text), vocabulary
        self._symbols = list(self._source)
        self._place = self._depth = 0
        self._bodies: dict[str, Expr] = {}
        self._rules: dict[str, Rule] = {}
        self._named: dict[str, int] = {}

    def grammar(self) -> dict[str, Rule]:
        """The rules by name.

        Raises
        ------
        InvalidGrammar
            It is malformed, or names what there is not.
        GrammarLimitExceeded
            It is nested too deeply, or repeats too often.
        """
        self._skip_lines()
        while self._next.kind != "end":
            self._definition()
            self._skip_lines()
        for name, at in self._named.items():
            if name not in self._bodies:
                self._source.fail(f"there is no rule {name!r}", at)
        return {name: self._rule(name) for name in self._bodies}

    @property
    def _next(self) -> Symbol:
        return self._symbols[self._place]

    def _skip_lines(self) -> None:
        while self._next.kind == "line":
            self._place += 1

    def _take(self, kind: str, what: str) -> Symbol:
        symbol = self._next
        if symbol.kind != kind:
            self._source.fail(f"expected {what}, not {symbol.text!r}", symbol.at)
        self._place += 1
        return symbol

    def _rule(self, name: str) -> Rule:
        if name not in self._rules:
            self._rules[name] = Rule(name, lambda: self._bodies[name])
        return self._rules[name]

    def _definition(self) -> None:
        name = self._take("name", "the name of a rule")
        if name.text in self._bodies:
            self._source.fail(f"the rule {name.text!r} is defined twice", name.at)
        self._take("defined", "::=")
        self._skip_lines()
        self._bodies[name.text] = body = self._alternatives()
        if not self._is_over():
            self._source.fail(f"unexpected {self._next.text!r}", self._next.at)
        if _symbols_of(body) > _MOST_SYMBOLS:
            where = self._source.where(name.at)
            raise GrammarLimitExceeded(
                f"{where}: {name.text!r} has over {_MOST_SYMBOLS:,} symbols, repetitions written out"
            )

    def _is_over(self) -> bool:
        """Whether a rule may end here."""
        return self._next.kind in ("line", "end") or self._symbols[self._place - 1].kind == "line"

    def _alternatives(self) -> Expr:
        found = [self._sequence()]
        while self._continues_with("|"):
            self._place += 1
            self._skip_lines()
            found.append(self._sequence())
        return alternation(*found)

    def _continues_with(self, mark: str) -> bool:
        """Whether ``mark`` comes next, on this line or a later one."""
        place = self._place
        self._skip_lines()
        if not self._next.is_mark(mark):
            self._place = place
            return False
        return True

    def _sequence(self) -> Expr:
        parts: list[Expr] = []
        while True:
            checkpoint()
            if self._depth:
                self._skip_lines()
            part = self._element()
            if part is None:
                return sequence(*parts)
            parts.append(self._repeated(part))

    def _element(self) -> Expr | None:
        symbol = self._next
        if symbol.is_mark("("):
            return self._group()
        found = self._single(symbol)
        if found is not None:
            self._place += 1
        return found

    def _single(self, symbol: Symbol) -> Expr | None:
        """What one symbol stands for, if it does for anything."""
        if symbol.kind == "literal":
            return literal(self._source.literal(symbol))
        if symbol.kind == "characters":
            return utf8(self._source.characters(symbol))
        if symbol.kind == "token":
            return special_token(self._token(symbol))
        if symbol.kind == "name" and self._symbols[self._place + 1].kind != "defined":  # the next rule otherwise
            self._named.setdefault(symbol.text, symbol.at)
            return call(self._rule(symbol.text))
        return utf8(charset.ALL) if symbol.is_mark(".") else None

    def _token(self, symbol: Symbol) -> int:
        by_id = _TOKEN_ID.fullmatch(symbol.text)
        known = self._vocabulary.special_tokens
        ids = [int(by_id[1])] if by_id else [one for one, name in known.items() if name == symbol.text]
        if not ids or ids[0] not in known:
            self._source.fail(f"{symbol.text} is no special token of the vocabulary", symbol.at)
        return ids[0]

    def _group(self) -> Expr:
        opening = self._next
        self._place += 1
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise self._too_deep("groups", opening)
        found = self._alternatives()
        if not self._continues_with(")"):
            self._source.fail("this parenthesis is not closed", opening.at)
        self._place += 1
        self._depth -= 1
        return found

    def _too_deep(self, what: str, symbol: Symbol) -> GrammarLimitExceeded:
        return GrammarLimitExceeded(f"{self._source.where(symbol.at)}: {what} are nested over {_MOST_NESTED} deep")

    def _repeated(self, part: Expr) -> Expr:
        for _ in range(_MOST_NESTED):
            place = self._place
            if self._depth:
                self._skip_lines()
            counts = self._counts(self._next)
            if counts is None:
                self._place = place
                return part
            self._place += 1
            part = repetition(part, *counts)
        raise self._too_deep("repetitions", self._next)

    def _counts(self, symbol: Symbol) -> tuple[int, int | None] | None:
        """How often what comes before ``symbol`` comes, if that is what it says."""
        if symbol.is_mark("*", "+", "?"):
            return int(symbol.text == "+"), 1 if symbol.text == "?" else None
        if symbol.kind != "counts":
            return None
        found = _COUNTS.fullmatch(symbol.text)
        if found is None:
            self._source.fail(f"{symbol.text} is not {{n}}, {{n,}} or {{n,m}}", symbol.at)
        low = _number(found[1])
        high = low if found[2] is None else None if found[3] is None else _number(found[3])
        if high is not None and high < low:
            self._source.fail(f"{symbol.text} counts down", symbol.at)
        return low, high


def _number(digits: str) -> int:
    """The number, or one that is beyond the limit as well."""
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) < 10 else 10**9


def _symbols_of(expr: Expr) -> int:
    if isinstance(expr, Literal):
        return len(expr.text)
    if isinstance(expr, (Sequence, Alternation)):
        return sum(map(_symbols_of, expr.parts))
    if isinstance(expr, Repetition):
        return _symbols_of(expr.part) * (expr.low + 1 if expr.high is None else expr.high)
    return 1
