"""OpenAI's strict subset of JSON Schema: whether a schema would be taken there too.

Structured Outputs and function calling with ``strict: true`` take a subset. What is held here is what OpenAI's guide
("Structured Outputs", section "Supported schemas") documented from mid-2025 to February 2026, and, where the guide says
nothing, what the API was known to answer then:

- types string, number, integer, boolean, null, object, array, several in a list too; ``enum``, ``const``, ``anyOf``,
  ``$ref`` to the root or to a definition of the root, recursion;
- the root is an object and no ``anyOf``; every object says ``additionalProperties: false`` and requires all of its
  properties; every array says ``items``;
- ``pattern`` and `FORMATS` for strings; ``multipleOf``, ``minimum``, ``maximum``, ``exclusiveMinimum``,
  ``exclusiveMaximum`` for numbers; ``minItems`` and ``maxItems`` for arrays; ``title`` and ``description``; no other
  keyword, ``default`` neither; beside a ``$ref`` none at all;
- at most 5,000 properties, 10 levels of nesting, 120,000 characters in names of properties and definitions and in the
  values of ``enum`` and ``const``, 1,000 values of ``enum``, and 15,000 characters in one ``enum`` of more than 250
  strings.

A level of nesting is a step into a subschema, the root being level 0 and a definition level 1, as OpenAI's own client
for Java counts them; the guide does not say. Fine-tuned models take less.
"""

from __future__ import annotations

from typing import Any, cast

from structgen.errors import InvalidSchema, UnsupportedSchema
from structgen.grammars.json_schema.json_values import escape_pointer, is_object, kind_name

__all__ = ["FORMATS", "check_openai_strict"]

FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""The values of ``format`` in the subset."""

MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_CHARACTERS = 120_000
MAX_ENUM_VALUES = 1_000
MANY_ENUM_VALUES, MAX_ENUM_CHARACTERS = 250, 15_000

_NUMBER = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_OF_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset({"pattern", "format"}),
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": frozenset(),
    "null": frozenset(),
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
}
_DEFINITIONS = ("$defs", "definitions")
_AT_ROOT = frozenset({"$schema", "$id", *_DEFINITIONS})
_NOTES = frozenset({"title", "description"})


def check_openai_strict(schema: Any) -> None:
    """Pass if ``schema`` lies in the subset; raise for the first place that does not.

    Parameters
    ----------
    schema : dict
        JSON Schema, as it stands in ``response_format`` or as a function's ``parameters``.

    Raises
    ------
    UnsupportedSchema
        A keyword, a value or a size that the subset does not have; the error names its JSON pointer.
    InvalidSchema
        The schema is malformed.
    """
    _Check(schema).root()


class _Check:
    """One walk through a schema, and what has been counted so far."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._properties = self._characters = self._enum_values = 0

    def root(self) -> None:
        schema = self._root
        if not is_object(schema):
            raise InvalidSchema("", "the root is a schema of an object")
        if "anyOf" in schema:
            raise UnsupportedSchema("/anyOf", "anyOf", "the root is one object; put the alternatives into a property")
        if schema.get("type") != "object":
            raise UnsupportedSchema(
                "/type" if "type" in schema else "", "type", 'the root has "type": "object"; put this into a property'
            )
        for word in _DEFINITIONS:
            for name, its in _members(schema, word, "").items():
                self._count_characters(name, f"/{word}/{escape_pointer(name)}", word)
                self._schema(its, f"/{word}/{escape_pointer(name)}", 1)
        self._schema({key: its for key, its in schema.items() if key not in _AT_ROOT}, "", 0)

    def _schema(self, schema: object, pointer: str, level: int) -> None:
        if not is_object(schema):
            raise InvalidSchema(pointer, f"a schema of the subset is an object, not {kind_name(schema)}")
        if level > MAX_LEVELS:
            word = pointer.rpartition("/")[2]
            raise UnsupportedSchema(pointer, word, f"lies {level} levels deep, of at most {MAX_LEVELS}")
        if "$ref" in schema:
            self._reference(schema, pointer)
        elif "anyOf" in schema:
            _check_keywords(schema, frozenset({"anyOf"}), pointer, "beside anyOf")
            for place, branch in enumerate(_array(schema, "anyOf", pointer)):
                self._schema(branch, f"{pointer}/anyOf/{place}", level + 1)
        else:
            self._typed(schema, pointer, level)

    def _reference(self, schema: dict[str, Any], pointer: str) -> None:
        beside = next((key for key in schema if key != "$ref"), None)
        if beside is not None:
            raise UnsupportedSchema(f"{pointer}/{escape_pointer(beside)}", beside, "nothing may stand beside $ref")
        target = schema["$ref"]
        parts = target.split("/") if isinstance(target, str) else []
        known = [escape_pointer(name) for name in _members(self._root, parts[1], "")] if len(parts) == 3 else []
        if target != "#" and not (parts and parts[0] == "#" and parts[1] in _DEFINITIONS and parts[2] in known):
            raise UnsupportedSchema(
                f"{pointer}/$ref", "$ref", f'{target!r} is neither "#" nor a definition at the root, "#/$defs/..."'
            )

    def _typed(self, schema: dict[str, Any], pointer: str, level: int) -> None:
        types = _types(schema, pointer)
        allowed = frozenset({"type", "enum", "const"}).union(*(_OF_TYPE[one] for one in types))
        _check_keywords(schema, allowed, pointer, f"for {' and '.join(types)}")
        _check_values(schema, pointer)
        if "enum" in schema:
            self._enum(_array(schema, "enum", pointer), f"{pointer}/enum")
        if isinstance(schema.get("const"), str):
            self._count_characters(schema["const"], f"{pointer}/const", "const")
        if "object" in types:
            self._object(schema, pointer, level)
        if "array" in types:
            if "items" not in schema:
                raise UnsupportedSchema(pointer, "items", "an array says what its items are")
            self._schema(schema["items"], f"{pointer}/items", level + 1)

    def _object(self, schema: dict[str, Any], pointer: str, level: int) -> None:
        if schema.get("additionalProperties") is not False:
            raise UnsupportedSchema(pointer, "additionalProperties", "every object says additionalProperties: false")
        properties = _members(schema, "properties", pointer)
        required = _required(schema, pointer)
        for key in properties:
            if key not in required:
                raise UnsupportedSchema(
                    f"{pointer}/properties/{escape_pointer(key)}",
                    "required",
                    "every property is required; what may be missing is given the type null as well",
                )
        extra = next((key for key in required if key not in properties), None)
        if extra is not None:
            raise UnsupportedSchema(f"{pointer}/required", "required", f"{extra!r} is no property of the object")
        for key, its in properties.items():
            place = f"{pointer}/properties/{escape_pointer(key)}"
            self._properties += 1
            if self._properties > MAX_PROPERTIES:
                raise UnsupportedSchema(place, "properties", f"there are more than {MAX_PROPERTIES:,} of them in all")
            self._count_characters(key, place, "properties")
            self._schema(its, place, level + 1)

    def _enum(self, values: list[Any], place: str) -> None:
        self._enum_values += len(values)
        if self._enum_values > MAX_ENUM_VALUES:
            raise UnsupportedSchema(place, "enum", f"there are more than {MAX_ENUM_VALUES:,} values of enum in all")
        texts = [value for value in values if isinstance(value, str)]
        length = sum(map(len, texts))
        if len(values) > MANY_ENUM_VALUES and length > MAX_ENUM_CHARACTERS:
            raise UnsupportedSchema(
                place,
                "enum",
                f"its {len(values)} values have {length:,} characters; where there are more than {MANY_ENUM_VALUES}, "
                f"at most {MAX_ENUM_CHARACTERS:,} are allowed",
            )
        self._count_characters("".join(texts), place, "enum")

    def _count_characters(self, text: str, place: str, keyword: str) -> None:
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise UnsupportedSchema(
                place, keyword, f"names and the values of enum and const have more than {MAX_CHARACTERS:,} characters"
            )


