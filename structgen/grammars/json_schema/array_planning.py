"""From a way of being an array to its plans: the places merged, counters turned into ways of reading each element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.counting import counted_bounds
from structgen.grammars.json_schema.few_values import few_values
from structgen.grammars.json_schema.uniqueness import limited_by_distinct
from structgen.grammars.json_schema.value_ways import ArrayPart, ArrayWay, Counter

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["array_plans"]

_MAX_COUNTERS = 5
"""Each doubles the ways in which an element may be read, of which the automaton tells 31 apart."""
_MAX_REPEATED = 16
_MAX_PLACES = 8
_MAX_PLACED = 64


def array_plans(algebra: Algebra, way: ArrayWay, pointer: str) -> list[ArrayPlan]:
    """The plans that together are ``way``: several where some value comes twice.

    Raises
    ------
    UnsupportedSchema
        Some value comes twice, out of too many, and nothing is left out.
    GrammarLimitExceeded
        There are too many combinations of counters.
    """
    if way.repeats is None and len(way.counters) > 1 and way.high is not None and way.high <= _MAX_PLACES:
        placed = _placed(way)
        if placed is not None:
            return [plan for one in placed for plan in array_plans(algebra, one, pointer)]
    if way.repeats is None:
        plan = _plan(algebra, way, pointer)
        limited = limited_by_distinct(algebra, plan) if plan.unique else plan
        return [] if limited is None else [limited]
    values = few_values(algebra, _all_elements(algebra, way), _MAX_REPEATED)
    if values is None:
        why = "its negation asks for two equal elements, which is held only where elements are of few scalar values"
        algebra.unsupported.meet(way.repeats, "uniqueItems", why)
        return array_plans(algebra, way._replace(repeats=None), pointer)
    counters = [Counter((algebra.constant(value, way.repeats),), 2) for value in values]
    return [_plan(algebra, way._replace(counters=(*way.counters, one)), pointer) for one in counters]


def _placed(way: ArrayWay) -> list[ArrayWay] | None:
    """The ways that together are ``way``, for each counter the place of an element that it counts."""
    if any(one.low > 1 or one.high is not None for one in way.counters):
        return None
    found: list[ArrayWay] = []
    for places in product(*(range(one.start, way.high or 0) for one in way.counters)):
        parts = tuple(
            ArrayPart((ANYTHING,) * place + (atom,))
            for place, one in zip(places, way.counters, strict=True)
            for atom in one.atoms
        )
        low = max(way.low, 1 + max(places))
        found.append(way._replace(parts=way.parts + parts, low=low, counters=()))
        if len(found) > _MAX_PLACED:
            return None
    return found


def _all_elements(algebra: Algebra, way: ArrayWay) -> list[Conjunction]:
    length = max((len(part.places) for part in way.parts), default=0)
    return [algebra.conjunction(*_atoms_at(way, place)) for place in range(length + 1)]


def _atoms_at(way: ArrayWay, place: int) -> tuple[Atom, ...]:
    return tuple(dict.fromkeys(part.atom_at(place) for part in way.parts))


def _plan(algebra: Algebra, way: ArrayWay, pointer: str) -> ArrayPlan:
    if len(way.counters) > _MAX_COUNTERS:
        raise GrammarLimitExceeded(f"{pointer or 'the root'}: more than {_MAX_COUNTERS} counts of an array's elements")
    low, high = counted_bounds(way.low, way.high, pointer)
    way = way._replace(low=low, high=high, counters=tuple(_held(one, pointer) for one in way.counters))
    ends = [len(part.places) for part in way.parts] + [one.start for one in way.counters]
    length = max(ends, default=0)
    if high is not None and high < length:
        length = high
    *prefix, rest = (_items(algebra, way, place) for place in range(length + 1))
    return ArrayPlan(tuple(prefix), rest, low, high, way.counters, way.unique and high not in (0, 1), pointer)


def _held(counter: Counter, pointer: str) -> Counter:
    low, high = counted_bounds(counter.low, counter.high, pointer)
    return counter._replace(low=low, high=high)


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
