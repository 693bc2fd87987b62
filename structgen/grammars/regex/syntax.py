"""The syntax tree of a regular expression: what it matches, whatever the dialect that it was written in.

Groups leave no trace: a text matches as a whole or it does not. Alternatives stand in the order in which they are
written, for those who match a beginning of a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from typing_extensions import override

from structgen.grammars.charset import NONE, CharSet

__all__ = ["EMPTY", "NEVER", "Alternatives", "Anchor", "Characters", "Concatenation", "Look", "Node", "Place", "Repeat"]


class Place(Enum):
    """What lies beside a position in a text, on one side of it."""

    EDGE = auto()
    """Nothing: the text begins or ends here."""
    NEWLINE = auto()
    """A newline, and not the last character of the text."""
    FINAL_NEWLINE = auto()
    """A newline that is the last character of the text, seen from before it."""
    OTHER = auto()
    """Any other character."""


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a pattern. Nodes are immutable and told apart by identity."""

    @cached_property
    def anchored(self) -> bool:
        """Whether there is an anchor in it."""
        return any(part.anchored for part in self.inside)

    @cached_property
    def nullable(self) -> bool:
        """Whether it matches nothing at all, where its anchors hold."""
        return False

    @cached_property
    def emptied(self) -> Node:
        """Its matches without a character: what is left are anchors."""
        return NEVER

    @cached_property
    def filled(self) -> Node:
        """Its matches with at least one character."""
        return self

    @property
    def inside(self) -> tuple[Node, ...]:
        """The nodes directly inside."""
        return ()


@dataclass(frozen=True, eq=False)
class Characters(Node):
    """One character of a set."""

    members: CharSet


class _Position(Node):
    """Takes no character: it says something of the place between two of them."""

    @cached_property
    @override
    def anchored(self) -> bool:
        return True

    @cached_property
    @override
    def nullable(self) -> bool:
        return True

    @cached_property
    @override
    def emptied(self) -> Node:
        return self

    @cached_property
    @override
    def filled(self) -> Node:
        return NEVER


@dataclass(frozen=True, eq=False)
class Anchor(_Position):
    """Matches between two characters, where one of ``places`` lies on its side.

    Parameters
    ----------
    text : str
        As it is written.
    position : int
        Where in the pattern.
    looks_back : bool
        Whether it looks at what is before it, or else after.
    places : frozenset of Place
        What must be there.
    """

    text: str
    position: int
    looks_back: bool
    places: frozenset[Place]


@dataclass(frozen=True, eq=False)
class Look(_Position):
    """Matches between two characters, where ``body`` matches what follows, or what is before, or where it does not.

    Parameters
    ----------
    body : Node
        What is looked for.
    back : bool
        Whether it must end here, or else begin here.
    negated : bool
        Whether it must not.
    """

    body: Node
    back: bool
    negated: bool

    @property
    @override
    def inside(self) -> tuple[Node, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class _Several(Node):
    parts: tuple[Node, ...]

    @property
    @override
    def inside(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, eq=False)
class Concatenation(_Several):
    """One after the other."""

    @cached_property
    @override
    def nullable(self) -> bool:
        return all(part.nullable for part in self.parts)

    @cached_property
    @override
    def emptied(self) -> Node:
        return Concatenation(tuple(part.emptied for part in self.parts))

    @cached_property
    @override
    def filled(self) -> Node:
        if not self.nullable:
            return self
        empty = [part.emptied for part in self.parts]
        return _any_of(
            Concatenation((*empty[:place], part.filled, *self.parts[place + 1 :]))
            for place, part in enumerate(self.parts)
            if part.filled is not NEVER
        )


@dataclass(frozen=True, eq=False)
class Alternatives(_Several):
    """Any one of them."""

    @cached_property
    @override
    def nullable(self) -> bool:
        return any(part.nullable for part in self.parts)

    @cached_property
    @override
    def emptied(self) -> Node:
        return Alternatives(tuple(part.emptied for part in self.parts))

    @cached_property
    @override
    def filled(self) -> Node:
        return _any_of(part.filled for part in self.parts if part.filled is not NEVER)


@dataclass(frozen=True, eq=False)
class Repeat(Node):
    """At least ``low`` times, at most ``high`` times; ``None`` is without end.

    Whether it is ``lazy``, and so tries few times first, says nothing of which texts match as a whole.
    """

    part: Node
    low: int
    high: int | None
    lazy: bool = False

    @property
    @override
    def inside(self) -> tuple[Node, ...]:
        return (self.part,)

    @cached_property
    @override
    def nullable(self) -> bool:
        return self.low == 0 or self.part.nullable

    @cached_property
    @override
    def emptied(self) -> Node:
        return EMPTY if self.low == 0 else self.part.emptied

    @cached_property
    @override
    def filled(self) -> Node:
        if self.high == 0:
            return NEVER
        if not self.nullable or self.undecided:
            return self
        return Repeat(self.part.filled, 1, self.high)

    @property
    def undecided(self) -> bool:
        """Whether some of the times may be empty, but only in some places: this has no exact form here."""
        return self.low > 1 and self.part.nullable and self.part.anchored


def _any_of(parts: Iterable[Node]) -> Node:
    """Any one of ``parts``; `NEVER` where there is none."""
    found = tuple(parts)
    return Alternatives(found) if found else NEVER


EMPTY = Concatenation(())
NEVER = Characters(NONE)