def _check_keywords(schema: dict[str, Any], allowed: frozenset[str], pointer: str, where: str) -> None:
    for key in schema:
        if key not in allowed and key not in _NOTES:
            raise UnsupportedSchema(
                f"{pointer}/{escape_pointer(key)}", key, f"the strict subset does not have it {where}"
            )


def _check_values(schema: dict[str, Any], pointer: str) -> None:
    """Values of the simple keywords."""
    for key, value in schema.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key in _NUMBER and not number:
            raise InvalidSchema(f"{pointer}/{key}", f"{key} is a number, not {kind_name(value)}")
        if key in ("minItems", "maxItems") and not (number and value >= 0 and value == int(value)):
            raise InvalidSchema(f"{pointer}/{key}", f"{key} is a whole number of at least 0, not {value!r}")
        if key in ("pattern", "format", *_NOTES) and not isinstance(value, str):
            raise InvalidSchema(f"{pointer}/{key}", f"{key} is a string, not {kind_name(value)}")
        if key == "format" and value not in FORMATS:
            raise UnsupportedSchema(f"{pointer}/format", "format", f"{value!r} is none of {', '.join(sorted(FORMATS))}")


def _types(schema: dict[str, Any], pointer: str) -> list[str]:
    if "type" not in schema:
        raise UnsupportedSchema(pointer, "type", "every schema says its type, or has anyOf or $ref")
    found = schema["type"]
    types = cast("list[object]", found) if isinstance(found, list) else [found]
    for one in types:
        if not isinstance(one, str) or one not in _OF_TYPE:
            raise InvalidSchema(f"{pointer}/type", f"{one!r} is no type; the types are {', '.join(_OF_TYPE)}")
    if not types:
        raise InvalidSchema(f"{pointer}/type", "the list of types is empty")
    return cast("list[str]", types)


def _members(schema: dict[str, Any], key: str, pointer: str) -> dict[str, Any]:
    found = schema.get(key, {})
    if not is_object(found):
        raise InvalidSchema(f"{pointer}/{key}", f"{key} is an object of schemas, not {kind_name(found)}")
    return found


def _array(schema: dict[str, Any], key: str, pointer: str) -> list[Any]:
    found = schema[key]
    if not isinstance(found, list) or (not found and key != "required"):
        raise InvalidSchema(f"{pointer}/{key}", f"{key} is an array of at least one, not {found!r}")
    return cast("list[Any]", found)


def _required(schema: dict[str, Any], pointer: str) -> dict[str, None]:
    keys = _array(schema, "required", pointer) if "required" in schema else []
    if not all(isinstance(key, str) for key in keys):
        raise InvalidSchema(f"{pointer}/required", "required is an array of strings")
    return dict.fromkeys(keys)
