"""Layout: the white space that JSON is written with, where a caller prescribes it to the byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from structgen.errors import GrammarLimitExceeded, InvalidGrammar

__all__ = ["COMPACT", "Layout", "layout_named"]

MAX_SPACE = 1 << 18
"""Bytes of white space between two tokens, at most."""

_INDENT = re.compile(r"indent:([0-9]{1,9})")
_SEPARATOR = re.compile(r"([ \t\r\n]*)([,:])([ \t\r\n]*)")


@dataclass(frozen=True)
class Layout:
    """White space, each piece of which is there as it is and no other."""

    before_comma: str = ""
    after_comma: str = ""
    """Where nothing is indented."""
    before_colon: str = ""
    after_colon: str = ""
    indent: int | None = None
    """Spaces to a level, each member and element on a line of its own; ``None``: no lines."""

    def line(self, depth: int) -> str:
        """What begins a line at ``depth``, empty where nothing is indented.

        Raises
        ------
        GrammarLimitExceeded
            It is longer than anything that an automaton holds.
        """
        if self.indent is None:
            return ""
        if self.indent * depth >= MAX_SPACE:
            raise GrammarLimitExceeded(f"a line would be indented by {self.indent * depth:,} spaces; indent by fewer")
        return "\n" + " " * (self.indent * depth)

    def between(self, depth: int) -> str:
        """What follows a comma in an object or array at ``depth``, counted from 0."""
        return self.after_comma if self.indent is None else self.line(depth + 1)

    @property
    def characters(self) -> set[str]:
        """Those that occur."""
        indented = "" if self.indent is None else "\n" + " " * min(self.indent, 1)
        return {*self.before_comma, *self.after_comma, *self.before_colon, *self.after_colon, *indented}


COMPACT = Layout()
"""No white space at all."""


def layout_named(whitespace: object) -> Layout | None:
    """What the option ``whitespace`` of a front end asks for; ``None``: any that the documented layout has.

    Raises
    ------
    InvalidGrammar
        It is none of ``"flexible"``, ``"compact"``, ``"indent:N"`` and a pair of separators.
    GrammarLimitExceeded
        It is longer than anything that an automaton holds.
    """
    if isinstance(whitespace, str):
        return _layout_of_name(whitespace)
    pair = cast("tuple[object, ...] | list[object]", whitespace) if isinstance(whitespace, (tuple, list)) else ()
    comma, colon = (_around(*one) for one in zip(pair, ",:", strict=False)) if len(pair) == 2 else (None, None)
    if comma is None or colon is None:
        raise InvalidGrammar(
            "whitespace as a pair is (item separator, key separator), as in json.dumps: a comma and a colon, "
            f"nothing but white space around each; not {whitespace!r}"
        )
    if max(map(len, (*comma, *colon))) >= MAX_SPACE:
        raise GrammarLimitExceeded(f"a separator of whitespace is longer than {MAX_SPACE:,} characters; shorten it")
    return Layout(*comma, *colon)


def _around(separator: object, mark: str) -> tuple[str, str] | None:
    """The white space before and after ``mark``; ``None`` where there is anything else."""
    found = _SEPARATOR.fullmatch(separator) if isinstance(separator, str) else None
    return (found[1], found[3]) if found and found[2] == mark else None


def _layout_of_name(name: str) -> Layout | None:
    if name == "flexible":
        return None
    if name == "compact":
        return COMPACT
    indented = _INDENT.fullmatch(name)
    if indented is None:
        raise InvalidGrammar(
            "whitespace is 'flexible', 'compact', 'indent:N' with a number, or a pair of separators "
            f"such as (', ', ': '); not {name!r}"
        )
    return Layout(after_colon=" ", indent=int(indented[1]))
