"""Characters in a pattern: escapes and classes."""

from __future__ import annotations

import re
import unicodedata

from structgen.errors import InvalidRegex
from structgen.grammars.charset import CharSet
from structgen.grammars.regex.python_re import Flags, ignoring_case, shorthand
from structgen.grammars.regex.scanner import Scanner

__all__ = ["read_class", "read_escape", "read_literal"]

_CONTROLS = {"a": 0x07, "b": 0x08, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}  # \b in classes only
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_NAME = re.compile(r"N\{([^}]+)\}")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{2}")
_OCTAL_IN_CLASS = re.compile(r"[0-7]{1,3}")


def read_literal(scanner: Scanner, flags: Flags) -> CharSet:
    """One character that stands for itself."""
    return _with_case(ord(scanner.take()), flags)


def read_escape(scanner: Scanner, flags: Flags) -> CharSet:
    r"""A backslash and what follows it: a character, or a class such as ``\d``."""
    scanner.take()
    found = _shorthand(scanner, flags)
    return _with_case(_code_point(scanner, _OCTAL), flags) if found is None else found


def read_class(scanner: Scanner, flags: Flags) -> CharSet:
    """A class in brackets."""
    start = scanner.position
    scanner.take()
    negated = scanner.skip("^")
    ranges = [*_member(scanner, flags).ranges]  # the first may be a closing bracket that stands for itself
    while not scanner.skip("]"):
        ranges += _member(scanner, flags).ranges
    members = CharSet.of(ranges)
    if negated:
        members = ~members
    if flags.ignore_case:
        members = ignoring_case(scanner.text[start : scanner.position], members, flags.ascii)
    return members


def _with_case(code_point: int, flags: Flags) -> CharSet:
    character = CharSet.single(code_point)
    if flags.ignore_case:
        return ignoring_case(re.escape(chr(code_point)), character, flags.ascii)
    return character


def _member(scanner: Scanner, flags: Flags) -> CharSet:
    r"""One character of a class, a range, or a class such as ``\d``."""
    if scanner.skip("\\"):
        found = _shorthand(scanner, flags)
        if found is not None:
            return found
        first = _code_point(scanner, _OCTAL_IN_CLASS)
    else:
        first = ord(scanner.take())
    if scanner.next != "-" or scanner.text.startswith("-]", scanner.position):
        return CharSet.single(first)
    scanner.take()
    last = _code_point(scanner, _OCTAL_IN_CLASS) if scanner.skip("\\") else ord(scanner.take())
    return CharSet(((first, last),))


def _shorthand(scanner: Scanner, flags: Flags) -> CharSet | None:
    letter = scanner.next
    if letter not in tuple("dDsSwW"):
        return None
    scanner.take()
    members = shorthand(letter.lower(), flags.ascii)
    return ~members if letter.isupper() else members


def _code_point(scanner: Scanner, octal: re.Pattern[str]) -> int:
    """The character that an escape stands for."""
    if found := scanner.match(_HEX):
        return int(found[1] or found[2] or found[3], 16)
    if found := scanner.match(_NAME):
        return ord(unicodedata.lookup(found[1]))
    if found := scanner.match(octal):
        return int(found[0], 8)
    char = scanner.take()
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char.isascii() and char.isalnum():
        position = scanner.position - 2
        raise InvalidRegex(f"'\\{char}' at position {position} is an escape that structgen does not know; leave it out")
    return ord(char)
