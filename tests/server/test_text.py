"""Text over HTTP, as OpenAI's own client sees it."""

from __future__ import annotations

import concurrent.futures
import math
import urllib.request

import openai
import pytest

MESSAGES = [{"role": "user", "content": "What is the weather?"}]


def ask(client, **fields):
    return client.chat.completions.create(**{"model": "tiny", "messages": MESSAGES, "max_tokens": 24, **fields})


def gather(stream):
    """The chunks of a stream put together as its reader would: text and end of each choice, and the usage."""
    texts: dict[int, str] = {}
    ends: dict[int, str] = {}
    usage = None
    for chunk in stream:
        usage = chunk.usage
        for choice in chunk.choices:
            assert choice.index not in ends
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
            if choice.finish_reason is not None:
                ends[choice.index] = choice.finish_reason
    assert texts.keys() == ends.keys()
    return texts, ends, usage


def test_the_server_is_healthy(client):
    with urllib.request.urlopen(str(client.base_url).replace("/v1/", "/health")) as response:
        assert response.status == 200


def test_the_model_is_listed(client):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "structgen"
    with pytest.raises(openai.NotFoundError, match="there is no 'gpt-9' here; this server runs 'tiny'"):
        client.models.retrieve("gpt-9")


def test_an_answer_is_openais_object(client):
    answer = ask(client, seed=1)
    assert (answer.object, answer.model) == ("chat.completion", "tiny")
    assert answer.id.startswith("chatcmpl-")
    (choice,) = answer.choices
    assert (choice.message.role, choice.message.tool_calls, choice.logprobs) == ("assistant", None, None)
    assert choice.message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert 0 < answer.usage.completion_tokens <= 24


def test_a_stream_is_the_whole_answer_in_pieces(client):
    whole = ask(client, seed=3, n=3, temperature=1.5)
    texts, ends, usage = gather(
        ask(client, seed=3, n=3, temperature=1.5, stream=True, stream_options={"include_usage": True})
    )
    assert texts == {choice.index: choice.message.content for choice in whole.choices}
    assert ends == {choice.index: choice.finish_reason for choice in whole.choices}
    assert counted(usage) == counted(whole.usage)


def counted(usage):
    """The numbers that do not depend on what was asked before."""
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def test_usage_says_what_the_cache_had_of_the_prompt(client):
    messages = [{"role": "user", "content": "a question that nobody has asked so far " * 4}]
    first, second = (ask(client, messages=messages, max_tokens=2).usage for _ in range(2))
    assert first.prompt_tokens_details.cached_tokens <= 16
    assert second.prompt_tokens_details.cached_tokens == (second.prompt_tokens - 1) // 16 * 16 > 16


def test_chunks_have_one_id_and_the_role_comes_first(client):
    chunks = list(ask(client, seed=3, stream=True))
    assert len({(chunk.id, chunk.created, chunk.object) for chunk in chunks}) == 1
    assert [chunk.choices[0].delta.role for chunk in chunks].count("assistant") == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert all(chunk.usage is None for chunk in chunks)


def test_a_seed_makes_an_answer_repeatable_and_choices_differ(client):
    texts = [choice.message.content for choice in ask(client, seed=5, n=3, temperature=1.5).choices]
    assert texts == [choice.message.content for choice in ask(client, seed=5, n=3, temperature=1.5).choices]
    assert len(set(texts)) == 3
    assert texts != [choice.message.content for choice in ask(client, seed=6, n=3, temperature=1.5).choices]


def test_choices_compute_their_prompt_once(client, served_llm):
    before = served_llm.client.metrics()
    messages = [{"role": "user", "content": "a question for five that nobody has asked so far"}]
    answer = ask(client, messages=messages, n=5, temperature=1.5, seed=1)
    now = served_llm.client.metrics()
    computed = now.prompt_tokens_computed - before.prompt_tokens_computed
    assert computed == answer.usage.prompt_tokens - answer.usage.prompt_tokens_details.cached_tokens
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3, 4]
    assert len({choice.message.content for choice in answer.choices}) == 5


def test_a_seed_may_be_negative(client):
    assert ask(client, seed=-1, max_tokens=4).choices == ask(client, seed=-1, max_tokens=4).choices


def test_an_answer_without_seed_is_drawn_anew(client):
    assert len({ask(client, temperature=2).choices[0].message.content for _ in range(3)}) > 1


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_the_budget_ends_an_answer(client, name):
    answer = ask(client, **{"max_tokens": None, name: 5}, extra_body={"ignore_eos": True})
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 5


