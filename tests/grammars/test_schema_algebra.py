"""The algebra: every keyword with every other against the `jsonschema` package, and what its rules look like."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schemas import DIALECTS, random_schema, random_value
from value_acceptor import accepts

from structgen.errors import GrammarLimitExceeded, InvalidSchema, UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars import compile_json_schema
from structgen.grammars.expr import Alternation
from structgen.grammars.json_schema.compile import schema_rule
from structgen.grammars.sampling import byte_vocabulary
from structgen.grammars.values import ArrayValue, ObjectValue, StringValue


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*DIALECTS, 2020]), st.randoms(use_true_random=False))
def test_a_value_is_accepted_exactly_where_the_schema_is_met(draft, random):
    schema = random_schema(random, draft)
    uri, validator = DIALECTS[draft]
    try:
        rule = schema_rule(schema, default_dialect=uri)
    except UnsatisfiableSchema:
        rule = None
    except (UnsupportedSchema, GrammarLimitExceeded):
        return
    for _ in range(8):
        value = random_value(random)
        accepted = rule is not None and accepts(rule.body, value)
        assert accepted == validator(schema).is_valid(value), (json.dumps(schema), value)


def parts_of(schema, **options):
    body = schema_rule(schema, **options).body
    return body.parts if isinstance(body, Alternation) else (body,)


def only_object(schema, **options):
    (part,) = parts_of({"type": "object", **schema}, **options)
    assert isinstance(part, ObjectValue)
    return part.spec


def accepted(schema, *values, **options):
    rule = schema_rule(schema, **options)
    return [value for value in values if accepts(rule.body, value)]


# What the rules look like


def test_keys_come_as_properties_then_as_applicators_mention_them_then_required_ones():
    schema = {
        "required": ["r", "b"],
        "allOf": [{"properties": {"d": {}, "a": {}}}, {"$ref": "#/$defs/more"}],
        "properties": {"b": {}, "a": {}},
        "$defs": {"more": {"properties": {"e": {}, "d": {}}, "required": ["q"]}},
    }
    assert only_object(schema).names == ("b", "a", "d", "e", "r", "q")


def test_a_constant_object_keeps_its_own_order_of_keys():
    assert only_object({"const": {"z": 1, "a": 2}, "properties": {"a": {}, "z": {}}}).names == ("z", "a")


def test_any_order_is_said_in_every_object():
    assert not only_object({"properties": {"a": {}}}, property_order="any").ordered
    assert only_object({"properties": {"a": {}}}).ordered


def test_a_key_that_cannot_be_there_is_kept_away_from_the_others():
    spec = only_object({"properties": {"a": False, "b": {"type": "null"}}})
    assert dict(zip(spec.names, spec.values, strict=True))["a"] is None
    assert only_object({"properties": {"a": False, "b": {}}, "additionalProperties": False}).names == ("b",)


def test_a_few_keys_that_patterns_allow_are_declared():
    spec = only_object({"patternProperties": {"^[ab]$": {"type": "null"}}, "additionalProperties": False})
    assert spec.names == ("a", "b")
    assert not spec.others


def test_overlapping_patterns_divide_the_keys_into_classes():
    schema = {"patternProperties": {"^a": {"type": "string"}, "b$": {"minLength": 2}}, "additionalProperties": False}
    spec = only_object(schema)
    values = {key: [one for one in spec.others if one.keys.contains(key)] for key in ("a", "b", "ab", "c")}
    assert [len(values[key]) for key in ("a", "b", "ab", "c")] == [1, 1, 1, 0]
    assert not accepts(values["ab"][0].value.body, "x")
    assert accepts(values["a"][0].value.body, "x")
    assert accepts(values["b"][0].value.body, 1)


def test_a_rule_is_named_and_placed_after_its_subschema():
    spec = only_object(
        {"properties": {"a/b": {"minLength": 1}, "c": {"$ref": "#/$defs/it"}}, "$defs": {"it": {"type": "null"}}}
    )
    assert [(rule.name, rule.pointer) for rule in spec.values] == [("a~1b", "/properties/a~1b"), ("it", "/$defs/it")]


def test_one_condition_is_one_rule():
    spec = only_object(
        {
            "properties": {"a": {"$ref": "#/$defs/it"}, "b": {"allOf": [{"$ref": "#/$defs/it"}]}},
            "$defs": {"it": {"type": "null"}},
        }
    )
    assert spec.values[0] is spec.values[1]


def test_branches_of_strings_become_one_list():
    (part,) = parts_of({"oneOf": [{"const": "b", "title": "B"}, {"enum": ["a", "c"]}]})
    assert isinstance(part, StringValue)
    assert part.language.texts == ("a", "b", "c")


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_tools_told_apart_by_a_key_are_a_plain_union(keyword):
    tools = [
        {
            "type": "object",
            "properties": {"name": {"const": f"tool{number}"}, "arguments": {"type": "object"}},
            "required": ["name"],
        }
        for number in range(20)
    ]
    assert len(parts_of({keyword: tools})) == 20


def test_a_condition_on_the_value_of_a_key_does_not_multiply():
    conditions = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"required": [f"of {kind}"]}} for kind in "abcdefghij"
    ]
    schema = {"type": "object", "properties": {"kind": {"enum": list("abcdefghijk")}}, "required": ["kind"]}
    assert len(parts_of({**schema, "allOf": conditions})) == 11


def test_required_ways_imply_and_do_not_split():
    spec = only_object({"dependentRequired": {"a": ["b"]}, "not": {"required": ["c", "d"]}})
    names = spec.names
    assert {
        (frozenset(names[key] for key in keys), None if other is None else names[other])
        for keys, other in spec.implications
    } == {
        (frozenset("a"), "b"),
        (frozenset("cd"), None),
    }


def test_contains_is_a_counter():
    (part,) = (part for part in parts_of({"type": "array", "contains": {"type": "string"}, "maxContains": 2}))
    assert isinstance(part, ArrayValue)
    assert [(one.low, one.high) for one in part.spec.contains] == [(1, 2)]
    moving = [item for item in part.spec.rest if item.counts]
    assert all(accepts(item.value.body, "a") and not accepts(item.value.body, 1) for item in moving)
    assert all(not accepts(item.value.body, "a") for item in part.spec.rest if not item.counts)


# uniqueItems


def test_different_strings_are_a_set():
    (part,) = parts_of({"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3})
    assert isinstance(part, ObjectValue)
    assert part.spec.is_set


def test_few_different_scalars_are_counted():
    schema = {"type": "array", "items": {"enum": [1, 2, None, "a"]}, "uniqueItems": True}
    values = [], [1, "a", None, 2], [1, 1], ["a", None, "a"], [3]
    assert accepted(schema, *values) == [[], [1, "a", None, 2]]
    with pytest.raises(UnsatisfiableSchema):
        schema_rule({**schema, "minItems": 5})


@pytest.mark.parametrize("items", [{}, {"type": "object"}, {"type": "number"}])
def test_elements_that_cannot_be_compared_are_refused(items):
    schema = {"properties": {"list": {"type": "array", "items": items, "uniqueItems": True}}}
    with pytest.raises(UnsupportedSchema) as caught:
        schema_rule(schema)
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/list/uniqueItems", "uniqueItems")
    schema["properties"]["list"]["maxItems"] = 1
    schema_rule(schema)


# Satisfiability


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "number", "multipleOf": 4, "minimum": 1, "maximum": 3},
        {"type": "string", "pattern": "^a", "maxLength": 0},
        {"type": "object", "propertyNames": {"enum": ["a"]}, "minProperties": 2},
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}, "properties": {"b": False}},
        {"type": "array", "contains": {"type": "string"}, "items": {"type": "integer"}},
        {"type": "array", "minContains": 3, "contains": {"const": 1}, "maxItems": 2},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}], "maxItems": 1},
        {"oneOf": [{"type": "string"}, {"type": "string"}]},
        {"not": {}},
        {"$ref": "#"},
        {"type": "object", "required": ["\ud800"]},
        {"enum": ["\ud800"]},
    ],
)
def test_what_no_value_meets_is_unsatisfiable(schema):
    with pytest.raises(UnsatisfiableSchema, match="unsatisfiable"):
        schema_rule(schema)


def test_keys_that_exclude_each_other_are_counted_exactly():
    pairs = {f"{side}{pair}": {"type": "null"} for pair in range(3) for side in "lr"}
    schema = {
        "type": "object",
        "properties": pairs,
        "additionalProperties": False,
        "allOf": [{"not": {"required": [f"l{pair}", f"r{pair}"]}} for pair in range(3)],
    }
    three = {"l0": None, "r1": None, "l2": None}
    assert accepted({**schema, "minProperties": 3}, three, {"l0": None, "r0": None, "l1": None}) == [three]
    with pytest.raises(UnsatisfiableSchema):
        schema_rule({**schema, "minProperties": 4})


def test_keys_that_imply_later_ones_are_left_to_the_automaton():
    keys = [f"k{number}" for number in range(20)]
    schema = {
        "properties": {key: {"type": "null"} for key in keys},
        "additionalProperties": False,
        "dependentRequired": {key: [after] for key, after in itertools.pairwise(keys)},
        "minProperties": 3,
    }
    assert len(only_object(schema).implications) == 19
    rest, hole = dict.fromkeys(keys[15:]), dict.fromkeys([*keys[14:16], *keys[17:]])
    assert accepted({"type": "object", **schema}, rest, hole, {"k19": None}) == [rest]


def test_a_dead_branch_is_left_out():
    dead = {"type": "object", "properties": {"next": {"$ref": "#/anyOf/0"}}, "required": ["next"]}
    (part,) = parts_of({"anyOf": [dead, {"type": "string"}]})
    assert isinstance(part, StringValue)


# References and dialects


def test_a_chain_of_a_thousand_references_and_levels_is_no_recursion():
    chain = {f"d{n}": {"type": "object", "properties": {"next": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(1000)}
    passing = {f"p{n}": {"$ref": f"#/$defs/p{n + 1}"} for n in range(1000)}
    ends = {"d1000": {"type": "null"}, "p1000": {"$ref": "#/$defs/d0"}}
    schema = {"$ref": "#/$defs/p0", "$defs": {**chain, **passing, **ends}}
    assert accepted(schema, {}, {"next": {"next": {}}}, {"next": 1}) == [{}, {"next": {"next": {}}}]
    deep: dict = {"type": "null"}
    for _ in range(1000):
        deep = {"type": "array", "items": deep, "minItems": 1}
    schema_rule(deep)


def test_pointers_reach_anything_that_is_a_schema():
    schema = {"x-mine": {"a/b": [{"type": "null"}]}, "$ref": "#/x-mine/a~1b/0"}
    assert accepted(schema, None, 1) == [None]
    for reference in ("#/x-mine/a~1b/1", "#/x-mine", "#nowhere", "http://example.com/nothing"):
        with pytest.raises(InvalidSchema):
            schema_rule({"x-mine": {"a/b": []}, "$ref": reference} | ({"x-mine": 5} if reference == "#/x-mine" else {}))


def test_a_schema_with_an_identifier_may_have_a_dialect_of_its_own():
    old = {
        "$id": "http://example.com/old",
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "null"}],
    }
    assert accepted({"properties": {"a": old}}, {"a": [None]}, {"a": [1]}) == [{"a": [None]}]
    named = {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"b": ["c"]}}
    assert accepted({"properties": {"a": named}}, {"a": {"b": 1}}) == [{"a": {"b": 1}}]


def test_an_unknown_dialect_is_refused_and_one_of_the_registry_is_read():
    schema = {"$schema": "http://example.com/mine", "minLength": 2}
    with pytest.raises(UnsupportedSchema) as caught:
        schema_rule(schema)
    assert caught.value.pointer == "/$schema"
    vocabularies = {"https://json-schema.org/draft/2020-12/vocab/core": True}
    mine = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": vocabularies}
    assert accepted(schema, "a", registry={"http://example.com/mine": mine}) == ["a"]
    mine["$vocabulary"]["https://json-schema.org/draft/2020-12/vocab/validation"] = True
    assert accepted(schema, "a", registry={"http://example.com/mine": mine}) == []
    mine["$vocabulary"]["http://example.com/vocabulary"] = True
    with pytest.raises(UnsupportedSchema, match="vocabulary"):
        schema_rule(schema, registry={"http://example.com/mine": mine})


def test_only_the_document_that_is_asked_for_is_read():
    class Registry(dict):
        def __getitem__(self, uri):
            asked.append(uri)
            return super().__getitem__(uri)

    asked: list[str] = []
    registry = Registry({"http://example.com/a": {"type": "null"}, "http://example.com/b": {"type": 5}})
    assert accepted({"$ref": "http://example.com/a"}, None, 1, registry=registry) == [None]
    assert asked == ["http://example.com/a"]


def test_draft_4_knows_integers_by_how_they_are_written():
    draft4 = {"default_dialect": "http://json-schema.org/draft-04/schema#", "numbers": "any"}
    assert accepted({"type": "integer"}, 1, 1.0, **draft4) == [1]
    assert accepted({"type": "integer"}, 1, 1.0, numbers="any") == [1, 1.0]
    assert accepted({"minimum": 1, "exclusiveMinimum": True}, 1, 2, **draft4) == [2]


def test_unknown_formats_are_refused_on_request():
    schema = {"items": {"format": "mine"}}
    schema_rule(schema)
    with pytest.raises(UnsupportedSchema) as caught:
        schema_rule(schema, strict_formats=True)
    assert (caught.value.pointer, caught.value.keyword) == ("/items/format", "format")


def test_what_is_defined_by_its_own_negation_is_invalid():
    with pytest.raises(InvalidSchema, match="negation"):
        schema_rule({"not": {"$ref": "#"}})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"properties": {"a": {"minimum": "1"}}}, "/properties/a/minimum"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"minLength": -1}, "/minLength"),
        ({"minLength": 1.5}, "/minLength"),
        ({"pattern": "("}, "/pattern"),
        ({"patternProperties": {"(": {}}}, "/patternProperties/("),
        ({"allOf": []}, "/allOf"),
        ({"oneOf": [1]}, "/oneOf/0"),
        ({"not": 1}, "/not"),
        ({"if": {}, "then": 3}, "/then"),
        ({"dependentRequired": {"a": "b"}}, "/dependentRequired"),
        ({"dependentSchemas": {"a": 1}}, "/dependentSchemas/a"),
        ({"items": [{}]}, "/items"),
        ({"prefixItems": [1]}, "/prefixItems/0"),
        ({"uniqueItems": 1}, "/uniqueItems"),
        ({"$dynamicRef": "#x"}, "/$dynamicRef"),
    ],
)
def test_a_malformed_keyword_is_invalid_at_its_place(schema, pointer):
    with pytest.raises(InvalidSchema) as caught:
        schema_rule(schema)
    assert caught.value.pointer == pointer


def test_one_member_may_meet_two_obligations_though_few_keys_can():
    """Two keys of two letters, of which "da" alone or "ad" would meet both."""
    both = [{"not": {"propertyNames": {"not": {"pattern": letter}}}} for letter in "ad"]
    schema = {"type": "object", "propertyNames": {"pattern": "^..$"}, "maxProperties": 1, "allOf": both}
    automaton = compile_json_schema(schema, byte_vocabulary(), property_order="any")
    assert [automaton.accepts(text) for text in ('{"da":1}', '{"ad":1}', '{"dd":1}', '{"xa":1}', "{}")] == [
        True,
        True,
        False,
        False,
        False,
    ]
