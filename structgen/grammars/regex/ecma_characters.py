r"""Characters in a pattern of ECMA-262: escapes and classes, as with the flag ``u``.

What that flag refuses and older patterns have is taken where it can only mean one thing: a punctuation mark needs no
backslash and may have one, ``[\w-x]`` holds a hyphen.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from structgen.errors import InvalidRegex
from structgen.grammars.charset import CharSet
from structgen.grammars.regex.scanner import Scanner
from structgen.grammars.regex.unicode_properties import ignoring_case, unicode_property

__all__ = ["DIGIT", "LINE_END", "SPACE", "WORD", "EcmaFlags", "malformed", "read_class", "read_escape"]

DIGIT = CharSet(((0x30, 0x39),))
WORD = CharSet(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
SPACE = CharSet.of(
    (
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    )
)
LINE_END = CharSet(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))

_SHORTHANDS = {"d": DIGIT, "D": ~DIGIT, "w": WORD, "W": ~WORD, "s": SPACE, "S": ~SPACE}
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_CONTROL_LETTER = re.compile(r"c([A-Za-z])")
_OCTAL = re.compile(r"0[0-7]{0,2}")
_PROPERTY = re.compile(r"[pP]\{([A-Za-z0-9_]+)(?:=([A-Za-z0-9_]+))?\}")
_HYPHEN = 0x2D


class EcmaFlags(NamedTuple):
    """The flags that hold at one place of a pattern."""

    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False


def malformed(what: str, position: int) -> InvalidRegex:
    """The error of a pattern that is none."""
    return InvalidRegex(f"the pattern is malformed: {what} at position {position}")


def read_escape(scanner: Scanner, flags: EcmaFlags) -> CharSet:
    r"""A backslash and what follows it: a character, or a class such as ``\d``."""
    found = _escaped(scanner)
    members = CharSet.single(found) if isinstance(found, int) else found
    return ignoring_case(members) if flags.ignore_case else members


def read_class(scanner: Scanner, flags: EcmaFlags) -> CharSet:
    """A class in brackets."""
    start = scanner.position
    scanner.take()
    negated = scanner.skip("^")
    ranges: list[tuple[int, int]] = []
    while not scanner.skip("]"):
        first = _member(scanner, start)
        if scanner.next == "-" and not scanner.text.startswith("-]", scanner.position):
            position = scanner.position
            scanner.take()
            ranges += _range(first, _member(scanner, start), position)
        else:
            ranges += _ranges(first)
    members = CharSet.of(ranges)
    if flags.ignore_case:
        members = ignoring_case(members)
    return ~members if negated else members


def _member(scanner: Scanner, start: int) -> CharSet | int:
    char = scanner.next
    if not char:
        raise malformed("'[' without a ']' after it", start)
    if char == "\\":
        if scanner.skip("\\b"):
            return 0x08
        return _escaped(scanner)
    return ord(scanner.take())


def _range(first: CharSet | int, last: CharSet | int, position: int) -> list[tuple[int, int]]:
    if isinstance(first, int) and isinstance(last, int):
        if first > last:
            raise malformed("a range from high to low", position)
        return [(first, last)]
    return [*_ranges(first), (_HYPHEN, _HYPHEN), *_ranges(last)]


def _ranges(members: CharSet | int) -> tuple[tuple[int, int], ...]:
    return ((members, members),) if isinstance(members, int) else members.ranges


def _escaped(scanner: Scanner) -> CharSet | int:
    position = scanner.position
    scanner.take()
    char = scanner.next
    if char in _SHORTHANDS:
        scanner.take()
        return _SHORTHANDS[char]
    if char in _CONTROLS:
        scanner.take()
        return _CONTROLS[char]
    if found := scanner.match(_HEX):
        return _code_point(scanner, found, position)
    if found := scanner.match(_CONTROL_LETTER):
        return ord(found[1]) % 32
    if found := scanner.match(_OCTAL):
        return int(found[0], 8)
    if found := scanner.match(_PROPERTY):
        members = unicode_property(found[1], found[2], position)
        return ~members if found[0][0] == "P" else members
    if not char:
        raise malformed("a backslash with nothing after it", position)
    if char.isascii() and char.isalnum():
        raise malformed(f"'\\{char}', which is no escape of ECMA-262,", position)
    return ord(scanner.take())


def _code_point(scanner: Scanner, found: re.Match[str], position: int) -> int:
    code_point = int(found[1] or found[2] or found[3], 16)
    if code_point > 0x10FFFF:
        raise malformed(f"'\\{found[0]}', which is beyond the last character,", position)
    if found[2] and 0xD800 <= code_point <= 0xDBFF and (low := scanner.match(_LOW_SURROGATE)):
        return 0x10000 + ((code_point - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
    return code_point
