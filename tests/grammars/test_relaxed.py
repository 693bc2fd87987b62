"""Grammars that leave out what cannot be held: wider than the schema, never narrower, with a validator behind them."""

from __future__ import annotations

import json
import random
import re
import warnings

import pytest

from structgen.errors import (
    GrammarError,
    GrammarLimitExceeded,
    InvalidGrammar,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from structgen.grammars import SchemaRelaxed, TokenAutomaton, compile_json_schema
from structgen.grammars.json_schema.validation import SchemaValidator
from structgen.grammars.regex import ecma_as_python, ecma_language
from structgen.grammars.sampling import byte_vocabulary

POINTS = {
    "type": "array",
    "items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    "uniqueItems": True,
}
TWICE = "^(a|b)\\1$"


def relaxed(schema: object, **options) -> TokenAutomaton:
    with pytest.warns(SchemaRelaxed):
        return compile_json_schema(schema, byte_vocabulary(), on_unsupported="validate", **options)


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        (POINTS, "/uniqueItems", "uniqueItems"),
        ({"properties": {"a/b": {"not": {"uniqueItems": True}}}}, "/properties/a~1b/not/uniqueItems", "uniqueItems"),
        ({"pattern": TWICE}, "/pattern", "pattern"),
        ({"patternProperties": {"^(x)\\1": True}}, "/patternProperties/^(x)\\1", "patternProperties"),
    ],
)
def test_what_is_left_out_is_said_with_its_place(schema, pointer, keyword):
    with pytest.raises(UnsupportedSchema):
        compile_json_schema(schema, byte_vocabulary())
    with pytest.warns(SchemaRelaxed, match=re.escape(repr(keyword))) as caught:
        automaton = compile_json_schema(schema, byte_vocabulary(), on_unsupported="validate")
    assert len(caught) == 1
    assert [one[:2] for one in automaton.relaxed] == [(pointer, keyword)]
    assert automaton.relaxed[0].why


def test_a_schema_that_is_held_gives_the_same_automaton():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        automaton = compile_json_schema(schema, byte_vocabulary(), on_unsupported="validate")
    exact = compile_json_schema(schema, byte_vocabulary())
    assert automaton.relaxed == exact.relaxed == ()
    assert automaton.stats() == exact.stats()
    assert automaton.sample(3) == exact.sample(3)


def test_the_validator_has_the_last_word():
    automaton = relaxed(POINTS)
    assert automaton.accepts('[{"x": 1}, {"x": 2}]')
    assert not automaton.accepts('[{"x": 1}, {"x": 1}]')
    assert not automaton.accepts('[{"x": 1}, {"x": 2}')
    verdict = automaton.check('[{"x": 1}, {"x": 1}]')
    assert not verdict.accepted
    assert (verdict.at, verdict.path, verdict.places) == (20, "", (("uniqueItems", "/uniqueItems"),))
    assert str(verdict).startswith("refused at its end, byte 20, by the validator: [{'x': 1}, {'x': 1}] has non-unique")
    assert automaton.check('[{"x": 1}, {"x": "1"}]').refusal == ""


def test_a_refusal_names_the_value_and_the_keyword_as_they_were_written():
    automaton = relaxed({"type": "object", "properties": {"a": {"pattern": TWICE}, "b": {"multipleOf": 0.01}}})
    assert automaton.accepts('{"a": "bb", "b": 0.07}')
    verdict = automaton.check('{"a": "ab", "b": 0.5}')
    assert (verdict.path, verdict.places) == ("/a", (("pattern", "/properties/a/pattern"),))
    assert verdict.refusal == f"'ab' does not match {TWICE!r}"


def test_samples_are_valid():
    automaton = relaxed({"type": "array", "items": {"enum": [0.5, [1], {"a": 1}, True, "x"]}, "uniqueItems": True})
    texts = [automaton.sample(seed) for seed in range(30)]
    for text in texts:
        values = json.loads(text)
        assert len({repr(value) for value in values}) == len(values)
    assert max(len(json.loads(text)) for text in texts) > 1
    assert texts[4] == automaton.sample(4)


def test_samples_that_are_never_valid_end_in_an_error():
    with pytest.raises(GrammarLimitExceeded, match="none of 256 random texts"):
        relaxed({"type": "string", "pattern": "^(abcdefgh)\\1$"}).sample()


