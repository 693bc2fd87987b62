"""Answers under a schema that no grammar holds whole: validated when they are finished, and drawn again."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field
from relaxed_schemas import PAIR

from structgen import SamplingParams
from structgen.errors import AnswerRefused, InvalidRequest, UnsupportedSchema
from structgen.grammars import SchemaRelaxed


def hot(seed: int) -> SamplingParams:
    return SamplingParams(temperature=2, seed=seed, max_tokens=100)


@pytest.mark.filterwarnings("ignore::structgen.grammars.SchemaRelaxed")
def test_an_answer_that_the_schema_refuses_is_drawn_again(tiny_llm):
    refusals: list[str] = []
    for seed in range(12):
        pair = tiny_llm.generate("Two.", schema=PAIR, sampling_params=hot(seed), retries=30, on_unsupported="validate")
        assert sorted(point["x"] for point in pair) == [1, 2]
        try:
            tiny_llm.chat(
                [{"role": "user", "content": "Two."}],
                schema=PAIR,
                sampling_params=hot(seed),
                retries=0,
                on_unsupported="validate",
            )
        except AnswerRefused as error:
            refusals.append(str(error))
    assert 0 < len(refusals) < 12
    assert all("non-unique" in refusal for refusal in refusals)


def test_a_relaxed_grammar_is_said_when_it_is_compiled_and_only_then(tiny_llm):
    schema = {**PAIR, "title": "said once"}
    with pytest.warns(SchemaRelaxed, match="uniqueItems"):
        generator = tiny_llm.generator(schema, on_unsupported="validate")
    assert generator("Two.", sampling_params=hot(1), retries=30)


def test_nothing_is_relaxed_unless_that_is_allowed(tiny_llm):
    with pytest.raises(UnsupportedSchema, match="/uniqueItems"):
        tiny_llm.generate("Two.", schema=PAIR)


class Bag(BaseModel):
    names: Annotated[list[dict[str, int]], Field(json_schema_extra={"uniqueItems": True}, min_length=2, max_length=2)]


@pytest.mark.filterwarnings("ignore::structgen.grammars.SchemaRelaxed")
def test_the_schema_of_a_type_is_validated_too(tiny_llm):
    with pytest.raises(UnsupportedSchema):
        tiny_llm.generate("Two.", schema=Bag)
    bag = tiny_llm.generate("Two.", schema=Bag, sampling_params=hot(3), retries=30, on_unsupported="validate")
    assert isinstance(bag, Bag)
    assert bag.names[0] != bag.names[1]


def test_what_is_asked_must_be_about_a_schema(tiny_llm):
    with pytest.raises(InvalidRequest, match="on_unsupported"):
        tiny_llm.generate("Two.", schema=PAIR, on_unsupported="ignore")
    with pytest.raises(InvalidRequest, match="on_unsupported"):
        tiny_llm.generate("Two.", regex="a", on_unsupported="validate")
