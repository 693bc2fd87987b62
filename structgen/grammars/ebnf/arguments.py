"""What stands in the parentheses of a macro such as ``TagDispatch(("<a>", rule), excludes=("b",))``."""

from __future__ import annotations

from collections.abc import Sequence

from structgen.grammars.gbnf.symbols import Symbol, Symbols

__all__ = ["Arguments"]

Value = Symbol | list["Value"]
"""A symbol, or what is in parentheses."""


class Arguments:
    """The arguments of a macro, read.

    Parameters
    ----------
    source : Symbols
        Tells where something is wrong.
    symbols : sequence of Symbol
        Of the whole grammar.
    place : int
        Of the opening parenthesis among them.

    Attributes
    ----------
    end : int
        The place behind the closing parenthesis.

    Raises
    ------
    InvalidGrammar
        They are malformed; every method raises it where they are not what it asks for.
    """

    def __init__(self, source: Symbols, symbols: Sequence[Symbol], place: int) -> None:
        self._source, self._symbols, self.end = source, symbols, place
        self._at = symbols[place].at
        self._named: dict[str, Value] = {}
        self._others = self._parenthesis(self._named)

    def items(self, kind: str, least: int) -> list[Symbol]:
        """The arguments without names: symbols of one kind, more than ``least`` of them."""
        found = self._all_of(kind, self._others)
        if len(found) <= least:
            self._source.fail(f"expected at least {least + 1} {kind}", self._at)
        return found

    def pairs(self, kind: str) -> list[tuple[Symbol, Symbol]]:
        """The arguments without names: pairs of a symbol of this kind and the name of a rule."""
        found: list[tuple[Symbol, Symbol]] = []
        for one in self._others:
            if isinstance(one, Symbol) or len(one) != 2:
                self._source.fail(f"expected pairs of a {kind} and a rule", self._at)
            (first,), (second,) = self._all_of(kind, one[:1]), self._all_of("name", one[1:])
            found.append((first, second))
        return found

    def listed(self, name: str, kind: str) -> list[Symbol]:
        """The argument of this name: symbols of one kind in parentheses; none where it is left out."""
        value = self._named.get(name, [])
        if isinstance(value, Symbol):
            self._source.fail(f"{name} is a list in parentheses", value.at)
        return self._all_of(kind, value)

    def flag(self, name: str) -> bool:
        """The argument of this name, ``true`` where it is left out."""
        value = self._named.get(name)
        if value is None:
            return True
        if not isinstance(value, Symbol) or value.text not in ("true", "false"):
            self._source.fail(f"{name} is true or false", self._at)
        return value.text == "true"

    def no_others(self, *known: str) -> None:
        """Refuse other names."""
        unknown = next((name for name in self._named if name not in known), None)
        if unknown is not None:
            self._source.fail(f"there is no argument {unknown!r}; there is {', '.join(known)}", self._at)

    def _all_of(self, kind: str, values: list[Value]) -> list[Symbol]:
        found = [one for one in values if isinstance(one, Symbol) and one.kind == kind]
        if len(found) < len(values):
            self._source.fail(f"expected a {kind} here and nothing else", self._at)
        return found

    def _parenthesis(self, named: dict[str, Value] | None = None) -> list[Value]:
        """What is up to the closing parenthesis; ``name=value`` goes to ``named``, where that may stand."""
        opening, found = self._take(), list[Value]()
        while not self._symbols[self.end].is_mark(")"):
            first = self._symbols[self.end]
            if named is not None and first.kind == "name" and self._symbols[self.end + 1].is_mark("="):
                self.end += 2
                named[first.text] = self._value()
            else:
                found.append(self._value())
            if self._symbols[self.end].is_mark(","):
                self.end += 1
            elif not self._symbols[self.end].is_mark(")"):
                self._source.fail("this parenthesis is not closed", opening.at)
        self.end += 1
        return found

    def _value(self) -> Value:
        symbol = self._symbols[self.end]
        if symbol.is_mark("("):
            return self._parenthesis()
        if symbol.kind not in ("literal", "name", "number"):
            self._source.fail(f"unexpected {symbol.text!r}", symbol.at)
        return self._take()

    def _take(self) -> Symbol:
        self.end += 1
        return self._symbols[self.end - 1]
