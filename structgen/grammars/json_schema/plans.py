"""Plans: each conjunction worked out, and whether any value meets it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from structgen.grammars import language
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.array_planning import array_plans
from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.counting import counted_bounds
from structgen.grammars.json_schema.json_values import is_object
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.object_planning import object_plans
from structgen.grammars.json_schema.object_plans import ObjectPlan, OtherKeys
from structgen.grammars.json_schema.ways import FALSE, NO_WAY, NULL, TRUE, Ways
from structgen.grammars.limits import checkpoint

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["Plan", "Planner"]


class Plan(NamedTuple):
    """What a conjunction comes to."""

    scalars: Ways
    arrays: tuple[ArrayPlan, ...] = ()
    objects: tuple[ObjectPlan, ...] = ()

    @property
    def is_plainly_satisfiable(self) -> bool:
        """Whether a value that needs nothing inside meets it."""
        scalars = self.scalars
        return bool(
            scalars.literals
            or scalars.numbers
            or scalars.strings
            or any(one.is_plainly_satisfiable for one in self.arrays)
            or any(one.is_plainly_satisfiable for one in self.objects)
        )

    def children(self) -> Iterator[Conjunction]:
        """What decides whether any value meets it."""
        for one in (*self.arrays, *self.objects):
            yield from one.children()


class Planner:
    """Works conjunctions out and tells which have values: those that a finite value meets, a least fixpoint.

    Parameters
    ----------
    algebra : Algebra
        For the ways.
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def plan(self, conjunction: Conjunction) -> Plan:
        """What ``conjunction`` comes to."""
        plan = conjunction.plan
        if plan is None:
            checkpoint()
            plan = conjunction.plan = self._plan(conjunction)
            if plan.is_plainly_satisfiable:
                conjunction.satisfiable = True
        return plan

    def _plan(self, conjunction: Conjunction) -> Plan:
        if len(conjunction.atoms) == 1:
            atom = conjunction.atoms[0]
            plain = _of_type_alone(atom) or self._of_properties_alone(atom) or self._of_items_alone(atom)
            if plain is not None:
                return plain
        algebra, ways = self.algebra, self.algebra.expand(conjunction)
        if not ways.arrays and not ways.objects:
            return Plan(ways)
        return Plan(
            ways,
            tuple(plan for way in ways.arrays for plan in array_plans(algebra, way, conjunction.pointer)),
            tuple(plan for way in ways.objects for plan in object_plans(algebra, way, conjunction.pointer)),
        )

    def _of_properties_alone(self, atom: Atom) -> Plan | None:
        """The plan of the next most common: an object with ``properties``, of which some are required."""
        if not isinstance(atom, Location) or atom.about != _OF_OBJECTS or not _PLAIN_OBJECT.issuperset(atom.keywords):
            return None
        keywords, conjunction = atom.keywords, self.algebra.conjunction
        if keywords["type"] != "object" or not keywords.get("properties"):
            return None
        additional = ANYTHING if "additionalProperties" not in keywords else atom.child("additionalProperties")
        values = {name: conjunction(one) for name, one in atom.children("properties").items()}
        required = tuple(dict.fromkeys(keywords.get("required", ())))
        if not all(map(str.isascii, values)) or not all(name in values for name in required):
            return None
        if any(values[name] is self.algebra.nothing for name in required):
            return Plan(NO_WAY)
        others = () if additional is NOTHING else (OtherKeys(language.ALL, conjunction(additional), frozenset()),)
        return Plan(NO_WAY, objects=(ObjectPlan(values, others, required, 0, None, (), 0, atom.pointer),))

    def _of_items_alone(self, atom: Atom) -> Plan | None:
        """The plan of an array of any elements that are alike, with bounds on their number."""
        if not isinstance(atom, Location) or atom.about != _OF_ARRAYS or not _PLAIN_ARRAY.issuperset(atom.keywords):
            return None
        keywords = atom.keywords
        if keywords["type"] != "array" or not is_object(keywords.get("items")):
            return None
        value, low, high = (
            self.algebra.conjunction(atom.child("items")),
            keywords.get("minItems", 0),
            keywords.get("maxItems"),
        )
        if value is self.algebra.nothing or (high is not None and high < max(low, 1)):
            return None
        low, high = counted_bounds(int(low), None if high is None else int(high), atom.pointer)
        return Plan(NO_WAY, (ArrayPlan((), (ItemPlan(value),), low, high, (), unique=False, pointer=atom.pointer),))

    def is_satisfiable(self, conjunction: Conjunction) -> bool:
        """Whether any value meets ``conjunction``."""
        if conjunction.satisfiable is None:
            self.plan(conjunction)
            if conjunction.satisfiable is None:
                self._settle(conjunction)
        return bool(conjunction.satisfiable)

    def _settle(self, conjunction: Conjunction) -> None:
        """Find out, for all that it depends on and that is not yet known."""
        unknown: dict[Conjunction, None] = {}
        pending = [conjunction]
        while pending:
            one = pending.pop()
            plan = self.plan(one)
            if one.satisfiable is None and one not in unknown:
                unknown[one] = None
                pending += (child for child in plan.children() if child.satisfiable is None)
        self._fix(list(unknown))

    def _fix(self, unknown: list[Conjunction]) -> None:
        """The least fixpoint: mark what has values as long as more comes to light; the rest has none.

        What others depend on was found after them, so it is looked at first.
        """
        unknown.reverse()
        left = unknown
        while True:
            before = len(left)
            for one in left:
                plan = self.plan(one)
                if any(way.is_satisfiable(_is_known) for way in (*plan.arrays, *plan.objects)):
                    one.satisfiable = True
            left = [one for one in left if not one.satisfiable]
            if len(left) == before:
                break
        for one in left:
            one.satisfiable = False


def _is_known(conjunction: Conjunction) -> bool:
    return bool(conjunction.satisfiable)


_OF_OBJECTS = dialects.OBJECT | dialects.VALUES
_OF_ARRAYS = dialects.ARRAY | dialects.VALUES
_PLAIN_ARRAY = frozenset({"type", "items", "minItems", "maxItems"})
_PLAIN_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_TYPES = {
    "null": Plan(Ways(NULL)),
    "boolean": Plan(Ways(FALSE | TRUE)),
    "integer": Plan(Ways(numbers=(NumberSet.integers(),))),
    "number": Plan(Ways(numbers=(NumberSet.ALL,))),
    "string": Plan(Ways(strings=(language.ALL,))),
}
_PLAIN_INTEGER = Plan(Ways(numbers=(NumberSet.plain_integers(),)))


def _of_type_alone(atom: Atom) -> Plan | None:
    """The plan of the most common of all subschemas: one that only names a type without anything inside."""
    if not isinstance(atom, Location) or atom.read() != dialects.VALUES or len(atom.keywords) != 1:
        return None
    name = atom.keywords.get("type")
    if name == "integer" and atom.dialect.draft == 4:
        return _PLAIN_INTEGER
    return _TYPES.get(name) if isinstance(name, str) else None
