"""What the dialects of regular expressions share: alternatives, branches, and how they nest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from structgen.errors import UnsupportedRegex
from structgen.grammars.charset import CharSet
from structgen.grammars.regex.scanner import Scanner
from structgen.grammars.regex.syntax import Alternatives, Characters, Concatenation, Look, Node

__all__ = ["Parser", "refusal", "word_boundary"]

F = TypeVar("F")
"""The flags that hold at one place of a pattern."""


class Parser(ABC, Generic[F]):
    """Parses one pattern. A dialect gives the readers of what begins with a special character, and of literals.

    Parameters
    ----------
    pattern : str
        The pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.scanner = Scanner(pattern)
        self.readers: dict[str, Callable[[F], Node]] = {}

    def alternatives(self, flags: F) -> Node:
        """Branches up to the end of the group or pattern."""
        branches = [self._branch(flags)]
        while self.scanner.skip("|"):
            branches.append(self._branch(flags))
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def _branch(self, flags: F) -> Node:
        scanner = self.scanner
        items: list[Node] = []
        while (char := scanner.next) not in ("", "|", ")"):
            if self.skip_nothing(char, flags) or (char in "*+?{" and self.quantify(items)):
                continue
            reader = self.readers.get(char)
            if reader is not None:
                items.append(reader(flags))
            else:
                self.read_literals(items, flags)
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def skip_nothing(self, char: str, flags: F) -> bool:
        """Skip what matches nothing and is quantified by nothing: comments, blanks."""
        return False

    @abstractmethod
    def quantify(self, items: list[Node]) -> bool:
        """Read a quantifier, if one comes next, and put it around the last item; says whether there was one."""

    @abstractmethod
    def read_literals(self, items: list[Node], flags: F) -> None:
        """Read one or more characters that stand for themselves."""


def word_boundary(word: CharSet, is_one: bool) -> Node:
    """Where a word of the characters ``word`` begins or ends; or where none does."""
    ways = (
        Concatenation((Look(Characters(word), True, before), Look(Characters(word), False, before is not is_one)))
        for before in (False, True)
    )
    return Alternatives(tuple(ways))


def refusal(what: str, text: str, position: int) -> UnsupportedRegex:
    """The error that says that ``what`` cannot be held."""
    return UnsupportedRegex(
        f"{what}, '{text}' at position {position}, cannot be held by a grammar; write the pattern without it"
    )
