"""The symbols of an EBNF grammar; line ends are none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from typing_extensions import override

from structgen.grammars.gbnf.symbols import Symbol, Symbols

__all__ = ["EbnfSymbols"]

_ESCAPES = dict(zip("nrtabfv0e", "\n\r\t\a\b\f\v\0\x1b", strict=True)) | {one: one for one in "\\\"'/?"}


class EbnfSymbols(Symbols):
    """A grammar's text as symbols. Rules begin at the start of a line; it is an error where one does not."""

    pattern = re.compile(
        r"""(?P<space>[ \t]+|\#[^\r\n]*)|(?P<line>\r\n|[\r\n])|(?P<defined>::=)
        |(?P<literal>"(?:[^"\\\r\n]|\\.)*")|(?P<characters>\[\^?(?:[^\]\\\r\n]|\\.)*\])
        |(?P<counts>\{[^}\r\n]*\})|(?P<token><[^>\s]+>)|(?P<number>[0-9]+)|(?P<name>[A-Za-z_.-][A-Za-z0-9_.-]*)
        |(?P<mark>[()|*+?,=])""",
        re.VERBOSE,
    )
    character = re.compile(
        r"\\(?:x(?P<x>[0-9A-Fa-f]+)|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})|(?P<one>.))|(?P<plain>[^\\])"
    )
    escapes = _ESCAPES
    class_escapes = _ESCAPES | {one: one for one in "^$.*+()[]{}|-"}

    @override
    def __iter__(self) -> Iterator[Symbol]:
        """Every symbol but line ends, an ``"end"`` last."""
        before: Symbol | None = None
        begins_line, name_begins_line = True, True
        for symbol in super().__iter__():
            if symbol.kind == "line":
                begins_line = True
                continue
            if symbol.kind == "defined" and before is not None:
                if before.kind == "characters":
                    self.fail("options of a rule, such as a sampling temperature, are about more than texts", before.at)
                if before.kind == "name" and not name_begins_line:
                    self.fail(f"the rule {before.text!r} does not begin at the start of a line", before.at)
            yield symbol
            before, name_begins_line, begins_line = symbol, begins_line, False
