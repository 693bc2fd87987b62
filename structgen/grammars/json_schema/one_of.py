"""``oneOf``: exactly one branch.

A branch holds and the others fail; that another fails need not be said where the two have no value in common, which is
looked at way by way. So the usual unions, told apart by type, by a key or by the value of a key, stay plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from structgen.grammars.json_schema.array_ways import meet_arrays
from structgen.grammars.json_schema.atoms import Atom
from structgen.grammars.json_schema.discriminators import Discriminator
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.object_ways import meet_objects
from structgen.grammars.json_schema.ways import ARRAYS, OBJECTS, ArrayWay, ObjectWay, Ways, union
from structgen.grammars.language import Language

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["exactly_one", "fewer_or_more"]

Set = TypeVar("Set", NumberSet, Language)


def exactly_one(algebra: Algebra, atoms: tuple[Atom, ...], wanted: int, track: int) -> Ways:
    """The ways of meeting one of ``atoms`` and failing all others."""
    branches = [algebra.ways(atom, wanted, track) for atom in atoms]
    once = more = 0
    for branch in branches:
        more |= once & branch.literals
        once |= branch.literals
    numbers = _alone([branch.numbers for branch in branches])
    strings = _alone([branch.strings for branch in branches])
    found = [Ways(once & ~more, numbers, strings)]
    found += _arrays_alone(algebra, atoms, [branch.arrays for branch in branches])
    found += _objects_alone(algebra, atoms, [branch.objects for branch in branches])
    return union(found)


def _alone(branches: Sequence[tuple[Set, ...]]) -> tuple[Set, ...]:
    """What is in the sets of one branch only."""
    if sum(map(bool, branches)) < 2:
        return next(filter(None, branches), ())
    found: list[Set] = []
    for place, branch in enumerate(branches):
        others = [other for number, sets in enumerate(branches) if number != place for other in sets]
        for one in branch:
            found += _without(one, others)
    return tuple(dict.fromkeys(found))


def _without(one: Set, others: Iterable[Set]) -> list[Set]:
    pieces = [one]
    for other in others:
        pieces = [
            rest
            for piece in pieces
            for rest in ([piece] if (piece & other).is_empty else (piece & part for part in other.negations()))
            if not rest.is_empty
        ]
    return pieces


def _arrays_alone(algebra: Algebra, atoms: tuple[Atom, ...], branches: list[tuple[ArrayWay, ...]]) -> list[Ways]:
    def overlap(one: ArrayWay, other: ArrayWay) -> bool:
        return meet_arrays(algebra, one, other) is not None

    return [
        algebra.product(Ways(arrays=(way,)), failing)
        for way, failing in _with_failures(algebra, atoms, branches, overlap, ARRAYS)
    ]


def _objects_alone(algebra: Algebra, atoms: tuple[Atom, ...], branches: list[tuple[ObjectWay, ...]]) -> list[Ways]:
    discriminator = Discriminator(algebra, [way for branch in branches for way in branch])

    def overlap(one: ObjectWay, other: ObjectWay) -> bool:
        return discriminator.may_overlap(one, other) and meet_objects(algebra, one, other) is not None

    return [
        algebra.product(Ways(objects=(way,)), failing)
        for way, failing in _with_failures(algebra, atoms, branches, overlap, OBJECTS)
    ]


def _with_failures(
    algebra: Algebra,
    atoms: tuple[Atom, ...],
    branches: Sequence[tuple[Any, ...]],
    overlap: Callable[[Any, Any], bool],
    wanted: int,
) -> Iterable[tuple[Any, Ways]]:
    """Each way with how those other branches fail that it has values in common with."""
    for place, branch in enumerate(branches):
        for way in branch:
            others = [
                atoms[number].negation
                for number, ways in enumerate(branches)
                if number != place and any(overlap(way, other) for other in ways)
            ]
            yield way, algebra.product_of(others, wanted)


def fewer_or_more(algebra: Algebra, atoms: tuple[Atom, ...], wanted: int) -> Ways:
    """The ways of meeting none of ``atoms``, or two of them."""
    none = algebra.product_of((atom.negation for atom in atoms), wanted)
    return union([none, *(algebra.product_of(pair, wanted) for pair in combinations(atoms, 2))])
