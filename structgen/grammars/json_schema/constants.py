"""Single values, as members and elements of what ``enum`` and ``const`` list: how to be one, and how not to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.grammars.json_schema import array_ways, object_ways
from structgen.grammars.json_schema.assertions import of_values
from structgen.grammars.json_schema.atoms import Atom, Constant
from structgen.grammars.json_schema.json_values import is_array, is_object
from structgen.grammars.json_schema.ways import ARRAYS, LITERALS, NUMBERS, OBJECTS, STRINGS, Ways, free, union

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["constant_fails", "constant_holds"]


def constant_holds(algebra: Algebra, atom: Constant, wanted: int) -> Ways:
    """The one way of being the value, if it is of the types ``wanted``."""
    if is_object(atom.value):
        return Ways(objects=(object_ways.constant_object(_members(algebra, atom)),) if wanted & OBJECTS else ())
    if is_array(atom.value):
        return Ways(arrays=(array_ways.constant_array(_items(algebra, atom)),) if wanted & ARRAYS else ())
    values = of_values([atom.value])
    return Ways(
        values.types & wanted & LITERALS,
        (values.numbers,) if wanted & NUMBERS and not values.numbers.is_empty else (),
        (values.strings,) if wanted & STRINGS and not values.strings.is_empty else (),
    )


def constant_fails(algebra: Algebra, atom: Constant, wanted: int) -> Ways:
    """The ways of being any other value of the types ``wanted``."""
    if is_object(atom.value):
        ways = object_ways.constant_object_failures(algebra, _members(algebra, atom)) if wanted & OBJECTS else ()
        return free(wanted & ~OBJECTS)._replace(objects=tuple(ways))
    if is_array(atom.value):
        ways = array_ways.constant_array_failures(_items(algebra, atom)) if wanted & ARRAYS else ()
        return free(wanted & ~ARRAYS)._replace(arrays=tuple(ways))
    values = of_values([atom.value])
    others = free(wanted & ~values.types)
    return union(
        (
            others,
            Ways(
                0,
                values.numbers.negations() if wanted & values.types & NUMBERS else (),
                values.strings.negations() if wanted & values.types & STRINGS else (),
            ),
        )
    )


def _members(algebra: Algebra, atom: Constant) -> dict[str, Atom]:
    return {name: algebra.constant(its, atom.pointer) for name, its in atom.value.items()}


def _items(algebra: Algebra, atom: Constant) -> tuple[Atom, ...]:
    return tuple(algebra.constant(its, atom.pointer) for its in atom.value)
