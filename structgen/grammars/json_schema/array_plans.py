"""Arrays, one way worked out: for each place how its element may be read, and which counters that moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from structgen.errors import GrammarLimitExceeded, UnsupportedSchema
from structgen.grammars.json_schema.atoms import NOTHING, Atom
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.few_values import few_values
from structgen.grammars.json_schema.uniqueness import limited_by_distinct
from structgen.grammars.json_schema.ways import ArrayWay, Counter

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["ArrayPlan", "ItemPlan", "array_plans"]

_MAX_COUNTERS = 6
_MAX_REPEATED = 16
_MAX_COUNTS = 100_000

Known = Callable[[Conjunction], bool]


class ItemPlan(NamedTuple):
    """One way in which an element may be read, and the counters that it moves."""

    value: Conjunction
    counts: frozenset[int] = frozenset()


class ArrayPlan(NamedTuple):
    """An array with its elements' conditions. See `values.ArraySpec`."""

    prefix: tuple[tuple[ItemPlan, ...], ...]
    rest: tuple[ItemPlan, ...]
    low: int
    high: int | None
    counters: tuple[Counter, ...]
    unique: bool
    pointer: str

    @property
    def is_plainly_satisfiable(self) -> bool:
        """Whether it can be empty."""
        return not self.low and not any(one.low for one in self.counters)

    def children(self) -> Iterator[Conjunction]:
        """What decides whether there is such an array."""
        for place in (*self.prefix, self.rest):
            yield from (item.value for item in place)

    def is_satisfiable(self, known: Known) -> bool:
        """Whether there is such an array, if just the conjunctions that are ``known`` have values."""
        states = frozenset(((0,) * len(self.counters),))
        for length, place in enumerate(self._places()):
            if length >= self.low and self._may_end(states):
                return True
            following = self._after(states, place, known) if length != self.high else frozenset[tuple[int, ...]]()
            if not following:
                return False
            if length >= len(self.prefix) and following == states:
                # From here on each length is like the last one.
                return self._may_end(states) and (self.high is None or self.low <= self.high)
            states = following
        raise AssertionError("the places have no end")

    def _places(self) -> Iterator[tuple[ItemPlan, ...]]:
        yield from self.prefix
        while True:
            yield self.rest

    def _after(
        self, states: frozenset[tuple[int, ...]], place: tuple[ItemPlan, ...], known: Known
    ) -> frozenset[tuple[int, ...]]:
        """The counts after one more element, each only as far as it matters."""
        moves = {item.counts for item in place if known(item.value)}
        limits = [one.low if one.high is None else max(one.low, one.high + 1) for one in self.counters]
        found = frozenset(
            tuple(
                min(count + (number in counts), limit)
                for number, (count, limit) in enumerate(zip(state, limits, strict=True))
            )
            for state in states
            for counts in moves
        )
        if len(found) > _MAX_COUNTS:
            raise GrammarLimitExceeded(f"{self.pointer or '/'}: too many combinations of counts of an array's elements")
        return found

    def _may_end(self, states: Iterable[tuple[int, ...]]) -> bool:
        return any(
            all(
                one.low <= count and (one.high is None or count <= one.high)
                for count, one in zip(state, self.counters, strict=True)
            )
            for state in states
        )


def array_plans(algebra: Algebra, way: ArrayWay, pointer: str) -> list[ArrayPlan]:
    """The plans that together are ``way``: several where some value comes twice.

    Raises
    ------
    UnsupportedSchema
        Some value comes twice, out of too many.
    GrammarLimitExceeded
        There are too many combinations of counters.
    """
    if way.repeats is None:
        plan = _plan(algebra, way, pointer)
        limited = limited_by_distinct(algebra, plan) if plan.unique else plan
        return [] if limited is None else [limited]
    values = few_values(algebra, _all_elements(algebra, way), _MAX_REPEATED)
    if values is None:
        raise UnsupportedSchema(
            way.repeats,
            "uniqueItems",
            "that two elements are the same, as its negation asks here, can be held only where elements are few scalars",
        )
    counters = [Counter((algebra.constant(value, way.repeats),), 2) for value in values]
    return [_plan(algebra, way._replace(counters=(*way.counters, one)), pointer) for one in counters]


def _all_elements(algebra: Algebra, way: ArrayWay) -> list[Conjunction]:
    length = max((len(part.places) for part in way.parts), default=0)
    return [algebra.conjunction(*_atoms_at(way, place)) for place in range(length + 1)]


def _atoms_at(way: ArrayWay, place: int) -> tuple[Atom, ...]:
    return tuple(dict.fromkeys(part.atom_at(place) for part in way.parts))


def _plan(algebra: Algebra, way: ArrayWay, pointer: str) -> ArrayPlan:
    if len(way.counters) > _MAX_COUNTERS:
        raise GrammarLimitExceeded(f"{pointer or '/'}: more than {_MAX_COUNTERS} counts of an array's elements")
    ends = [len(part.places) for part in way.parts] + [one.start for one in way.counters]
    length = max(ends, default=0)
    if way.high is not None and way.high < length:
        length = way.high
    *prefix, rest = (_items(algebra, way, place) for place in range(length + 1))
    return ArrayPlan(
        tuple(prefix), rest, way.low, way.high, way.counters, way.unique and way.high not in (0, 1), pointer
    )


def _items(algebra: Algebra, way: ArrayWay, place: int) -> tuple[ItemPlan, ...]:
    atoms = _atoms_at(way, place)
    if not way.counters:
        return () if NOTHING in atoms else (ItemPlan(algebra.conjunction(*atoms)),)
    choices = [_choices(number, one, place) for number, one in enumerate(way.counters)]
    found: dict[ItemPlan, None] = {}
    for chosen in product(*choices):
        counts = frozenset(number for number, is_counted, _ in chosen if is_counted)
        value = algebra.conjunction(*atoms, *(atom for _, _, more in chosen for atom in more))
        if not algebra.is_hopeless(value.atoms):
            found[ItemPlan(value, counts)] = None
    return tuple(found)


def _choices(number: int, counter: Counter, place: int) -> Sequence[tuple[int, bool, tuple[Atom, ...]]]:
    """Whether the element at ``place`` is counted, and what it must meet for that."""
    if place < counter.start:
        return [(number, False, ())]
    if counter.high is None:
        return [(number, True, counter.atoms), (number, False, ())]
    return [(number, True, counter.atoms), *((number, False, (atom.negation,)) for atom in counter.atoms)]
