"""Several answers of one prompt: computed once, drawn apart, ended apart."""

from __future__ import annotations

import json

import pytest
from deltas import gather

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.local_client import LocalClient
from structgen.engine.options import EngineOptions
from structgen.engine.request import GrammarSpec, Request, SamplingParams
from structgen.errors import DeadlineExceeded, GenerationError, InvalidRequest

PROMPT = tuple(range(40, 65))  # a full page and a partial one
JSON = GrammarSpec("json_schema", {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 4})


def hot(n, **options):
    return SamplingParams(n=n, **{"temperature": 1.5, "seed": 7, "max_tokens": 20, "ignore_eos": True, **options})


@pytest.mark.parametrize("seqs", [1, 3, 16])
@pytest.mark.parametrize("grammar", [None, JSON])
def test_a_choice_is_the_same_alone_and_among_others(start, seqs, grammar):
    alone, together = start(), start(max_num_seqs=seqs)
    found = [gather(stream) for stream in together.submit_choices(Request(PROMPT, hot(6), grammar))]
    for choice, one in enumerate(found):
        expected = gather(alone.submit(Request(PROMPT, hot(1), grammar, choice=choice)))
        assert (one.text, one.token_ids, one.last.finish_reason) == (
            expected.text,
            expected.token_ids,
            expected.last.finish_reason,
        )
        assert grammar is None or json.loads(one.text)
    assert len({one.text for one in found}) > 3


def test_the_prompt_is_computed_once_for_all_choices(start):
    client = start()
    ends = [gather(stream).last for stream in client.submit_choices(Request(PROMPT, hot(8)))]
    metrics = client.metrics()
    assert metrics.prompt_tokens_computed == len(PROMPT)
    assert [end.usage.cached_tokens for end in ends] == [0] + [len(PROMPT)] * 7
    assert [end.request_id for end in ends] == [ends[0].request_id, *(f"{ends[0].request_id}/{n}" for n in range(1, 8))]


@pytest.mark.parametrize(("quantization", "kv"), [("fp32", "fp32"), ("int8", "int8")])
def test_choices_are_the_same_bits_in_the_compiled_runner_too(loaded, vocabulary, quantization, kv):
    """They copy a partial page before they write to it, when pages are short as well."""
    found = []
    for tokens in (4096, 176):
        runner = CpuRunner(loaded, quantization=quantization, kv=kv)
        options = EngineOptions(kv_memory=tokens // 16 * runner.page_bytes(0))
        with LocalClient(runner, vocabulary, options) as client:
            streams = client.submit_choices(Request(PROMPT, hot(6, max_tokens=60, logprobs=2)))
            found.append([[entry for delta in stream for entry in delta.logprobs] for stream in streams])
            singles = [client.submit(Request(PROMPT, hot(1, max_tokens=60, logprobs=2), choice=n)) for n in range(6)]
            found.append([[entry for delta in stream for entry in delta.logprobs] for stream in singles])
    assert found[1:] == found[:-1]


def test_one_choice_can_be_left_and_the_others_go_on(start):
    client = start()
    first, second, third = client.submit_choices(Request(PROMPT, hot(3)))
    first.close()  # who computes the prompt, perhaps
    client.abort(third.request_id)
    assert gather(third).last.finish_reason in ("abort", "length")
    assert gather(second).token_ids == gather(client.submit(Request(PROMPT, hot(1), choice=1))).token_ids


def test_choices_end_with_their_deadline_and_with_the_engine(start):
    client = start(max_num_seqs=1)
    forever = hot(1, max_tokens=None)
    busy = client.submit(Request(PROMPT[::-1], forever))
    next(busy)
    late = client.submit_choices(Request(PROMPT, hot(3), timeout=0.05))
    assert all(isinstance(gather(stream).last.error, DeadlineExceeded) for stream in late)
    left = client.submit_choices(Request(PROMPT, hot(3)))
    client.close()
    assert all(isinstance(gather(stream).last.error, GenerationError) for stream in left)


def test_choices_that_a_grammar_or_the_budget_ends_at_once_do(start):
    client = start()
    for grammar, params in ((GrammarSpec("choice", ["x"]), hot(3)), (None, hot(3, max_tokens=1))):
        found = [gather(stream) for stream in client.submit_choices(Request(PROMPT, params, grammar))]
        assert [len(one.token_ids) for one in found] == [1, 1, 1]
        assert all(one.last.finished for one in found)


def test_one_stream_is_for_one_answer(start):
    with pytest.raises(InvalidRequest, match=r"^n: "):
        start().submit(Request(PROMPT, hot(2)))


def test_without_a_seed_each_choice_has_its_own(start):
    streams = start().submit_choices(Request(PROMPT, hot(4, seed=None)))
    assert len({gather(stream).token_ids for stream in streams}) == 4
