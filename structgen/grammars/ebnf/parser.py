"""From the text of an EBNF grammar to rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing_extensions import override

from structgen.grammars.ebnf.arguments import Arguments
from structgen.grammars.ebnf.symbols import EbnfSymbols
from structgen.grammars.expr import Expr, Rule, alternation, call, special_token
from structgen.grammars.gbnf.parser import Parser
from structgen.grammars.gbnf.symbols import Symbol
from structgen.grammars.structural_tag.regions import NO_ENDS, Marker, Region, Trigger

__all__ = ["EbnfParser"]

_MACROS = frozenset({"TagDispatch", "TokenTagDispatch", "Token", "ExcludeToken"})
_DIGITS = 10
"""Of a token id at most; a longer number is no token of any vocabulary."""


class EbnfParser(Parser):
    """Reads a grammar, as `Parser` does. See `structgen.grammars.ebnf` for what is not the same."""

    symbols = EbnfSymbols

    @override
    def _is_over(self) -> bool:
        return self._next.kind in ("name", "end")  # of the next rule: any other would have been read

    @override
    def _element(self) -> Expr | None:
        symbol, after = self._next, self._symbols[min(self._place + 1, len(self._symbols) - 1)]
        if symbol.is_mark("(") and after.is_mark("="):
            self._source.fail("a lookahead assertion is a hint for XGrammar and not held there; drop it", symbol.at)
        if symbol.kind == "name" and symbol.text in _MACROS and after.is_mark("("):
            arguments = Arguments(self._source, self._symbols, self._place + 1)
            self._place = arguments.end
            return self._macro(symbol, arguments)
        return super()._element()

    def _macro(self, name: Symbol, arguments: Arguments) -> Expr:
        if name.text == "Token":
            arguments.no_others()
            return alternation(*(special_token(self._special(one)) for one in arguments.items("number", 0)))
        if name.text == "ExcludeToken":
            self._source.fail("any token but some is no text; name the special tokens that may come", name.at)
        region = self._region(arguments, of_tokens=name.text == "TokenTagDispatch")
        expr = region.expr(NO_ENDS, is_last=True)
        return call(Rule(name.text, lambda: expr))

    def _region(self, arguments: Arguments, *, of_tokens: bool) -> Region:
        """Prose, and what its triggers lead to."""
        kind = "number" if of_tokens else "literal"
        triggers = [(one, self._marker(one), rule) for one, rule in arguments.pairs(kind)]
        excludes = [self._marker(one) for one in arguments.listed("excludes", kind)]
        loops = arguments.flag("loop_after_dispatch")
        arguments.no_others("loop_after_dispatch", "excludes")
        self._check([(one, marker) for one, marker, _ in triggers], excludes)
        return Region(
            [Trigger(marker, marker, self._called(rule)) for _, marker, rule in triggers],
            excludes=tuple(one for one in excludes if isinstance(one, bytes)),
            tokens=self._free([*(marker for _, marker, _ in triggers), *excludes]) if of_tokens else (),
            stop_after_first=not loops,
        )

    def _check(self, triggers: Sequence[tuple[Symbol, Marker]], excludes: Iterable[Marker]) -> None:
        """Which marker comes first must never be a question."""
        for symbol, marker in triggers:
            if any(_begins(marker, one) for one in excludes):
                self._source.fail(f"the trigger {symbol.text} begins with what is excluded", symbol.at)
            end = next((its for its, other in triggers if other != marker and _ends(marker, other)), None)
            if end is not None:
                self._source.fail(f"the trigger {symbol.text} ends with the trigger {end.text}", symbol.at)

    def _marker(self, symbol: Symbol) -> Marker:
        if symbol.kind == "number":
            return self._special(symbol)
        text = self._source.literal(symbol)
        if not text:
            self._source.fail("a trigger or what is excluded is not empty", symbol.at)
        return text

    def _special(self, symbol: Symbol) -> int:
        token_id = int(symbol.text) if len(symbol.text) <= _DIGITS else -1
        if token_id not in self._vocabulary.special_tokens or self._vocabulary.is_end(token_id):
            self._source.fail(f"{symbol.text[:_DIGITS]} is no special token that may stand in a text", symbol.at)
        return token_id

    def _called(self, name: Symbol) -> Expr:
        self._named.setdefault(name.text, name.at)
        return call(self._rule(name.text))

    def _free(self, taken: Sequence[Marker]) -> tuple[int, ...]:
        """The special tokens that may stand between."""
        known = self._vocabulary.special_tokens
        return tuple(one for one in known if one not in taken and not self._vocabulary.is_end(one))


def _begins(text: Marker, beginning: Marker) -> bool:
    if isinstance(text, bytes) and isinstance(beginning, bytes):
        return text.startswith(beginning)
    return text == beginning


def _ends(text: Marker, end: Marker) -> bool:
    return isinstance(text, bytes) and isinstance(end, bytes) and text.endswith(end)
