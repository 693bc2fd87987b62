"""Places in schema documents: a subschema, its JSON pointer, and what its references mean there."""

from __future__ import annotations

from typing import Any

from structgen.errors import InvalidSchema
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.dialects import Dialect
from structgen.grammars.json_schema.documents import RECURSIVE_ANCHOR, Documents, Found, Resource
from structgen.grammars.json_schema.json_values import child_pointer, escape_pointer, is_object, kind_name

__all__ = ["Location", "Places"]

Scope = tuple[tuple[str, Resource], ...]
"""The dynamic scope, as far as it can matter: for each dynamic anchor the outermost resource that has it."""


class Places:
    """Gives each subschema of the documents its one `Location` for each dynamic scope.

    Parameters
    ----------
    schema, default_dialect, registry
        As for `Documents`.
    """

    def __init__(self, schema: Any, default_dialect: str | None, registry: Any) -> None:
        self.documents = Documents(schema, default_dialect, registry)
        self._locations: dict[object, Location] = {}
        self._targets: dict[object, Atom] = {}
        resource = self.documents.root
        self.root = self.enter(resource.root, "", resource, ())

    def forget(self) -> None:
        """Let go of the locations and of what is known of them, which would else hold on to each other."""
        for location in self._locations.values():
            location.facts = None
            location.forget()
        self._locations.clear()
        self._targets.clear()
        self.documents.root.parts.clear()

    def enter(self, schema: Any, pointer: str, resource: Resource, scope: Scope) -> Atom:
        """The atom of ``schema``, reached from ``resource``.

        Raises
        ------
        InvalidSchema
            It is neither an object nor a boolean.
        """
        if schema is True:
            return ANYTHING
        if schema is False:
            return NOTHING
        if not is_object(schema):
            raise InvalidSchema(pointer, f"a schema is an object or a boolean, not {kind_name(schema)}")
        if resource.parts:
            resource = resource.parts.get(id(schema), resource)
        if resource.dynamic:
            scope = _extended(scope, resource)
        key = (id(schema), scope) if scope else id(schema)
        found = self._locations.get(key)
        if found is None:
            self._locations[key] = found = Location(self, schema, pointer, resource, scope)
        return found

    def refer(self, location: Location, reference: str, keyword: str) -> Atom:
        """What ``reference``, the value of ``keyword`` in ``location``, names.

        Raises
        ------
        InvalidSchema
            It names nothing, or no schema.
        """
        key = (reference, keyword, location.resource, location.scope)
        atom = self._targets.get(key)
        if atom is None:
            self._targets[key] = atom = self._target(location, reference, keyword)
        return atom

    def _target(self, location: Location, reference: str, keyword: str) -> Atom:
        found = self.documents.lookup(reference, location.resource)
        place = f"{location.pointer}/{keyword}"
        if found is None:
            raise InvalidSchema(place, f"{reference!r} names nothing")
        if keyword != "$ref":
            found = self._dynamic(found, reference, keyword, location.scope)
        if not isinstance(found.schema, bool) and not is_object(found.schema):
            raise InvalidSchema(place, f"{reference!r} is not a schema")
        return self.enter(found.schema, found.pointer, found.resource, location.scope)

    def _dynamic(self, found: Found, reference: str, keyword: str, scope: Scope) -> Found:
        """The outermost schema that takes the place of ``found``, if that may be taken."""
        name = RECURSIVE_ANCHOR if keyword == "$recursiveRef" else reference.rpartition("#")[2]
        own = found.resource.anchors.get(name)
        if name not in found.resource.dynamic or own is None or own[0] is not found.schema:
            return found
        resource = dict(scope).get(name, found.resource)
        schema, pointer = resource.anchors[name]
        return Found(schema, pointer, resource)


def _extended(scope: Scope, resource: Resource) -> Scope:
    known = dict(scope)
    added = tuple((name, resource) for name in sorted(resource.dynamic) if name not in known)
    return scope + added


class Location(Atom):
    """A subschema in its document and dynamic scope, as the condition that a value is valid under it.

    Attributes
    ----------
    schema : dict
        The subschema.
    dialect : Dialect
        How it is read.
    resource : Resource
        What references in it are relative to.
    keywords : dict
        The keywords that count in it with their values; empty before `read`.
    about : int
        What they are about, bits of `dialects`; -1 before `read`.
    facts : object
        What the algebra has read in it; ``None`` before.
    """

    __slots__ = ("_places", "about", "dialect", "facts", "keywords", "resource", "schema", "scope")

    def __init__(self, places: Places, schema: dict[str, Any], pointer: str, resource: Resource, scope: Scope) -> None:
        super().__init__(pointer)
        self._places, self.schema, self.resource, self.scope = places, schema, resource, scope
        self.dialect: Dialect = resource.dialect
        self.keywords: dict[str, Any] = {}
        self.about = -1
        self.facts: Any = None

    def read(self) -> int:
        """What the keywords are about, all of them checked.

        Raises
        ------
        InvalidSchema
            A keyword's value is not what the specification asks for.
        """
        if self.about < 0:
            self.about = self._check()
        return self.about

    def _check(self) -> int:
        schema, known = self.schema, self.dialect.keywords
        if self.dialect.hides_siblings and "$ref" in schema:
            schema = {"$ref": schema["$ref"]}
        about = 0
        for keyword, value in schema.items():
            if keyword in known:
                its = known[keyword]
                if not its.form.holds(value):
                    place = f"{self.pointer}/{keyword}"
                    raise InvalidSchema(place, f"{keyword} is {its.form.name}, not {repr(value)[:60]}")
                if its.about:
                    about |= its.about
                    self.keywords[keyword] = value
        return about

    def child(self, *tokens: str | int) -> Atom:
        """The subschema at ``tokens`` from here."""
        schema: Any = self.schema
        for token in tokens:
            schema = schema[token]
        return self._places.enter(schema, child_pointer(self.pointer, *tokens), self.resource, self.scope)

    def children(self, keyword: str) -> dict[str, Atom]:
        """The subschemas in the map at ``keyword``, by name."""
        enter, resource, scope = self._places.enter, self.resource, self.scope
        pointer = f"{child_pointer(self.pointer, keyword)}/"
        members: dict[str, Any] = self.schema[keyword]
        return {name: enter(one, pointer + escape_pointer(name), resource, scope) for name, one in members.items()}

    def refer(self, keyword: str) -> Atom:
        """What the reference at ``keyword`` names."""
        return self._places.refer(self, self.schema[keyword], keyword)
