"""The grammar of a schema against the `jsonschema` package, and what is refused."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import BYTES, drawn_text

from structgen.errors import GrammarLimitExceeded, InvalidGrammar, InvalidSchema, UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars import TokenVocabulary, compile_json_schema

WORDS = [b'{"', b'": ', b'", "', b"true", b"null", b'"a"', b"[1", b", ", b"}]", b"12", b"\n  ", "é".encode()]
END = 256 + len(WORDS)


@pytest.fixture(scope="module")
def vocabulary():
    return TokenVocabulary.from_bytes([*BYTES, *WORDS, b""], [END])


KEYS = st.sampled_from(["a", "b", "key", "é", 'q"', "x\n"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(-(2.0**53), 2.0**53),  # beyond, a float is not the decimal that its repr shows
    st.text(max_size=4),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


def closed_object(properties, required):
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(required & properties.keys()),
        "additionalProperties": False,
    }


LEAF_SCHEMAS = st.one_of(
    st.sampled_from(["null", "boolean", "integer", "number", "string"]).map(lambda name: {"type": name}),
    st.just({"type": ["string", "null"]}),
    VALUES.map(lambda value: {"const": value}),
    st.lists(VALUES, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    st.lists(SCALARS, min_size=1, max_size=4).map(lambda values: {"enum": values, "type": ["string", "integer"]}),
)
NESTED_SCHEMAS = st.recursive(
    LEAF_SCHEMAS,
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.builds(closed_object, st.dictionaries(KEYS, inner, max_size=3), st.sets(KEYS)),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: {"anyOf": ways}),
        st.builds(lambda one, other: {"anyOf": [one, other], "$ref": "#/$defs/shared"}, inner, inner),
    ),
    max_leaves=5,
)


SCHEMAS = st.builds(lambda schema, shared: {**schema, "$defs": {"shared": shared}}, NESTED_SCHEMAS, LEAF_SCHEMAS)


@settings(max_examples=120, deadline=None)
@given(SCHEMAS, st.randoms(use_true_random=False))
def test_a_random_walk_under_the_mask_ends_in_a_valid_value(vocabulary, schema, random):
    try:
        automaton = compile_json_schema(schema, vocabulary)
    except UnsatisfiableSchema:
        return
    for _ in range(3):
        text = drawn_text(automaton, random, free=60)
        value = json.loads(text.decode())
        jsonschema.Draft202012Validator(schema).validate(value)
        assert automaton.accepts(text)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_accepted_is_valid(vocabulary, schema, values):
    validator = jsonschema.Draft202012Validator(schema)
    try:
        automaton = compile_json_schema(schema, vocabulary)
    except UnsatisfiableSchema:
        assert not any(validator.is_valid(value) for value in values)
        return
    for value in values:
        if automaton.accepts(json.dumps(value)):
            validator.validate(value)


LAYOUTS = [{}, {"separators": (",", ":")}, {"indent": 0}, {"indent": 2}, {"indent": 7, "separators": (" ,", " :")}]


@st.composite
def schemas_with_values(draw):
    """A schema and a value that meets it, its keys in the schema's order and its numbers as written in it."""
    kind = draw(st.sampled_from(["scalar", "enum", "array", "object", "any of"]))
    if kind == "scalar":
        value = draw(SCALARS)
        name = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}[type(value)]
        return {"type": name}, value
    if kind == "enum":
        values = draw(st.lists(VALUES, min_size=1, max_size=4))
        return {"enum": values}, draw(st.sampled_from(values))
    if kind == "array":
        items, value = draw(schemas_with_values())
        return {"type": "array", "items": items}, [value] * draw(st.integers(0, 3))
    if kind == "any of":
        one, value = draw(schemas_with_values())
        other = draw(LEAF_SCHEMAS)
        return {"anyOf": draw(st.permutations([one, other]))}, value
    members = {key: draw(schemas_with_values()) for key in draw(st.lists(KEYS, unique=True, max_size=3))}
    present = {key for key in members if draw(st.booleans())}
    required = {key for key in present if draw(st.booleans())}
    schema = closed_object({key: schema for key, (schema, _) in members.items()}, required)
    return schema, {key: value for key, (_, value) in members.items() if key in present}


@settings(max_examples=200, deadline=None)
@given(schemas_with_values(), st.booleans(), st.sampled_from(LAYOUTS))
def test_a_valid_value_in_the_documented_layout_is_accepted(vocabulary, case, ascii_only, layout):
    schema, value = case
    automaton = compile_json_schema(schema, vocabulary)
    text = json.dumps(value, ensure_ascii=ascii_only, **layout)
    assert automaton.accepts(text), text


