"""A model without a description of ours answers as transformers' own generation does, and in any form."""

from __future__ import annotations

import random

import pytest
import torch
from tiny_model import build_tokenizer

from structgen import LLM, SamplingParams
from structgen.engine.request import Request
from structgen.errors import UnsupportedModel

ANSWER = 24
SYSTEM = random.Random(1).choices(range(40, 250), k=45)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Starcoder2 of random weights, every layer of which sees 16 tokens."""
    import transformers

    path, tokenizer = tmp_path_factory.mktemp("starcoder2"), build_tokenizer()
    config = transformers.AutoConfig.for_model(
        "starcoder2",
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        sliding_window=16,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
    model.save_pretrained(path)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


@pytest.fixture(scope="module")
def prompts():
    return [[*SYSTEM, *range(100 + number, 101 + number + number % 4 * 9)] for number in range(10)]


@pytest.fixture(scope="module")
def expected(folder, prompts):
    """Greedy answers of transformers, one prompt at a time."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    options = {"do_sample": False, "max_new_tokens": ANSWER, "suppress_tokens": [1], "pad_token_id": 1}
    with torch.no_grad():
        return [model.generate(torch.tensor([one]), **options)[0, len(one) :].tolist() for one in prompts]


@pytest.mark.parametrize(("seqs", "budget", "memory"), [(1, 512, None), (16, 512, None), (5, 20, 18_000)])
def test_greedy_answers_are_those_of_transformers(folder, prompts, expected, seqs, budget, memory):
    """Under every schedule: alone, all at once, and in pieces with so few pages that some must give way."""
    greedy = SamplingParams(max_tokens=ANSWER, ignore_eos=True)
    options = {"max_num_seqs": seqs, "max_num_batched_tokens": budget, "kv_memory": memory}
    with LLM(folder, block_size=4, **options) as llm:
        streams = [llm.client.submit(Request(tuple(prompt), greedy)) for prompt in prompts]
        found = [[token for delta in stream for token in delta.token_ids] for stream in streams]
        metrics = llm.client.metrics()
    assert found == expected
    assert metrics.cached_tokens > len(SYSTEM)
    assert (metrics.preemptions > 0) == (memory is not None)


def test_an_answer_has_its_form(folder):
    with LLM(folder, dtype="bfloat16", kv_cache_dtype="int8") as llm:
        answers = llm.generate(["one", "two", "three"], schema=SCHEMA, sampling_params=SamplingParams(max_tokens=64))
    assert all(isinstance(answer["a"], int) for answer in answers)


def test_quantized_weights_are_refused(folder):
    with pytest.raises(UnsupportedModel, match="'starcoder2' runs through transformers' own code, whose weights are"):
        LLM(folder, quantization="int8")
