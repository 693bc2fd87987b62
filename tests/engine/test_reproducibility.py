"""On the CPU an answer is the same bits whoever else runs, however prompts are cut, and whatever the cache has."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import pytest
from edited_weights import RandomWeights

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.local_client import LocalClient
from structgen.engine.models.description import LinearScaling, ModelDescription, Rope
from structgen.engine.options import EngineOptions
from structgen.engine.request import GrammarSpec, Request, SamplingParams

SCHEDULES = 12
SYSTEM = tuple(random.Random(1).choices(range(40, 300), k=90))
WORDS = GrammarSpec("regex", "([a-z]{3} ){6}")


class Schedule(NamedTuple):
    """What may change from run to run."""

    max_num_seqs: int
    max_num_batched_tokens: int
    cache_tokens: int
    order: int


def requests():
    """Requests that share prefixes, and some that share none; their log-probabilities show every bit of the logits."""
    found = []
    for number in range(14):
        prompt = (*SYSTEM[: (90, 90, 50, 33, 0)[number % 5]], *range(100 + number, 100 + number + number % 4 * 13 + 1))
        params = SamplingParams(
            temperature=number % 2, seed=number, max_tokens=24, logprobs=2, ignore_eos=number % 3 > 0
        )
        found.append(Request(prompt, params, WORDS if number % 7 == 0 else None))
    return found


def answers(runner, vocabulary, schedule):
    page_bytes = sum(runner.page_bytes(group) for group in range(len(runner.cache_groups)))
    memory = schedule.cache_tokens // runner.page_size * page_bytes
    options = EngineOptions(schedule.max_num_seqs, None, schedule.max_num_batched_tokens, kv_memory=memory)
    order = list(enumerate(requests()))
    random.Random(schedule.order).shuffle(order)
    with LocalClient(runner, vocabulary, options) as client:
        streams = {number: client.submit(request) for number, request in order}
        found = {}
        for number, stream in streams.items():
            deltas = list(stream)
            assert deltas[-1].error is None
            found[number] = [entry for delta in deltas for entry in delta.logprobs]
        return found, client.metrics()


@pytest.fixture(scope="module")
def gemma(loaded):
    """A model of all that makes a Gemma: windows, two ropes, caps, norms of heads and behind layers, scales."""
    description = ModelDescription(
        architecture="gemma",
        vocab_size=loaded.description.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=1024,
        rms_norm_eps=1e-6,
        rope=Rope(10_000.0, LinearScaling(4.0)),
        local_rope=Rope(500.0),
        sliding_windows=(24, None, 24),
        qk_norm=True,
        activation="gelu_tanh",
        attention_scale=0.3,
        attention_softcap=5.0,
        logit_softcap=20.0,
        embedding_scale=32**0.5,
        norm_offset=1.0,
        post_norms=True,
        tie_word_embeddings=True,
    )
    return replace(loaded, description=description, weights=RandomWeights(description, spread=0.3))


@pytest.mark.parametrize(
    ("model", "quantization", "kv"),
    [
        *(("loaded", *kind) for kind in (("fp32", "fp32"), ("fp32", "bf16"), ("int8", "int8"), ("int8", "bf16"))),
        *(("gemma", *kind) for kind in (("fp32", "fp32"), ("int8", "bf16"))),
    ],
)
def test_an_answer_is_the_same_bits_under_every_schedule(request, vocabulary, model, quantization, kv):
    loaded = request.getfixturevalue(model)
    rng = random.Random(f"{quantization}-{kv}")
    alone, _ = answers(CpuRunner(loaded, quantization=quantization, kv=kv), vocabulary, Schedule(1, 512, 4096, 0))
    preemptions = hits = 0
    for _ in range(SCHEDULES):
        seqs = rng.choice([1, 2, 5, 16])
        schedule = Schedule(seqs, rng.choice([seqs, 20, 64, 512]), rng.choice([176, 320, 4096]), rng.randrange(1000))
        runner = CpuRunner(loaded, quantization=quantization, kv=kv, threads=rng.choice([1, 2]))
        found, metrics = answers(runner, vocabulary, schedule)
        assert found == alone, schedule
        preemptions += metrics.preemptions
        hits += metrics.cached_tokens
    assert preemptions > 0
    assert hits > 0
