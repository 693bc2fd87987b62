"""The dialects of JSON Schema: which words are keywords, and what their values must look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from structgen.grammars.json_schema.json_values import is_array, is_number, is_object

__all__ = [
    "ARRAY",
    "DEFAULT_DIALECT",
    "DIALECTS",
    "IN_PLACE",
    "NUMBER",
    "OBJECT",
    "STRING",
    "TYPES",
    "VALUES",
    "Dialect",
    "Keyword",
    "with_vocabularies",
]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

NUMBER, STRING, ARRAY, OBJECT, VALUES, IN_PLACE = 1, 2, 4, 8, 16, 32
"""What a keyword is about, a bit each: values of one type, any values (`type`, `enum`, `const`), or other schemas."""


class Form(NamedTuple):
    """What a keyword's value must be."""

    name: str
    holds: Callable[[Any], bool]
    inside: str = ""
    """Where schemas lie in it: ``"schema"``, ``"list"``, ``"map"``, or several of them."""


class Keyword(NamedTuple):
    """One keyword of a dialect."""

    about: int
    form: Form


@dataclass(frozen=True)
class Dialect:
    """A meta-schema's meaning."""

    uri: str
    draft: int
    """4, 6, 7, 2019 or 2020."""
    keywords: Mapping[str, Keyword]
    asserts_format: bool = False
    """Whether ``format`` is an assertion whatever the caller asked for."""

    @property
    def name(self) -> str:
        """As in ``draft7`` and ``draft2019-09``."""
        return f"draft{ {2019: '2019-09', 2020: '2020-12'}.get(self.draft, self.draft) }"

    @property
    def identifier(self) -> str:
        """The keyword that gives a schema its URI."""
        return "id" if self.draft == 4 else "$id"

    @property
    def hides_siblings(self) -> bool:
        """Whether a ``$ref`` hides the keywords beside it."""
        return self.draft <= 7


