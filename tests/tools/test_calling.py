"""Tools in the hands of a model: what comes back is a call that fits and runs."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Literal

import pytest
from pydantic import BaseModel

import structgen
from structgen import SamplingParams
from structgen.errors import InvalidRequest, ToolError, UnsupportedSchema
from structgen.llm import ToolCall

MESSAGES = [{"role": "user", "content": "Do something."}]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Lamp(BaseModel):
    colour: Colour
    next: Lamp | None = None


@structgen.tool
def light(lamp: Lamp, mode: Literal["on", "off"] = "on") -> tuple[Lamp, str]:
    """Switch a lamp."""
    return lamp, mode


@structgen.tool
def now() -> str:
    """Tell the time."""
    return "noon"


def call(llm, tools, seed=0):
    params = SamplingParams(temperature=2, seed=seed, max_tokens=300)
    return llm.chat(MESSAGES, tools=tools, sampling_params=params, show_schema=False)


@pytest.mark.parametrize("seed", range(3))
def test_a_models_call_is_validated_and_runs(tiny_llm, seed):
    made = call(tiny_llm, [light, now], seed)
    assert isinstance(made, ToolCall)
    if made.name == "now":
        assert (made.arguments, made.run()) == ({}, "noon")
    else:
        lamp, mode = made.run()
        assert isinstance(lamp.colour, Colour)
        assert mode in ("on", "off")


def test_a_tool_without_parameters_is_called_with_nothing(tiny_llm):
    made = call(tiny_llm, [now])
    assert (made.name, made.arguments, made.run()) == ("now", {}, "noon")


def test_an_async_tools_call_gives_its_coroutine(tiny_llm):
    @structgen.tool
    async def later() -> str:
        return "later"

    assert asyncio.run(call(tiny_llm, [later]).run()) == "later"


def test_a_declared_tool_is_called_but_not_run(tiny_llm):
    made = call(tiny_llm, [{"type": "function", "function": {"name": "now"}}])
    assert (made.name, made.arguments) == ("now", {})
    with pytest.raises(ToolError, match="there is no function to run"):
        made.run()


def test_a_method_is_a_tool_once_it_has_its_instance(tiny_llm):
    class Clock:
        @structgen.tool
        def tick(self) -> str:
            return "tick"

    assert call(tiny_llm, [Clock().tick]).run() == "tick"
    with pytest.raises(ToolError, match=r"instance\.tick"):
        call(tiny_llm, [Clock.tick])


def test_a_plain_function_is_refused_with_the_remedy(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"tools\[0\]: expected a function under @structgen\.tool"):
        call(tiny_llm, [lambda: None])


def test_a_parameter_that_cannot_be_held_is_refused_with_its_tool_and_place(tiny_llm):
    @structgen.tool
    def shape(corners: set[tuple[int, int]]) -> None: ...

    with pytest.raises(UnsupportedSchema) as caught:
        call(tiny_llm, [now, shape])
    assert "shape/properties/corners" in caught.value.pointer
