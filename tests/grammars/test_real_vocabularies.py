"""Random schemas on the vocabularies of published models: what is drawn is valid, and what is valid is accepted."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema
from random_schemas import DIALECTS, random_schema
from tokenizers import Tokenizer
from vocabularies import drawn_text

from structgen.engine.weights import open_checkpoint
from structgen.errors import UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars import TokenVocabulary, compile_json_schema

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PUBLISHED = ["llama3_1", "qwen3", "gemma3", "gptoss", "deepseek_v3"]
SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=[*PUBLISHED, "smollm2"])
def tokenizer(request) -> Tokenizer:
    if request.param == "smollm2":
        with open_checkpoint(request.getfixturevalue("smollm2")) as checkpoint:
            return checkpoint.tokenizer()
    return Tokenizer.from_file(str(request.getfixturevalue("published")(request.param) / "tokenizer.json"))


@pytest.fixture(scope="module")
def vocabulary(tokenizer) -> TokenVocabulary:
    return TokenVocabulary.from_tokenizer(tokenizer)


def adapted(schema: object) -> object:
    r"""``schema`` for Python, where `$` lets a line feed through and `\d` any digit of Unicode."""
    if isinstance(schema, list):
        return [adapted(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: adapted(value) for key, value in schema.items()}
    if isinstance(pattern := found.get("pattern"), str):
        found["pattern"] = pattern.replace("$", r"\Z").replace(r"\d", "[0-9]")
    if isinstance(patterns := found.get("patternProperties"), dict):
        found["patternProperties"] = {pattern.replace("$", r"\Z"): one for pattern, one in patterns.items()}
    return found


SCALARS = st.sampled_from([None, True, 0, -7, 2.5, "", "a", 'say "hi"', "ab\n", "\u00e9\U0001f600"])
LEAVES = st.one_of(
    st.sampled_from(["null", "boolean", "integer", "number", "string", "object"]).map(lambda one: {"type": one}),
    st.just(True),
    SCALARS.map(lambda one: {"const": one}),
    st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr).map(lambda several: {"enum": several}),
    st.tuples(st.integers(-20, 5), st.integers(6, 300)).map(
        lambda ends: {"type": "integer", "minimum": ends[0], "maximum": ends[1], "multipleOf": 3}
    ),
    st.tuples(st.integers(0, 3), st.integers(3, 9)).map(
        lambda ends: {"type": "string", "minLength": ends[0], "maxLength": ends[1]}
    ),
    st.sampled_from(["^[ab]+$", "^x-", "z", r"^\d{2,3}$", "^(one|two)?$"]).map(
        lambda pattern: {"type": "string", "pattern": pattern}
    ),
)
KEYS = st.sampled_from(["a", "b", "name", 'k"', "\u00e9"])


def objects(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(KEYS, values, max_size=3)},
        optional={
            "required": st.lists(KEYS, unique=True, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), values),
            "minProperties": st.integers(0, 2),
        },
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda values: st.one_of(
        objects(values),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": values},
            optional={"minItems": st.integers(0, 2), "maxItems": st.integers(2, 4)},
        ),
        st.lists(values, min_size=1, max_size=3).map(lambda several: {"anyOf": several}),
    ),
    max_leaves=5,
)
"""Schemas that hypothesis-jsonschema knows how to draw values of."""


@cache
def exact_validator(draft: int) -> type:
    """The validator of a draft for numbers read as `Decimal`, which divides as numbers are divided."""

    def is_number(_, value):
        return isinstance(value, int | Decimal) and not isinstance(value, bool)

    def is_integer(_, value):
        return is_number(_, value) and (value == int(value) if draft > 4 else isinstance(value, int))

    def multiple_of(validator, divisor, value, _):
        if is_number(validator, value) and (Fraction(value) / Fraction(divisor)).denominator != 1:
            yield jsonschema.ValidationError(f"{value} is no multiple of {divisor}")

    _, validator = DIALECTS[draft]
    types = validator.TYPE_CHECKER.redefine_many({"number": is_number, "integer": is_integer})
    return jsonschema.validators.extend(validator, {"multipleOf": multiple_of}, type_checker=types)


def compiled(vocabulary, schema, **options):
    try:
        return compile_json_schema(schema, vocabulary, **options)
    except (UnsatisfiableSchema, UnsupportedSchema):
        return None


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from(sorted(DIALECTS)))
def test_what_is_drawn_under_the_mask_is_a_valid_value(vocabulary, seed, draft):
    uri, _ = DIALECTS[draft]
    schema = {"$schema": uri, **random_schema(Random(seed), draft)}
    automaton = compiled(vocabulary, schema)
    if automaton is None:
        return
    random, validator = Random(seed), exact_validator(draft)(adapted(schema))
    for _ in range(3):
        text = drawn_text(automaton, random, free=30)
        try:
            validator.validate(json.loads(text, parse_float=Decimal))
        except RecursionError:
            assume(False)  # a reference that leads to itself and nowhere else: jsonschema has no answer
        assert automaton.accepts(text)


@SETTINGS
@given(st.data(), SCHEMAS, st.sampled_from([(", ", ": "), (",", ":")]))
def test_a_valid_value_is_accepted_token_by_token(vocabulary, tokenizer, data, schema, separators):
    automaton = compiled(vocabulary, schema, property_order="any", numbers="any")
    assume(automaton is not None)
    text = json.dumps(data.draw(from_schema(adapted(schema))), ensure_ascii=False, separators=separators)
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    assume(b"".join(map(vocabulary.token_bytes, tokens)) == text.encode())  # SmolLM2 lacks bytes, which it leaves out
    row = np.empty((len(vocabulary) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        state = matcher.start
        for token in tokens:
            matcher.fill_mask(state, row)
            assert row[token // 32] >> (token % 32) & 1, text
            state = matcher.advance(state, token)
        assert matcher.is_accepting(state), text