def _is_natural(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == int(value)


def _is_type(value: Any) -> bool:
    return value in TYPES if isinstance(value, str) else is_array(value) and all(name in TYPES for name in value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, (dict, bool))


def _are_strings(value: Any) -> bool:
    return is_array(value) and all(isinstance(item, str) for item in value)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_filled(value: Any) -> bool:
    return is_array(value) and bool(value)


def _is_schema_or_list(value: Any) -> bool:
    return _is_schema(value) or is_array(value)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _is_strings_map(value: Any) -> bool:
    return is_object(value) and all(map(_are_strings, value.values()))


def _is_writable(value: Any) -> bool:
    """Whether all numbers in it are numbers that JSON can write."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, float) and not is_number(one):
            return False
        if is_array(one):
            pending += [item for item in one if not isinstance(item, str)]
        elif is_object(one):
            pending += one.values()
    return True


def _is_writable_array(value: Any) -> bool:
    return is_array(value) and _is_writable(value)


_SCHEMA = Form("a schema: an object or a boolean", _is_schema, "schema")
_SCHEMAS = Form("an array of at least one schema", _is_filled, "list")
_SCHEMA_MAP = Form("an object of schemas", is_object, "map")
_SCHEMA_OR_LIST = Form("a schema or an array of schemas", _is_schema_or_list, "schema list")
_DEPENDENCIES = Form("an object of schemas and arrays of strings", is_object, "map")
_NUMBER = Form("a number", is_number)
_STEP = Form("a number above 0", _is_positive)
_NATURAL = Form("a whole number of at least 0", _is_natural)
_BOOLEAN = Form("true or false", _is_boolean)
_STRING = Form("a string", _is_string)
_STRINGS = Form("an array of strings", _are_strings)
_STRINGS_MAP = Form("an object of arrays of strings", _is_strings_map)
_TYPE = Form(f"one or several of the types {', '.join(TYPES)}", _is_type)
_VALUES = Form("an array of JSON values", _is_writable_array)
_VALUE = Form("a JSON value", _is_writable)

_APPLICATOR, _VALIDATION, _UNEVALUATED, _FORMAT = "applicator", "validation", "unevaluated", "format"

_EVERYWHERE = {
    "type": (_VALIDATION, VALUES, _TYPE),
    "enum": (_VALIDATION, VALUES, _VALUES),
    "minimum": (_VALIDATION, NUMBER, _NUMBER),
    "maximum": (_VALIDATION, NUMBER, _NUMBER),
    "exclusiveMinimum": (_VALIDATION, NUMBER, _NUMBER),
    "exclusiveMaximum": (_VALIDATION, NUMBER, _NUMBER),
    "multipleOf": (_VALIDATION, NUMBER, _STEP),
    "minLength": (_VALIDATION, STRING, _NATURAL),
    "maxLength": (_VALIDATION, STRING, _NATURAL),
    "pattern": (_VALIDATION, STRING, _STRING),
    "format": (_FORMAT, STRING, _STRING),
    "properties": (_APPLICATOR, OBJECT, _SCHEMA_MAP),
    "patternProperties": (_APPLICATOR, OBJECT, _SCHEMA_MAP),
    "additionalProperties": (_APPLICATOR, OBJECT, _SCHEMA),
    "required": (_VALIDATION, OBJECT, _STRINGS),
    "minProperties": (_VALIDATION, OBJECT, _NATURAL),
    "maxProperties": (_VALIDATION, OBJECT, _NATURAL),
    "items": (_APPLICATOR, ARRAY, _SCHEMA_OR_LIST),
    "minItems": (_VALIDATION, ARRAY, _NATURAL),
    "maxItems": (_VALIDATION, ARRAY, _NATURAL),
    "uniqueItems": (_VALIDATION, ARRAY, _BOOLEAN),
    "allOf": (_APPLICATOR, IN_PLACE, _SCHEMAS),
    "anyOf": (_APPLICATOR, IN_PLACE, _SCHEMAS),
    "oneOf": (_APPLICATOR, IN_PLACE, _SCHEMAS),
    "not": (_APPLICATOR, IN_PLACE, _SCHEMA),
    "$ref": ("", IN_PLACE, _STRING),
    "$schema": ("", 0, _STRING),
}
_OLD = {
    "additionalItems": (_APPLICATOR, ARRAY, _SCHEMA),
    "dependencies": (_APPLICATOR, OBJECT | IN_PLACE, _DEPENDENCIES),
    "definitions": ("", 0, _SCHEMA_MAP),
}
_SINCE_6 = {
    "$id": ("", 0, _STRING),
    "const": (_VALIDATION, VALUES, _VALUE),
    "contains": (_APPLICATOR, ARRAY, _SCHEMA),
    "propertyNames": (_APPLICATOR, OBJECT, _SCHEMA),
}
_SINCE_7 = {
    "if": (_APPLICATOR, IN_PLACE, _SCHEMA),
    "then": (_APPLICATOR, IN_PLACE, _SCHEMA),
    "else": (_APPLICATOR, IN_PLACE, _SCHEMA),
}
_SINCE_2019 = {
    "minContains": (_VALIDATION, ARRAY, _NATURAL),
    "maxContains": (_VALIDATION, ARRAY, _NATURAL),
    "dependentRequired": (_VALIDATION, OBJECT, _STRINGS_MAP),
    "dependentSchemas": (_APPLICATOR, IN_PLACE, _SCHEMA_MAP),
    "unevaluatedItems": (_UNEVALUATED, ARRAY | IN_PLACE, _SCHEMA),
    "unevaluatedProperties": (_UNEVALUATED, OBJECT | IN_PLACE, _SCHEMA),
    "$anchor": ("", 0, _STRING),
    "$defs": ("", 0, _SCHEMA_MAP),
    "definitions": ("", 0, _SCHEMA_MAP),
}
_4 = {
    **_EVERYWHERE,
    **_OLD,
    "id": ("", 0, _STRING),
    "exclusiveMinimum": (_VALIDATION, NUMBER, _BOOLEAN),
    "exclusiveMaximum": (_VALIDATION, NUMBER, _BOOLEAN),
}
_6 = {**_EVERYWHERE, **_OLD, **_SINCE_6}
_7 = {**_6, **_SINCE_7}
_2019 = {
    **_EVERYWHERE,
    **_SINCE_6,
    **_SINCE_7,
    **_SINCE_2019,
    "additionalItems": (_APPLICATOR, ARRAY, _SCHEMA),
    "$recursiveAnchor": ("", 0, _BOOLEAN),
    "$recursiveRef": ("", IN_PLACE, _STRING),
}
_2020 = {
    **_EVERYWHERE,
    **_SINCE_6,
    **_SINCE_7,
    **_SINCE_2019,
    "items": (_APPLICATOR, ARRAY, _SCHEMA),
    "prefixItems": (_APPLICATOR, ARRAY, _SCHEMAS),
    "$dynamicAnchor": ("", 0, _STRING),
    "$dynamicRef": ("", IN_PLACE, _STRING),
}
_TABLES = {4: _4, 6: _6, 7: _7, 2019: _2019, 2020: _2020}


def _keywords(draft: int, vocabularies: frozenset[str] | None = None) -> dict[str, Keyword]:
    return {
        name: Keyword(about, form)
        for name, (vocabulary, about, form) in _TABLES[draft].items()
        if vocabularies is None or not vocabulary or vocabulary in vocabularies
    }


DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
DIALECTS = {
    dialect.uri: dialect
    for dialect in (
        Dialect("http://json-schema.org/draft-04/schema", 4, _keywords(4)),
        Dialect("http://json-schema.org/draft-06/schema", 6, _keywords(6)),
        Dialect("http://json-schema.org/draft-07/schema", 7, _keywords(7)),
        Dialect("https://json-schema.org/draft/2019-09/schema", 2019, _keywords(2019)),
        Dialect(DEFAULT_DIALECT, 2020, _keywords(2020)),
    )
}

_PREFIXES = {
    2019: "https://json-schema.org/draft/2019-09/vocab/",
    2020: "https://json-schema.org/draft/2020-12/vocab/",
}
_VOCABULARIES = {
    2019: {
        "core": (),
        "applicator": (_APPLICATOR, _UNEVALUATED),
        "validation": (_VALIDATION,),
        "format": (_FORMAT,),
        "meta-data": (),
        "content": (),
    },
    2020: {
        "core": (),
        "applicator": (_APPLICATOR,),
        "unevaluated": (_UNEVALUATED,),
        "validation": (_VALIDATION,),
        "format-annotation": (_FORMAT,),
        "format-assertion": (_FORMAT,),
        "meta-data": (),
        "content": (),
    },
}


def with_vocabularies(base: Dialect, uri: str, declared: Mapping[str, Any]) -> tuple[Dialect, tuple[str, ...]]:
    """A dialect with the keywords of the ``declared`` vocabularies only, and those it needs that are not known."""
    known, prefix = _VOCABULARIES[base.draft], _PREFIXES[base.draft]
    names = {name.removeprefix(prefix): needed for name, needed in declared.items()}
    unknown = tuple(name for name, needed in declared.items() if needed and name.removeprefix(prefix) not in known)
    vocabularies = frozenset(part for name in names for part in known.get(name, ()))
    asserts = "format-assertion" in names or names.get("format") is True
    return replace(base, uri=uri, keywords=_keywords(base.draft, vocabularies), asserts_format=asserts), unknown
