"""From a way of being an object to its plans: members merged key by key, other keys divided into classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import language
from structgen.grammars.covering import room_of
from structgen.grammars.json_schema.atoms import NOTHING, Atom
from structgen.grammars.json_schema.key_classes import KeyClass, key_classes, meeting, told_apart
from structgen.grammars.json_schema.object_plans import ObjectPlan, OtherKeys
from structgen.grammars.json_schema.object_ways import with_members
from structgen.grammars.json_schema.value_ways import ObjectPart, ObjectWay

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["MAX_NAMES", "object_plans"]

MAX_NAMES = 1_000
"""A class of so many keys at most is written as declared keys."""
_MAX_ALTERNATIVES = 1_000
_MAX_OBLIGATIONS = 8

Atoms = tuple[Atom, ...]


def object_plans(algebra: Algebra, way: ObjectWay, pointer: str) -> list[ObjectPlan]:
    """The plans that together are ``way``: several where a member that must be there can be a declared one.

    Raises
    ------
    GrammarLimitExceeded
        There are too many.
    """
    if way.obligations and any(part.is_closed for part in way.parts):
        return [plan for one in with_members(algebra, way) for plan in object_plans(algebra, one, pointer)]
    if len(way.parts) == 1 and not (way.parts[0].patterns or way.keys or way.implications or way.obligations):
        return [_plain_plan(algebra, way, way.parts[0], pointer)]
    declared = _declared(way)
    classes: list[KeyClass] = []
    for one in key_classes(algebra, way):
        few = one.keys.members(MAX_NAMES)
        if few is None:
            classes.append(one)
        for name in few or ():
            declared.setdefault(name, one.atoms)
    if way.obligations:
        classes = [one for one in told_apart(classes, way.obligations) if room_of(one.keys, declared) != 0]
        return list(_with_obligations(algebra, way, pointer, declared, classes))
    return [_plan(algebra, way, pointer, declared, way.required, classes, 0)]


def _plain_plan(algebra: Algebra, way: ObjectWay, part: ObjectPart, pointer: str) -> ObjectPlan:
    """The one plan of what a single ``properties`` says, the most common case."""
    conjunction = algebra.conjunction
    values = {name: conjunction(atom) for name, atom in part.properties.items()}
    additional = conjunction(part.additional)
    for name in (*way.required, *part.covered):
        if name not in values:
            values[name] = algebra.anything if name in part.covered else additional
    if not all(name.isascii() or language.ALL.contains(name) for name in values):
        values.update((name, algebra.nothing) for name in values if not language.ALL.contains(name))
    is_closed = part.additional is NOTHING
    others = () if is_closed else (OtherKeys(language.ALL, additional, frozenset()),)
    return ObjectPlan(values, others, way.required, way.low, way.high, (), 0, pointer)


def _declared(way: ObjectWay) -> dict[str, Atoms]:
    """What the values of the keys that are mentioned must meet, the keys in order of mention."""
    names: dict[str, None] = {}
    for part in way.parts:
        names.update(dict.fromkeys(part.properties))
    names.update(dict.fromkeys(way.required))
    more = [name for part in way.parts if part.covered is not part.properties for name in part.covered]
    more += [name for one in way.obligations for name in one.names]
    more += [name for keys, other in way.implications for name in (*keys, other) if name is not None]
    names.update(dict.fromkeys(sorted(more)))
    return {name: _atoms_of(way, name) for name in names}


def _atoms_of(way: ObjectWay, name: str) -> Atoms:
    if any(not any(keys.contains(name) for keys in languages) for languages in way.keys):
        return (NOTHING,)
    if not name.isascii() and not language.ALL.contains(name):  # a lone surrogate: no JSON text has this key
        return (NOTHING,)
    return way.atoms_of(name)


def _plan(
    algebra: Algebra,
    way: ObjectWay,
    pointer: str,
    declared: dict[str, Atoms],
    required: Iterable[str],
    classes: Iterable[KeyClass],
    obligations: int,
) -> ObjectPlan:
    conjunction = algebra.conjunction
    return ObjectPlan(
        {name: conjunction(*atoms) for name, atoms in declared.items()},
        tuple(OtherKeys(one.keys, conjunction(*one.atoms), one.meets) for one in classes),
        tuple(required),
        way.low,
        way.high,
        way.implications,
        obligations,
        pointer,
    )


def _with_obligations(
    algebra: Algebra, way: ObjectWay, pointer: str, declared: dict[str, Atoms], classes: list[KeyClass]
) -> Iterator[ObjectPlan]:
    """For each obligation, a declared member that meets it, or some other one."""
    choices: list[list[str | None]] = []
    for one in way.obligations:
        able = [
            name
            for name, atoms in declared.items()
            if one.concerns(name) and not algebra.is_hopeless((*atoms, *one.atoms))
        ]
        choices.append([*able, None])
    if math.prod(map(len, choices)) > _MAX_ALTERNATIVES or len(choices) > _MAX_OBLIGATIONS:
        raise GrammarLimitExceeded(f"{pointer or 'the root'}: too many combinations of members that must be there")
    for chosen in product(*choices):
        values, required, some, left = dict(declared), dict.fromkeys(way.required), classes, 0
        for name, one in zip(chosen, way.obligations, strict=True):
            if name is None:
                some = meeting(algebra, some, left, one)
                left += 1
            else:
                values[name] = (*values[name], *one.atoms)
                required[name] = None
        yield _plan(algebra, way, pointer, values, required, some, left)
