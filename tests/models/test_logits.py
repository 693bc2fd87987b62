"""Logits equal those of transformers, however a sequence is cut into calls."""

from __future__ import annotations

import copy

import pytest
import torch

from structgen.engine.models import load_model
from structgen.engine.runner import TorchRunner

TOKENS = torch.randint(0, 97, (100,), generator=torch.Generator().manual_seed(1)).tolist()
TOLERANCE = 1e-4


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference of a token's logits, against that token's largest logit."""
    return float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max())


def run(runner: TorchRunner, chunks: list[int]) -> torch.Tensor:
    cache, logits, start = runner.new_cache(), [], 0
    for size in chunks:
        logits.append(runner.forward_all(cache, TOKENS[start : start + size]))
        start += size
    assert cache.length == start
    return torch.cat(logits)


CUTS = {
    "prefill": [100],
    "step by step": [1] * 100,
    "prefill, then step by step": [60] + [1] * 40,
    "chunks": [7, 1, 40, 3, 49],
}


def test_logits_are_those_of_transformers(case, tiny, record_property):
    model = tiny(case)
    runner = TorchRunner(load_model(model.folder))
    expected = model.expected(TOKENS)
    for cut, chunks in CUTS.items():
        error = relative_error(run(runner, chunks), expected)
        record_property(cut, error)
        print(f"{case:20} {cut:28} relative error {error:.1e}")
        assert error < TOLERANCE


@pytest.mark.parametrize("name", ["llama2-gqa-tied", "qwen3-norm"])
def test_sharded_weights_give_the_same_logits(name, tiny, build_tiny, tmp_path):
    sharded = build_tiny(name, tmp_path, max_shard_size="60KB")
    assert len(list(sharded.folder.glob("*.safetensors"))) > 2
    one = TorchRunner(load_model(tiny(name).folder))
    many = TorchRunner(load_model(sharded.folder))
    assert torch.equal(run(many, [100]), run(one, [100]))


def test_bfloat16_is_as_close_to_float32_as_that_of_transformers(case, tiny, record_property):
    model = tiny(case)
    expected = model.expected(TOKENS)
    theirs = model._replace(reference=copy.deepcopy(model.reference).bfloat16()).expected(TOKENS).float()
    runner = TorchRunner(load_model(model.folder, dtype="bfloat16"))
    for cut, chunks in CUTS.items():
        ours = run(runner, chunks)
        assert ours.dtype == torch.float32
        ratio = float((ours - expected).norm() / (theirs - expected).norm())
        record_property(cut, ratio)
        assert ratio < 1.3


def test_forward_gives_the_last_row_of_forward_all(tiny):
    runner = TorchRunner(load_model(tiny("qwen2-bias").folder))
    last = runner.forward(runner.new_cache(), TOKENS)
    every = runner.forward_all(runner.new_cache(), TOKENS)
    assert last.shape == (runner.vocab_size,)
    assert relative_error(last[None], every[-1:]) < 1e-6


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("llama3-rope", {"rope_theta": 10000.0, "rope_scaling": {"rope_type": "llama3", **LLAMA3}}),
        ("llama-linear-rope", {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 4.0}}),
        ("llama2", {"rope_theta": 10000.0, "rope_scaling": None}),
        ("llama2", {}),
    ],
)
def test_rope_reads_the_same_in_the_spelling_of_older_versions(name, old, tiny, build_tiny, edit_config, tmp_path):
    model = build_tiny(name, tmp_path)
    edit_config(model.folder, "rope_parameters", **old)
    assert load_model(model.folder).description == load_model(tiny(name).folder).description
