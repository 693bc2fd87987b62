"""Conversations as clients really send them."""

from __future__ import annotations

import copy

import pytest

from structgen.errors import InvalidRequest
from structgen.llm.calls import ToolCall
from structgen.llm.messages import are_conversations, read_messages

USER = {"role": "user", "content": "hi"}


def with_arguments(arguments):
    call = {"id": "1", "type": "function", "function": {"name": "now", "arguments": arguments}}
    return [USER, {"role": "assistant", "content": None, "tool_calls": [call]}]


@pytest.mark.parametrize("arguments", ["", "  ", "null", None, "{}", '"{}"', {}])
def test_no_arguments_however_written_are_an_empty_object(arguments):
    (call,) = read_messages(with_arguments(arguments))[1]["tool_calls"]
    assert call["function"]["arguments"] == {}
    assert call["id"] == "1"


@pytest.mark.parametrize("arguments", ['{"name": "中文"}', r'"{\"name\": \"中文\"}"', {"name": "中文"}])
def test_arguments_reach_the_template_as_an_object(arguments):
    (call,) = read_messages(with_arguments(arguments))[1]["tool_calls"]
    assert call["function"]["arguments"] == {"name": "中文"}


@pytest.mark.parametrize("arguments", ['["Oslo"]', '"Oslo"', "{", 5, '{"a": NaN}'])
def test_arguments_that_are_no_object_are_refused_with_their_place(arguments):
    with pytest.raises(InvalidRequest, match=r"^messages\[1\]\.tool_calls\[0\]\.function\.arguments"):
        read_messages(with_arguments(arguments))


@pytest.mark.parametrize("message", [{"role": "assistant"}, {"role": "assistant", "content": None}])
def test_no_content_is_empty_content(message):
    assert read_messages([message])[0]["content"] == ""


def test_text_parts_are_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read_messages([{"role": "user", "content": parts}])[0]["content"] == "ab"


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("hi", r"messages\[0\]:"),
        ({"content": "hi"}, r"messages\[0\]\.role"),
        ({"role": 5, "content": "hi"}, r"messages\[0\]\.role"),
        ({"role": "user", "content": 5}, r"messages\[0\]\.content"),
        ({"role": "user", "content": [{"type": "image_url"}]}, r"messages\[0\]\.content\[0\]"),
        ({"role": "assistant", "tool_calls": [{"name": "now"}]}, r"messages\[0\]\.tool_calls\[0\]"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, r"messages\[0\]\.tool_calls\[0\]\.function\.name"),
        ({"role": "assistant", "tool_calls": 5}, r"messages\[0\]\.tool_calls:"),
    ],
)
def test_what_is_malformed_is_named(message, place):
    with pytest.raises(InvalidRequest, match=place):
        read_messages([message])


def test_the_callers_messages_are_left_alone():
    messages = with_arguments('{"a": 1}')
    before = copy.deepcopy(messages)
    read_messages(messages)
    assert messages == before


def test_a_call_that_came_back_can_be_put_into_the_history():
    (_, message) = read_messages([USER, {"role": "assistant", "tool_calls": [ToolCall("now", {"a": 1})]}])
    assert message["tool_calls"] == [{"type": "function", "function": {"name": "now", "arguments": {"a": 1}}}]


def test_one_conversation_is_told_from_several():
    assert not are_conversations([USER])
    assert are_conversations([[USER], [USER]])
    for nothing in ([], "hi", 5):
        with pytest.raises(InvalidRequest, match=r"^messages"):
            are_conversations(nothing)
