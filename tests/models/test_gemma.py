"""The real Gemma 3 270M: its GGUF file against transformers' reading of it, and in the compiled runner."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from paged_steps import Row, logits_alone, logits_of, step_of

import structgen
from structgen import SamplingParams
from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model
from structgen.engine.options import EngineOptions
from structgen.engine.runner import TorchRunner
from structgen.engine.runners import make_runner
from structgen.engine.sources import resolve_model

TEXT = "The harbour lights went out one after another, and the pilot counted them: nine, eight, seven. " * 40


@pytest.mark.slow
def test_logits_beyond_the_window_are_those_of_transformers(record_property):
    import transformers

    path = resolve_model("gemma3-270m").path
    loaded = load_model(path)
    tokens = loaded.tokenizer.encode(TEXT).ids[:640]
    assert max(window for window in loaded.description.sliding_windows if window) < 600 < len(tokens)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        expected = model(torch.tensor([tokens])).logits[0]
    runner = TorchRunner(loaded)
    cache = runner.new_cache()
    steps = [runner.forward_all(cache, tokens[:600]), *(runner.forward_all(cache, [token]) for token in tokens[600:])]
    found = torch.cat(steps)
    error = float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max())
    record_property("relative error", error)
    assert error < 1e-4
    assert torch.equal(found.argmax(-1), expected.argmax(-1))


def relative_error(found, expected):
    return float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max())


@pytest.mark.slow
def test_the_compiled_runner_computes_the_same_with_the_pages_that_windows_reach():
    loaded = load_model(resolve_model("gemma3-270m").path)
    tokens = loaded.tokenizer.encode(TEXT).ids[:640]
    reference = TorchRunner(loaded)
    expected = reference.forward_all(reference.new_cache(), tokens)
    runner = CpuRunner(loaded, quantization="fp32", kv="fp32")
    pages = np.arange(40, dtype=np.int32)
    runner.allocate((40,) * len(runner.cache_groups))
    found = logits_alone(runner, tokens, pages)
    assert relative_error(found, expected) < 1e-4
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
    for position in (599, 600, 620):
        tables = tuple(
            np.where(pages < (0 if group.window is None else (position + 1 - group.window) // 16), -1, pages)[None]
            for group in runner.cache_groups
        )
        step = step_of([Row(tokens[position : position + 7], position, pages)])._replace(page_tables=tables)
        assert torch.equal(logits_of(runner, step), found[position : position + 7])


@pytest.mark.slow
def test_it_is_compiled_unless_something_else_is_asked_for():
    assert isinstance(make_runner(load_model(resolve_model("gemma3-270m").path), EngineOptions(), None), CpuRunner)


@pytest.mark.slow
@pytest.mark.parametrize("quantization", [None, "bf16", "int8", "int4"])
def test_answers_are_valid_and_the_model_s_own_in_every_format(quantization):
    schema = {
        "type": "object",
        "properties": {"capital": {"type": "string", "maxLength": 20}, "inhabitants": {"type": "integer"}},
        "required": ["capital", "inhabitants"],
    }
    prompts = [f"{TEXT[:length]}\nThe capital of France is" for length in (0, 3200)]  # 700 tokens: beyond the window
    with structgen.LLM("gemma3-270m", quantization=quantization) as llm:
        for answer in llm.generate(prompts, schema=schema, sampling_params=SamplingParams(max_tokens=60)):
            assert 0 < len(answer["capital"]) <= 20
            assert isinstance(answer["inhabitants"], int)
        assert llm.generate(prompts[0], schema=Literal["Paris", "London", "Rome", "Berlin"]) == "Paris"
        greedy = SamplingParams(max_tokens=20, temperature=0)
        alone = llm.generate(prompts[1], sampling_params=greedy)
        assert llm.generate(prompts[::-1], sampling_params=greedy)[0] == alone
