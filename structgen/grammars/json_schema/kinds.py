"""An upper bound on the types of a condition's values, at a glance: it is taken before ways are computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from structgen.grammars import language
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.applicators import Also, AnyOf, Applicator, Conditional, OneOf
from structgen.grammars.json_schema.assertions import of_values
from structgen.grammars.json_schema.atoms import NOTHING, Atom, Constant, Either, Negation
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.ways import ALL, ARRAYS, NUMBERS, OBJECTS, STRINGS

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["kinds_of"]


def kinds_of(algebra: Algebra, atom: Atom) -> int:
    """The types that a value that meets ``atom`` has at most."""
    if atom.kinds < 0:
        atom.kinds = ALL  # what it leads back to itself by says nothing
        atom.kinds = _look(algebra, atom)
    return atom.kinds


def _look(algebra: Algebra, atom: Atom) -> int:
    if isinstance(atom, Location):
        return _holding(algebra, atom)
    if isinstance(atom, Constant):
        return of_values([atom.value]).types
    if isinstance(atom, Either):
        return _any_of(_all_of(kinds_of(algebra, one) for one in choice) for choice in atom.choices)
    if isinstance(atom, Negation) and isinstance(atom.atom, Location):
        return _failing(algebra, atom.atom)
    return 0 if atom is NOTHING else ALL


def _holding(algebra: Algebra, location: Location) -> int:
    subschema = algebra.subschema(location)
    kinds = subschema.values.types
    for applicator in subschema.applicators:
        kinds &= _applied(algebra, applicator)
    return kinds


def _applied(algebra: Algebra, applicator: Applicator) -> int:
    if isinstance(applicator, Also):
        return kinds_of(algebra, applicator.atom)
    if isinstance(applicator, (AnyOf, OneOf)):
        return _any_of(kinds_of(algebra, atom) for atom in applicator.atoms)
    if isinstance(applicator, Conditional):
        return kinds_of(algebra, applicator.then) | kinds_of(algebra, applicator.otherwise)
    return ALL


def _failing(algebra: Algebra, location: Location) -> int:
    about, values = location.read(), algebra.subschema(location).values
    if about & dialects.IN_PLACE:
        return ALL
    some = 0
    if about & dialects.NUMBER or values.numbers is not NumberSet.ALL:
        some |= NUMBERS
    if about & dialects.STRING or values.strings is not language.ALL:
        some |= STRINGS
    if about & dialects.ARRAY or values.containers is not None:
        some |= ARRAYS
    if about & dialects.OBJECT or values.containers is not None:
        some |= OBJECTS
    return ALL & ~values.types | some


def _any_of(several: Iterable[int]) -> int:
    found = 0
    for kinds in several:
        found |= kinds
    return found


def _all_of(several: Iterable[int]) -> int:
    found = ALL
    for kinds in several:
        found &= kinds
    return found
