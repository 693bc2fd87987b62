"""Wherever a text is, some byte leads nearer to an end: what a budget that is kept to the end relies on."""

from __future__ import annotations

import random

import pytest

from structgen.grammars import TokenVocabulary, compile_json_schema
from structgen.grammars.automaton.spare_strings import spare_string
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.language import Language
from structgen.grammars.regex import ecma_language
from structgen.grammars.sampling import byte_vocabulary

EVERY_BYTE = (1 << 256) - 1

SCHEMAS = {
    "obligation whose key's end decides": {"not": {"patternProperties": {"^a": {"type": "null"}}}, "type": "object"},
    "two obligations": {
        "type": "object",
        "allOf": [
            {"not": {"patternProperties": {"^a": {"type": "null"}}}},
            {"not": {"patternProperties": {"b$": {"type": "null"}}}},
        ],
    },
    "obligation on one key": {"type": "object", "not": {"patternProperties": {"^a$": {"type": "null"}}}},
    "obligation on one of two keys": {"type": "object", "not": {"patternProperties": {"^[ab]$": {"type": "null"}}}},
    "a member that may be the whole again": {
        "type": "object",
        "properties": {"x": {"$ref": "#"}, "y": {"type": "null"}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "an undeclared member that may be the whole again": {
        "type": "object",
        "patternProperties": {"^a": {"$ref": "#"}},
        "minProperties": 1,
    },
    "trees of operations": {
        "type": "object",
        "properties": {
            "and": {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
            "or": {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
            "var": {"type": "string"},
        },
        "additionalProperties": False,
        "minProperties": 1,
    },
    "keys of a thin language": {"type": "object", "propertyNames": {"pattern": "^a+$"}, "minProperties": 14},
    "two thin languages": {
        "type": "object",
        "patternProperties": {"^a{1,40}$": {"type": "integer"}, "^b+$": {"type": "string"}},
        "additionalProperties": False,
        "minProperties": 14,
    },
    "all keys there are": {"type": "object", "propertyNames": {"pattern": "^x-[0-9]$"}, "minProperties": 10},
    "members that want each other": {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 123456789}, "c": {"const": 123456789}},
        "dependentRequired": {"a": ["b"], "b": ["a"], "c": ["b"]},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "elements that count": {
        "type": "array",
        "prefixItems": [{"type": ["integer", "string"]}],
        "items": {"type": ["null", "integer", "string"]},
        "contains": {"type": "null"},
        "minContains": 3,
    },
    "strings of a thin language, each once": {
        "type": "array",
        "items": {"type": "string", "pattern": "^a+$"},
        "uniqueItems": True,
        "minItems": 12,
    },
}


@pytest.mark.parametrize("property_order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_some_byte_always_leads_nearer_to_an_end(name, property_order):
    automaton = compile_json_schema(SCHEMAS[name], byte_vocabulary(), property_order=property_order)
    for seed in range(4):
        generator = random.Random(seed)
        with automaton.matcher() as matcher:
            state = matcher.start
            for _ in range(60):
                after = {byte: matcher.advance(state, byte) for byte in range(256)}
                after = {byte: target for byte, target in after.items() if target > 0}
                nearest = min(after, key=lambda byte: matcher.distance(after[byte]), default=None)
                if nearest is None or not matcher.is_accepting(state):
                    assert nearest is None or matcher.distance(after[nearest]) < matcher.distance(state)
                if nearest is None:
                    assert matcher.is_accepting(state)
                    break
                wanders = generator.random() < 0.5
                state = after[generator.choice(sorted(after)) if wanders else nearest]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_seed_draws_a_whole_text(name):
    automaton = compile_json_schema(SCHEMAS[name], byte_vocabulary(), property_order="any")
    for seed in range(20):
        assert automaton.accepts(automaton.sample(seed))


@pytest.mark.parametrize(
    ("language", "taken", "bytes_"),
    [
        (Language.finite(["a", "bcd", "é"]), 0, 3),
        (Language.finite(["a", "bcd", "é"]), 1, 4),
        (Language.finite(["a", "bcd", "é"]), 7, 5),
        (Language.length(), 0, 2),
        (Language.length(), 1, 3),
        (Language.length(), 95, 4),  # the empty string and 94 of a byte
        (Language.length(0, 1), 1000, 8),  # a control character takes six bytes
        (Language.length(3, 4), 5, 5),
        (ecma_language("^a+$"), 0, 3),
        (ecma_language("^a+$"), 9, 12),
        (ecma_language("^(ab)*$"), 3, 8),
        (ecma_language("^x[0-9]$"), 9, 4),
        (ecma_language("^[a-z]+$"), 26, 4),
    ],
)
def test_bytes_of_a_string_that_is_none_of_those_taken(language, taken, bytes_):
    assert spare_string(language, taken, EVERY_BYTE) == bytes_


ANY_KEY = {"type": "object", "additionalProperties": {"const": "a"}}
GREEK_KEYS = {"type": "object", "propertyNames": {"pattern": "^ψ$"}, "minProperties": 1}


@pytest.mark.parametrize(
    ("tokens", "schema", "whitespace", "text", "distance"),
    [
        ('a{}"', ANY_KEY, "compact", "{", 1),
        ('a{}"', ANY_KEY, "compact", '{"', FAR),
        ('a{}"', ANY_KEY, "compact", '{"a"', FAR),
        ('a{}":', ANY_KEY, "compact", '{"', 6),
        ('a{}":', ANY_KEY, "compact", '{"a":"a"', 1),
        ('a{}":', ANY_KEY, "indent:2", '{"', FAR),
        ('a{":', ANY_KEY, "compact", "", FAR),
        ('a{":', ANY_KEY, "compact", "{", FAR),
        ('a{}":', GREEK_KEYS, "compact", "", FAR),
        ('a["', {"items": {"const": "a"}, "type": "array"}, "compact", "[", FAR),
        ('a[]"', {"items": {"const": "a"}, "type": "array"}, "compact", '["a"', 1),
        ('a[]"', {"items": {"const": "a"}, "type": "array", "minItems": 2}, "compact", '["a"', FAR),
        ('a[]"', {"items": {"const": "a"}, "type": "array", "minItems": 1, "maxItems": 1}, "compact", "[", 4),
        ('a[],"', {"items": {"const": "a"}, "type": "array", "minItems": 2}, "compact", '["a"', 5),
    ],
)
def test_no_end_is_claimed_that_single_bytes_cannot_spell(tokens, schema, whitespace, text, distance):
    """The text itself is made of other tokens."""
    vocabulary = TokenVocabulary([*(one.encode() for one in tokens), b""], [len(tokens)])
    automaton = compile_json_schema(schema, vocabulary, whitespace=whitespace)
    with automaton.matcher() as matcher:
        assert matcher.distance(matcher.advance_bytes(matcher.start, text.encode())) == distance
