"""Requests that cannot be served: always OpenAI's shape, never a 5xx for what the client did."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import openai
import pytest

GOOD = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}
USER = GOOD["messages"][0]


def post(client, body):
    return client.post("/chat/completions", body=body, cast_to=object)


def test_the_request_that_the_others_spoil_is_answered(client):
    assert post(client, GOOD)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": 5}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": ["Hi"]}, "messages[0]"),
        ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [USER, {"role": "user", "content": 5}]}, "messages[1].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": 5}]}, "messages[1].tool_calls"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "messages[1].tool_calls[0]"),
        ({"messages": [USER | {"mood": "good"}]}, "messages[0].mood"),
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"tools": 5}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, None),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "no good"}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": 5}}]}, "tools[0].function.parameters"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": []}}}]},
            "tools[0].function.parameters.properties",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}]},
            "tools[0].function.parameters.type",
        ),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.function"),
        ({"tool_choice": {"type": "unheard_of"}}, "tool_choice"),
        ({"tool_choice": 5}, "tool_choice"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": "yaml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": {"type": "json_schema", "schema": {}, "json_schema": {"schema": {}}}}, None),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": "0.5"}, "temperature"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 2}, "top_p"),
        ({"n": 0}, "n"),
        ({"n": 1000}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_completion_tokens": 9}, None),
        ({"seed": 2**63}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"stop": 5}, "stop"),
        ({"stop": [""]}, "stop"),
        ({"presence_penalty": 5}, "presence_penalty"),
        ({"frequency_penalty": -5}, "frequency_penalty"),
        ({"logit_bias": {"x": 1}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias[1]"),
        ({"logit_bias": {"99999": 1}}, "logit_bias"),
        ({"logit_bias": {"9" * 5000: 1}}, "logit_bias"),
        ({"user": 5}, "user"),
        ({"store": "yes"}, "store"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": {"include_all": True}}, "stream_options.include_all"),
        ({"modalities": ["audio"]}, "modalities[0]"),
    ],
    ids=lambda part: json.dumps(part)[:60],
)
def test_a_malformed_request_is_the_clients_fault_and_names_the_field(client, fields, param):
    with pytest.raises(openai.BadRequestError) as caught:
        post(client, {**GOOD, **fields})
    error = caught.value
    assert (error.status_code, error.type) == (400, "invalid_request_error")
    assert set(error.body) == {"message", "type", "param", "code"}
    if param is not None:
        assert error.param == param


def nested(levels, keyword):
    schema = {"type": "null"}
    for _ in range(levels):
        schema = {"anyOf": [schema]} if keyword == "anyOf" else {"type": "object", "properties": {"a": schema}}
    return schema


def tool(parameters):
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


@pytest.mark.parametrize("levels", [300, 420])
@pytest.mark.parametrize("keyword", ["anyOf", "properties"])
def test_a_schema_nested_too_deeply_is_the_clients_fault_and_named(client, levels, keyword):
    schema = nested(levels, keyword)
    parameters = {"type": "object", "properties": {"a": schema}}
    for fields, param in (
        ({"response_format": {"type": "json_schema", "schema": schema}}, "response_format.schema"),
        ({"tools": [tool(parameters)]}, "tools"),
        ({"tools": [tool(parameters)], "tool_choice": "required"}, "tools"),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            post(client, {**GOOD, **fields})
        assert (caught.value.param, caught.value.code) == (param, "grammar_limit_exceeded")


def test_parameters_with_an_identifier_that_is_none_are_refused_with_their_place(client):
    with pytest.raises(openai.BadRequestError) as caught:
        post(client, {**GOOD, "tools": [tool({"$id": 5})]})
    assert (caught.value.param, caught.value.code) == ("tools[0].function.parameters", "invalid_schema")


@pytest.mark.parametrize(
    "arguments",
    ['{"a":' * 2000 + "1" + "}" * 2000, '{"a":NaN}', '{"a":' + "9" * 5000 + "}", '{"a":'],
    ids=["deep", "NaN", "digits", "cut"],
)
def test_arguments_of_an_earlier_call_that_are_no_json_are_refused(client, arguments):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(openai.BadRequestError) as caught:
        post(client, {**GOOD, "messages": [USER, {"role": "assistant", "tool_calls": [call]}]})
    assert caught.value.param == "messages[1].tool_calls[0].function.arguments"


@pytest.mark.parametrize(
    "field", ["guided_json", "guided_choice", "functions", "function_call", "audio", "reasoning_effort", "verbosity"]
)
@pytest.mark.parametrize("value", [["a", "b"], {}, False])
def test_an_unknown_field_is_refused_and_never_ignored(client, field, value):
    with pytest.raises(openai.BadRequestError, match=f"{field}: unknown field") as caught:
        post(client, {**GOOD, field: value})
    assert (caught.value.param, caught.value.code) == (field, "unknown_parameter")


def test_a_misspelt_field_is_shown_its_neighbour(client):
    with pytest.raises(openai.BadRequestError, match="did you mean 'parallel_tool_calls'"):
        post(client, {**GOOD, "parallel_function_calls": False})


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError) as caught:
        post(client, {**GOOD, "model": "gpt-9"})
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert "'tiny'" in caught.value.body["message"]


def test_a_prompt_that_is_too_long_says_so_in_openais_word(client):
    for fields in ({"messages": [{"role": "user", "content": "long " * 2000}]}, {"max_tokens": 10_000}):
        with pytest.raises(openai.BadRequestError) as caught:
            post(client, {**GOOD, **fields})
        assert caught.value.code == "context_length_exceeded"


def test_a_stream_that_cannot_start_is_an_error_and_no_stream(client):
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**{**GOOD, "top_p": 2}, stream=True)


def test_a_body_that_is_not_said_to_be_json_is_told_what_to_say(client):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    with pytest.raises(openai.BadRequestError, match="sent with Content-Type: application/json"):
        client.post("/chat/completions", body=GOOD, cast_to=object, options={"headers": headers})


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "chat/completions", b"{", 400),
        ("POST", "chat/completions", b"", 400),
        ("POST", "chat/completions", b"[]", 400),
        ("POST", "chat/completions", b"\xff\xfe", 400),
        ("POST", "chat/completions", b'"' + b"[" * 100_000, 400),
        ("GET", "chat/completions", None, 405),
        ("GET", "unheard/of", None, 404),
    ],
)
def test_what_is_no_request_at_all_gets_openais_shape_too(client, method, path, body, status):
    request = urllib.request.Request(
        f"{client.base_url}{path}", data=body, method=method, headers={"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught, urllib.request.urlopen(request):
        pass
    with caught.value as response:
        assert response.status == status
        error = json.load(response)["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"]
