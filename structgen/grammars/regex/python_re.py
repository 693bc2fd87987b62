"""What Python's own `re` decides: which patterns are well-formed, what its classes hold, what ignoring case means.

Everything that is Python's and not another dialect's is asked of `re` itself, so it holds for whatever version runs.
"""

from __future__ import annotations

import re
import threading
import warnings
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from structgen.errors import GrammarLimitExceeded, InvalidRegex
from structgen.grammars.charset import CharSet

__all__ = ["Flags", "boundary_in_nothing", "check", "ignoring_case", "shorthand"]

_filters = threading.Lock()


class Flags(NamedTuple):
    """The flags that hold at one place of a pattern."""

    ascii: bool
    ignore_case: bool
    multi_line: bool
    dot_all: bool
    verbose: bool


def check(pattern: str) -> Flags:
    """Refuse what is malformed; returns the flags of the whole pattern.

    Raises
    ------
    InvalidRegex
        With Python's own message.
    GrammarLimitExceeded
        A count is too large for Python.
    """
    try:
        flags = _compile(pattern).flags
    except re.error as error:
        raise InvalidRegex(f"the pattern is malformed: {error}") from error
    except OverflowError as error:
        raise GrammarLimitExceeded(f"the pattern cannot be held: {error}") from error
    return Flags(*(bool(flags & flag) for flag in (re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.VERBOSE)))


@cache
def shorthand(letter: str, is_ascii: bool) -> CharSet:
    r"""The characters of ``\d``, ``\w`` or ``\s``, all of Unicode's or only those of ASCII."""
    runs = _compile(rf"\{letter}+", re.ASCII if is_ascii else 0).finditer(_every_character())
    return CharSet(tuple((run.start(), run.end() - 1) for run in runs))


@cache
def boundary_in_nothing() -> bool:
    r"""Whether ``\B`` matches in the empty text: from Python 3.14 on."""
    return _compile(r"\B").search("") is not None


@lru_cache(maxsize=1024)
def ignoring_case(source: str, members: CharSet, is_ascii: bool) -> CharSet:
    """What ``source``, a character or class that holds ``members``, matches where case is ignored.

    Python's rules are those of Unicode with exceptions, so every character that has case is put to `re`.
    """
    cased, text = _cased()
    found = _compile(source, re.IGNORECASE | (re.ASCII if is_ascii else 0)).findall(text)
    return (members - cased) | CharSet.of((ord(char), ord(char)) for char in found)


def _compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile without warnings about what a later Python may read differently."""
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, flags)


def _every_character() -> str:
    """The text in which each code point is at its own place."""
    return np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _cased() -> tuple[CharSet, str]:
    """The characters that have another case, as a set and as a text."""
    text = _every_character()
    blocks = (text[start : start + 256] for start in range(0, len(text), 256))
    mixed = (block for block in blocks if block.lower() != block or block.upper() != block)
    cased = "".join(char for block in mixed for char in block if char.lower() != char or char.upper() != char)
    return CharSet.of((ord(char), ord(char)) for char in cased), cased
