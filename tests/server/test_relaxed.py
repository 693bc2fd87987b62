"""Schemas over HTTP that no grammar holds whole, and OpenAI's strict subset."""

from __future__ import annotations

import json

import openai
import pytest
from relaxed_schemas import PAIR

MESSAGES = [{"role": "user", "content": "Two points."}]


def ask(client, schema, seed=1, **fields):
    wanted = {"type": "json_schema", "schema": schema, "on_unsupported": "validate"}
    return client.chat.completions.create(
        model="tiny",
        messages=MESSAGES,
        max_tokens=100,
        seed=seed,
        temperature=2,
        extra_body={"response_format": wanted},
        **fields,
    )


@pytest.mark.filterwarnings("ignore::structgen.grammars.SchemaRelaxed")
def test_content_that_is_refused_is_drawn_again_and_then_an_error(client):
    given, refusals = 0, []
    for seed in range(16):
        try:
            content = ask(client, PAIR, seed).choices[0].message.content
        except openai.UnprocessableEntityError as error:
            refusals.append((error.code, "3 answers were refused" in str(error)))
            continue
        given += 1
        assert sorted(point["x"] for point in json.loads(content)) == [1, 2]
    assert given > len(refusals) > 0
    assert set(refusals) == {("answer_refused", True)}


@pytest.mark.filterwarnings("ignore::structgen.grammars.SchemaRelaxed")
def test_validated_content_is_streamed_in_one_piece(client):
    schema = {**PAIR, "items": {"type": "object"}, "minItems": 0}
    chunks = list(ask(client, schema, stream=True, logprobs=True, stream_options={"include_usage": True}))
    pieces = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) == 1
    assert isinstance(json.loads(pieces[0].choices[0].delta.content), list)
    assert len(pieces[0].choices[0].logprobs.content) == chunks[-1].usage.completion_tokens


def test_a_strict_schema_lies_in_the_strict_subset(client):
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    for strict in (None, False, True):
        wanted["json_schema"]["strict"] = strict
        asking = {"model": "tiny", "messages": MESSAGES, "max_tokens": 100, "response_format": wanted}
        if not strict:
            assert json.loads(client.chat.completions.create(**asking).choices[0].message.content) is not None
            continue
        with pytest.raises(openai.BadRequestError, match="additionalProperties") as caught:
            client.chat.completions.create(**asking)
        assert (caught.value.code, caught.value.param) == ("unsupported_schema", "response_format.json_schema.schema")


def test_a_strict_tool_lies_in_the_strict_subset(client):
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters, "strict": True}}
    with pytest.raises(openai.BadRequestError, match="required") as caught:
        client.chat.completions.create(model="tiny", messages=MESSAGES, tools=[tool])
    assert caught.value.param == "tools[0].function.parameters"
