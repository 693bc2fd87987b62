"""Many requests over one cache: what they share, what happens when it is full, and who pays for whose fault."""

from __future__ import annotations

import random
import re

import pytest
import torch
from deltas import settled
from edited_weights import edited, with_broken_token

from structgen.engine.models.weights import EMBEDDING
from structgen.engine.request import GrammarSpec, Request, SamplingParams
from structgen.errors import DeadlineExceeded, GenerationError, InvalidRequest, OutOfMemory

SYSTEM = tuple(random.Random(1).choices(range(40, 300), k=100))
BROKEN = 77
GREEDY = SamplingParams(max_tokens=12, ignore_eos=True)


def answer(stream):
    deltas = list(stream)
    assert deltas[-1].error is None
    return tuple(token_id for delta in deltas for token_id in delta.token_ids)


def last(stream):
    *_, delta = stream
    return delta


def test_sixteen_cold_requests_compute_their_system_prompt_once(start):
    client = start()
    alone = [answer(start().submit(Request((*SYSTEM, 50 + n), GREEDY))) for n in range(2)]
    streams = [client.submit(Request((*SYSTEM, 50 + n), GREEDY)) for n in range(16)]
    answers = [answer(stream) for stream in streams]
    assert answers[:2] == alone
    metrics = settled(client)
    assert metrics.prompt_tokens == 16 * 101
    assert metrics.prompt_tokens_computed == 96 + 16 * 5
    assert metrics.cached_tokens == 15 * 96
    assert metrics.cache_hit_rate == pytest.approx(15 * 96 / (16 * 101))
    assert metrics.kv_pages_cached >= 6


def test_each_turn_of_a_conversation_finds_all_full_pages_of_those_before(start):
    client = start()
    tokens = SYSTEM
    seen = 0
    for turn in range(10):
        stream = client.submit(Request(tokens, GREEDY))
        deltas = list(stream)
        usage = deltas[-1].usage
        assert usage.cached_tokens == seen // 16 * 16
        said = tuple(token_id for delta in deltas for token_id in delta.token_ids)
        seen = len(tokens) + len(said) - 1  # the last token of an answer is never computed
        tokens = (*tokens, *said, *range(60 + turn, 80 + turn))


def test_salts_share_nothing(start):
    client = start()
    for salt, expected in (("a", 0), ("b", 0), ("a", 96), ("", 0)):
        delta = last(client.submit(Request(SYSTEM, GREEDY, cache_salt=salt)))
        assert delta.usage.cached_tokens == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
def test_when_pages_run_out_all_are_answered_as_if_they_had_not(start, dtype):
    prompts = [(*SYSTEM[:n], 40 + n) for n in range(20, 36)]
    params = SamplingParams(max_tokens=60, ignore_eos=True, temperature=1, seed=5)
    roomy, tight = start(dtype=dtype), start(tokens=256, dtype=dtype)
    answers = []
    for client in (roomy, tight):
        streams = [client.submit(Request(prompt, params)) for prompt in prompts]
        answers.append([answer(stream) for stream in streams])
    assert answers[0] == answers[1]
    assert settled(roomy).preemptions == 0
    assert settled(tight).preemptions > 0


def test_random_arrivals_and_aborts_leave_no_page_behind(start):
    client, rng = start(tokens=512, max_num_seqs=6), random.Random(3)
    params = SamplingParams(max_tokens=40, ignore_eos=True)
    streams = []
    for number in range(60):
        prompt = (*SYSTEM[: rng.randrange(100)], 40 + number)
        streams.append(client.submit(Request(prompt, params, priority=rng.randrange(3))))
        if rng.random() < 0.4:
            streams.pop(rng.randrange(len(streams))).close()
    for stream in streams:
        assert last(stream).finish_reason == "length"
    settled(client)


def test_a_number_that_is_not_finite_ends_its_request_and_names_the_layer(start, loaded):
    broken = edited(loaded, {re.escape(EMBEDDING): with_broken_token(BROKEN)})
    client, whole = start(loaded=broken), start()
    good = [client.submit(Request((*SYSTEM, n), GREEDY)) for n in range(50, 53)]
    bad = client.submit(Request((*SYSTEM[:40], BROKEN, *SYSTEM[40:]), GREEDY))
    good += [client.submit(Request((*SYSTEM[:60], n), GREEDY)) for n in range(53, 56)]
    delta = last(bad)
    assert isinstance(delta.error, GenerationError)
    assert "not finite, first in the embedding" in str(delta.error)
    prompts = [(*SYSTEM, n) for n in range(50, 53)] + [(*SYSTEM[:60], n) for n in range(53, 56)]
    assert [answer(stream) for stream in good] == [answer(whole.submit(Request(one, GREEDY))) for one in prompts]
    again = last(client.submit(Request((*SYSTEM[:40], BROKEN, 50), GREEDY)))
    assert again.error is not None


