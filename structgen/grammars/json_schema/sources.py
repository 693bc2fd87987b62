"""Where the documents that references name come from: the caller's registry, and the specification's meta-schemas."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, cast

import referencing
import referencing.exceptions

from structgen.errors import InvalidGrammar
from structgen.grammars.json_schema.json_values import kind_name

__all__ = ["source_of"]


def source_of(registry: Any) -> tuple[Callable[[str], Any], list[str]]:
    """How the caller's documents are had, and their names.

    Raises
    ------
    InvalidGrammar
        ``registry`` is no such thing; or, from what fetches, a document in it is no schema.
    """
    if registry is None:
        return _meta_schema, []
    if isinstance(registry, referencing.Registry):
        return _retriever(registry), [str(uri) for uri in registry]
    if not _is_mapping(registry):
        raise InvalidGrammar(
            f"registry is a mapping of URI to schema or a referencing.Registry, not {type(registry).__name__}"
        )
    wrong = next((uri for uri in registry if not isinstance(uri, str)), None)
    if wrong is not None:
        raise InvalidGrammar(f"registry is a mapping of URI to schema; {wrong!r} is no URI")
    if type(cast("object", registry)) is dict:  # another mapping may load what it has when asked
        for uri, schema in registry.items():
            _check_document(uri, schema)

    def fetch(uri: str) -> Any:
        for name in (uri, f"{uri}#"):
            if name in registry:
                schema = registry[name]
                _check_document(name, schema)
                return schema
        return _meta_schema(uri)

    return fetch, list(registry)


def _check_document(uri: str, schema: Any) -> None:
    if not isinstance(schema, (dict, bool)):
        raise InvalidGrammar(f"registry: {uri}: a schema is an object or a boolean, not {kind_name(schema)}")


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _retriever(registry: Any) -> Callable[[str], Any]:
    def fetch(uri: str) -> Any:
        try:
            return registry.get_or_retrieve(uri).value.contents
        except referencing.exceptions.NoSuchResource:
            return _meta_schema(uri)

    return fetch


def _meta_schema(uri: str) -> Any:
    """A meta-schema of the specification, or one of its vocabularies."""
    # Read when first asked for: most schemas refer to none.
    known: Any = importlib.import_module("jsonschema_specifications").REGISTRY
    found = known.get(uri)
    return None if found is None else found.contents