def test_what_was_saved_is_relaxed_again(tmp_path):
    relaxed(POINTS).save(tmp_path / "points")
    with pytest.warns(SchemaRelaxed):
        found = TokenAutomaton.load(tmp_path / "points", byte_vocabulary())
    assert found.relaxed[0].keyword == "uniqueItems"
    assert not found.accepts('[{"x": 1}, {"x": 1}]')


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "(\\1a)"},
        {"pattern": "\\1(a)"},
        {"pattern": "(?:(a)|b)+\\1"},
        {"pattern": "(?=(a))\\1"},
        {"pattern": "(?i)(a)\\1"},
        {"pattern": "(?<=a+)(b)\\1"},
        {"$schema": "http://example.com/mine"},
    ],
)
def test_what_the_validator_cannot_take_either_is_refused(schema):
    with pytest.raises(UnsupportedSchema):
        compile_json_schema(schema, byte_vocabulary(), on_unsupported="validate")


def test_other_errors_stay_errors():
    with pytest.raises(InvalidGrammar, match="on_unsupported"):
        compile_json_schema(POINTS, byte_vocabulary(), on_unsupported="ignore")
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema({"allOf": [POINTS, False]}, byte_vocabulary(), on_unsupported="validate")
    with pytest.raises(GrammarError, match="no known format"):
        compile_json_schema({"format": "x"}, byte_vocabulary(), on_unsupported="validate", strict_formats=True)


def test_references_to_the_callers_documents_are_validated():
    registry = {"http://example.com/twice": {"pattern": TWICE}}
    automaton = relaxed({"items": {"$ref": "http://example.com/twice"}}, registry=registry)
    assert automaton.accepts('["aa", "bb"]')
    assert not automaton.accepts('["aa", "ab"]')


# Schemas at random, in which what cannot be held stands in every position.

VALUES = [
    *(None, True, 1, 1.5, "", "a", "aa", "bb", "ab", "aab"),
    *([], ["aa"], ["aa", "aa"], ["a", "b"], [1, 1], [1, True], [[1], [True], [1]], [{"aa": 1}, {"aa": 1}]),
    *({}, {"a": 1}, {"aa": 1}, {"aa": "aa"}, {"ab": "ab", "aa": 1}, {"a": ["a", "a"]}, {"bb": {"aa": "a"}}),
    [{"a": 1}, {"a": 1}, {"b": 1}],
    {"a": "aa", "b": "ab", "aab": None},
]
LEAVES = [
    {"pattern": TWICE},
    {"pattern": TWICE, "minLength": 2},
    {"pattern": "^a"},
    {"uniqueItems": True},
    {"uniqueItems": True, "minItems": 2},
    {"type": "string"},
    {"type": ["object", "integer"]},
    {"const": "aa"},
    {"enum": ["ab", 1, ["a"]]},
    {"required": ["a"]},
    {"minItems": 1},
    True,
    False,
]


def schema_at_random(source: random.Random, depth: int) -> object:
    if depth == 0 or source.random() < 0.15:
        return source.choice(LEAVES)

    def inner() -> object:
        return schema_at_random(source, depth - 1)

    makers = {
        "not": inner,
        "anyOf": lambda: [inner(), inner()],
        "oneOf": lambda: [inner(), inner()],
        "allOf": lambda: [inner(), inner()],
        "if": inner,
        "then": inner,
        "else": inner,
        "items": inner,
        "contains": inner,
        "maxContains": lambda: source.randint(0, 2),
        "properties": lambda: {"a": inner(), "aa": inner()},
        "patternProperties": lambda: {source.choice(["^(a|b)\\1", "^b"]): inner()},
        "additionalProperties": inner,
        "propertyNames": lambda: source.choice([{"pattern": TWICE}, {"pattern": "^a"}, {"not": {"pattern": TWICE}}]),
        "unevaluatedProperties": lambda: source.choice([False, inner()]),
        "dependentSchemas": lambda: {"a": inner()},
        "uniqueItems": lambda: True,
        "pattern": lambda: TWICE,
    }
    return {name: makers[name]() for name in source.sample(list(makers), source.randint(1, 3))}


