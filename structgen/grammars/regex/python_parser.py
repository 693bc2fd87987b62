r"""Python's `re` syntax to a syntax tree.

Greedy and lazy quantifiers match the same whole texts, and capturing groups the same as others. Refused: what is not
regular (backreferences, conditionals) or changes what matches by the order of trying (atomic groups, possessive
quantifiers).
"""

from __future__ import annotations

import re

from typing_extensions import override

from structgen.grammars.charset import ALL, NEWLINE
from structgen.grammars.regex.parser import Parser, refusal, word_boundary
from structgen.grammars.regex.python_characters import read_class, read_escape, read_literal
from structgen.grammars.regex.python_re import Flags, boundary_in_nothing, check, shorthand
from structgen.grammars.regex.syntax import (
    Alternatives,
    Anchor,
    Characters,
    Concatenation,
    Look,
    Node,
    Place,
    Repeat,
)

__all__ = ["parse"]

# An escaped character does not end a comment, also where it is the newline or parenthesis that would.
_BLANK = re.compile(r"(?:[ \t\n\r\v\f]|#(?:[^\\\n]|\\[\s\S])*)+")
_NOTHING = re.compile(r"\(\?#(?:[^\\)]|\\[\s\S])*\)|\(\?[a-zA-Z]+\)")  # comments, and flags of the whole pattern
_QUANTIFIER = re.compile(r"([*+?])|\{(?!\})([0-9]*)(?:(,)([0-9]*))?\}")
_GROUP = re.compile(r"\((?:\?:|\?P<[^>]*>|\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:)?")
_GROUP_REFERENCE = re.compile(r"\\(?![1-7][0-7]{2})[1-9][0-9]?")  # three octal digits are a character

_FLAGS = {"a": "ascii", "i": "ignore_case", "m": "multi_line", "s": "dot_all", "x": "verbose"}
_REFUSED_GROUPS = {
    "(?>": "an atomic group",
    "(?(": "a conditional",
    "(?P=": "a backreference",
}
_LOOK = re.compile(r"\(\?(<?)([=!])")
_EDGE = frozenset({Place.EDGE})
_SOMETHING = Alternatives((Look(Characters(ALL), True, negated=False), Look(Characters(ALL), False, negated=False)))
"""Matches in any text but the empty one."""


def parse(pattern: str) -> Node:
    """The syntax tree of ``pattern``.

    Raises
    ------
    InvalidRegex
        It is malformed, or uses what is refused; the message says what and at which position.
    GrammarLimitExceeded
        A count is too large for Python.
    """
    return _Parser(pattern).alternatives(check(pattern))


class _Parser(Parser[Flags]):
    """Parses one pattern, of which `re` has said that it is well-formed."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.readers = {
            "(": self._group,
            "[": self._class,
            "\\": self._escape,
            ".": self._dot,
            "^": self._start,
            "$": self._end,
        }

    @override
    def skip_nothing(self, char: str, flags: Flags) -> bool:
        if char == "(" and self.scanner.match(_NOTHING):
            return True
        return flags.verbose and self.scanner.match(_BLANK) is not None

    @override
    def quantify(self, items: list[Node]) -> bool:
        found = self.scanner.match(_QUANTIFIER)
        if found:
            items[-1] = self._repeat(items[-1], found)
        return found is not None

    @override
    def read_literals(self, items: list[Node], flags: Flags) -> None:
        items.append(Characters(read_literal(self.scanner, flags)))

    def _repeat(self, item: Node, quantifier: re.Match[str]) -> Node:
        if self.scanner.skip("+"):
            raise refusal("a possessive quantifier", quantifier[0] + "+", quantifier.start())
        lazy = self.scanner.skip("?")
        sign, low, comma, high = quantifier.groups()
        if sign:
            return Repeat(item, int(sign == "+"), 1 if sign == "?" else None, lazy)
        if not comma:
            return Repeat(item, int(low), int(low))
        return Repeat(item, int(low or 0), int(high) if high else None, lazy)

    def _group(self, flags: Flags) -> Node:
        self._refuse(_REFUSED_GROUPS)
        if found := self.scanner.match(_LOOK):
            look = Look(self.alternatives(flags), bool(found[1]), found[2] == "!")
            self.scanner.skip(")")
            return look
        head = self.scanner.match(_GROUP)
        if head and (head[1] or head[2]):
            flags = _changed(flags, head[1], head[2] or "")
        inside = self.alternatives(flags)
        self.scanner.skip(")")
        return inside

    def _class(self, flags: Flags) -> Node:
        return Characters(read_class(self.scanner, flags))

    def _escape(self, flags: Flags) -> Node:
        scanner, position = self.scanner, self.scanner.position
        reference = _GROUP_REFERENCE.match(scanner.text, position)
        if reference:
            raise refusal("a backreference", reference[0], position)
        if scanner.skip("\\b"):
            return word_boundary(shorthand("w", flags.ascii), is_one=True)
        if scanner.skip("\\B"):
            inside = word_boundary(shorthand("w", flags.ascii), is_one=False)
            return inside if boundary_in_nothing() else Concatenation((inside, _SOMETHING))
        if scanner.skip("\\A"):
            return Anchor("\\A", position, True, _EDGE)
        if scanner.skip("\\Z"):
            return Anchor("\\Z", position, False, _EDGE)
        return Characters(read_escape(scanner, flags))

    def _dot(self, flags: Flags) -> Node:
        self.scanner.take()
        return Characters(ALL if flags.dot_all else ~NEWLINE)

    def _start(self, flags: Flags) -> Node:
        position = self.scanner.position
        self.scanner.take()
        return Anchor("^", position, True, _EDGE | {Place.NEWLINE} if flags.multi_line else _EDGE)

    def _end(self, flags: Flags) -> Node:
        position = self.scanner.position
        self.scanner.take()
        places = _EDGE | {Place.FINAL_NEWLINE}
        return Anchor("$", position, False, places | {Place.NEWLINE} if flags.multi_line else places)

    def _refuse(self, constructs: dict[str, str]) -> None:
        text, position = self.scanner.text, self.scanner.position
        for start, what in constructs.items():
            if text.startswith(start, position):
                raise refusal(what, start, position)


def _changed(flags: Flags, added: str, removed: str) -> Flags:
    changes = {_FLAGS[letter]: True for letter in added if letter != "u"}
    changes |= {_FLAGS[letter]: False for letter in removed}
    return flags._replace(**changes) if "u" not in added else flags._replace(**changes, ascii=False)
