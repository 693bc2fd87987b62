"""JSON values in the grammar IR: what bytes alone cannot say in little room.

A string is held by the language of its *value*, however it is escaped; an object by the keys it may hold and must; an
array by its places and counts. Front ends write these beside the expressions of `expr`; the automaton steps each with
registers (keys seen, items counted), so that nothing is unrolled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from structgen.grammars.expr import Expr, Rule, intern
from structgen.grammars.json_layout import Layout

if TYPE_CHECKING:
    from structgen.grammars.byte_dfa import ByteDfa
    from structgen.grammars.language import Language

__all__ = [
    "ArraySpec",
    "ArrayValue",
    "Contains",
    "Item",
    "ObjectSpec",
    "ObjectValue",
    "Others",
    "Regular",
    "StringValue",
    "Value",
    "array_value",
    "object_value",
    "regular",
    "string_value",
]


class Value(Expr):
    """What an automaton treats as a rule of its own, though it has no expression."""

    __slots__ = ()


class Regular(Value):
    """The byte strings that a DFA accepts."""

    __slots__ = ("dfa",)

    def __init__(self, dfa: ByteDfa) -> None:
        self.dfa = dfa


class StringValue(Value):
    """A JSON string, quotes included and in any spelling, whose value lies in ``language``, which is not empty."""

    __slots__ = ("language",)

    def __init__(self, language: Language) -> None:
        self.language = language


class ObjectValue(Value):
    """A JSON object, braces included, as ``spec`` has it."""

    __slots__ = ("spec",)

    def __init__(self, spec: ObjectSpec) -> None:
        self.spec = spec


class ArrayValue(Value):
    """A JSON array, brackets included, as ``spec`` has it."""

    __slots__ = ("spec",)

    def __init__(self, spec: ArraySpec) -> None:
        self.spec = spec


class Others(NamedTuple):
    """Members whose key is not among `ObjectSpec.names`.

    A key that lies in the languages of several entries may be taken by any of them.
    """

    keys: Language
    """Of the key's value. The automaton leaves declared names out, whether or not they are in it."""
    value: Rule
    meets: frozenset[int] = frozenset()
    """The obligations that such a member meets."""


class ObjectSpec(NamedTuple):
    """What an object may hold and must. No key comes twice."""

    names: tuple[str, ...] = ()
    """The declared keys, each once, in the order of the documented layout."""
    values: tuple[Rule | None, ...] = ()
    """What follows each declared key; ``None`` where the key may not be there."""
    others: tuple[Others, ...] = ()
    required: frozenset[int] = frozenset()
    """Declared keys, by place in `names`, that must be there."""
    low: int = 0
    """Members that must be there at least,"""
    high: int | None = None
    """and at most."""
    implications: tuple[tuple[frozenset[int], int | None], ...] = ()
    """``(keys, other)``: where all of ``keys`` are there, so must be ``other``; ``None``: not all of them may be."""
    obligations: int = 0
    """So many obligations, numbered from 0, each to be met by at least one member."""
    ordered: bool = True
    """Declared keys in the order of `names` and all others after them; else any order."""
    is_set: bool = False
    """An array of distinct strings instead: its elements are the keys, in brackets and without values."""
    layout: Layout | None = None
    """White space between the tokens, exactly; ``None``: any that the documented layout has."""


class Item(NamedTuple):
    """One way in which an element may be read."""

    value: Rule
    counts: frozenset[int] = frozenset()
    """The counters, by place in `ArraySpec.contains`, that it moves."""


class Contains(NamedTuple):
    """A counter of elements."""

    low: int
    high: int | None


class ArraySpec(NamedTuple):
    """What an array may hold and must. Where an element has several ways, any may be taken."""

    prefix: tuple[tuple[Item, ...], ...] = ()
    """The ways of each of the first elements."""
    rest: tuple[Item, ...] = ()
    """The ways of all later ones; none: there is no later one."""
    low: int = 0
    high: int | None = None
    contains: tuple[Contains, ...] = ()
    layout: Layout | None = None
    """White space between the tokens, exactly; ``None``: any that the documented layout has."""


def regular(dfa: ByteDfa) -> Expr:
    """The byte strings that ``dfa`` accepts."""
    return intern(Regular, dfa)


def string_value(language: Language) -> Expr:
    """A JSON string whose value lies in ``language``, which is not empty."""
    return intern(StringValue, language)


def object_value(spec: ObjectSpec) -> Expr:
    """A JSON object."""
    return intern(ObjectValue, spec)


def array_value(spec: ArraySpec) -> Expr:
    """A JSON array."""
    return intern(ArrayValue, spec)
