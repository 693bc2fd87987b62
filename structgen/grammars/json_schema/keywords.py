"""The keywords of JSON Schema: what is compiled, what only annotates, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, cast

from structgen.errors import InvalidSchema, UnsupportedSchema

__all__ = ["TYPES", "check_keywords", "copy_json", "escape_pointer", "is_array", "is_object"]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

_COMPILED = frozenset(
    {"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "properties", "required", "type"}
)

_REFUSED = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "additionalItems",
        "allOf",
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "disallow",
        "divisibleBy",
        "else",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "extends",
        "format",
        "if",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    }
)
"""Assertions of some draft that are not held yet. Any other word is an annotation, as the specification has it."""


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def escape_pointer(token: str) -> str:
    """A reference token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def copy_json(value: Any, pointer: str) -> Any:
    """A copy of a JSON value in which no two places share an object.

    Raises
    ------
    InvalidSchema
        Something in it is no JSON: a key that is no string, a set.
    """
    if is_object(value):
        wrong = next((key for key in value if not isinstance(cast("object", key), str)), None)
        if wrong is not None:
            raise InvalidSchema(pointer, f"the key {wrong!r} is no string")
        return {key: copy_json(its, f"{pointer}/{escape_pointer(key)}") for key, its in value.items()}
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        return [copy_json(item, f"{pointer}/{place}") for place, item in enumerate(items)]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InvalidSchema(pointer, f"{value!r} is no JSON value")


def check_keywords(schema: dict[str, Any], pointer: str, formats: str) -> None:
    """Refuse what cannot be held and what is malformed, with its place.

    Raises
    ------
    UnsupportedSchema
        An assertion that is not compiled.
    InvalidSchema
        A keyword's value is not what the specification asks for.
    """
    for keyword, value in schema.items():
        place = f"{pointer}/{escape_pointer(keyword)}"
        if keyword in _REFUSED and not (keyword == "format" and formats == "annotate"):
            raise UnsupportedSchema(
                place, keyword, "this version cannot hold it exactly; leave it out and check the answer yourself"
            )
        if keyword in _COMPILED:
            _CHECKS[keyword](value, place)


def _check_type(value: Any, place: str) -> None:
    names = cast("list[object]", value if isinstance(value, list) else [value])
    for name in names:
        if name not in TYPES:
            raise InvalidSchema(place, f"{name!r} is no type; the types are {', '.join(TYPES)}")


def _check_schema(value: Any, place: str) -> None:
    if not isinstance(value, (bool, dict)):
        raise InvalidSchema(place, f"a schema is an object or a boolean, not {_name(value)}")


def _check_items(value: Any, place: str) -> None:
    if isinstance(value, list):
        raise UnsupportedSchema(
            place, "items", "this version cannot hold a schema for each place; give one for all items"
        )
    _check_schema(value, place)


def _check_additional(value: Any, place: str) -> None:
    _check_schema(value, place)
    if value is not False:
        raise UnsupportedSchema(
            place, "additionalProperties", "this version writes declared keys only; declare them, or say false"
        )


def _check_properties(value: Any, place: str) -> None:
    if not is_object(value):
        raise InvalidSchema(place, f"properties is an object of schemas, not {_name(value)}")
    for key, its in value.items():
        _check_schema(its, f"{place}/{escape_pointer(key)}")


def _check_required(value: Any, place: str) -> None:
    if not is_array(value) or not all(isinstance(key, str) for key in value):
        raise InvalidSchema(place, f"required is an array of strings, not {_name(value)}")


def _check_any_of(value: Any, place: str) -> None:
    if not is_array(value) or not value:
        raise InvalidSchema(place, "anyOf is an array of at least one schema")
    for number, branch in enumerate(value):
        _check_schema(branch, f"{place}/{number}")


def _check_enum(value: Any, place: str) -> None:
    if not is_array(value):
        raise InvalidSchema(place, f"enum is an array, not {_name(value)}")


def _check_ref(value: Any, place: str) -> None:
    if not isinstance(value, str):
        raise InvalidSchema(place, f"$ref is a string, not {_name(value)}")


def _accept(value: Any, place: str) -> None:
    """Any value will do."""


def _name(value: Any) -> str:
    return "null" if value is None else type(value).__name__


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "$ref": _check_ref,
    "additionalProperties": _check_additional,
    "anyOf": _check_any_of,
    "const": _accept,
    "enum": _check_enum,
    "items": _check_items,
    "properties": _check_properties,
    "required": _check_required,
    "type": _check_type,
}
