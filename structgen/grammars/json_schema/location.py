"""Places in schema documents: a subschema, its JSON pointer, and what its references mean there."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, TypeGuard, cast
from urllib.parse import unquote, urlsplit

import referencing
import referencing.exceptions
import referencing.jsonschema

from structgen.errors import InvalidSchema, UnsupportedSchema
from structgen.grammars.json_schema.keywords import copy_json, escape_pointer, is_object

__all__ = ["Location", "open_document"]

# These libraries leave types open; what they give passes through here once.
_META_SCHEMAS: Any = importlib.import_module("jsonschema_specifications").REGISTRY

DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
DRAFT_4 = "http://json-schema.org/draft-04/schema"
_DIALECTS = {
    DRAFT_4: False,
    "http://json-schema.org/draft-06/schema": False,
    "http://json-schema.org/draft-07/schema": False,
    "https://json-schema.org/draft/2019-09/schema": True,
    "https://json-schema.org/draft/2020-12/schema": True,
}
"""The dialects, and whether keywords beside a ``$ref`` count in them."""


class Location:
    """A subschema in its document. Locations of one subschema compare equal.

    Parameters
    ----------
    schema : dict or bool
        The subschema.
    pointer : str
        Its JSON pointer; where it was reached through a reference, that of the reference's target.
    resolver : referencing resolver
        What references in it mean.
    dialect : str
        URI of its meta-schema, without the empty fragment.
    """

    __slots__ = ("_resolver", "dialect", "pointer", "schema")

    def __init__(self, schema: Any, pointer: str, resolver: Any, dialect: str) -> None:
        self.schema, self.pointer, self.dialect = schema, pointer, dialect
        self._resolver = resolver

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> object:
        # Documents are copied when they are opened, so that each place has an object of its own.
        return self.schema if isinstance(self.schema, bool) else id(self.schema)

    @property
    def siblings_count(self) -> bool:
        """Whether keywords beside a ``$ref`` count; up to draft 7 they do not."""
        return _DIALECTS[self.dialect]

    def child(self, *tokens: str | int) -> Location:
        """The subschema at ``tokens`` from here."""
        schema, pointer = self.schema, self.pointer
        for token in tokens:
            schema, pointer = schema[token], f"{pointer}/{escape_pointer(str(token))}"
        return _enter(schema, pointer, self._resolver, self.dialect)

    def refer(self, reference: str) -> Location:
        """The subschema that ``reference`` names from here.

        Raises
        ------
        InvalidSchema
            It names nothing.
        """
        try:
            found: Any = self._resolver.lookup(reference)
        except (referencing.exceptions.Unresolvable, ValueError) as error:
            raise InvalidSchema(f"{self.pointer}/$ref", f"{reference!r} names nothing") from error
        except (AttributeError, TypeError) as error:  # how the library meets what is no schema, on the way or there
            raise InvalidSchema(f"{self.pointer}/$ref", f"{reference!r} is not a schema") from error
        if not (isinstance(found.contents, bool) or is_object(found.contents)):
            raise InvalidSchema(f"{self.pointer}/$ref", f"{reference!r} is not a schema")
        pointer = unquote(reference[1:]) if reference.startswith("#") else reference
        return _enter(found.contents, pointer, found.resolver, self.dialect)


def open_document(schema: Any, default_dialect: str | None, registry: Any) -> Location:
    """The root of ``schema``.

    Parameters
    ----------
    schema : dict or bool
        The document.
    default_dialect : str, optional
        URI of the meta-schema that counts where ``$schema`` says nothing; 2020-12 by default.
    registry : mapping of str to schema, or referencing.Registry, optional
        Documents that references may name, by URI.
    """
    if not (isinstance(schema, bool) or is_object(schema)):
        raise InvalidSchema("", f"a schema is an object or a boolean, not {type(schema).__name__}")
    schema = copy_json(schema, "")
    dialect = _dialect(schema, default_dialect or DEFAULT_DIALECT, "")
    _check_identifier(schema, dialect, "")
    resource = _resource(schema, dialect)
    known = _known_documents(registry, dialect)
    base = resource.id() or ""
    resolver = known.with_resource(base, resource).resolver(base)
    return Location(schema, "", resolver, dialect)


def _known_documents(registry: Any, dialect: str) -> Any:
    if registry is None:
        return _META_SCHEMAS
    if isinstance(registry, referencing.Registry):
        return _META_SCHEMAS.combine(cast("Any", registry))
    if not _is_mapping(registry):
        raise TypeError(
            f"registry is a mapping of URI to schema or a referencing.Registry, not {type(registry).__name__}"
        )
    resources = [(uri, _registered(uri, its, dialect)) for uri, its in registry.items()]
    return _META_SCHEMAS.with_resources(resources)


def _registered(uri: object, schema: Any, dialect: str) -> Any:
    if not isinstance(uri, str):
        raise TypeError(f"registry is a mapping of URI to schema; {uri!r} is no URI")
    schema = copy_json(schema, uri)
    dialect = _dialect(schema, dialect, uri)
    _check_identifier(schema, dialect, uri)
    return _resource(schema, dialect)


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _enter(schema: Any, pointer: str, resolver: Any, dialect: str) -> Location:
    """A location whose own ``$schema`` and ``$id`` count, if it has them."""
    if isinstance(schema, dict):
        dialect = _dialect(schema, dialect, pointer)
        if _check_identifier(schema, dialect, pointer):
            resolver = resolver.in_subresource(_resource(schema, dialect))
    return Location(schema, pointer, resolver, dialect)


def _check_identifier(schema: Any, dialect: str, pointer: str) -> bool:
    """Whether a schema has an identifier of its own, which must be a URI reference."""
    name = "id" if dialect == DRAFT_4 else "$id"
    if not is_object(schema) or name not in schema:
        return False
    try:
        urlsplit(schema[name])
        is_uri = isinstance(schema[name], str)
    except (ValueError, AttributeError, TypeError):
        is_uri = False
    if not is_uri:
        raise InvalidSchema(f"{pointer}/{name}", f"{schema[name]!r} is no URI")
    return True


def _dialect(schema: Any, default: str, pointer: str) -> str:
    uri = schema.get("$schema", default) if is_object(schema) else default
    if not isinstance(uri, str):
        raise InvalidSchema(f"{pointer}/$schema", f"{uri!r} is no URI")
    plain = uri.removesuffix("#")
    if plain not in _DIALECTS:
        known = ", ".join(_DIALECTS)
        raise UnsupportedSchema(f"{pointer}/$schema", "$schema", f"{uri!r} is none of the dialects {known}")
    return plain


def _resource(schema: Any, dialect: str) -> Any:
    return referencing.jsonschema.specification_with(dialect).create_resource(schema)
