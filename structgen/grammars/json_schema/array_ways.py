"""What one subschema says of arrays, how it fails, and how two ways of being an array meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.grammars.bounds import least
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.counting import MOST
from structgen.grammars.json_schema.json_values import is_array
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.value_ways import FREE_ARRAY, ArrayPart, ArrayWay, Counter, SeenItems, joined

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["array_failures", "array_way", "constant_array", "constant_array_failures", "meet_arrays"]


def array_way(algebra: Algebra, location: Location, *, track: bool) -> ArrayWay | None:
    """The one way of meeting the keywords about arrays, without those that apply to the array itself."""
    if not location.about & dialects.ARRAY:
        return FREE_ARRAY
    keywords, part = location.keywords, _read_part(location)
    counter, high = _read_counter(location), keywords.get("maxItems")
    way = ArrayWay(
        (part,) if part.places or part.rest is not ANYTHING else (),
        int(keywords.get("minItems", 0)),
        None if high is None else int(high),
        () if counter is None else (counter,),
        keywords.get("uniqueItems", False),
        seen=_seen(location, part, counter) if track else None,
    )
    return _settled(algebra, way)


def _read_part(location: Location) -> ArrayPart:
    """The schemas for places and for all others, in each draft's words."""
    keywords = location.keywords
    listed, others = ("prefixItems", "items") if location.dialect.draft == 2020 else ("items", "additionalItems")
    if not is_array(keywords.get(listed)):
        return ArrayPart((), location.child("items") if "items" in keywords else ANYTHING)
    places = tuple(location.child(listed, place) for place in range(len(keywords[listed])))
    return ArrayPart(places, location.child(others) if others in keywords else ANYTHING)


def _read_counter(location: Location) -> Counter | None:
    keywords = location.keywords
    if "contains" not in keywords:
        return None
    high = keywords.get("maxContains")
    low = int(keywords.get("minContains", 1))
    return Counter((location.child("contains"),), low, None if high is None else int(high))


def _seen(location: Location, part: ArrayPart, counter: Counter | None) -> SeenItems:
    keywords, draft = location.keywords, location.dialect.draft
    is_list = is_array(keywords.get("items"))
    everything = "additionalItems" in keywords if is_list else "items" in keywords
    matching = counter.atoms if counter is not None and draft == 2020 else ()
    return SeenItems(len(part.places), matching, everything)


def array_failures(location: Location) -> list[ArrayWay]:
    """The ways of failing the keywords about arrays, those aside that apply to the array itself."""
    if not location.about & dialects.ARRAY:
        return []
    keywords, part = location.keywords, _read_part(location)
    ways = [_wrong_at(place, atom) for place, atom in enumerate(part.places) if atom is not ANYTHING]
    if part.rest is not ANYTHING:
        ways.append(ArrayWay(counters=(Counter((part.rest.negation,), start=len(part.places)),)))
    if int(keywords.get("minItems", 0)):
        ways.append(ArrayWay(high=int(keywords["minItems"]) - 1))
    if int(keywords.get("maxItems", MOST)) < MOST:
        ways.append(ArrayWay(low=int(keywords["maxItems"]) + 1))
    if keywords.get("uniqueItems"):
        ways.append(ArrayWay(low=2, repeats=f"{location.pointer}/uniqueItems"))
    counter = _read_counter(location)
    if counter is not None:
        ways += _miscounted(counter)
    return ways


def _wrong_at(place: int, atom: Atom) -> ArrayWay:
    return ArrayWay((ArrayPart((ANYTHING,) * place + (atom.negation,)),), low=place + 1)


def _miscounted(counter: Counter) -> list[ArrayWay]:
    ways = [ArrayWay(counters=(counter._replace(low=0, high=counter.low - 1),))] if counter.low else []
    if counter.high is not None and counter.high < MOST:
        ways.append(ArrayWay(counters=(counter._replace(low=counter.high + 1, high=None),)))
    return ways