STRICT = [
    ({"type": "string"}, '"a\tb"', False),
    ({"type": "string"}, '"a\\tb\\u00e9\\ud83d\\ude00"', True),
    ({"type": "string"}, '"\\ud83d"', False),
    ({"type": "string"}, '"\\ude00\\ud83d"', False),
    ({"type": "string"}, b'"\xed\xa0\x80"', False),
    ({"type": "string"}, b'"\xc0\xaf"', False),
    ({"type": "string"}, b'"\xf0\x9f\x98\x80"', True),
    ({"type": "string"}, b'"\xf4\x90\x80\x80"', False),
    ({"type": "integer"}, "01", False),
    ({"type": "integer"}, "-0", False),
    ({"type": "integer"}, "1.0", False),
    ({"type": "integer"}, "9" * 20, True),
    ({"type": "integer"}, "9" * 21, False),
    ({"type": "number"}, "1.50", False),
    ({"type": "number"}, "1.0", True),
    ({"type": "number"}, "-0.0", True),
    ({"type": "number"}, "1e-07", True),
    ({"type": "number"}, "1.5e+300", True),
    ({"type": "number"}, "1e400", False),
    ({"type": "number"}, "5e-324", True),
    ({"type": "number"}, "1e-310", True),
    ({"type": "number"}, "9e+307", True),
    ({"type": "number"}, "1.7e+308", True),
    ({"type": "number"}, "9e+308", False),
    ({"type": "number"}, "1.8e+308", False),
    ({"type": "boolean"}, " true", False),
    ({"type": "boolean"}, "true ", False),
    ({"type": "array", "items": {"type": "null"}}, "[ null ,\n null ]", True),
    ({"type": "array", "items": {"type": "null"}}, "[  null]", False),
    ({"type": "array", "items": {"type": "null"}}, "[null,\n" + " " * 64 + "null]", True),
    ({"type": "array", "items": {"type": "null"}}, "[null,\n" + " " * 65 + "null]", False),
    ({"type": "array", "items": {"type": "null"}}, "[null,]", False),
    ({"enum": ["é"]}, '"\\u00e9"', True),
    ({"enum": [1.0]}, "1", True),
    ({"enum": [True]}, "1", False),
    ({"enum": ["\ud800", "a"]}, '"a"', True),
    ({"const": {"b": 1, "a": [{}, ""]}}, '{"b": 1, "a": [{}, ""]}', True),
]


@pytest.mark.parametrize(("schema", "text", "valid"), STRICT)
def test_the_layout_is_strict_json(vocabulary, schema, text, valid):
    assert compile_json_schema(schema, vocabulary).accepts(text) == valid


def test_keys_come_in_order_and_once(vocabulary):
    schema = closed_object({"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}}, {"b"})
    automaton = compile_json_schema(schema, vocabulary)
    accepted = ['{"b": 1}', '{"a": 1, "b": 2}', '{"b": 1, "c": 2}', '{"a": 1, "b": 2, "c": 3}']
    refused = ["{}", '{"a": 1}', '{"b": 1, "a": 2}', '{"b": 1, "b": 2}', '{"b": 1, "d": 2}', '{"b": 1,}', '{, "b": 1}']
    assert [text for text in accepted + refused if automaton.accepts(text)] == accepted


def test_siblings_of_any_of_and_ref_all_hold(vocabulary):
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "size": {"type": ["integer", "null"]}},
        "required": ["kind"],
        "additionalProperties": False,
        "anyOf": [
            {"properties": {"kind": {"const": "a"}}, "required": ["size"]},
            {"properties": {"size": {"type": "null"}}},
        ],
    }
    automaton = compile_json_schema(schema, vocabulary)
    accepted = ['{"kind": "a", "size": 1}', '{"kind": "b", "size": null}', '{"kind": "b"}']
    refused = ['{"kind": "b", "size": 1}', '{"size": 1}']
    assert [text for text in accepted + refused if automaton.accepts(text)] == accepted


def test_references_may_run_in_circles(vocabulary):
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                },
                "required": ["value", "next"],
                "additionalProperties": False,
            }
        },
    }
    automaton = compile_json_schema(schema, vocabulary)
    assert automaton.accepts('{"value": 1, "next": {"value": 2, "next": null}}')
    deep = '{"value": 1, "next": ' * 1000 + "null" + "}" * 1000
    assert automaton.accepts(deep)


