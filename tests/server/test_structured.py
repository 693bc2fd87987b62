"""Answers under a JSON Schema over HTTP."""

from __future__ import annotations

import json
from typing import Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict

MESSAGES = [{"role": "user", "content": "What is the weather in Stockholm?"}]
SCHEMA = {
    "type": "object",
    "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}, "days": {"$ref": "#/$defs/days"}},
    "required": ["unit", "days"],
    "additionalProperties": False,
    "$defs": {"days": {"type": "array", "items": {"type": "boolean"}}},
}
NESTED = {"type": "json_schema", "json_schema": {"name": "query", "schema": SCHEMA, "strict": True}}
BARE = {"type": "json_schema", "schema": SCHEMA}


def ask(client, response_format, **fields):
    return client.chat.completions.create(
        model="tiny",
        messages=MESSAGES,
        max_tokens=100,
        seed=1,
        temperature=2,
        extra_body={"response_format": response_format},
        **fields,
    )


@pytest.mark.parametrize("response_format", [NESTED, BARE], ids=["nested", "bare"])
def test_the_content_is_json_of_the_schema(client, response_format):
    value = json.loads(ask(client, response_format).choices[0].message.content)
    assert value["unit"] in ("celsius", "fahrenheit")
    assert all(isinstance(day, bool) for day in value["days"])


def test_both_forms_are_one_and_a_stream_is_the_same(client):
    nested, bare = ask(client, NESTED), ask(client, BARE)
    assert nested.choices == bare.choices
    pieces = [chunk.choices[0].delta.content or "" for chunk in ask(client, NESTED, stream=True)]
    assert "".join(pieces) == nested.choices[0].message.content


def test_every_choice_is_of_the_schema(client):
    for choice in ask(client, NESTED, n=4).choices:
        assert set(json.loads(choice.message.content)) == {"unit", "days"}


def test_the_clients_own_parse_gives_the_model(client):
    class Query(BaseModel):
        model_config = ConfigDict(extra="forbid")
        unit: Literal["celsius", "fahrenheit"]
        windy: bool

    answer = client.chat.completions.parse(model="tiny", messages=MESSAGES, response_format=Query, max_tokens=100)
    assert isinstance(answer.choices[0].message.parsed, Query)


def test_json_object_gives_any_object(client):
    assert isinstance(json.loads(ask(client, {"type": "json_object"}).choices[0].message.content), dict)


@pytest.mark.parametrize("stream", [True, False])
def test_a_structural_tag_gives_prose_and_tags(client, stream):
    tag = {"begin": "<call>", "content": {"type": "json_schema", "json_schema": {"enum": [17]}}, "end": "</call>"}
    calls = {"type": "triggered_tags", "triggers": ["<call"], "tags": [tag], "at_least_one": True}
    answer = ask(client, {"type": "structural_tag", "format": calls}, stream=stream)
    if stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    else:
        text = answer.choices[0].message.content
    prose, *bodies = text.split("<call")
    assert bodies
    assert "<call" not in prose
    assert all(body.startswith(">17</call>") for body in bodies)


def test_a_structural_tag_that_is_refused_names_its_place(client):
    structures = [{"begin": "<call>", "schema": {"type": "text"}, "end": ""}]
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, {"type": "structural_tag", "structures": structures, "triggers": ["<call"]})
    assert (caught.value.param, caught.value.code) == ("response_format", "invalid_schema")
    assert "/structures/0/schema/type" in caught.value.body["message"]


@pytest.mark.parametrize(
    ("schema", "code", "pointer"),
    [
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}},
            "unsupported_schema",
            "/properties/a",
        ),
        ({"type": "object", "properties": {"a": {"type": 5}}}, "invalid_schema", "/properties/a"),
        ({"enum": []}, None, ""),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_schema_that_cannot_be_held_is_refused_with_its_pointer(client, schema, code, pointer, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, {"type": "json_schema", "json_schema": {"name": "q", "schema": schema}}, stream=stream)
    error = caught.value
    assert error.type == "invalid_request_error"
    assert error.param == "response_format.json_schema.schema"
    assert pointer in error.body["message"]
    assert code is None or error.code == code


def test_a_budget_below_every_answer_is_refused(client):
    with pytest.raises(openai.BadRequestError, match="shortest valid answer") as caught:
        client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=2, extra_body={"response_format": NESTED}
        )
    assert caught.value.code == "budget_too_small"
