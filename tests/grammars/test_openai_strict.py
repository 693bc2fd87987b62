"""The strict subset of OpenAI: what its guide shows passes, and each of its rules is held with the place."""

from __future__ import annotations

import pytest

from structgen.errors import InvalidSchema, UnsupportedSchema
from structgen.grammars.json_schema.openai_strict import FORMATS, check_openai_strict


def strict(required: list[str] | None = None, **properties: object) -> dict:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def nested(levels: int) -> dict:
    schema: dict = {"type": "string"}
    for _ in range(levels):
        schema = strict(inner=schema)
    return schema


QUERY = strict(
    table={"type": "string", "enum": ["orders"], "description": "where to look"},
    columns={"type": "array", "items": {"type": "string", "enum": ["id", "status"]}, "minItems": 1, "maxItems": 5},
    condition={"anyOf": [{"type": "string"}, {"type": "number"}, strict(column={"type": "string"}), {"type": "null"}]},
    order={"type": ["string", "null"]},
    number={"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 10},
    whole={"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
    user={"type": "string", "pattern": "^@[a-z_]+$"},
    when={"type": "string", "format": "date-time"},
    one={"type": "string", "const": "one"},
    yes={"type": "boolean"},
)
LINKED = {
    **strict(head={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}, whole={"$ref": "#"}),
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"node": strict(value={"type": "number"}, next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})},
}


@pytest.mark.parametrize("schema", [strict(), QUERY, LINKED, strict(a=QUERY, b=nested(3))])
def test_schemas_like_the_guides_pass(schema):
    check_openai_strict(schema)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_formats_of_the_guide_pass(name):
    check_openai_strict(strict(it={"type": "string", "format": name}))


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"anyOf": [strict()]}, "/anyOf", "anyOf"),
        ({"type": "array", "items": strict()}, "/type", "type"),
        ({"type": ["object", "null"]}, "/type", "type"),
        ({"$ref": "#/$defs/a", "$defs": {"a": strict()}}, "", "type"),
        ({"type": "object", "properties": {}}, "", "additionalProperties"),
        (strict() | {"additionalProperties": {"type": "string"}}, "", "additionalProperties"),
        (strict(a=strict() | {"additionalProperties": True}), "/properties/a", "additionalProperties"),
        (strict([], a={"type": "null"}), "/properties/a", "required"),
        (strict(["a", "b"], a={"type": "null"}), "/required", "required"),
        (strict(a={"type": "string", "minLength": 1}), "/properties/a/minLength", "minLength"),
        (strict(a={"type": "string", "default": "x"}), "/properties/a/default", "default"),
        (strict(a={"type": "string", "format": "uri"}), "/properties/a/format", "format"),
        (strict(a={"type": "boolean", "minimum": 1}), "/properties/a/minimum", "minimum"),
        (strict(a={"type": "array"}), "/properties/a", "items"),
        (
            strict(a={"type": "array", "items": {"type": "null"}, "uniqueItems": True}),
            "/properties/a/uniqueItems",
            "uniqueItems",
        ),
        (strict(a={"oneOf": [{"type": "null"}]}), "/properties/a", "type"),
        (strict(a={"enum": [1]}), "/properties/a", "type"),
        (strict(a={}), "/properties/a", "type"),
        (strict(a={"allOf": [strict()], "type": "object"}), "/properties/a/allOf", "allOf"),
        (strict(a={"anyOf": [{"type": "null"}], "type": "null"}), "/properties/a/type", "type"),
        (strict(a={"anyOf": [{"type": "null"}, {"not": {}}]}), "/properties/a/anyOf/1", "type"),
        (strict(a={"$ref": "#/$defs/none"}), "/properties/a/$ref", "$ref"),
        (strict(a={"$ref": "#/properties/b"}, b=strict()), "/properties/a/$ref", "$ref"),
        (strict(a={"$ref": "#", "description": "all"}), "/properties/a/description", "description"),
        (strict(a={"$ref": 3}), "/properties/a/$ref", "$ref"),
        (strict(**{"x/y~": {"type": "string", "maxLength": 3}}), "/properties/x~1y~0/maxLength", "maxLength"),
        (strict() | {"patternProperties": {}}, "/patternProperties", "patternProperties"),
        (strict() | {"$defs": {"a": {"type": "string", "if": {}}}}, "/$defs/a/if", "if"),
    ],
)
def test_what_the_subset_does_not_have_is_refused_at_its_place(schema, pointer, keyword):
    with pytest.raises(UnsupportedSchema) as raised:
        check_openai_strict(schema)
    assert (raised.value.pointer, raised.value.keyword) == (pointer, keyword)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (True, ""),
        (strict() | {"properties": []}, "/properties"),
        (strict() | {"required": "a"}, "/required"),
        (strict() | {"required": [{}]}, "/required"),
        (strict(a=True), "/properties/a"),
        (strict(a={"type": "text"}), "/properties/a/type"),
        (strict(a={"type": []}), "/properties/a/type"),
        (strict(a={"type": [["null"]]}), "/properties/a/type"),
        (strict(a={"anyOf": []}), "/properties/a/anyOf"),
        (strict(a={"type": "string", "enum": []}), "/properties/a/enum"),
        (strict(a={"type": "string", "pattern": 1}), "/properties/a/pattern"),
        (strict(a={"type": "number", "minimum": "1"}), "/properties/a/minimum"),
        (strict(a={"type": "array", "items": {"type": "null"}, "minItems": -1}), "/properties/a/minItems"),
    ],
)
def test_a_malformed_schema_is_invalid_at_its_place(schema, pointer):
    with pytest.raises(InvalidSchema) as raised:
        check_openai_strict(schema)
    assert raised.value.pointer == pointer


@pytest.mark.parametrize(
    ("within", "beyond", "keyword"),
    [
        (nested(10), nested(11), "inner"),
        (
            strict(**{f"p{number}": {"type": "null"} for number in range(5000)}),
            strict(**{f"p{number}": {"type": "null"} for number in range(4999)}, last=strict(a={"type": "null"})),
            "properties",
        ),
        (
            strict(a={"type": "integer", "enum": list(range(500))}, b={"type": "integer", "enum": list(range(500))}),
            strict(a={"type": "integer", "enum": list(range(500))}, b={"type": "integer", "enum": list(range(501))}),
            "enum",
        ),
        (
            strict(a={"type": "string", "enum": [f"{number:060}" for number in range(250)] }),
            strict(a={"type": "string", "enum": [f"{number:060}" for number in range(251)] }),
            "enum",
        ),
        (
            strict(a={"type": "string", "const": "x" * 119_999}),
            strict(a={"type": "string", "const": "x" * 120_000}),
            "const",
        ),
        (strict(**{"x" * 120_000: {"type": "null"}}), strict(**{"x" * 120_001: {"type": "null"}}), "properties"),
        (strict() | {"$defs": {"x" * 120_000: strict()}}, strict() | {"$defs": {"x" * 120_001: strict()}}, "$defs"),
    ],
)  # fmt: skip
def test_limits_are_held_to_the_last_one(within, beyond, keyword):
    check_openai_strict(within)
    with pytest.raises(UnsupportedSchema) as raised:
        check_openai_strict(beyond)
    assert raised.value.keyword == keyword


def test_a_schema_that_holds_itself_is_too_deep():
    schema = strict()
    schema["properties"]["me"] = schema
    schema["required"] = ["me"]
    with pytest.raises(UnsupportedSchema, match="11 levels deep"):
        check_openai_strict(schema)