def test_a_reference_to_itself_alone_adds_nothing(vocabulary):
    assert compile_json_schema({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, vocabulary).accepts("null")
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema({"$ref": "#"}, vocabulary)


def test_values_are_held_against_rules_that_lead_back(vocabulary):
    tree = {"anyOf": [{"type": "null"}, {"const": [None], "items": {"$ref": "#/$defs/t"}}]}
    automaton = compile_json_schema({"$defs": {"t": tree}, "$ref": "#/$defs/t"}, vocabulary)
    assert automaton.accepts("[null]")
    assert automaton.accepts("null")
    assert not automaton.accepts("[[null]]")


def test_one_object_at_two_places_has_two_meanings(vocabulary):
    shared = {"$ref": "#/$defs/x"}

    def part(name, kind):
        defs = {"x": {"type": kind}}
        return {
            "$id": f"http://{name}/",
            "$defs": defs,
            "type": "object",
            "properties": {"v": shared},
            "required": ["v"],
        }

    schema = {
        "type": "object",
        "properties": {"a": part("a", "string"), "b": part("b", "integer")},
        "required": ["a", "b"],
    }
    automaton = compile_json_schema(schema, vocabulary)
    assert automaton.accepts('{"a": {"v": "x"}, "b": {"v": 1}}')
    assert not automaton.accepts('{"a": {"v": "x"}, "b": {"v": "x"}}')


def test_a_schema_that_needs_itself_is_unsatisfiable(vocabulary):
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema(schema, vocabulary)


def test_references_may_name_documents_of_the_registry(vocabulary):
    registry = {"http://example.com/unit": {"$id": "http://example.com/unit", "enum": ["m", "s"]}}
    schema = {"type": "array", "items": {"$ref": "http://example.com/unit"}}
    assert compile_json_schema(schema, vocabulary, registry=registry).accepts('["m"]')
    with pytest.raises(InvalidSchema) as caught:
        compile_json_schema(schema, vocabulary)
    assert caught.value.pointer == "/items/$ref"


def test_siblings_of_a_ref_count_from_2019_on(vocabulary):
    schema = {"$ref": "#/definitions/a", "enum": [1], "definitions": {"a": {"enum": [1, 2]}}}
    draft7 = "http://json-schema.org/draft-07/schema#"
    assert not compile_json_schema(schema, vocabulary).accepts("2")
    assert compile_json_schema(schema, vocabulary, default_dialect=draft7).accepts("2")
    assert compile_json_schema({"$schema": draft7, **schema}, vocabulary).accepts("2")


REFUSED = [
    ({"$schema": "http://example.com/mine"}, "/$schema", "$schema"),
    ({"items": {"type": "object"}, "uniqueItems": True}, "/uniqueItems", "uniqueItems"),
    ({"properties": {"a/b": {"not": {"uniqueItems": True}}}}, "/properties/a~1b/not/uniqueItems", "uniqueItems"),
]


@pytest.mark.parametrize(("schema", "pointer", "keyword"), REFUSED)
def test_what_is_not_held_is_refused_with_its_place(vocabulary, schema, pointer, keyword):
    with pytest.raises(UnsupportedSchema) as caught:
        compile_json_schema(schema, vocabulary)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "text"}, "/type"),
        ({"type": 5}, "/type"),
        ({"properties": []}, "/properties"),
        ({"type": "object", "properties": {"a": 5}}, "/properties/a"),
        ({"required": "a"}, "/required"),
        ({"required": [1]}, "/required"),
        ({"anyOf": []}, "/anyOf"),
        ({"anyOf": [3]}, "/anyOf/0"),
        ({"enum": 3}, "/enum"),
        ({"$ref": 3}, "/$ref"),
        ({"$ref": "#/nowhere"}, "/$ref"),
        ({"$ref": "#/$defs/x", "$defs": {"x": 3}}, "/$ref"),
        ({"items": 3}, "/items"),
        ({"$id": 5}, "/$id"),
        ({"$schema": ["x"]}, "/$schema"),
        ({"allOf": []}, "/allOf"),
        ({"oneOf": 3}, "/oneOf"),
        ({"items": [{}]}, "/items"),
        ({"minLength": -1}, "/minLength"),
        ({"minimum": "1"}, "/minimum"),
        ({"pattern": "("}, "/pattern"),
        ({"properties": {1: {}}}, "/properties"),
        ({"const": {1, 2}}, "/const"),
        ({"const": [b"x"]}, "/const/0"),
        ("a string", ""),
        (None, ""),
    ],
)
def test_a_malformed_schema_is_invalid_at_its_place(vocabulary, schema, pointer):
    with pytest.raises(InvalidSchema) as caught:
        compile_json_schema(schema, vocabulary)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"type": "string", "const": 1},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
    ],
)
def test_what_nothing_meets_is_unsatisfiable(vocabulary, schema):
    with pytest.raises(UnsatisfiableSchema, match="unsatisfiable"):
        compile_json_schema(schema, vocabulary)


