"""Ways of meeting a condition, type by type; those of one type are alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from structgen.grammars import language
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.value_ways import FREE_ARRAY, FREE_OBJECT, ArrayWay, ObjectWay
from structgen.grammars.language import Language

__all__ = [
    "ALL",
    "ARRAYS",
    "FALSE",
    "FREE",
    "LITERALS",
    "NO_WAY",
    "NULL",
    "NUMBERS",
    "OBJECTS",
    "STRINGS",
    "TRUE",
    "Ways",
    "free",
    "merged",
    "union",
]

NULL, FALSE, TRUE, NUMBERS, STRINGS, ARRAYS, OBJECTS = (1 << place for place in range(7))
"""Sets of types are sums of these."""
LITERALS = NULL | FALSE | TRUE
ALL = LITERALS | NUMBERS | STRINGS | ARRAYS | OBJECTS


class Ways(NamedTuple):
    """The alternatives of each type; numbers and strings are never empty sets."""

    literals: int = 0
    numbers: tuple[NumberSet, ...] = ()
    strings: tuple[Language, ...] = ()
    arrays: tuple[ArrayWay, ...] = ()
    objects: tuple[ObjectWay, ...] = ()

    @property
    def types(self) -> int:
        """The types that have a way."""
        return (
            self.literals
            | (NUMBERS if self.numbers else 0)
            | (STRINGS if self.strings else 0)
            | (ARRAYS if self.arrays else 0)
            | (OBJECTS if self.objects else 0)
        )


Way = TypeVar("Way", ArrayWay, ObjectWay)

_ANY_NUMBER, _ANY_STRING = (NumberSet.ALL,), (language.ALL,)
_ANY_ARRAY, _ANY_OBJECT = (FREE_ARRAY,), (FREE_OBJECT,)
NO_WAY = Ways()
FREE = Ways(LITERALS, _ANY_NUMBER, _ANY_STRING, _ANY_ARRAY, _ANY_OBJECT)


def free(wanted: int) -> Ways:
    """Any value of the types ``wanted``."""
    if wanted == ALL:
        return FREE
    return Ways(
        wanted & LITERALS,
        _ANY_NUMBER if wanted & NUMBERS else (),
        _ANY_STRING if wanted & STRINGS else (),
        _ANY_ARRAY if wanted & ARRAYS else (),
        _ANY_OBJECT if wanted & OBJECTS else (),
    )


def union(several: Iterable[Ways]) -> Ways:
    """What meets one of them."""
    several = [ways for ways in several if ways != NO_WAY]
    if len(several) < 2:
        return several[0] if several else NO_WAY
    literals = 0
    for ways in several:
        literals |= ways.literals
    return Ways(
        literals,
        _numbers([one for ways in several for one in ways.numbers]),
        merged([one for ways in several for one in ways.strings]),
        _distinct([one for ways in several for one in ways.arrays], FREE_ARRAY),
        _distinct([one for ways in several for one in ways.objects], FREE_OBJECT),
    )


def _numbers(sets: list[NumberSet]) -> tuple[NumberSet, ...]:
    return _ANY_NUMBER if NumberSet.ALL in sets else tuple(dict.fromkeys(sets))


def merged(languages: Sequence[Language]) -> tuple[Language, ...]:
    """What is in one of them; lists of texts become one."""
    if language.ALL in languages:
        return _ANY_STRING
    lists = [one.texts for one in languages if one.texts is not None]
    if len(lists) < 2:
        return tuple(dict.fromkeys(languages))
    united = Language.finite(text for texts in lists for text in texts)
    return united, *dict.fromkeys(one for one in languages if one.texts is None)


def _distinct(ways: list[Way], everything: Way) -> tuple[Way, ...]:
    # Where what has been seen counts, a way that says more of it is not the same as any value.
    if everything in ways and all(way.seen is None for way in ways):
        return (everything,)
    return tuple(dict.fromkeys(ways))
