"""Streams with a schema: the value so far, typed, on each delta."""

from __future__ import annotations

import copy
import json
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, Field

import structgen
from structgen import SamplingParams
from structgen.errors import AnswerRefused
from structgen.llm import AnswerDelta, ToolCall


class Visit(BaseModel):
    city: Annotated[str, Field(max_length=8)]
    days: int = 1


class Plan(BaseModel):
    visits: Annotated[list[Visit], Field(min_length=2, max_length=4)]
    title: Annotated[str, Field(max_length=8)]


def hot(seed, max_tokens=200):
    return SamplingParams(temperature=1.3, seed=seed, max_tokens=max_tokens)


def snapshots(stream):
    deltas, values = [], []
    for delta in stream:
        deltas.append(delta)
        values.append(copy.deepcopy(delta.value))
    return deltas, values


@pytest.mark.parametrize("seed", range(3))
def test_a_model_fills_and_ends_as_generate_has_it(tiny_llm, seed):
    deltas, values = snapshots(tiny_llm.stream("Hi", schema=Plan, sampling_params=hot(seed), return_details=True))
    assert all(isinstance(delta, AnswerDelta) for delta in deltas)
    assert values[-1] == tiny_llm.generate("Hi", schema=Plan, sampling_params=hot(seed))
    shown = [value for value in values if value is not None]
    assert all(isinstance(value, Plan) for value in shown)
    visits = [vars(value).get("visits", []) for value in shown]
    assert {len(one) for one in visits} == set(range(len(visits[-1]) + 1))
    assert all(one == visits[-1][: len(one)] for one in visits)


def test_a_plain_schema_gives_plain_values(tiny_llm):
    schema = Plan.model_json_schema()
    deltas, values = snapshots(tiny_llm.stream("Hi", schema=schema, sampling_params=hot(1), return_details=True))
    assert values[-1] == json.loads("".join(delta.text for delta in deltas))
    assert {type(value) for value in values} == {dict}
    assert {len(value) for value in values} == {0, 1, 2}


def test_texts_and_calls_have_their_value_at_the_end(tiny_llm):
    *begun, last = tiny_llm.stream("Hi", regex="[a-z]{5}", return_details=True)
    assert [delta.value for delta in begun] == [None] * len(begun)
    assert len(last.value) == 5

    @structgen.tool
    def now(hour: int) -> int:
        """Tell the time."""
        return hour

    *begun, last = tiny_llm.stream("Hi", tools=[now], sampling_params=hot(1), return_details=True)
    assert [delta.value for delta in begun] == [None] * len(begun)
    assert isinstance(last.value, ToolCall)


def test_what_validators_refuse_is_told_after_the_end_and_not_before(tiny_llm):
    def refuse(plan):
        raise ValueError("not this one")

    kind = Annotated[Plan, AfterValidator(refuse)]
    stream = tiny_llm.stream("Hi", schema=kind, sampling_params=hot(1), return_details=True)
    deltas = []
    with pytest.raises(AnswerRefused, match="not this one"):
        deltas.extend(stream)  # keeps what came before
    assert deltas[-1].complete
    assert isinstance(deltas[-1].value, Plan)
    assert deltas[-1].value.title is not None


def test_a_cut_answer_keeps_what_is_there(tiny_llm):
    params = SamplingParams(stop='"', max_tokens=60)
    *_, last = tiny_llm.stream("Hi", schema=Plan, sampling_params=params, return_details=True)
    assert (last.complete, last.value.model_fields_set) == (False, set())


@pytest.mark.model
def test_cities_come_one_by_one(smollm2):
    cities = Annotated[list[Annotated[str, Field(max_length=20)]], Field(min_length=3, max_length=3)]
    with structgen.LLM(smollm2) as llm:
        lengths = [
            len(delta.value or [])
            for delta in llm.stream("Name three cities of France.", schema=cities, return_details=True)
        ]
    assert sorted(set(lengths)) == [0, 1, 2, 3]
    assert lengths == sorted(lengths)
