"""The symbols of a GBNF grammar, and the characters in its literals and classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from structgen.errors import InvalidGrammar
from structgen.grammars.charset import MAX_CODE_POINT, CharSet
from structgen.grammars.limits import checkpoint

__all__ = ["Symbol", "Symbols"]


class Symbol(NamedTuple):
    """One symbol of the text: ``"line"`` and ``"end"`` among its kinds."""

    kind: str
    text: str
    at: int
    """Its first character's place in the text."""

    def is_mark(self, *marks: str) -> bool:
        """Whether it is one of these punctuation marks."""
        return self.kind == "mark" and self.text in marks


_SYMBOLS = re.compile(
    r"""(?P<space>[ \t]+|\#[^\r\n]*)|(?P<line>\r\n|[\r\n])|(?P<defined>::=)
    |(?P<literal>"(?:[^"\\\r\n]|\\.)*")|(?P<characters>\[\^?(?:[^\]\\\r\n]|\\.)*\])
    |(?P<counts>\{[^}\r\n]*\})|(?P<token><[^>\s]+>)|(?P<name>[A-Za-z0-9_-]+)|(?P<mark>[()|*+?.])""",
    re.VERBOSE,
)
_LINE = re.compile(r"\r\n|\r|\n")
_CHARACTER = re.compile(
    r"\\(?:x(?P<x>[0-9A-Fa-f]{2})|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})|(?P<one>.))|(?P<plain>[^\\])"
)
_ESCAPES = dict(zip("nrtabfv0", "\n\r\t\a\b\f\v\0", strict=True)) | {one: one for one in "\\\"'[]^-/"}


class Symbols:
    """A grammar's text as symbols, and where in it something is wrong."""

    pattern = _SYMBOLS
    """Of one symbol; the names of its groups are the kinds, ``"space"`` is left out."""
    character = _CHARACTER
    """Of one character of a literal or a class; ``"x"``, ``"u"`` and ``"U"`` are hexadecimal, ``"one"`` an escape."""
    escapes: Mapping[str, str] = _ESCAPES
    """In literals."""
    class_escapes: Mapping[str, str] = _ESCAPES

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff")

    def __iter__(self) -> Iterator[Symbol]:
        """Every symbol, spaces and comments left out, an ``"end"`` last."""
        place = 0
        while place < len(self._text):
            found = self.pattern.match(self._text, place)
            if found is None or found.lastgroup is None:
                self.fail(f"unexpected {self._text[place]!r}", place)
            checkpoint()
            if found.lastgroup != "space":
                yield Symbol(found.lastgroup, found[0], place)
            place = found.end()
        yield Symbol("end", "the end of the grammar", place)

    def where(self, at: int) -> str:
        """Line and column of a place."""
        lines = _LINE.split(self._text[:at])
        return f"line {len(lines)}, column {len(lines[-1]) + 1}"

    def fail(self, what: str, at: int) -> NoReturn:
        """Raise `InvalidGrammar` for what is at a place."""
        raise InvalidGrammar(f"{self.where(at)}: {what}")

    def literal(self, symbol: Symbol) -> bytes:
        """What a literal spells, in UTF-8."""
        points = [point for point, _ in self._points(symbol.text[1:-1], symbol.at + 1, self.escapes)]
        try:
            return "".join(map(chr, points)).encode()
        except UnicodeEncodeError:
            self.fail("half of a surrogate pair is no character of a text", symbol.at)

    def characters(self, symbol: Symbol) -> CharSet:
        """The characters of a class."""
        is_negated = symbol.text.startswith("[^")
        begin = 2 if is_negated else 1
        inside = self._points(symbol.text[begin:-1], symbol.at + begin, self.class_escapes)
        ranges: list[tuple[int, int]] = []
        place = 0
        while place < len(inside):
            first = last = inside[place][0]
            place += 1
            if inside[place : place + 1] == [(ord("-"), True)] and place + 1 < len(inside):
                last = inside[place + 1][0]
                place += 2
            if last < first:
                self.fail(f"the range {chr(first)}-{chr(last)} runs backwards", symbol.at)
            ranges.append((first, last))
        if not ranges and not is_negated:
            self.fail("a class without characters", symbol.at)
        return ~CharSet.of(ranges) if is_negated else CharSet.of(ranges)

    def _points(self, text: str, at: int, escapes: Mapping[str, str]) -> list[tuple[int, bool]]:
        """Code points, each with whether it is written as itself."""
        found: list[tuple[int, bool]] = []
        for one in self.character.finditer(text):
            checkpoint()
            kind = one.lastgroup or ""
            if kind == "plain":
                point = ord(one[0])
            elif kind == "one":
                if one["one"] not in escapes:
                    self.fail(f"the escape {one[0]} is not known", at + one.start())
                point = ord(escapes[one["one"]])
            else:
                point = int(one[kind], 16)
            if point > MAX_CODE_POINT:
                self.fail(f"{one[0]} is no code point", at + one.start())
            found.append((point, kind == "plain"))
        return found