def constant_array(items: tuple[Atom, ...]) -> ArrayWay:
    """The array of exactly these elements."""
    return ArrayWay((ArrayPart(items, NOTHING),), len(items), len(items))


def constant_array_failures(items: tuple[Atom, ...]) -> list[ArrayWay]:
    """Any other array."""
    ways = [_wrong_at(place, atom) for place, atom in enumerate(items)]
    shorter = [ArrayWay(high=len(items) - 1)] if items else []
    return [*ways, *shorter, ArrayWay(low=len(items) + 1)]


def meet_arrays(algebra: Algebra, one: ArrayWay, other: ArrayWay) -> ArrayWay | None:
    """What meets both, ``None`` where that is plainly nothing."""
    if one is FREE_ARRAY or other is FREE_ARRAY:
        return other if one is FREE_ARRAY else one
    way = ArrayWay(
        joined(one.parts, other.parts),
        max(one.low, other.low),
        least(one.high, other.high),
        joined(one.counters, other.counters),
        one.unique or other.unique,
        one.repeats or other.repeats,
        one.seen if other.seen is None else other.seen if one.seen is None else one.seen | other.seen,
    )
    return _settled(algebra, way)


def _settled(algebra: Algebra, way: ArrayWay) -> ArrayWay | None:
    """The way with the counters that are none made plain, ``None`` where plainly no array is there."""
    if any(one.high is not None and one.low > one.high for one in way.counters):
        return None
    if way.counters:
        way = _without_plain_counters(algebra, way)
    if way.high is not None and (way.low > way.high or any(one.low + one.start > way.high for one in way.counters)):
        return None
    longest = max((len(part.places) for part in way.parts), default=0)
    if any(_cannot_be(algebra, way.parts, place) for place in range(min(way.low, longest + 1))):
        return None
    return way


def _without_plain_counters(algebra: Algebra, way: ArrayWay) -> ArrayWay:
    """Counters of all elements are bounds on the length, and one that may not move says what no element is."""
    low, high, parts = way.low, way.high, way.parts
    kept: list[Counter] = []
    for one in way.counters:
        if one.high == 0 and len(one.atoms) == 1:
            parts = joined(parts, (ArrayPart((ANYTHING,) * one.start, one.atoms[0].negation),))
        elif _never_counts(algebra, way, one):
            high = -1 if one.low else high
        elif _always_counts(algebra, way, one):
            low = max(low, one.low + one.start if one.low else 0)
            most = None if one.high is None else one.high + one.start
            high = least(high, most)
        elif one.low or one.high is not None:
            kept.append(one)
    return way._replace(parts=parts, low=low, high=high, counters=tuple(kept))


def _never_counts(algebra: Algebra, way: ArrayWay, counter: Counter) -> bool:
    """Whether plainly no element is counted."""
    return all(algebra.is_hopeless(atoms + counter.atoms) for atoms in _element_atoms(way, counter))


def _always_counts(algebra: Algebra, way: ArrayWay, counter: Counter) -> bool:
    """Whether plainly every element is counted, from the counter's start."""
    return all(
        algebra.is_hopeless((*atoms, atom.negation)) for atom in counter.atoms for atoms in _element_atoms(way, counter)
    )


def _element_atoms(way: ArrayWay, counter: Counter) -> list[tuple[Atom, ...]]:
    """What the elements at the counter's start and at each later place that is another must meet."""
    last = max((counter.start, *(len(part.places) for part in way.parts)))
    return [tuple(dict.fromkeys(part.atom_at(place) for part in way.parts)) for place in range(counter.start, last + 1)]


def _cannot_be(algebra: Algebra, parts: tuple[ArrayPart, ...], place: int) -> bool:
    atoms = dict.fromkeys(part.atom_at(place) for part in parts)
    atoms.pop(ANYTHING, None)
    return NOTHING in atoms or (len(atoms) > 1 and algebra.is_hopeless(tuple(atoms)))
