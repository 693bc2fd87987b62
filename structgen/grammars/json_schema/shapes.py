"""The algebra: a schema as a union of shapes, computed one level at a time.

A *conjunction* is a set of locations that must all hold; a *shape* is what one way of meeting it asks of each type,
with conjunctions for the values inside. Nothing below a level is looked at before it is reached, so that references
may run in circles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.json_schema.keywords import check_keywords, is_array, is_object
from structgen.grammars.json_schema.location import Location

__all__ = ["Algebra", "Conjunction", "Shape"]

Conjunction = tuple[Location, ...]
"""Locations that must all hold, each once, in order of first mention; the empty one allows everything."""

INTEGER, FRACTION = "integer", "fraction"  # the two kinds of number that types tell apart
_KINDS = {
    "null": {"null"},
    "boolean": {"boolean"},
    "integer": {INTEGER},
    "number": {INTEGER, FRACTION},
    "string": {"string"},
    "array": {"array"},
    "object": {"object"},
}
_ALL_KINDS = frozenset[str]().union(*_KINDS.values())

_MAX_SHAPES = 4096


@dataclass(frozen=True)
class Shape:
    """One way of meeting a conjunction."""

    kinds: frozenset[str] = _ALL_KINDS
    """Types of value; numbers as ``integer`` and ``fraction``."""
    values: tuple[Any, ...] | None = None
    """If given, the value is one of these."""
    items: Conjunction = ()
    properties: tuple[tuple[str, Conjunction], ...] = ()
    """Declared properties, in order."""
    additional: Conjunction = ()
    """What values of undeclared keys must meet."""
    required: tuple[str, ...] = ()

    def meet(self, other: Shape) -> Shape:
        """What meets both; `values` are not yet held against the other's rules."""
        mine, theirs = dict(self.properties), dict(other.properties)
        properties = [
            (key, both(mine.get(key, self.additional), theirs.get(key, other.additional)))
            for key in dict.fromkeys((*mine, *theirs))
        ]
        return Shape(
            self.kinds & other.kinds,
            _common(self.values, other.values),
            both(self.items, other.items),
            tuple(properties),
            both(self.additional, other.additional),
            tuple(dict.fromkeys((*self.required, *other.required))),
        )

    def property_schema(self, key: str) -> Conjunction:
        """What the value of ``key`` must meet."""
        return dict(self.properties).get(key, self.additional)


class Algebra:
    """Expands conjunctions into shapes, remembering each.

    Parameters
    ----------
    formats : str
        ``"assert"`` or ``"annotate"``.
    """

    def __init__(self, formats: str) -> None:
        self._formats = formats
        self._shapes: dict[Location, tuple[Shape, ...]] = {}
        self._open: set[Location] = set()

    def expand(self, conjunction: Conjunction) -> tuple[Shape, ...]:
        """The shapes of ``conjunction``, of their values only those that meet the rules; none where nothing can."""
        return tuple(filter(None, map(self._settle, self._unsettled(conjunction))))

    def holds(self, value: Any, conjunction: Conjunction) -> bool:
        """Whether ``value`` meets ``conjunction``."""
        return any(self._fits(value, shape) for shape in self._unsettled(conjunction))

    def _unsettled(self, conjunction: Conjunction) -> tuple[Shape, ...]:
        shapes: tuple[Shape, ...] = (Shape(),)
        for location in conjunction:
            shapes = _product(shapes, self._shapes_of(location), location.pointer)
        return shapes

    def _settle(self, shape: Shape) -> Shape | None:
        """``shape`` with only those of its values that meet its rules; ``None`` where nothing is left."""
        if shape.values is None:
            return shape if shape.kinds else None
        rules = Shape(shape.kinds, None, shape.items, shape.properties, shape.additional, shape.required)
        kept = tuple(value for value in shape.values if self._fits(value, rules))
        return Shape(values=kept) if kept else None

    def _fits(self, value: Any, shape: Shape) -> bool:
        if shape.values is not None and not any(same_json(value, other) for other in shape.values):
            return False
        if kind_of(value) not in shape.kinds:
            return False
        if is_array(value):
            return all(self.holds(item, shape.items) for item in value)
        if is_object(value):
            return all(key in value for key in shape.required) and all(
                self.holds(its, shape.property_schema(key)) for key, its in value.items()
            )
        return True

    def _shapes_of(self, location: Location) -> tuple[Shape, ...]:
        known = self._shapes.get(location)
        if known is None:
            if location in self._open:  # a schema that is itself one of its ways adds nothing to them
                return ()
            self._open.add(location)
            try:
                known = self._compute(location)
            finally:
                self._open.discard(location)
            # What was computed inside a circle may miss the circle's other ways: only its root is remembered.
            if not self._open:
                self._shapes[location] = known
        return known

    def _compute(self, location: Location) -> tuple[Shape, ...]:
        schema = location.schema
        if isinstance(schema, bool):
            return (Shape(),) if schema else ()
        check_keywords(schema, location.pointer, self._formats)
        if "$ref" in schema:
            target = self._shapes_of(location.refer(schema["$ref"]))
            if not location.siblings_count:
                return target
        else:
            target = (Shape(),)
        shapes = _product((_own_shape(location),), target, location.pointer)
        if "anyOf" in schema:
            ways = [self._shapes_of(location.child("anyOf", number)) for number in range(len(schema["anyOf"]))]
            shapes = _product(shapes, tuple(shape for way in ways for shape in way), location.pointer)
        return shapes


def both(one: Conjunction, other: Conjunction) -> Conjunction:
    """What must meet both."""
    return tuple(dict.fromkeys((*one, *other))) if one and other else one or other


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return INTEGER if isinstance(value, int) or value.is_integer() else FRACTION
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    return "array" if is_array(value) else "object"


def same_json(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(same_json, one, other))
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same_json(its, other[key]) for key, its in one.items())
    return one == other


def _own_shape(location: Location) -> Shape:
    """What the keywords of this very schema ask, references and ways aside."""
    schema = location.schema
    kinds = _ALL_KINDS
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        kinds = frozenset[str]().union(*(_KINDS[name] for name in names))
    values = _common(
        tuple(schema["enum"]) if "enum" in schema else None, (schema["const"],) if "const" in schema else None
    )
    return Shape(
        kinds,
        values,
        _child(location, "items"),
        tuple((key, (location.child("properties", key),)) for key in schema.get("properties", {})),
        _child(location, "additionalProperties"),
        tuple(schema.get("required", ())),
    )


def _child(location: Location, keyword: str) -> Conjunction:
    return (location.child(keyword),) if keyword in location.schema else ()


def _common(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(value for value in one if any(same_json(value, its) for its in other))


def _product(one: tuple[Shape, ...], other: tuple[Shape, ...], pointer: str) -> tuple[Shape, ...]:
    if len(one) * len(other) > _MAX_SHAPES:
        raise GrammarLimitExceeded(f"{pointer or '/'}: more than {_MAX_SHAPES} combinations of alternatives")
    return tuple(a.meet(b) for a in one for b in other)
