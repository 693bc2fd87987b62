"""Schema documents: their resources, identifiers and anchors, and what a reference in them names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from structgen.errors import InvalidSchema, UnsupportedSchema
from structgen.grammars.json_schema.dialects import DEFAULT_DIALECT, DIALECTS, Dialect, with_vocabularies
from structgen.grammars.json_schema.json_values import child_pointer, copy_json, is_array, is_object, kind_name
from structgen.grammars.json_schema.sources import source_of

__all__ = ["RECURSIVE_ANCHOR", "Documents", "Found", "Resource"]

_MARKS = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
"""Keys by which a subschema changes what references in it mean."""

_INDEX = re.compile("0|[1-9][0-9]{0,17}")
"""An array's place in a JSON pointer (RFC 6901), as far as arrays go."""

RECURSIVE_ANCHOR = "$recursiveAnchor"
"""The name under which a resource with this keyword is among the dynamic anchors."""


class Resource:
    """A schema with a URI of its own: a document or a part of one.

    Attributes
    ----------
    root : dict or bool
        The schema.
    uri : str
        Its URI where it has one, without a fragment; references in it are relative to it.
    pointer : str
        Where it is, for messages.
    dialect : Dialect
        How it is read.
    parts : dict of int to Resource
        The resources in its document, by the identity of their schema.
    anchors : dict of str to (schema, pointer)
        Its plain names.
    dynamic : set of str
        Those of its anchors that are dynamic.
    """

    __slots__ = ("anchors", "dialect", "dynamic", "parts", "pointer", "root", "uri")

    def __init__(self, root: Any, uri: str, pointer: str, dialect: Dialect, parts: dict[int, Resource]) -> None:
        self.root, self.uri, self.pointer, self.dialect, self.parts = root, uri, pointer, dialect, parts
        self.anchors: dict[str, tuple[Any, str]] = {}
        self.dynamic: set[str] = set()


class Found(NamedTuple):
    """What a reference names."""

    schema: Any
    pointer: str
    resource: Resource


class Documents:
    """The document to compile and those that it can refer to.

    Parameters
    ----------
    schema : dict or bool
        The document.
    default_dialect : str, optional
        URI of the meta-schema that counts where ``$schema`` says nothing; 2020-12 by default.
    registry : mapping of str to schema, or referencing.Registry, optional
        Documents that references may name, by URI.
    """

    def __init__(self, schema: Any, default_dialect: str | None, registry: Any) -> None:
        self._fetch, self._others = source_of(registry)
        self._resources: dict[str, Resource] = {}
        self._dialects = dict(DIALECTS)
        self._default = self.dialect(default_dialect or DEFAULT_DIALECT, "")
        self.root = self._open(schema, "", "")
        self._default = self.root.dialect

    def dialect(self, uri: str, pointer: str) -> Dialect:
        """The dialect of a meta-schema.

        Raises
        ------
        UnsupportedSchema
            It is not known, or needs a vocabulary that is not.
        """
        uri = uri.removesuffix("#")
        known = self._dialects.get(uri)
        if known is None:
            self._dialects[uri] = known = self._custom_dialect(uri, pointer)
        return known

    def lookup(self, reference: str, resource: Resource) -> Found | None:
        """What ``reference`` names in ``resource``, if anything."""
        if reference.startswith("#"):
            fragment = reference[1:]
        else:
            try:
                uri, fragment = urldefrag(urljoin(resource.uri, reference))
            except ValueError:
                return None
            found = self._resource(uri)
            if found is None:
                return None
            resource = found
        if not fragment:
            return Found(resource.root, resource.pointer, resource)
        fragment = unquote(fragment)
        if fragment.startswith("/"):
            return _follow(fragment, resource)
        anchor = resource.anchors.get(fragment)
        return None if anchor is None else Found(*anchor, resource.parts.get(id(anchor[0]), resource))

    def _custom_dialect(self, uri: str, pointer: str) -> Dialect:
        schema = self._fetch(uri)
        base = schema.get("$schema") if is_object(schema) else None
        if not is_object(schema) or not isinstance(base, str) or base.removesuffix("#") == uri:
            raise UnsupportedSchema(
                pointer, "$schema", f"{uri!r} is none of the dialects {', '.join(DIALECTS)} and not in the registry"
            )
        dialect = self.dialect(base, pointer)
        declared = schema.get("$vocabulary")
        if dialect.draft < 2019 or not is_object(declared):
            return dialect
        dialect, unknown = with_vocabularies(dialect, uri, declared)
        if unknown:
            raise UnsupportedSchema(pointer, "$schema", f"{uri!r} requires the unknown vocabulary {unknown[0]!r}")
        return dialect

    def _resource(self, uri: str) -> Resource | None:
        found = self._resources.get(uri)
        if found is None:
            schema = self._fetch(uri)
            if schema is not None:
                return self._open(schema, uri, f"{uri}#")
            while found is None and self._others:  # it may lie inside a document of another name
                name = self._others.pop()
                if name not in self._resources:
                    self._open(self._fetch(name), name, f"{name}#")
                    found = self._resources.get(uri)
        return found

    def _open(self, schema: Any, uri: str, pointer: str) -> Resource:
        if not isinstance(schema, (bool, dict)):
            raise InvalidSchema(pointer, f"a schema is an object or a boolean, not {kind_name(schema)}")
        schema, is_marked = copy_json(schema, pointer, _MARKS)
        outer = Resource(schema, uri, pointer, self._default, {})
        self._resources.setdefault(uri, outer)
        resource = self._enter(schema, pointer, outer)
        self._resources[uri] = resource
        if is_marked:
            self._index(schema, pointer, resource)
        return resource

    def _index(self, schema: Any, pointer: str, resource: Resource) -> None:
        """Note the resources and anchors inside of ``schema``."""
        pending = list(_subschemas(schema, pointer, resource))
        while pending:
            schema, pointer, resource = pending.pop()
            pending += _subschemas(schema, pointer, self._enter(schema, pointer, resource))

    def _enter(self, schema: Any, pointer: str, outer: Resource) -> Resource:
        """The resource that ``schema`` lies in: its own, if it has an identifier or a dialect."""
        if not is_object(schema):
            return outer
        is_root = pointer == outer.pointer
        if not is_root and _own_names(schema, outer.uri, outer.dialect, pointer) == (None, None):
            dialect = outer.dialect  # ``$schema`` is for schemas with an identifier
        else:
            dialect = self._own_dialect(schema, outer.dialect, pointer)
        uri, anchor = _own_names(schema, outer.uri, dialect, pointer)
        resource = outer
        if is_root or uri is not None:
            resource = Resource(schema, outer.uri if uri is None else uri, pointer, dialect, outer.parts)
            self._resources.setdefault(resource.uri, resource)
        if resource is not outer:
            outer.parts[id(schema)] = resource
        _note_anchors(schema, pointer, anchor, resource)
        return resource

    def _own_dialect(self, schema: dict[str, Any], default: Dialect, pointer: str) -> Dialect:
        uri = schema.get("$schema")
        if uri is None:
            return default
        if not isinstance(uri, str):
            raise InvalidSchema(f"{pointer}/$schema", f"{uri!r} is no URI")
        return self.dialect(uri, f"{pointer}/$schema")


