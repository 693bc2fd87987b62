"""``oneOf``: exactly one branch.

A branch holds and the others fail; that another fails need not be said where the two have no value in common, which is
looked at way by way. So the usual unions, told apart by type, by a key or by the value of a key, stay plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Generic, TypeVar

from structgen.grammars.json_schema.array_ways import meet_arrays
from structgen.grammars.json_schema.atoms import Atom
from structgen.grammars.json_schema.discriminators import Discriminator
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.object_ways import meet_objects, with_members
from structgen.grammars.json_schema.products import TooManyWays
from structgen.grammars.json_schema.value_ways import ArrayWay, ObjectWay
from structgen.grammars.json_schema.ways import ARRAYS, OBJECTS, STRINGS, Ways, merged, union
from structgen.grammars.language import Language
from structgen.grammars.limits import checkpoint

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["exactly_one", "fewer_or_more"]

_MAX_STEPS = 20_000

Way = TypeVar("Way", ArrayWay, ObjectWay)
Set = TypeVar("Set", NumberSet, Language)


def exactly_one(algebra: Algebra, atoms: tuple[Atom, ...], wanted: int, track: int) -> Ways:
    """The ways of meeting one of ``atoms`` and failing all others."""
    branches = [algebra.ways(atom, wanted, track) for atom in atoms]
    once = more = 0
    for branch in branches:
        more |= once & branch.literals
        once |= branch.literals
    numbers = _alone([branch.numbers for branch in branches])
    strings = merged(_strings_alone(algebra, atoms, [branch.strings for branch in branches]))
    found = [Ways(once & ~more, numbers, strings)]
    found.append(_arrays_alone(algebra, atoms, [branch.arrays for branch in branches]))
    found.append(_objects_alone(algebra, atoms, [branch.objects for branch in branches]))
    return union(found)


def _strings_alone(
    algebra: Algebra, atoms: tuple[Atom, ...], branches: list[tuple[Language, ...]]
) -> tuple[Language, ...]:
    if not algebra.unsupported.relaxing:
        return _alone(branches)
    found: list[Language] = []  # what is known of a branch may be more than meets it: its failures are asked for
    for place, branch in enumerate(branches):
        others = (atom.negation for number, atom in enumerate(atoms) if number != place)
        found += algebra.product(Ways(strings=branch), algebra.product_of(others, STRINGS)).strings
    return tuple(dict.fromkeys(found))


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


def _arrays_alone(algebra: Algebra, atoms: tuple[Atom, ...], branches: list[tuple[ArrayWay, ...]]) -> Ways:
    refining = _Refining[ArrayWay](
        branches,
        lambda number: algebra.ways(atoms[number].negation, ARRAYS).arrays,
        lambda one, other: list(filter(None, (meet_arrays(algebra, one, other),))),
    )
    return Ways(arrays=refining.alone(lambda one, other: True))


def _objects_alone(algebra: Algebra, atoms: tuple[Atom, ...], branches: list[tuple[ObjectWay, ...]]) -> Ways:
    def meet(one: ObjectWay, other: ObjectWay) -> list[ObjectWay]:
        both = meet_objects(algebra, one, other)
        return [] if both is None else with_members(algebra, both)

    refining = _Refining[ObjectWay](
        branches, lambda number: algebra.ways(atoms[number].negation, OBJECTS).objects, meet
    )
    return Ways(objects=refining.alone(Discriminator(algebra, [way for ways in branches for way in ways]).may_overlap))


class _Refining(Generic[Way]):
    """Makes the ways of each branch narrower until they have nothing in common with the others.

    Parameters
    ----------
    branches : sequence of tuple of Way
        The ways of each branch.
    failing : callable
        The ways of failing a branch, by number.
    meet : callable
        The ways of meeting two ways.
    """

    def __init__(
        self,
        branches: Sequence[tuple[Way, ...]],
        failing: Callable[[int], tuple[Way, ...]],
        meet: Callable[[Way, Way], list[Way]],
    ) -> None:
        self._branches, self._failing, self._meet = branches, failing, meet
        self._steps = 0

    def alone(self, may_overlap: Callable[[Way, Way], bool]) -> tuple[Way, ...]:
        """The ways of meeting one branch only; ``may_overlap`` says at a glance which ways need not be looked at."""
        found: dict[Way, None] = {}
        for place, branch in enumerate(self._branches):
            for way in branch:
                others = [
                    number
                    for number, ways in enumerate(self._branches)
                    if number != place and any(may_overlap(way, other) for other in ways)
                ]
                found.update(dict.fromkeys(self._outside(way, others)))
        return tuple(found)

    def _outside(self, way: Way, others: list[int]) -> Iterator[Way]:
        """What of ``way`` meets none of ``others``; what one failure settles is not asked again further down."""
        pending = [(way, others)]
        while pending:
            way, others = pending.pop()
            while others and not self._overlaps(way, others[0]):
                others = others[1:]
            if not others:
                yield way
                continue
            for failing in self._failing(others[0]):
                pending += [(narrower, others[1:]) for narrower in self._meet(way, failing)]

    def _overlaps(self, way: Way, number: int) -> bool:
        self._steps += 1
        checkpoint()
        if self._steps > _MAX_STEPS:
            raise TooManyWays(f"more than {_MAX_STEPS:,} steps to tell the branches of a oneOf apart")
        return any(self._meet(way, other) for other in self._branches[number])


def fewer_or_more(algebra: Algebra, atoms: tuple[Atom, ...], wanted: int) -> Ways:
    """The ways of meeting none of ``atoms``, or two of them."""
    none = algebra.product_of((atom.negation for atom in atoms), wanted)
    return union([none, *(algebra.product_of(pair, wanted) for pair in combinations(atoms, 2))])