@pytest.mark.parametrize("seed", range(4))
def test_grammar_and_validator_together_are_the_schema(seed):
    source, compared, refused, left_out = random.Random(seed), 0, 0, 0
    for _ in range(120):
        schema = schema_at_random(source, 3)
        validator = SchemaValidator(schema)
        valid = [validator.refusal(json.dumps(value).encode()) is None for value in VALUES]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SchemaRelaxed)
                automaton = compile_json_schema(
                    schema, byte_vocabulary(), on_unsupported="validate", property_order="any"
                )
        except UnsatisfiableSchema:
            assert not any(valid), schema
            continue
        except GrammarLimitExceeded:
            continue
        left_out += bool(automaton.relaxed)
        for value, is_valid in zip(VALUES, valid, strict=True):
            assert automaton.accepts(json.dumps(value)) == is_valid, (schema, value)
            compared += 1
            refused += not is_valid
    assert compared > 1000
    assert refused > 100
    assert left_out > 20


# The validator


@pytest.mark.parametrize("schema", [{"pattern": "\\d$"}, {"patternProperties": {"\\d$": False}}])
def test_patterns_are_not_read_in_pythons_way(schema):
    validator = SchemaValidator(schema)
    for text, is_digit in (("5", True), ("٣", False), ("5\n", False)):
        value = text if "pattern" in schema else {text: 1}
        assert (validator.refusal(json.dumps(value).encode()) is None) == (is_digit is ("pattern" in schema))


def test_numbers_are_the_decimals_that_are_written():
    validator = SchemaValidator({"multipleOf": 0.01, "enum": [0.07, 1e300, 3]})
    for text in ("0.07", "1e300", "3.0", "7e-2"):
        assert validator.refusal(text.encode()) is None
    assert validator.refusal(b"0.071") is not None
    assert SchemaValidator({"type": "integer"}).refusal(b"1.0") is None
    draft4 = "http://json-schema.org/draft-04/schema"
    assert SchemaValidator({"type": "integer", "$schema": draft4}).refusal(b"1.0") is not None


def test_formats_are_those_of_the_grammar():
    assert SchemaValidator({"format": "date"}).refusal(b'"2024-02-30"') is not None
    assert SchemaValidator({"format": "date"}, formats=False).refusal(b'"2024-02-30"') is None
    assert SchemaValidator({"format": "regex"}).refusal(rb'"\\p{L}"') is None


def test_a_value_that_is_too_deep_is_a_limit_and_no_refusal():
    with pytest.raises(GrammarLimitExceeded, match="nested too deeply"):
        SchemaValidator({"items": {"$ref": "#"}}).refusal(b"[" * 3000 + b"]" * 3000)


PATTERNS = [
    ("^(a|b)\\1$", ["aa", "bb", "ab", "a", ""]),
    ("^(?:(a)|b)\\1$", ["aa", "b", "ba", "a"]),
    ("^(?<x>[ab]{2})-\\k<x>$", ["ab-ab", "ab-ba", "aa-aa"]),
    ("(.)\\1", ["abc", "abb", "\n\n", "..", "\u2028\u2028"]),
    ("^(\\w)\\s\\1\\D$", ["a ax", "é éx", "a a5", "a\ufeffax"]),
]


@pytest.mark.parametrize(("pattern", "texts"), PATTERNS)
def test_a_backreference_is_what_ecma_makes_of_it(pattern, texts):
    expected = {"aa", "bb", "b", "ab-ab", "aa-aa", "abb", "..", "a ax", "a\ufeffax"}
    found = {text for text in texts if re.search(ecma_as_python(pattern), text)}
    assert found == expected.intersection(texts)


@pytest.mark.parametrize(
    "pattern",
    ["^a+?b*$", "[^a-c]\\b", "(?!x)\\w{2,}", "(a|)(?=b)", "\\u{1F600}|\\x41", "^$|\\.", "(?<!a)b", "[^]", "[]"],
)
def test_a_pattern_without_backreferences_is_found_where_its_language_is(pattern):
    found = re.compile(ecma_as_python(pattern))
    for text in ("", "a", "ab", "aab", "b", "x", "xb", "d", "d ", "\U0001f600", "A", ".", "\n"):
        assert (found.search(text) is not None) == ecma_language(pattern).contains(text), text
