"""Probabilities of the prompt's tokens and of all that a grammar left, and the prompt as a part of the answer."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from deltas import gather, settled
from edited_weights import edited, with_broken_token

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.local_client import LocalClient
from structgen.engine.models.weights import EMBEDDING
from structgen.engine.options import EngineOptions
from structgen.engine.request import GrammarSpec, Request, SamplingParams
from structgen.engine.runner import TorchRunner
from structgen.errors import GenerationError, InvalidRequest
from structgen.grammars import compile_json_schema, compile_regex

PROMPT = tuple(range(40, 240))
WORD = GrammarSpec("regex", "[a-f]{4}x[0-9]+")


def expected(loaded, token_ids):
    """Log-probabilities of all tokens after each, float32 [tokens, vocabulary]."""
    runner = TorchRunner(loaded)
    return torch.log_softmax(runner.forward_all(runner.new_cache(), token_ids), dim=-1)


def scored(client, prompt=PROMPT, **options):
    params = SamplingParams(**{"prompt_logprobs": 2, "max_tokens": 4, **options})
    deltas = list(client.submit(Request(prompt, params)))
    assert [bool(delta.prompt_logprobs) for delta in deltas] == [True] + [False] * (len(deltas) - 1)
    return deltas[0].prompt_logprobs


@pytest.mark.parametrize("budget", [16, 512])
def test_each_token_of_the_prompt_has_the_models_own_log_probability(start, loaded, budget):
    first, *entries = scored(start(max_num_batched_tokens=budget))
    assert first is None
    assert [entry.token_id for entry in entries] == list(PROMPT[1:])
    for entry, row in zip(entries, expected(loaded, PROMPT), strict=False):
        assert entry.logprob == pytest.approx(float(row[entry.token_id]), abs=1e-4)
        assert [value for _, value in entry.top] == pytest.approx(row.topk(2).values.tolist(), abs=1e-4)


def test_what_the_cache_has_is_computed_for_them_and_kept_as_it_was(start):
    client = start()
    gather(client.submit(Request(PROMPT, SamplingParams(max_tokens=2))))
    cached = settled(client).kv_pages_cached
    cold, warm = scored(start()), scored(client)
    assert warm == cold
    assert settled(client).kv_pages_cached == cached
    assert gather(client.submit(Request(PROMPT, SamplingParams(max_tokens=2)))).last.usage.cached_tokens == 192


@pytest.mark.parametrize("tokens", [None, 256])
def test_neither_company_nor_giving_way_changes_them(start, tokens):
    alone = scored(start())
    client = start(tokens=tokens, max_num_batched_tokens=40)
    params = SamplingParams(max_tokens=40, ignore_eos=True, temperature=1, seed=1)
    others = [client.submit(Request((*PROMPT[:n], n), params)) for n in range(20, 40)]
    found = scored(client, ignore_eos=True)
    assert all(gather(stream).last.finish_reason == "length" for stream in others)
    assert [entry.logprob for entry in found[1:]] == pytest.approx([entry.logprob for entry in alone[1:]], abs=1e-4)
    assert (settled(client).preemptions > 0) is (tokens is not None)


def test_choices_share_them(start):
    streams = start().submit_choices(Request(PROMPT, SamplingParams(n=3, prompt_logprobs=1, max_tokens=2)))
    firsts = [next(stream).prompt_logprobs for stream in streams]
    assert firsts[0] == firsts[1] == firsts[2]
    assert len(firsts[0]) == len(PROMPT)


def test_a_grammar_of_one_text_does_not_hide_them(start):
    params = SamplingParams(prompt_logprobs=0, max_tokens=4)
    deltas = list(start().submit(Request(PROMPT, params, GrammarSpec("choice", ["xyz"]))))
    assert len(deltas[0].prompt_logprobs) == len(PROMPT)
    assert gather(deltas).text == "xyz"


def test_broken_numbers_in_a_prompt_end_its_request(start, loaded):
    client = start(loaded=edited(loaded, {re.escape(EMBEDDING): with_broken_token(PROMPT[150])}))
    last = gather(client.submit(Request(PROMPT, SamplingParams(prompt_logprobs=0)))).last
    assert isinstance(last.error, GenerationError)
    assert "not finite" in str(last.error)


@pytest.mark.parametrize(("quantization", "kv"), [("fp32", "fp32"), ("int8", "int8")])
def test_they_are_the_same_bits_however_the_prompt_is_cut(loaded, vocabulary, quantization, kv):
    found = []
    for budget in (7, 512):
        runner = CpuRunner(loaded, quantization=quantization, kv=kv)
        with LocalClient(runner, vocabulary, EngineOptions(max_num_seqs=2, max_num_batched_tokens=budget)) as client:
            found.append(scored(client))
    assert found[0] == found[1]


def test_the_allowed_mass_is_that_of_the_tokens_that_the_grammar_left(start, loaded, vocabulary):
    params = SamplingParams(temperature=1, seed=3, max_tokens=30, logprobs=0, allowed_mass=True)
    deltas = list(start().submit(Request(PROMPT, params, WORD)))
    entries = [entry for delta in deltas for entry in delta.logprobs]
    token_ids = [entry.token_id for entry in entries]
    rows = expected(loaded, [*PROMPT, *token_ids])[len(PROMPT) - 1 : -1].exp()
    with compile_regex(WORD.source, vocabulary).matcher() as matcher:
        state, mask = matcher.start, np.zeros(-(-len(vocabulary) // 32), np.int32)
        for entry, row in zip(entries[:-1], rows, strict=False):  # the budget may hold the last one shorter
            matcher.fill_mask(state, mask)
            allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(row)].astype(bool)
            assert entry.allowed_mass == pytest.approx(float(row[allowed].sum()), rel=1e-3)
            assert 0 < entry.allowed_mass < 1
            state = matcher.advance(state, entry.token_id)


def test_without_a_grammar_everything_is_allowed(start):
    params = SamplingParams(max_tokens=3, logprobs=0, allowed_mass=True, ignore_eos=True)
    (entries,) = [[entry for delta in start().submit(Request(PROMPT, params)) for entry in delta.logprobs]]
    assert [entry.allowed_mass for entry in entries] == [1.0] * 3


def test_the_allowed_mass_is_the_grammars_where_nothing_surely_fits_the_budget(start, vocabulary):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    automaton = compile_json_schema(schema, vocabulary)
    assert automaton.min_tokens < automaton.distance
    params = SamplingParams(max_tokens=automaton.min_tokens, logprobs=0, allowed_mass=True)
    deltas = list(start().submit(Request(PROMPT, params, GrammarSpec("json_schema", schema))))
    masses = [entry.allowed_mass for delta in deltas for entry in delta.logprobs]
    assert len(masses) > 2
    assert all(0 < mass <= 1 for mass in masses)


def test_an_echo_comes_first_and_counts_as_nothing(start, loaded):
    client = start()
    plain = gather(client.submit(Request(PROMPT, SamplingParams(max_tokens=5, stop="\x00"))))
    echoed = gather(client.submit(Request(PROMPT, SamplingParams(max_tokens=5, echo=True))))
    assert echoed.token_ids == PROMPT + plain.token_ids
    assert echoed.text.endswith(plain.text)
    assert echoed.text[: -len(plain.text)] == loaded.tokenizer.decode(list(PROMPT))
    assert echoed.last.usage.completion_tokens == plain.last.usage.completion_tokens
    assert client.metrics().generated_tokens == 2 * len(plain.token_ids)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("prompt_logprobs", {"prompt_logprobs": 21}),
        ("prompt_logprobs", {"prompt_logprobs": True}),
        ("echo", {"echo": 1}),
        ("allowed_mass", {"allowed_mass": True}),
        ("allowed_mass", {"allowed_mass": "yes", "logprobs": 1}),
    ],
)
def test_a_wrong_value_is_refused_by_name(field, options):
    with pytest.raises(InvalidRequest, match=rf"^{field}: "):
        SamplingParams(**options)
