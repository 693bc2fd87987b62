"""Where the end of a cut JSON text lies, as a JSON pointer into its value."""

from __future__ import annotations

import json
import re

__all__ = ["place_in_json"]

_TOKEN = re.compile(r'\s+|("(?:[^"\\]|\\.)*")|[{}\[\]:,]|[^\s{}\[\]:,"]+|".*', re.DOTALL)
"""White space, a whole string, a mark, a number or word, a string that is cut."""


class _Open:
    """An object or array that is not closed yet."""

    __slots__ = ("done", "is_object", "key", "member")

    def __init__(self, *, is_object: bool) -> None:
        self.is_object = is_object
        self.key = ""
        """Of an object: the last string that stood where keys stand."""
        self.member: str | int | None = None if is_object else 0
        """The one being read; ``None`` where a key is."""
        self.done = False
        """Its value has ended."""


def place_in_json(text: str) -> str | None:
    """The pointer of the innermost value that ``text`` ends in: an object while one of its keys is read.

    ``text`` is taken to be the beginning of a JSON text; of anything else, ``None`` or a guess is returned.
    """
    stack: list[_Open] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            stack.append(_Open(is_object=token == "{"))
        elif token in "}]":
            if not stack:
                return None
            stack.pop()
            _end_value(stack)
        elif stack and not token.isspace():
            _read(stack, token, may_go_on=match[1] is None and match.end() == len(text))
    return "".join(f"/{_escape(one.member)}" for one in stack if one.member is not None and not one.done)


def _read(stack: list[_Open], token: str, *, may_go_on: bool) -> None:
    """A string, a number or word, a colon or a comma inside of an object or array."""
    top = stack[-1]
    if token == ":":
        top.member = top.key
    elif token == ",":
        top.member, top.done = (top.member + 1 if isinstance(top.member, int) else None), False
    elif top.is_object and top.member is None:
        top.key = _value_of(token)
    elif not may_go_on:
        _end_value(stack)


def _end_value(stack: list[_Open]) -> None:
    if stack:
        stack[-1].done = True


def _value_of(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token


def _escape(member: str | int | None) -> str:
    return str(member).replace("~", "~0").replace("/", "~1")
