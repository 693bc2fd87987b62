r"""ECMA-262's regular expressions as Python's, also those with backreferences, which no automaton holds.

A pattern is written anew from its syntax tree, so that nothing in it is read in Python's way. A reference to a group
that has not matched matches nothing in ECMA-262: ``(?(g1)(?P=g1)|)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from structgen.errors import UnsupportedRegex
from structgen.grammars.charset import CharSet
from structgen.grammars.regex.ecma_characters import EcmaFlags
from structgen.grammars.regex.ecma_parser import EcmaParser
from structgen.grammars.regex.parser import refusal
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Concatenation, Look, Node, Repeat

__all__ = ["ecma_as_python"]


@dataclass(frozen=True, eq=False)
class _Group(Node):
    number: int
    body: Node

    @property
    @override
    def inside(self) -> tuple[Node, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class _Reference(Node):
    number: int


def ecma_as_python(pattern: str, number: int = 0) -> str:
    """A pattern for `re` that is found in the same strings. Like any backtracking, it can take long.

    Parameters
    ----------
    pattern : str
        Of ECMA-262, as `ecma_language` takes it, or with backreferences.
    number : int
        Tells its groups from those of others that it is put together with.

    Raises
    ------
    UnsupportedRegex
        A backreference of which `re` could make something else: to a group that comes later, holds it, or is itself
        repeated or looked for; without regard to case. Or a lookbehind of no fixed width.
    InvalidRegex
        The pattern is malformed.
    """
    parser = _Parser(pattern)
    tree = parser.tree()
    parser.check(tree, is_inside=False)
    written = _written(tree, f"g{number}_")
    try:
        re.compile(written)
    except re.error as error:
        raise UnsupportedRegex(f"Python's re, which validates it, does not take this pattern: {error}") from error
    return written


_NAME = re.compile(r"\\k<(.*)>|\(\?P=(.*)\)|\\([0-9]+)")


class _Parser(EcmaParser):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._groups = 0
        self._names: dict[str, int] = {}
        self._closed: set[int] = set()
        self._referred: dict[int, UnsupportedRegex] = {}  # what is said where `re` is not to be trusted

    @override
    def captured(self, name: str | None, read: Callable[[], Node]) -> Node:
        self._groups += 1
        number = self._groups
        if name is not None:
            self._names[name] = number
        body = read()
        self._closed.add(number)
        return _Group(number, body)

    @override
    def backreference(self, text: str, position: int, flags: EcmaFlags) -> Node:
        error, found = refusal("a backreference", text, position), _NAME.fullmatch(text)
        name, number = (found[1] or found[2], found[3]) if found else (None, None)
        number = self._names.get(name, 0) if number is None and name is not None else int(number or 0)
        if number not in self._closed or flags.ignore_case:
            raise error
        self._referred[number] = error
        return _Reference(number)

    def check(self, node: Node, *, is_inside: bool) -> None:
        """Refuse a reference to a group inside of what is repeated or looked for."""
        if isinstance(node, _Group) and is_inside and node.number in self._referred:
            raise self._referred[node.number]
        holds = isinstance(node, Look) or (isinstance(node, Repeat) and node.high != 1)
        for part in node.inside:
            self.check(part, is_inside=is_inside or holds)


def _written(node: Node, prefix: str) -> str:
    """The pattern for `re`, the names of its groups beginning with ``prefix``."""

    def write(part: Node) -> str:
        return _written(part, prefix)

    if isinstance(node, Characters):
        return _class(node.members)
    if isinstance(node, Concatenation):
        return "".join(map(write, node.inside))
    if isinstance(node, Alternatives):
        return f"(?:{'|'.join(map(write, node.inside))})"
    if isinstance(node, Repeat):
        (part,) = node.inside
        return f"(?:{write(part)}){{{node.low},{'' if node.high is None else node.high}}}"
    if isinstance(node, Anchor):
        return r"\A" if node.looks_back else r"\Z"
    if isinstance(node, Look):
        return f"(?{'<' if node.back else ''}{'!' if node.negated else '='}{write(node.body)})"
    if isinstance(node, _Group):
        return f"(?P<{prefix}{node.number}>{write(node.body)})"
    if isinstance(node, _Reference):
        return f"(?({prefix}{node.number})(?P={prefix}{node.number})|)"
    raise TypeError(f"no such node: {node!r}")


def _class(members: CharSet) -> str:
    if not members:
        return "(?!)"
    ranges = (f"\\U{first:08x}-\\U{last:08x}" for first, last in members.ranges)
    return f"[{''.join(ranges)}]"
