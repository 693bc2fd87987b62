"""JSON Schemas at the front door: closing objects, checking instances. Compiling them is ``structgen.grammars``'."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from structgen.errors import GrammarLimitExceeded

__all__ = ["bounded_nesting", "check_instance", "close_objects", "map_subschemas"]

_ONE = frozenset({"items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else"})
_MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


@contextmanager
def bounded_nesting() -> Generator[None, None, None]:
    """Walk schemas in here: one that is nested too deeply for the interpreter's stack, or holds itself, is refused.

    Raises
    ------
    GrammarLimitExceeded
        The stack ended.
    """
    try:
        yield
    except RecursionError as error:
        raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it") from error


def close_objects(schema: Mapping[str, object]) -> dict[str, object]:
    """Copy ``schema`` so that no object takes keys that it does not declare.

    An object that declares ``properties`` and says nothing of others gets ``additionalProperties: false``: for types
    that ignore unknown keys, a key that nobody reads is only tokens. What says otherwise keeps its word.
    """
    closed = map_subschemas(schema, close_objects)
    if "properties" in closed and not {"additionalProperties", "unevaluatedProperties"} & closed.keys():
        closed["additionalProperties"] = False
    return closed


def check_instance(value: Any, schema: Mapping[str, object]) -> str | None:
    """Say in a line what is wrong with a JSON value under the specification's own validator; None when nothing is."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    validator = validator_for(schema)(schema)
    error = best_match(validator.iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message}"


def map_subschemas(
    schema: Mapping[str, object], change: Callable[[Mapping[str, object]], dict[str, object]]
) -> dict[str, object]:
    """Copy with ``change`` applied to every direct subschema; instances (``const``, ``default``) are left alone."""

    def changed(value: object) -> object:
        return change(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value

    copy: dict[str, object] = {}
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, Mapping):
            copy[keyword] = {name: changed(part) for name, part in value.items()}
        elif keyword in _MANY and isinstance(value, list):
            copy[keyword] = [changed(part) for part in value]
        else:
            copy[keyword] = changed(value) if keyword in _ONE else value
    return copy