def test_a_stop_string_ends_an_answer_before_itself(client):
    text = ask(client, seed=3, temperature=1.5).choices[0].message.content
    stop = text[4:6]
    for stopped in (ask(client, seed=3, temperature=1.5, stop=stop), ask(client, seed=3, temperature=1.5, stop=[stop])):
        assert stopped.choices[0].message.content == text[: text.index(stop)]
        assert stopped.choices[0].finish_reason == "stop"
    texts, ends, _ = gather(ask(client, seed=3, temperature=1.5, stop=stop, stream=True))
    assert (texts, ends) == ({0: text[: text.index(stop)]}, {0: "stop"})


def test_log_probabilities_come_with_the_tokens(client):
    answer = ask(client, seed=3, logprobs=True, top_logprobs=4)
    entries = answer.choices[0].logprobs.content
    assert len(entries) == answer.usage.completion_tokens
    assert (
        b"".join(bytes(entry.bytes) for entry in entries)
        .decode("utf-8", "replace")
        .startswith(answer.choices[0].message.content)
    )
    for entry in entries:
        assert len(entry.top_logprobs) == 4
        probabilities = [top.logprob for top in entry.top_logprobs]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(map(math.exp, probabilities)) <= 1 + 1e-5
        assert entry.logprob <= probabilities[0] <= 0
    streamed = [
        entry
        for chunk in ask(client, seed=3, logprobs=True, top_logprobs=4, stream=True)
        if chunk.choices[0].logprobs is not None
        for entry in chunk.choices[0].logprobs.content
    ]
    assert streamed == entries


def test_log_probabilities_say_what_a_schema_left(client):
    schema = {"type": "json_schema", "json_schema": {"name": "one", "schema": {"type": "integer"}}}
    fields = {"seed": 3, "logprobs": True, "response_format": schema, "extra_body": {"allowed_mass": True}}
    entries = ask(client, **fields).choices[0].logprobs.content
    assert all(0 < entry.allowed_mass < 1 for entry in entries)
    streamed = [entry for chunk in ask(client, **fields, stream=True) for entry in logprobs_of(chunk)]
    assert [entry.allowed_mass for entry in streamed] == [entry.allowed_mass for entry in entries]
    with pytest.raises(openai.BadRequestError, match="allowed_mass: only with logprobs=true"):
        ask(client, extra_body={"allowed_mass": True})


def logprobs_of(chunk):
    found = chunk.choices[0].logprobs
    return [] if found is None else found.content


def test_a_bias_forces_a_token(client, served_llm):
    token_id = served_llm.tokenizer.token_to_id("Q")
    answer = ask(client, max_tokens=4, logit_bias={str(token_id): 100})
    assert answer.choices[0].message.content == "QQQQ"


@pytest.mark.parametrize(
    "penalty",
    [{"frequency_penalty": 2}, {"presence_penalty": 2}, {"extra_body": {"repetition_penalty": 3}}],
    ids=str,
)
def test_a_penalty_keeps_tokens_from_coming_again(client, served_llm, penalty):
    biases = {str(served_llm.tokenizer.token_to_id(letter)): 60 for letter in "QRS"}
    plain, penalised = (
        ask(client, temperature=0, logit_bias=biases, **fields).choices[0].message.content for fields in ({}, penalty)
    )
    assert len(set(penalised)) > len(set(plain))


def test_temperature_zero_is_the_most_likely_answer(client):
    greedy = ask(client, temperature=0).choices[0].message.content
    assert greedy == ask(client, temperature=1, extra_body={"top_k": 1}).choices[0].message.content


def test_harmless_fields_and_nulls_change_nothing(client):
    plain = ask(client, seed=3)
    answer = ask(
        client,
        seed=3,
        user="me",
        metadata={"a": "b"},
        store=True,
        service_tier="auto",
        parallel_tool_calls=True,
        tools=[],
        tool_choice="none",
        extra_body={"tools": None, "functions": None, "stop": None, "response_format": {"type": "text"}},
    )
    assert answer.choices[0].message.content == plain.choices[0].message.content


def test_text_parts_and_developer_messages_are_read(client):
    plain = ask(client, seed=3, messages=[{"role": "system", "content": "Be."}, {"role": "user", "content": "ab"}])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    answer = ask(client, seed=3, messages=[{"role": "developer", "content": "Be."}, {"role": "user", "content": parts}])
    assert answer.choices[0].message == plain.choices[0].message
    assert counted(answer.usage) == counted(plain.usage)


def test_many_answers_at_once_do_not_keep_the_server_from_answering(client):
    with concurrent.futures.ThreadPoolExecutor(14) as pool:
        answers = [pool.submit(ask, client, seed=seed, n=8, max_tokens=4) for seed in range(4)]
        models = [pool.submit(client.models.list) for _ in range(10)]
        assert all(listed.result(timeout=60).data for listed in models)
        assert not all(answer.done() for answer in answers)
        assert all(len(answer.result(timeout=120).choices) == 8 for answer in answers)
