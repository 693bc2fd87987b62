"""The real model behind the real server, asked by OpenAI's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict
from serving import client_of

import structgen
from structgen import LLM

pytestmark = pytest.mark.model

MESSAGES = [{"role": "user", "content": "What's the weather in Stockholm, in celsius?"}]


class WeatherQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    unit: Literal["celsius", "fahrenheit"]


@structgen.tool
def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Look up the weather of a city.

    Parameters
    ----------
    city : str
        The city's name.
    unit : str
        The unit of the answer.
    """
    return f"21 degrees {unit} in {city}"


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": get_weather.name,
            "description": get_weather.description,
            "parameters": get_weather.parameters,
        },
    }
]


@pytest.fixture(scope="module")
def model_client(smollm2) -> Iterator[openai.OpenAI]:
    with LLM(smollm2) as llm, client_of(llm, model_name="smollm2") as client:
        yield client


def test_it_answers_with_the_clients_model(model_client):
    answer = model_client.chat.completions.parse(
        model="smollm2", messages=MESSAGES, response_format=WeatherQuery, temperature=0
    )
    assert answer.choices[0].message.parsed == WeatherQuery(city="Stockholm", unit="celsius")
    assert answer.choices[0].finish_reason == "stop"


def test_it_calls_the_tool_and_the_call_runs(model_client):
    answer = model_client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": "How warm is it in Paris today?"}],
        tools=TOOLS,
        tool_choice="required",
        temperature=0,
    )
    (call,) = answer.choices[0].message.tool_calls
    assert get_weather.run(call.function.arguments) == "21 degrees celsius in Paris"


def test_the_pieces_of_a_stream_are_the_answer(model_client):
    stream = model_client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        temperature=0,
        max_tokens=16,
        stream=True,
    )
    assert "Paris" in "".join(chunk.choices[0].delta.content or "" for chunk in stream)