def test_pages_with_broken_numbers_are_never_shared(start, loaded):
    """The chunk that has the number is not the prompt's last; who begins with the same pages must not take them."""
    broken = edited(loaded, {re.escape(EMBEDDING): with_broken_token(BROKEN)})
    client = start(loaded=broken, max_num_batched_tokens=32)
    assert last(client.submit(Request((*SYSTEM[:20], BROKEN, *SYSTEM[20:]), GREEDY))).error is not None
    usage = last(client.submit(Request(SYSTEM, GREEDY))).usage
    assert usage.cached_tokens == 0
    assert settled(client).kv_pages_cached == (len(SYSTEM) + 11) // 16


def test_a_deadline_ends_a_request_and_says_how_far_it_came(start):
    client = start()
    forever = SamplingParams(max_tokens=None, ignore_eos=True)
    deltas = list(client.submit(Request(SYSTEM, forever, timeout=0.2)))
    assert isinstance(deltas[-1].error, DeadlineExceeded)
    tokens = sum(len(delta.token_ids) for delta in deltas)
    assert f"0.2 s were over after {tokens} tokens" in str(deltas[-1].error)
    assert deltas[-1].usage.completion_tokens == tokens > 0
    assert settled(client).finished == {"error": 1}


def test_a_deadline_counts_while_a_request_waits(start):
    client = start(max_num_seqs=1)
    first = client.submit(Request(SYSTEM, SamplingParams(max_tokens=None, ignore_eos=True)))
    next(first)
    waiting = client.submit(Request(SYSTEM[::-1], GREEDY, timeout=0.05))
    assert isinstance(last(waiting).error, DeadlineExceeded)
    first.close()


def test_the_smaller_priority_is_served_first(start):
    client = start(max_num_seqs=1)
    first = client.submit(Request(SYSTEM[:20], GREEDY))
    low = client.submit(Request((*SYSTEM[:20], 50), GREEDY, priority=1))
    high = [client.submit(Request((*SYSTEM[:20], 60 + n), GREEDY)) for n in range(3)]
    answer(low)
    assert client.metrics().finished == {"length": 5}
    for stream in (first, *high):
        answer(stream)


@pytest.mark.parametrize(
    ("field", "value"), [("priority", 0.5), ("timeout", 0), ("timeout", "1"), ("cache_salt", None)]
)
def test_a_field_of_a_request_is_refused_by_name(field, value):
    with pytest.raises(InvalidRequest, match=rf"^{field}: "):
        Request(SYSTEM, **{field: value})


def test_a_context_that_the_cache_cannot_hold_is_refused_with_what_would_do(start):
    with pytest.raises(OutOfMemory, match=r"kv_memory: 16 KiB hold 128 tokens and max_model_len=512; give 64 KiB"):
        start(tokens=128, max_model_len=512)
    with pytest.raises(OutOfMemory, match=r"kv_memory: 10 B hold no page; one of 16 tokens takes 2 KiB"):
        start(kv_memory=10)
    with pytest.raises(InvalidRequest, match=r"max_model_len: the model takes 1024 tokens, and 2000"):
        start(max_model_len=2000)


def test_what_fits_the_cache_bounds_the_context(start):
    assert start(tokens=128).max_model_len == 128
    assert start(max_model_len=100).max_model_len == 100
    assert start().max_model_len == 1024
    client = start(tokens=128)
    delta = last(client.submit(Request(SYSTEM, SamplingParams(max_tokens=None, ignore_eos=True))))
    assert delta.usage.completion_tokens == 28


def test_metrics_count_what_happened(start):
    client = start()
    assert client.metrics().steps == 0
    answer(client.submit(Request(SYSTEM, GREEDY)))
    last(client.submit(Request(SYSTEM, GREEDY, GrammarSpec("regex", "[ab]{5}"))))
    metrics = settled(client)
    assert metrics.finished == {"length": 1, "stop": 1}
    assert metrics.generated_tokens == 12 + 5
    assert (metrics.prompt_tokens, metrics.cached_tokens) == (200, 96)
    assert metrics.time_to_first_token.count == 2
    assert metrics.time_per_output_token.count == 2
    assert metrics.step_time.count == metrics.steps >= 17
    assert metrics.mask_time.count == 5
    assert 0 < metrics.mask_time.mean < 0.1
    assert (metrics.kv_usage, metrics.preemptions) == (0, 0)
    assert 0 < metrics.kv_pages_cached < metrics.kv_pages_total
