"""The real model: SmolLM2's GGUF file against transformers' reading of it."""

from __future__ import annotations

import pytest
import torch

from structgen.engine.models import load_model
from structgen.engine.runner import TorchRunner

pytestmark = pytest.mark.model

TEXT = '''The lighthouse keeper's logbook, 14 March 1911. Wind from the north-west, rising since noon; the barometer
fell from 29.8 to 29.1 inches in four hours. Two trawlers passed at dusk, both making for the harbour. "If it holds,"
said my brother, "we shall not see the supply boat before Thursday." We counted what was left: flour for nine days, oil
for six, and one tin of Grüße aus Köln that nobody had dared to open. 今日は海が荒れている。

def fibonacci(n: int) -> list[int]:
    """Return the first n Fibonacci numbers."""
    numbers = [0, 1]
    while len(numbers) < n:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers[:n]

{"city": "Stockholm", "unit": "celsius", "days": [1, 2, 3]}
'''


@pytest.fixture(scope="module")
def runner(smollm2):
    return TorchRunner(load_model(smollm2))


@pytest.fixture(scope="module")
def tokens(smollm2):
    return load_model(smollm2).tokenizer.encode(TEXT).ids


@pytest.mark.slow
def test_logits_on_real_text_are_those_of_transformers(smollm2, runner, tokens, record_property):
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(
        smollm2.parent, gguf_file=smollm2.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        expected = model(torch.tensor([tokens])).logits[0]
    cache = runner.new_cache()
    steps = [runner.forward_all(cache, tokens[:-60]), *(runner.forward_all(cache, [token]) for token in tokens[-60:])]
    for cut, found in (
        ("prefill", runner.forward_all(runner.new_cache(), tokens)),
        ("prefill, then step by step", torch.cat(steps)),
    ):
        error = float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max())
        record_property(cut, error)
        print(f"smollm2 over {len(tokens)} tokens, {cut}: relative error {error:.1e}")
        assert error < 1e-4
        assert torch.equal(found.argmax(-1), expected.argmax(-1))


def test_it_knows_a_capital(smollm2, runner):
    tokenizer = load_model(smollm2).tokenizer
    logits = runner.forward(runner.new_cache(), tokenizer.encode("The capital of France is").ids)
    assert tokenizer.decode([int(logits.argmax())]) == " Paris"


def test_bfloat16_is_close_to_float32(smollm2, runner, tokens):
    tokens = tokens[:64]
    exact = runner.forward_all(runner.new_cache(), tokens).log_softmax(-1)
    rounded_runner = TorchRunner(load_model(smollm2, dtype="bfloat16"))
    rounded = rounded_runner.forward_all(rounded_runner.new_cache(), tokens).log_softmax(-1)
    divergence = torch.nn.functional.kl_div(rounded, exact, reduction="none", log_target=True).sum(-1)
    assert divergence.mean() < 0.01
