"""Whatever the schema, and whatever the model would say: the answer is valid, within any budget that allows one."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from structgen import SamplingParams
from structgen.errors import BudgetTooSmall
from structgen.grammars import compile_json_schema

scalars = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": ["boolean", "null"]},
        {"enum": ["red", 5, None, "grün"]},
        {"const": {"a": [1, "x"]}},
    ]
)


@st.composite
def objects(draw, parts):
    properties = draw(st.dictionaries(st.sampled_from(["a", "ab", "name", "é", 'q"']), parts, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


schemas = st.recursive(
    scalars,
    lambda parts: st.one_of(
        objects(parts),
        parts.map(lambda part: {"type": "array", "items": part}),
        st.lists(parts, min_size=1, max_size=2).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas, seed=st.integers(0, 2**64 - 1), spare=st.integers(0, 40), hot=st.booleans())
def test_an_answer_is_valid_for_every_budget_from_the_bound_on(tiny_llm, schema, seed, spare, hot):
    with compile_json_schema(schema, tiny_llm.vocabulary).matcher() as matcher:
        budget = max(1, matcher.distance(matcher.start)) + spare
    params = SamplingParams(temperature=1.5 if hot else 0, seed=seed, max_tokens=budget)
    answer = tiny_llm.generate("Say it.", schema=schema, sampling_params=params, return_details=True)
    jsonschema.validate(answer.value, schema)
    assert len(answer.token_ids) <= budget


@settings(max_examples=25, deadline=None)
@given(schema=schemas)
def test_a_budget_that_is_refused_is_below_the_shortest_answer(tiny_llm, schema):
    automaton = compile_json_schema(schema, tiny_llm.vocabulary)
    assume(automaton.min_tokens > 1)
    params = SamplingParams(max_tokens=automaton.min_tokens - 1)
    with pytest.raises(BudgetTooSmall, match=str(automaton.min_tokens)):
        tiny_llm.stream("Say it.", schema=schema, sampling_params=params)
