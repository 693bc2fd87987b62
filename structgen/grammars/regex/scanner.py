"""A cursor over the text of a pattern."""

from __future__ import annotations

import re

__all__ = ["Scanner"]


class Scanner:
    """Reads a pattern from left to right.

    Parameters
    ----------
    text : str
        The pattern.

    Attributes
    ----------
    position : int
        Where the next character is.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def next(self) -> str:
        """The next character, empty at the end."""
        return self.text[self.position : self.position + 1]

    def take(self) -> str:
        """Read one character."""
        char = self.next
        self.position += 1
        return char

    def skip(self, prefix: str) -> bool:
        """Read ``prefix`` if it comes next, and say whether it did."""
        found = self.text.startswith(prefix, self.position)
        if found:
            self.position += len(prefix)
        return found

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Read what ``expression`` matches here."""
        found = expression.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found
