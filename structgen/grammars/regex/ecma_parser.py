r"""ECMA-262's syntax of regular expressions to a syntax tree.

The pattern is read as with the flag ``u``, and what that flag refuses is taken where older engines agree on what it
means: punctuation with a backslash, a bracket or brace that closes nothing, ``{`` that begins no quantifier. From
Python's syntax comes what many schemas have: ``(?P<name>...)``, and ``(?i)``, ``(?s)``, ``(?m)`` at the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from typing_extensions import override

from structgen.grammars.charset import ALL, CharSet
from structgen.grammars.regex.ecma_characters import (
    LINE_END,
    WORD,
    EcmaFlags,
    malformed,
    read_class,
    read_escape,
)
from structgen.grammars.regex.parser import Parser, refusal, word_boundary
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Look, Node, Place, Repeat
from structgen.grammars.regex.unicode_properties import ignoring_case

__all__ = ["EcmaParser", "parse"]

_PLAIN = re.compile(r"[^\\^$.*+?()\[{|]+")
_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_WITHOUT_LOW = re.compile(r"\{,[0-9]+\}")
_GROUP = re.compile(r"\((?:\?:|\?P?<(?![=!])([^>]*)>|\?([ims]*)(?:-([ims]+))?:)?")
_LOOK = re.compile(r"\(\?(<?)([=!])")
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*\Z")
_LEADING_FLAGS = re.compile(r"\(\?([ims]+)\)")
_BACKREFERENCE = re.compile(r"\\[1-9][0-9]*|\\k<[^>]*>|\(\?P=[^)]*\)")
_FLAGS = {"i": "ignore_case", "m": "multi_line", "s": "dot_all"}

_EDGE = frozenset({Place.EDGE})


def parse(pattern: str) -> Node:
    """The syntax tree of ``pattern``.

    Raises
    ------
    InvalidRegex
        It is malformed, or has a backreference; the message says what and at which position.
    """
    return EcmaParser(pattern).tree()


class EcmaParser(Parser[EcmaFlags]):
    """Parses one pattern, which has no backreference.

    Parameters
    ----------
    pattern : str
        The pattern.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._unrepeatable: Node | None = None  # what a quantifier cannot follow: an anchor, another quantifier
        self.readers = {
            "(": self._group,
            "[": lambda flags: Characters(read_class(self.scanner, flags)),
            "\\": self._escape,
            ".": self._dot,
            "^": self._start,
            "$": self._end,
        }

    def tree(self) -> Node:
        """The syntax tree, as `parse` gives it."""
        flags = EcmaFlags()
        if found := self.scanner.match(_LEADING_FLAGS):
            flags = _changed(flags, found[1], "")
        tree = self.alternatives(flags)
        if self.scanner.next:
            raise malformed("')' without a '(' before it", self.scanner.position)
        return tree

    def backreference(self, text: str, position: int, flags: EcmaFlags) -> Node:
        """What a backreference, written ``text``, is."""
        raise refusal("a backreference", text, position)

    def captured(self, name: str | None, read: Callable[[], Node]) -> Node:
        """What a capturing group is, of which ``read`` gives what is inside."""
        return read()

    @override
    def quantify(self, items: list[Node]) -> bool:
        scanner, position = self.scanner, self.scanner.position
        found = scanner.match(_QUANTIFIER)
        if not found:
            if scanner.match(_WITHOUT_LOW):
                raise malformed("a quantifier without its lower count, which some engines take literally,", position)
            return False
        if not items or items[-1] is self._unrepeatable:
            raise malformed(f"'{found[0]}' with nothing to repeat", position)
        low, high = _counts(found)
        if high is not None and high < low:
            raise malformed(f"'{found[0]}', whose counts are in the wrong order,", position)
        items[-1] = self._unrepeatable = Repeat(items[-1], low, high)
        return True

    @override
    def read_literals(self, items: list[Node], flags: EcmaFlags) -> None:
        found = self.scanner.match(_PLAIN)
        for char in found[0] if found else self.scanner.take():
            members = CharSet.single(ord(char))
            items.append(Characters(ignoring_case(members) if flags.ignore_case else members))

    def _group(self, flags: EcmaFlags) -> Node:
        scanner, position = self.scanner, self.scanner.position
        if found := scanner.match(_BACKREFERENCE):
            return self.backreference(found[0], position, flags)
        if found := scanner.match(_LOOK):
            look = Look(self._rest_of_group(flags, position), bool(found[1]), found[2] == "!")
            self._unrepeatable = look if look.back else None
            return look
        head = scanner.match(_GROUP)
        if head is None or scanner.next == "?":
            raise malformed(f"'{scanner.text[position : position + 3]}', which begins no group,", position)
        if head[1] is not None and not _NAME.match(head[1]):
            raise malformed(f"'{head[1]}', which is no name of a group,", position)
        if head[2] or head[3]:
            flags = _changed(flags, head[2], head[3] or "")
        is_captured = head[1] is not None or head[0] == "("
        inside = (
            self.captured(head[1], lambda: self._rest_of_group(flags, position))
            if is_captured
            else self._rest_of_group(flags, position)
        )
        self._unrepeatable = None
        return inside

    def _rest_of_group(self, flags: EcmaFlags, position: int) -> Node:
        inside = self.alternatives(flags)
        if not self.scanner.skip(")"):
            raise malformed("'(' without a ')' after it", position)
        return inside

    def _escape(self, flags: EcmaFlags) -> Node:
        position = self.scanner.position
        if found := self.scanner.match(_BACKREFERENCE):
            return self.backreference(found[0], position, flags)
        for text, is_one in (("\\b", True), ("\\B", False)):
            if self.scanner.skip(text):
                self._unrepeatable = word_boundary(ignoring_case(WORD) if flags.ignore_case else WORD, is_one)
                return self._unrepeatable
        return Characters(read_escape(self.scanner, flags))

    def _dot(self, flags: EcmaFlags) -> Node:
        self.scanner.take()
        return _ANY if flags.dot_all else _IN_LINE

    def _start(self, flags: EcmaFlags) -> Node:
        return self._anchor("^", flags, looks_back=True)

    def _end(self, flags: EcmaFlags) -> Node:
        return self._anchor("$", flags, looks_back=False)

    def _anchor(self, text: str, flags: EcmaFlags, looks_back: bool) -> Node:
        anchor: Node = Anchor(text, self.scanner.position, looks_back, _EDGE)
        self.scanner.take()
        if flags.multi_line:
            anchor = Alternatives((anchor, Look(Characters(LINE_END), looks_back, negated=False)))
        self._unrepeatable = anchor
        return anchor


def _counts(quantifier: re.Match[str]) -> tuple[int, int | None]:
    sign, low, comma, high = quantifier.groups()
    if sign:
        return int(sign == "+"), 1 if sign == "?" else None
    if not comma:
        return int(low), int(low)
    return int(low), int(high) if high else None


def _changed(flags: EcmaFlags, added: str, removed: str) -> EcmaFlags:
    changes = {_FLAGS[letter]: True for letter in added} | {_FLAGS[letter]: False for letter in removed}
    return flags._replace(**changes)


_ANY = Characters(ALL)
_IN_LINE = Characters(~LINE_END)
