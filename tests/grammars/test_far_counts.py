"""Counts that no text comes to, and counts that would take long were they counted one by one."""

from __future__ import annotations

import json
import time

import pytest

from structgen.errors import GrammarLimitExceeded, UnsatisfiableSchema
from structgen.grammars import compile_json_schema
from structgen.grammars.sampling import byte_vocabulary

FAR = 2**32 - 1
CONTAINS = {"type": "array", "contains": {"const": 1}}
STRINGS = {"type": "array", "items": {"type": "string"}}
BYTES = byte_vocabulary()


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "maxItems": FAR}, [1, 2]),
        ({"type": "object", "maxProperties": FAR}, {"a": 1}),
        ({**CONTAINS, "maxContains": FAR}, [1, 2]),
        ({**STRINGS, "uniqueItems": True, "maxItems": FAR}, ["a", "b"]),
        ({"not": {"type": "array", "maxItems": FAR}}, {}),
        ({"not": {"type": "object", "maxProperties": 10**30}}, 1),
        ({"not": {"type": "array", "contains": {"const": 1}, "maxContains": FAR}}, [2]),
        ({"not": {"type": "array", "minItems": FAR}}, [1]),
    ],
)
def test_a_maximum_that_no_text_reaches_is_none(schema, value):
    assert compile_json_schema(schema, BYTES).accepts(json.dumps(value))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": FAR},
        {"type": "object", "minProperties": FAR},
        {**CONTAINS, "minContains": FAR},
        {**STRINGS, "uniqueItems": True, "minItems": FAR},
        {"allOf": [{**CONTAINS, "minContains": FAR}, {"contains": {"const": 2}, "minContains": FAR}]},
    ],
)
def test_a_minimum_that_no_text_reaches_is_refused(schema):
    with pytest.raises(GrammarLimitExceeded, match="more than any text has"):
        compile_json_schema(schema, BYTES)


@pytest.mark.parametrize(
    "bounds",
    [{"minContains": 10**6}, {"minContains": 10**6, "maxContains": 10**6}, {"minContains": 10**6, "maxItems": 10**6}],
)
def test_a_large_count_is_not_counted_out(bounds):
    started = time.process_time()
    compile_json_schema({**CONTAINS, **bounds}, BYTES)
    assert time.process_time() - started < 1


def test_many_counted_elements_are_asked_for_exactly():
    automaton = compile_json_schema({**CONTAINS, "minContains": 300, "maxContains": 301}, BYTES)
    for ones in (299, 300, 301, 302):
        assert automaton.accepts(json.dumps([2, *[1] * ones, 3])) == (ones in (300, 301))


@pytest.mark.parametrize(
    "schema",
    [
        {**CONTAINS, "minContains": 3, "maxItems": 2},
        {**CONTAINS, "minContains": 1, "items": {"const": 2}},
        {**CONTAINS, "maxContains": 2, "minItems": 3, "items": {"const": 1}},
        {**CONTAINS, "prefixItems": [{"const": 1}] * 3, "minItems": 3, "maxContains": 2},
        {**CONTAINS, "prefixItems": [{"const": 1}], "items": {"const": 2}, "minContains": 2},
    ],
)
def test_counts_that_cannot_be_are_found(schema):
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema(schema, BYTES)


def test_time_limits_hold_where_two_counts_stand_in_each_others_way():
    schema = {"allOf": [{**CONTAINS, "minContains": 10**6}, {"contains": {"const": 2}, "minContains": 10**6}]}
    started = time.monotonic()
    with pytest.raises(GrammarLimitExceeded, match="timeout"):
        compile_json_schema(schema, BYTES, timeout=0.1)
    assert time.monotonic() - started < 2