def _own_names(schema: dict[str, Any], base: str, dialect: Dialect, pointer: str) -> tuple[str | None, str | None]:
    """The URI and the plain name that a schema's identifier gives it."""
    name = schema.get(dialect.identifier)
    if name is None or (dialect.hides_siblings and "$ref" in schema):
        return None, None
    place = f"{pointer}/{dialect.identifier}"
    if not isinstance(name, str):
        raise InvalidSchema(place, f"{name!r} is no URI")
    try:
        urlsplit(name)  # which looks more closely than the other two
        uri, fragment = urldefrag(urljoin(base, name))
    except ValueError as error:
        raise InvalidSchema(place, f"{name!r} is no URI") from error
    if dialect.hides_siblings and name.startswith("#"):
        return None, fragment
    return uri, fragment if dialect.hides_siblings else None


def _note_anchors(schema: dict[str, Any], pointer: str, anchor: str | None, resource: Resource) -> None:
    if anchor:
        resource.anchors[anchor] = schema, pointer
    draft = resource.dialect.draft
    if draft >= 2019 and isinstance(schema.get("$anchor"), str):
        resource.anchors[schema["$anchor"]] = schema, pointer
    if draft == 2019 and schema is resource.root and schema.get(RECURSIVE_ANCHOR) is True:
        resource.dynamic.add(RECURSIVE_ANCHOR)
        resource.anchors[RECURSIVE_ANCHOR] = schema, pointer
    if draft == 2020 and isinstance(schema.get("$dynamicAnchor"), str):
        resource.dynamic.add(schema["$dynamicAnchor"])
        resource.anchors[schema["$dynamicAnchor"]] = schema, pointer


def _subschemas(schema: Any, pointer: str, resource: Resource) -> Iterator[tuple[Any, str, Resource]]:
    """What lies where a keyword has schemas."""
    if not is_object(schema) or (resource.dialect.hides_siblings and "$ref" in schema and len(schema) == 1):
        return
    for keyword, value in schema.items():
        known = resource.dialect.keywords.get(keyword)
        inside = known.form.inside if known is not None else ""
        if is_object(value):
            if "schema" in inside:
                yield value, child_pointer(pointer, keyword), resource
            elif inside == "map":
                for key, its in value.items():
                    yield its, child_pointer(pointer, keyword, key), resource
        elif is_array(value) and "list" in inside:
            for place, its in enumerate(value):
                yield its, child_pointer(pointer, keyword, place), resource


def _follow(fragment: str, resource: Resource) -> Found | None:
    """What lies at a JSON pointer below the root of ``resource``."""
    value = resource.root
    pointer = resource.pointer + fragment
    for escaped in fragment[1:].split("/"):
        token = escaped.replace("~1", "/").replace("~0", "~")
        if is_object(value) and token in value:
            value = value[token]
        elif is_array(value) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
        resource = resource.parts.get(id(value), resource)
    return Found(value, pointer, resource)
