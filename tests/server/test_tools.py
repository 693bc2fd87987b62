"""Tool calls over HTTP."""

from __future__ import annotations

import json
from typing import Literal

import openai
import pytest

import structgen

MESSAGES = [{"role": "user", "content": "Weather?"}]


@structgen.tool
def forecast(unit: Literal["celsius", "fahrenheit"], days: list[bool]) -> str:
    """Forecast."""
    return f"{unit} {days}"


@structgen.tool
def now() -> str:
    """Tell the time."""
    return "noon"


def declared(tool: structgen.Tool) -> dict:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


TOOLS = [declared(forecast), declared(now)]
NAMED = {"type": "function", "function": {"name": "now"}}


def ask(client, **fields):
    defaults = {"model": "tiny", "messages": MESSAGES, "tools": TOOLS, "max_tokens": 120, "temperature": 2, "seed": 1}
    return client.chat.completions.create(**{**defaults, **fields})


def gather(stream):
    """Content, calls as (name, arguments) and end of a stream of one choice."""
    content = ""
    calls: list[list[str]] = []
    ids: list[str] = []
    ends = []
    for chunk in stream:
        (choice,) = chunk.choices
        content += choice.delta.content or ""
        for call in choice.delta.tool_calls or []:
            assert isinstance(call.index, int)
            if call.index == len(calls):
                assert call.type == "function"
                ids.append(call.id)
                calls.append([call.function.name, ""])
            else:
                assert (call.id, call.type, call.function.name) == (None, None, None)
            calls[call.index][1] += call.function.arguments
        if choice.finish_reason is not None:
            ends.append(choice.finish_reason)
    assert len(set(ids)) == len(calls)
    (end,) = ends
    return content, [tuple(call) for call in calls], end


def calls_of(answer):
    return [(call.function.name, call.function.arguments) for call in answer.choices[0].message.tool_calls or []]


@pytest.mark.parametrize("seed", range(3))
def test_a_required_call_is_a_call_that_fits_its_tool(client, seed):
    answer = ask(client, tool_choice="required", seed=seed)
    choice = answer.choices[0]
    ((name, arguments),) = calls_of(answer)
    {"forecast": forecast, "now": now}[name].run(arguments)
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert choice.message.tool_calls[0].id.startswith("call_")
    assert gather(ask(client, tool_choice="required", seed=seed, stream=True)) == (
        "",
        [(name, arguments)],
        "tool_calls",
    )


def test_a_named_tool_without_parameters_is_called_with_an_empty_object(client):
    answer = ask(client, tool_choice=NAMED, max_tokens=200)
    assert calls_of(answer) == [("now", "{}")]
    assert answer.usage.completion_tokens < 60
    assert answer.choices[0].finish_reason == "tool_calls"
    assert gather(ask(client, tool_choice=NAMED, stream=True)) == ("", [("now", "{}")], "tool_calls")


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_may_have_no_parameters_at_all(client, parameters):
    function = {"name": "now"} if parameters is None else {"name": "now", "parameters": parameters}
    answer = ask(client, tools=[TOOLS[0], {"type": "function", "function": function}], tool_choice=NAMED)
    assert calls_of(answer) == [("now", "{}")]


def test_a_tools_name_may_have_hyphens(client):
    function = {"name": "get-weather_2"}
    answer = ask(client, tools=[{"type": "function", "function": function}], tool_choice="required")
    assert calls_of(answer) == [("get-weather_2", "{}")]


def test_definitions_of_one_name_in_two_tools_never_meet(client):
    def with_definition(name, definition):
        parameters = {"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}, "required": ["p"]}
        return {
            "type": "function",
            "function": {"name": name, "parameters": {**parameters, "$defs": {"P": definition}}},
        }

    tools = [with_definition("a", {"type": "boolean"}), with_definition("b", {"enum": ["x"]})]
    for name, kind in (("a", bool), ("b", str)):
        choice = {"type": "function", "function": {"name": name}}
        ((called, arguments),) = calls_of(ask(client, tools=tools, tool_choice=choice))
        assert called == name
        assert isinstance(json.loads(arguments)["p"], kind)
    assert calls_of(ask(client, tools=tools, tool_choice="required"))


def test_only_allowed_tools_are_called_and_all_are_shown(client):
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}
    answers = [ask(client, tool_choice=allowed, seed=seed) for seed in range(2)]
    assert {calls_of(answer)[0][0] for answer in answers} == {"now"}
    assert answers[0].usage.prompt_tokens == ask(client, tool_choice="required").usage.prompt_tokens


@pytest.mark.parametrize("tool_choice", [None, "auto"])
def test_a_model_that_opens_no_call_answers_in_text(client, call_tag_id, tool_choice):
    fields = {"tool_choice": tool_choice, "logit_bias": {str(call_tag_id): -100}, "max_tokens": 20}
    answer = ask(client, **fields)
    assert answer.choices[0].message.content
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].finish_reason in ("stop", "length")
    streamed = gather(ask(client, **fields, stream=True))
    assert streamed == (answer.choices[0].message.content, [], answer.choices[0].finish_reason)


