"""What the front door says to arguments of the wrong kind: an error of structgen's, before anything is generated."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AfterValidator

import structgen
from structgen import SamplingParams
from structgen.errors import AnswerRefused, GrammarLimitExceeded, InvalidRequest, InvalidSchema
from structgen.llm import LLM

USER = {"role": "user", "content": "Hi"}
OPTIONS = [
    ({"retries": -1}, "retries: "),
    ({"retries": "x"}, "retries: "),
    ({"choice": 5}, "choice: "),
    ({"sampling_params": {"temperature": 0}}, r"sampling_params: expected SamplingParams\("),
    ({"sampling_params": "x"}, "sampling_params: "),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_an_option_of_the_wrong_kind_is_named(tiny_llm, options, message):
    with pytest.raises(InvalidRequest, match=message):
        tiny_llm.generate("Hi", **options)
    with pytest.raises(InvalidRequest, match=message):
        tiny_llm.chat([USER], **options)
    if "retries" not in options:
        with pytest.raises(InvalidRequest, match=message):
            tiny_llm.stream("Hi", **options)


@pytest.mark.parametrize("prompts", [5, None, b"Hi", {"prompt": "Hi"}])
def test_prompts_are_text_or_a_list(tiny_llm, prompts):
    with pytest.raises(InvalidRequest, match="prompts: "):
        tiny_llm.generate(prompts)


@pytest.mark.parametrize("tools", [5, "add", {"type": "function"}])
def test_tools_are_a_list(tiny_llm, tools):
    with pytest.raises(InvalidRequest, match="tools: expected a list"):
        tiny_llm.chat([USER], tools=tools)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (5, {}, "model: "),
        (None, {}, "model: "),
        ("/absent", {"max_num_seqs": "x"}, "max_num_seqs: "),
        ("/absent", {"max_num_seqs": 0}, "max_num_seqs: "),
        ("/absent", {"max_model_len": 0}, "max_model_len: "),
        ("/absent", {"max_num_batched_tokens": 8}, "max_num_batched_tokens: 8 is less than .* max_num_seqs=16"),
        ("/absent", {"block_size": None}, "block_size: "),
        ("/absent", {"kv_memory": "much"}, "kv_memory: .*'1GiB', not 'much'"),
        ("/absent", {"grammar_timeout": 0}, "grammar_timeout: must be a number of seconds above 0, not 0"),
        ("/absent", {"grammar_timeout": "1"}, "grammar_timeout: "),
        ("/absent", {"kv_cache_dtype": "int3"}, "kv_cache_dtype: 'int3' is not known; known are auto, float32"),
        ("/absent", {"call_format": 5}, "call_format: "),
    ],
)
def test_a_models_arguments_are_checked_before_it_is_looked_for(model, options, message):
    with pytest.raises(InvalidRequest, match=message):
        LLM(model, **options)


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_the_default_model_is_not_loaded_for_wrong_arguments(options, message, monkeypatch):
    monkeypatch.setattr("structgen.llm.default.default_llm", lambda: pytest.fail("loaded"))
    with pytest.raises(InvalidRequest, match=message):
        structgen.generate("Hi", **options)
    with pytest.raises(InvalidRequest, match="prompts: "):
        structgen.generate(5)


def nested(levels):
    schema = {"type": "null"}
    for _ in range(levels):
        schema = {"anyOf": [schema]}
    return schema


def test_a_schema_nested_too_deeply_is_a_limit(tiny_llm):
    tool = {"type": "object", "properties": {"a": nested(400)}}
    with pytest.raises(GrammarLimitExceeded, match="nested"):
        tiny_llm.generate("Hi", schema=nested(400))
    with pytest.raises(GrammarLimitExceeded, match="nested"):
        tiny_llm.chat([USER], tools=[{"type": "function", "function": {"name": "f", "parameters": tool}}])


def test_a_schema_that_holds_itself_is_a_limit(tiny_llm):
    schema = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    with pytest.raises(GrammarLimitExceeded, match="holds itself"):
        tiny_llm.generate("Hi", schema=schema)


def test_a_key_that_is_no_string_is_malformed(tiny_llm):
    with pytest.raises(InvalidSchema):
        tiny_llm.generate("Hi", schema={1: 2})


def test_half_a_surrogate_pair_in_a_validators_message_is_shown_as_a_question_mark(tiny_llm):
    def refuse(value: bool) -> bool:
        raise ValueError("not \ud800 good")

    params = SamplingParams(max_tokens=20)
    with pytest.raises(AnswerRefused, match=r"because: not \? good"):
        tiny_llm.generate("Hi", schema=Annotated[bool, AfterValidator(refuse)], sampling_params=params, retries=1)
