"""What one subschema says of objects, how it fails, and how two ways of being an object meet."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from structgen.grammars import language
from structgen.grammars.bounds import least
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.assertions import pattern_language
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.counting import MOST
from structgen.grammars.json_schema.json_values import child_pointer, is_array
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.products import absorbed
from structgen.grammars.json_schema.unsupported import Unsupported
from structgen.grammars.json_schema.value_ways import (
    FREE_OBJECT,
    ObjectPart,
    ObjectWay,
    Obligation,
    SeenKeys,
    joined,
)
from structgen.grammars.language import Language

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = [
    "absent",
    "constant_object",
    "constant_object_failures",
    "meet_objects",
    "object_failures",
    "object_way",
    "read_part",
    "with_members",
]


def absent(algebra: Algebra, name: str) -> ObjectWay:
    """An object without ``name``."""
    return ObjectWay((algebra.member(name, NOTHING),))


def object_way(algebra: Algebra, location: Location, *, track: bool) -> ObjectWay | None:
    """The one way of meeting the keywords about objects, without those that apply to the object itself."""
    if not location.about & dialects.OBJECT:
        return FREE_OBJECT
    keywords, part = location.keywords, algebra.object_part(location)
    is_plain = not part.properties and not part.patterns and part.additional is ANYTHING
    high = keywords.get("maxProperties")
    keys = _key_languages(algebra, location)
    way = ObjectWay(
        () if is_plain else (part,),
        tuple(dict.fromkeys(keywords.get("required", ()))),
        int(keywords.get("minProperties", 0)),
        None if high is None else int(high),
        tuple((frozenset((key,)), other) for key, other in _dependent(keywords)),
        (),
        () if keys is None else (keys,),
        SeenKeys(
            frozenset(part.properties),
            tuple(keys for keys, _ in part.patterns),
            "additionalProperties" in keywords,
            not part.is_exact,
        )
        if track
        else None,
    )
    if any(NOTHING in way.atoms_of(name) for name in way.required):
        return None
    return None if _is_dead(way) else way


def read_part(location: Location, unsupported: Unsupported) -> ObjectPart:
    """``properties``, ``patternProperties`` and ``additionalProperties``.

    Where a pattern is left out so is ``additionalProperties``, as it is not known which keys it is about.
    """
    keywords = location.keywords
    patterns = [
        (_pattern(location, pattern, unsupported), location.child("patternProperties", pattern))
        for pattern in keywords.get("patternProperties", ())
    ]
    known = tuple((keys, atom) for keys, atom in patterns if keys is not None)
    is_exact = len(known) == len(patterns)
    return ObjectPart(
        location.children("properties") if "properties" in keywords else {},
        known,
        location.child("additionalProperties") if is_exact and "additionalProperties" in keywords else ANYTHING,
        is_exact=is_exact,
    )


def _pattern(location: Location, pattern: str, unsupported: Unsupported) -> Language | None:
    place = child_pointer(location.pointer, "patternProperties", pattern)
    return pattern_language(pattern, place, "patternProperties", unsupported)


def _key_languages(algebra: Algebra, location: Location) -> tuple[Language, ...] | None:
    """What ``propertyNames`` leaves; ``None``: every key."""
    if "propertyNames" not in location.keywords:
        return None
    found = algebra.strings(location.child("propertyNames"))
    return None if found == (language.ALL,) else found


def _dependent(keywords: dict[str, Any]) -> list[tuple[str, str]]:
    """Keys with another that must be there where they are."""
    if "dependentRequired" not in keywords and "dependencies" not in keywords:
        return []
    return [
        (key, other)
        for keyword in ("dependentRequired", "dependencies")
        for key, others in keywords.get(keyword, {}).items()
        if is_array(others)
        for other in others
    ]


def object_failures(algebra: Algebra, location: Location) -> list[ObjectWay]:
    """The ways of failing the keywords about objects, those aside that apply to the object itself."""
    if not location.about & dialects.OBJECT:
        return []
    keywords, part = location.keywords, algebra.object_part(location)
    if not part.is_exact:
        return [FREE_OBJECT]
    required = frozenset(keywords.get("required", ()))
    asked = {name: atom for name, atom in part.properties.items() if atom is not ANYTHING}
    guard = next((name for name, atom in asked.items() if _is_listed(atom)), None)
    ways = [_wrong_member(algebra, name, atom, required) for name, atom in asked.items() if name != guard]
    missing = required.difference(asked)
    if len(missing) == 1:
        ways.append(absent(algebra, *missing))
    elif missing:
        ways.append(ObjectWay(implications=((missing, None),)))
    ways += [ObjectWay(absent(algebra, other).parts, (key,)) for key, other in _dependent(keywords)]
    if int(keywords.get("minProperties", 0)):
        ways.append(ObjectWay(high=int(keywords["minProperties"]) - 1))
    if int(keywords.get("maxProperties", MOST)) < MOST:
        ways.append(ObjectWay(low=int(keywords["maxProperties"]) + 1))
    wrong_others = _wrong_others(part) + _wrong_keys(algebra, location)
    ways += [ObjectWay(obligations=(one,)) for one in wrong_others]
    if guard is None:
        return ways
    # The other failures only where this key is right: so the failures of branches that it tells apart do not multiply.
    right = ObjectWay((algebra.member(guard, asked[guard]),), (guard,) if guard in required else ())
    guarded = (meet_objects(algebra, right, way) for way in ways)
    wrong = _wrong_member(algebra, guard, asked[guard], required)
    return [wrong, *(way for way in guarded if way is not None)]


def _is_listed(atom: Atom) -> bool:
    """Whether ``atom`` at a glance lists the values that meet it."""
    return isinstance(atom, Location) and atom.read() != 0 and not atom.keywords.keys().isdisjoint(("enum", "const"))


def _wrong_member(algebra: Algebra, name: str, atom: Atom, required: frozenset[str]) -> ObjectWay:
    """``name`` with a wrong value; or not there at all, where it is required."""
    return ObjectWay((algebra.member(name, atom.negation),), () if name in required else (name,))


def _wrong_keys(algebra: Algebra, location: Location) -> list[Obligation]:
    """A key that fails ``propertyNames``."""
    if "propertyNames" not in location.keywords:
        return []
    if algebra.unsupported.relaxing:
        # What is known of the names may be more than meets it: those that fail it are asked for.
        wrong = algebra.strings(location.child("propertyNames").negation)
        return [Obligation((), inside=one) for one in wrong]
    keys = _key_languages(algebra, location)
    return [] if keys is None else [Obligation((), outside=keys)]


def _wrong_others(part: ObjectPart) -> list[Obligation]:
    wrong = [Obligation((atom.negation,), inside) for inside, atom in part.patterns if atom is not ANYTHING]
    if part.additional is not ANYTHING:
        outside = tuple(inside for inside, _ in part.patterns)
        wrong.append(Obligation((part.additional.negation,), outside=outside, names=frozenset(part.covered)))
    return wrong


def constant_object(members: dict[str, Atom]) -> ObjectWay:
    """The object with exactly these members."""
    return ObjectWay((ObjectPart(members, additional=NOTHING),), tuple(members))


def constant_object_failures(algebra: Algebra, members: dict[str, Atom]) -> list[ObjectWay]:
    """Any other object."""
    ways = [_wrong_member(algebra, name, atom, frozenset((name,))) for name, atom in members.items()]
    return [*ways, ObjectWay(low=len(members) + 1)]


def with_members(algebra: Algebra, way: ObjectWay) -> list[ObjectWay]:
    """The ways that together are ``way``, obligations turned into keys that are there, where it lists all its keys."""
    if not way.obligations:
        return [way]
    closed = [part.covered for part in way.parts if part.is_closed]
    if not closed:
        return [way]
    first, *others = way.obligations
    if any(first.concerns(name) and first.said.issubset(way.atoms_of(name)) for name in way.required):
        return with_members(algebra, way.changed(obligations=tuple(others)))
    found: list[ObjectWay] = []
    for name in min(closed, key=len):
        if first.concerns(name) and not _clash(algebra, way.atoms_of(name), first.atoms):
            parts = tuple(algebra.member(name, atom) for atom in first.atoms)
            required = joined(way.required, (name,))
            one = way.changed(parts=joined(way.parts, parts), required=required, obligations=tuple(others))
            found += with_members(algebra, one)
    return list(absorbed(tuple(found)))


def meet_objects(algebra: Algebra, one: ObjectWay, other: ObjectWay) -> ObjectWay | None:
    """What meets both, ``None`` where that is plainly nothing."""
    if one is FREE_OBJECT or other is FREE_OBJECT:
        return other if one is FREE_OBJECT else one
    if any(_clash(algebra, one.atoms_of(name), other.atoms_of(name)) for name in {*one.required, *other.required}):
        return None
    way = ObjectWay(
        joined(one.parts, other.parts),
        joined(one.required, other.required),
        max(one.low, other.low),
        least(one.high, other.high),
        joined(one.implications, other.implications),
        joined(one.obligations, other.obligations),
        joined(one.keys, other.keys),
        one.seen if other.seen is None else other.seen if one.seen is None else one.seen | other.seen,
    )
    return None if _is_dead(way) else way


def _clash(algebra: Algebra, one: tuple[Atom, ...], other: tuple[Atom, ...]) -> bool:
    """Whether plainly no value meets all of both."""
    if NOTHING in one or NOTHING in other:
        return True
    return bool(one and other) and algebra.is_hopeless(one + other)


def _is_dead(way: ObjectWay) -> bool:
    """Whether plainly no object is there, the values of its members aside."""
    if way.high is not None and (way.low > way.high or len(way.required) > way.high):
        return True
    if way.implications and way.required:
        required = frozenset(way.required)
        for keys, other in way.implications:
            if keys <= required and (other is None or NOTHING in way.atoms_of(other)):
                return True
    return any(part.is_closed and _has_too_few(way, part.covered) for part in way.parts)


def _has_too_few(way: ObjectWay, names: Collection[str]) -> bool:
    """Whether there is too little in these names, the only ones that can be there."""
    return len(names) < way.low or not all(any(map(one.concerns, names)) for one in way.obligations)
