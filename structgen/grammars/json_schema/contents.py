"""Subschemas that say the same, wherever they stand: equal but for annotations and the order of keywords."""

from __future__ import annotations

import json
from typing import Any

from structgen.grammars.json_schema.atoms import Atom
from structgen.grammars.json_schema.dialects import Dialect
from structgen.grammars.json_schema.json_values import is_array, is_object
from structgen.grammars.json_schema.location import Location

__all__ = ["Contents"]


class Contents:
    """Numbers what subschemas say; equal numbers are equal meanings."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._by_schema: dict[int, int] = {}
        self._by_atom: dict[Atom, int] = {}
        self._first: dict[int, Atom] = {}

    def number(self, location: Location) -> int:
        """The number of what ``location`` says."""
        found = self._by_atom.get(location)
        if found is None:
            # References mean the same only from the same resource and in the same scope.
            said = self._of_schema(location.schema, location)
            found = self._by_atom[location] = self._intern((said, location.resource, location.scope))
        return found

    def first(self, location: Location) -> Atom:
        """One atom for all subschemas that say the same."""
        return self._first.setdefault(self.number(location), location)

    def _intern(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _of_schema(self, schema: Any, location: Location) -> int:
        if not is_object(schema):
            return self._intern(("boolean", bool(schema)))
        found = self._by_schema.get(id(schema))
        if found is None:
            found = self._by_schema[id(schema)] = self._intern(self._said(schema, location))
        return found

    def _said(self, schema: dict[str, Any], location: Location) -> object:
        dialect: Dialect = location.dialect
        if schema is not location.schema and id(schema) in location.resource.parts:
            return ("resource", id(schema))
        if dialect.hides_siblings and "$ref" in schema:
            return ("$ref", str(schema["$ref"]))
        said: list[tuple[str, object]] = []
        for keyword in sorted(schema):
            known = dialect.keywords.get(keyword)
            if known is not None and known.about:
                said.append((keyword, self._of_value(schema[keyword], known.form.inside, location)))
        return tuple(said)

    def _of_value(self, value: Any, inside: str, location: Location) -> object:
        if inside == "map" and is_object(value):
            members = ((key, its) for key, its in sorted(value.items()))
            return tuple(
                (key, json.dumps(its) if is_array(its) else self._of_schema(its, location)) for key, its in members
            )
        if "list" in inside and is_array(value):
            return tuple(self._of_schema(its, location) for its in value)
        if inside:
            return self._of_schema(value, location)
        return json.dumps(value, sort_keys=True)
