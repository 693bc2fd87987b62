"""Real answers of the default model, the smallest that anyone would ask."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

import structgen
from structgen import SamplingParams
from structgen.llm.default import default_llm

pytestmark = pytest.mark.model


class WeatherQuery(BaseModel):
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"


@structgen.tool
def get_weather(city: str) -> str:
    """Look up the weather now.

    Parameters
    ----------
    city : str
        Where.
    """
    return f"sunny in {city}"


@pytest.fixture(scope="module")
def llm(smollm2):
    with structgen.LLM(smollm2) as llm:
        yield llm


def test_the_weather_question_is_understood(llm):
    query = llm.generate("What's the weather in Stockholm?", schema=WeatherQuery)
    assert isinstance(query, WeatherQuery)
    assert query.city == "Stockholm"


def test_most_cities_are_found(llm):
    """14 of 16 when this was written; the two it gets wrong then, it gets wrong however it is told."""
    questions = {
        "Paris": "How warm is it in Paris today?",
        "London": "Do I need an umbrella in London?",
        "Berlin": "Give me Berlin's weather in celsius",
        "Toronto": "Is it snowing in Toronto?",
        "Madrid": "Is it sunny in Madrid?",
    }
    queries = llm.generate(list(questions.values()), schema=WeatherQuery)
    assert sum(query.city == city for query, city in zip(queries, questions, strict=True)) >= 4


def test_a_schema_and_a_choice_are_understood(llm):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert llm.generate("What's the weather in Stockholm?", schema=schema) == {"city": "Stockholm"}
    review = "I hated this film, two hours wasted."
    assert llm.generate(review, choice=["positive", "negative"]) in ("positive", "negative")


def test_a_tool_is_called_with_what_was_asked(llm):
    call = llm.chat([{"role": "user", "content": "What's the weather in Stockholm?"}], tools=[get_weather])
    assert call.run() == "sunny in Stockholm"


def test_free_text_streams_and_ends(llm):
    pieces = list(llm.stream("What is the capital of France?", sampling_params=SamplingParams(max_tokens=40)))
    assert len(pieces) > 3
    assert "Paris" in "".join(pieces)


def test_the_default_model_is_loaded_once():
    answer = structgen.generate("What's the weather in Stockholm?", schema=WeatherQuery)
    assert answer.city == "Stockholm"
    assert default_llm() is default_llm()
