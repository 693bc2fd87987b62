"""The real Gemma 3 270M: its GGUF file against transformers' reading of it."""

from __future__ import annotations

import pytest
import torch

from structgen.engine.models import load_model
from structgen.engine.runner import TorchRunner
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
