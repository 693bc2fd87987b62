"""Products: what is in one of these and in one of those, for the alternatives of one type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.value_ways import ArrayWay, ObjectWay
from structgen.grammars.language import Language

__all__ = ["TooManyWays", "absorbed", "combined", "crossed"]

_MAX_WAYS = 4096
_MAX_PAIRS = 100_000
_MAX_ABSORBED = 1_000

Set = TypeVar("Set", NumberSet, Language)
Way = TypeVar("Way", ArrayWay, ObjectWay)


class TooManyWays(Exception):
    """There are too many combinations; whoever knows the place says where."""


def crossed(one: tuple[Set, ...], other: tuple[Set, ...], everything: Set) -> tuple[Set, ...]:
    """What is in a set of each side."""
    if not one or not other:
        return ()
    if one[0] is everything:
        return other
    if other[0] is everything:
        return one
    _check_pairs(len(one) * len(other))
    both = (mine & theirs for mine in one for theirs in other)
    return tuple(dict.fromkeys(found for found in both if not found.is_empty))


def combined(
    one: tuple[Way, ...], other: tuple[Way, ...], everything: Way, meet: Callable[[Way, Way], Way | None]
) -> tuple[Way, ...]:
    """Each way of one side with each of the other, where they meet."""
    if not one or not other:
        return ()
    if len(one) == 1 and one[0] is everything:
        return other
    if len(other) == 1 and other[0] is everything:
        return one
    _check_pairs(len(one) * len(other))
    both = (meet(mine, theirs) for mine in one for theirs in other)
    found = tuple(dict.fromkeys(way for way in both if way is not None))
    if len(one) > 1 and len(other) > 1:
        found = absorbed(found)
    if len(found) > _MAX_WAYS:
        raise TooManyWays(f"more than {_MAX_WAYS:,} combinations of alternatives")
    return found


def absorbed(ways: tuple[Way, ...]) -> tuple[Way, ...]:
    """Without those that others hold whole."""
    if not 1 < len(ways) <= _MAX_ABSORBED:
        return ways
    kept: list[Way] = []
    for way in sorted(ways, key=lambda way: len(way.literals)):
        if not any(other.holds(way) for other in kept):
            kept.append(way)
    return tuple(kept)


def _check_pairs(pairs: int) -> None:
    if pairs > _MAX_PAIRS:
        raise TooManyWays(f"more than {_MAX_PAIRS:,} combinations of alternatives to look at")