def test_bounds_of_contains_that_contradict_each_other_leave_no_array(vocabulary):
    automaton = compile_json_schema({"contains": {"type": "string"}, "maxContains": 0}, vocabulary)
    assert automaton.accepts("1")
    assert not automaton.accepts("[]")
    assert not automaton.accepts("[1]")


def test_elements_of_which_there_are_none_are_all_different(vocabulary):
    automaton = compile_json_schema({"type": "array", "items": False, "uniqueItems": True}, vocabulary)
    assert automaton.accepts("[]")
    assert not automaton.accepts("[1]")


def test_an_annotation_changes_nothing(vocabulary):
    schema = {"type": "string", "title": "t", "default": 3, "x-mine": {"pattern": "no"}, "format": "date"}
    assert compile_json_schema(schema, vocabulary, formats="annotate").accepts('"any"')


def test_options_have_named_values_only(vocabulary):
    for option in ({"numbers": "some"}, {"formats": "no"}, {"property_order": "none"}, {"whitespace": "wide"}):
        with pytest.raises(InvalidGrammar, match=next(iter(option))):
            compile_json_schema({"type": "null"}, vocabulary, **option)


def test_any_spelling_of_a_number_is_held_on_request(vocabulary):
    automaton = compile_json_schema({"type": "number"}, vocabulary, numbers="any")
    assert all(automaton.accepts(text) for text in ("1.50", "-0", "1E5", "0.0e-3", "1" * 50))
    assert not any(automaton.accepts(text) for text in ("01", "1.", ".5", "+1", "1e"))
    whole = compile_json_schema({"type": "integer"}, vocabulary, numbers="any")
    assert all(whole.accepts(text) for text in ("1", "1.0", "1e0", "10e-1", "-0.0", "1.5e1"))
    assert not any(whole.accepts(text) for text in ("1.5", "1e-1", "15e-1"))


def test_white_space_is_left_out_on_request(vocabulary):
    automaton = compile_json_schema({"type": ["object", "array"]}, vocabulary, whitespace="compact")
    assert automaton.accepts('{"a":[1,{"b":null}]}')
    assert not any(automaton.accepts(text) for text in ('{"a": 1}', "[1, 2]", "[ ]", '{\n"a":1}'))


def test_too_many_combinations_are_a_limit_and_no_hang(vocabulary):
    def ways(key):
        return {"anyOf": [{"required": [key], "properties": {key: {"type": kind}}} for kind in ("string", "null")]}

    schema = {"type": "object", "allOf": [ways(f"k{number}") for number in range(13)]}
    with pytest.raises(GrammarLimitExceeded, match="combinations"):
        compile_json_schema(schema, vocabulary)


def test_nesting_that_is_too_deep_is_a_limit(vocabulary):
    ways, value = {"type": "null"}, []
    for _ in range(1000):
        ways, value = {"anyOf": [ways]}, [value]
    for schema in (ways, {"const": value}):
        with pytest.raises(GrammarLimitExceeded, match="nested too deeply"):
            compile_json_schema(schema, vocabulary)


def test_a_schema_that_holds_itself_is_a_limit(vocabulary):
    schema: dict = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    with pytest.raises(GrammarLimitExceeded, match="holds itself"):
        compile_json_schema(schema, vocabulary)


def test_a_number_too_long_to_write_is_a_limit(vocabulary):
    with pytest.raises(GrammarLimitExceeded, match="bits"):
        compile_json_schema({"enum": [10**5000]}, vocabulary)


def test_the_callers_schema_is_left_as_it_was(vocabulary):
    schema = {"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"enum": [1, "a"]}}}
    before = json.dumps(schema)
    compile_json_schema(schema, vocabulary)
    assert json.dumps(schema) == before