def test_a_model_that_opens_a_call_makes_one_that_fits(client, call_tag_id):
    fields = {"logit_bias": {str(call_tag_id): 100}}
    answer = ask(client, **fields)
    ((name, arguments),) = calls_of(answer)
    {"forecast": forecast, "now": now}[name].run(arguments)
    assert (answer.choices[0].finish_reason, answer.choices[0].message.content) == ("tool_calls", None)
    assert gather(ask(client, **fields, stream=True)) == ("", [(name, arguments)], "tool_calls")


def test_text_may_come_before_a_call(client, call_tag_id):
    for seed in range(40):
        fields = {"logit_bias": {str(call_tag_id): 3}, "seed": seed, "temperature": 1, "tools": [TOOLS[1]]}
        answer = ask(client, **fields)
        message = answer.choices[0].message
        if message.content and message.tool_calls:
            break
    assert calls_of(answer) == [("now", "{}")]
    assert answer.choices[0].finish_reason == "tool_calls"
    assert "<tool_call>" not in message.content
    assert message.content == message.content.rstrip()
    assert gather(ask(client, **fields, stream=True)) == (message.content, [("now", "{}")], "tool_calls")


def test_a_call_for_which_no_tokens_are_left_is_not_begun(client, call_tag_id):
    answer = ask(client, logit_bias={str(call_tag_id): 100}, max_tokens=3)
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.tool_calls is None


def test_a_stop_string_counts_for_text_and_never_cuts_a_call(client, call_tag_id):
    answer = ask(client, logit_bias={str(call_tag_id): 100}, stop=["name", "{"], tools=[TOOLS[1]])
    assert calls_of(answer) == [("now", "{}")]
    assert calls_of(ask(client, tool_choice="required", stop=["name", "{"], tools=[TOOLS[1]])) == [("now", "{}")]
    text = ask(client, logit_bias={str(call_tag_id): -100}, max_tokens=20).choices[0].message.content
    stop = text[3:5]
    stopped = ask(client, logit_bias={str(call_tag_id): -100}, max_tokens=20, stop=stop)
    assert (
        stopped.choices[0].message.content == text[: text.index(stop)].rstrip()
        or stopped.choices[0].message.content == text[: text.index(stop)]
    )
    assert stopped.choices[0].finish_reason == "stop"


def test_no_call_is_made_when_none_may_be(client, call_tag_id):
    answer = ask(client, tool_choice="none", logit_bias={str(call_tag_id): 100}, max_tokens=3)
    assert answer.choices[0].message.content == "<tool_call><tool_call><tool_call>"
    assert answer.choices[0].message.tool_calls is None


HISTORY = [
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": None}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "noon"},
    {"role": "user", "content": "Thanks."},
]


def with_arguments(arguments):
    function = {"name": "now", "arguments": arguments}
    call = {"id": "call_1", "type": "function", "function": function}
    return [HISTORY[0], {**HISTORY[1], "tool_calls": [call]}, *HISTORY[2:]]


@pytest.mark.parametrize("arguments", ["", "null", " "])
def test_no_arguments_in_the_history_are_an_empty_object(client, arguments):
    fields = {"max_tokens": 8, "temperature": 0, "tool_choice": "none"}
    answer, expected = (ask(client, messages=with_arguments(one), **fields) for one in (arguments, "{}"))
    assert answer.choices == expected.choices
    assert answer.usage.prompt_tokens == expected.usage.prompt_tokens


@pytest.mark.parametrize("arguments", ['["Oslo"]', '"Oslo"', "{", "3"])
def test_arguments_in_the_history_that_are_no_object_are_refused_with_their_place(client, arguments):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, messages=with_arguments(arguments))
    assert "messages[1].tool_calls[0].function.arguments" in caught.value.body["message"]


def test_an_answer_can_be_sent_back_as_it_came(client):
    answer = ask(client, tool_choice=NAMED)
    message = answer.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "noon"}
    assert ask(client, messages=[*MESSAGES, message.model_dump(), result], tool_choice="none", max_tokens=5)
    assert ask(client, messages=[*MESSAGES, message, result], tool_choice="required")


def test_a_parameter_that_cannot_be_held_is_refused_with_tool_and_pointer(client):
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}
    bad = {"type": "function", "function": {"name": "bad", "parameters": parameters}}
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, tools=[TOOLS[0], bad])
    assert caught.value.param == "tools[1].function.parameters"
    assert caught.value.code == "unsupported_schema"
    assert "/properties/a" in caught.value.body["message"]
    assert "$defs" not in caught.value.body["message"]


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"logprobs": True}, "logprobs", "not together with tools"),
        ({"response_format": {"type": "json_object"}}, "response_format", "not together with tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "later"}}}, "tool_choice", "no tool 'later'"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice", "no tools"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "tools[1]", "is taken by"),
    ],
)
def test_what_does_not_go_together_is_refused(client, fields, param, words):
    with pytest.raises(openai.BadRequestError, match=words) as caught:
        ask(client, **fields)
    assert caught.value.param == param
