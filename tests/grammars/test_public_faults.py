"""Faults that other engines were reported for, by kind: what each must accept and what it must not."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from vocabularies import bytewise, longest_first, reads

from structgen.errors import StructgenError, UnsupportedSchema
from structgen.grammars import compile_json_schema
from structgen.grammars.sampling import byte_vocabulary


class Fault(NamedTuple):
    schema: object
    accepted: list[str]
    refused: list[str]
    property_order: str = "schema"


def object_of(properties, **keywords):
    return {"type": "object", "properties": properties, "required": sorted(properties), **keywords}


TWO_NUMBERS = object_of({"a": {"type": "integer"}, "b": {"type": "integer"}}, additionalProperties=False)
OPEN_NUMBER = {"type": "object", "properties": {"a": {"type": "integer"}}}
COLOURS = {"$defs": {"colour": {"enum": ["red", "green"]}}, **object_of({"c": {"$ref": "#/$defs/colour"}})}

FAULTS = {
    "bounds on the length keep escapes": Fault(
        object_of({"k": {"type": "string", "minLength": 2, "maxLength": 4}}),
        [r'{"k":"a\nb"}', r'{"k":"a\"b"}', r'{"k":"\u0061\\"}', r'{"k":"\ud83d\ude00\ud83d\ude00\ud83d\ude00"}'],
        [r'{"k":"a\nbcd"}', r'{"k":"\\"}', r'{"k":"\ud83d\ude00"}', r'{"k":"\ud83dabc"}', '{"k":"a\nb"}'],
    ),
    "a pattern keeps escapes": Fault(
        {"type": "string", "pattern": '^a.b"$'}, [r'"axb\""', r'"a\u0022b\u0022"'], ['"axb""', r'"a\nb\""', r'"axb"']
    ),
    "pattern and bounds on the length hold together": Fault(
        {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3},
        ['"ab"', '"abc"'],
        ['"a"', '"abcd"', '"abcdef"', '"aB"', r'"\u0061"'],
    ),
    "an alternation of anchored patterns": Fault(
        {"type": "string", "pattern": "^a$|^b$"}, ['"a"', '"b"'], ['"c"', '"ab"']
    ),
    "propertyNames leaves the values their schema": Fault(
        {"type": "object", "propertyNames": {"pattern": "^k|^l$"}, "additionalProperties": {"type": "integer"}},
        ['{"k1":1,"l":2}', "{}"],
        ['{"k1":"x"}', '{"l1":1}', '{"a":1}'],
    ),
    "the order of the schema": Fault(
        TWO_NUMBERS, ['{"a":1,"b":2}'], ['{"b":2,"a":1}', '{"a":1,"b":2,"a":3}'], "schema"
    ),
    "any order": Fault(TWO_NUMBERS, ['{"a":1,"b":2}', '{"b":2,"a":1}'], ['{"a":1,"a":2}', '{"b":1}'], "any"),
    "a declared key is none of the others": Fault(
        OPEN_NUMBER,
        ['{"a":1}', '{"x":"y"}', '{"a":1,"x":[]}', r'{"\u0061":1}'],
        ['{"a":"wrong"}', r'{"\u0061":"wrong"}', '{"x":1,"a":"wrong"}', r'{"a":1,"\u0061":2}', '{"x":1,"x":2}'],
        "any",
    ),
    "a declared key is none of the others in the order of the schema": Fault(
        OPEN_NUMBER, ['{"a":1,"x":"y"}', '{"x":"y"}'], ['{"a":"wrong"}', '{"x":1,"a":"wrong"}', '{"x":1,"a":1}']
    ),
    "huge bounds": Fault(
        {"type": "integer", "minimum": 0, "maximum": 20000000000},
        ["12345678901", "20000000000", "0"],
        ["20000000001", "-1", "123456789012", "1.5", "012"],
    ),
    "enum of values that need spelling": Fault(
        {"enum": ['say "hi"', None, True, {"a": 1}, [1, "é"]]},
        [r'"say \"hi\""', "null", "true", '{"a":1}', '{"a": 1}', '[1,"é"]', r'[1,"\u00e9"]'],
        ['"say "hi""', "false", "{}", '{"a":2}', '{"a":1,"b":1}', "[1]", "1"],
    ),
    "const of an object, of false and of zero": Fault(
        object_of({"x": {"const": {"b": [False, 0]}}}),
        ['{"x":{"b":[false,0]}}'],
        ['{"x":{"b":[0,false]}}', '{"x":{"b":[false,""]}}'],
    ),
    "a property with nothing but a description": Fault(
        object_of({"value": {"description": "anything"}}),
        ['{"value":1}', '{"value":null}', '{"value":{"a":[{}]}}', '{"value":"x"}'],
        ['{"value":}', "{}", '{"value":undefined}'],
    ),
    "an enum behind a reference": Fault(COLOURS, ['{"c":"red"}'], ['{"c":"blue"}', '{"c":{}}', '{"c":{"enum":[]}}']),
    "no element at all": Fault({"type": "array", "maxItems": 0}, ["[]", "[ ]"], ["[1]", "[,]", "[null]"]),
    "several types": Fault(
        object_of({"name": {"type": ["string", "null"]}}), ['{"name":"x"}', '{"name":null}'], ['{"name":1}', "{}"]
    ),
    "tuples": Fault(
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        ['[1,"a"]', "[1]", "[]"],
        ['["a",1]', '[1,"a",2]'],
    ),
    "not": Fault({"not": {"type": "string"}}, ["1", "null", "{}", '["a"]'], ['"a"', '""']),
    "if, then and else": Fault(
        {"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "integer"}},
        ['"a"', "3"],
        ['"ab"', "null", "1.5"],
    ),
    "elements once only": Fault(
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ['["a","b"]', "[]"],
        ['["a","a"]', r'["a","\u0061"]'],
    ),
    "exactly one": Fault({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, ["1", "2.5", "null"], ["2", "3", "1.5"]),
    "keys by pattern": Fault(
        {"type": "object", "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False},
        ['{"x_a":1}', '{"x_a":1,"x_":2}', "{}"],
        ['{"x_a":"1"}', '{"y":1}', '{"x":1}', r'{"x\u005fa":"1"}'],
    ),
    "white space that ends": Fault(
        object_of({"a": {"type": "array"}}),
        ['{"a": [1, 2]}', '{\n    "a": [\n        1\n    ]\n}', '{ "a":[]}'],
        ['{  "a":[]}', '{"a":\n\n[]}', '{"a":\t[]}', '  {"a":[]}', '{"a":[]} ', "{" + "\n" + " " * 65 + '"a":[]}'],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("tokens", ["bytes", "words"])
def test_what_another_engine_got_wrong_is_right_here(name, tokens):
    fault = FAULTS[name]
    automaton = compile_json_schema(fault.schema, VOCABULARIES[tokens], property_order=fault.property_order)
    for text in fault.accepted:
        assert automaton.accepts(text), text
    for text in fault.refused:
        assert not automaton.accepts(text), text
    for seed in range(10):
        assert automaton.accepts(automaton.sample(seed))
        json.loads(automaton.sample(seed))


@pytest.mark.parametrize("name", FAULTS)
def test_tokens_of_several_bytes_are_judged_as_their_bytes_are(name):
    fault = FAULTS[name]
    automaton = compile_json_schema(fault.schema, VOCABULARIES["words"], property_order=fault.property_order)
    for text in (*fault.accepted, *fault.refused):
        tokens = longest_first(text.encode(), automaton.vocabulary)
        assert reads(automaton, tokens) == (text in fault.accepted), text


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "pattern": r"^(a)\1$"}, "pattern"),
        ({"type": "array", "uniqueItems": True, "items": {"type": "object"}}, "uniqueItems"),
    ],
)
def test_what_is_not_held_is_refused_by_name(schema, keyword):
    with pytest.raises(UnsupportedSchema, match=keyword):
        compile_json_schema({"type": "object", "properties": {"k": schema}}, byte_vocabulary())


def test_a_keyword_that_no_draft_knows_is_an_annotation_and_a_misused_one_an_error():
    assert compile_json_schema({"x-note": 1, "type": "null"}, byte_vocabulary()).accepts("null")
    with pytest.raises(StructgenError, match="minLength"):
        compile_json_schema({"type": "string", "minLength": "three"}, byte_vocabulary())


WORDS = [
    b'{"',
    b'":',
    b'","',
    b'"}',
    b'a"',
    b'":"',
    b"\\u00",
    b"\\n",
    b'\\"',
    b"61",
    b"[1",
    b",",
    b"123",
    b'{"a":',
    b"}}",
    b"]}",
]
VOCABULARIES = {"bytes": byte_vocabulary(), "words": bytewise(*WORDS)}
