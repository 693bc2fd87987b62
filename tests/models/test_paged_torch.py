"""Logits from pages equal those of one sequence alone, however sequences are cut, mixed, shared and placed."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from edited_weights import edited, with_broken_token
from paged_steps import logits_of
from random_steps import relative_error, run

from structgen.engine.batching import build_batch
from structgen.engine.kv import KVManager
from structgen.engine.models import load_model
from structgen.engine.models.weights import EMBEDDING
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.engine.runner import TorchRunner
from structgen.engine.scheduler import Row
from structgen.engine.task import Task

TOKENS = torch.randint(0, 97, (4, 60), generator=torch.Generator().manual_seed(1)).tolist()


@pytest.mark.parametrize("page_size", [4, 16])
def test_logits_are_those_of_a_sequence_alone(case, tiny, page_size):
    loaded = load_model(tiny(case).folder)
    reference, runner = TorchRunner(loaded), TorchPagedRunner(loaded, page_size=page_size)
    sequences = [*TOKENS, TOKENS[0][:40] + TOKENS[1][:20]]
    for seed in range(3):
        shared = 0
        for tokens, (first, logits) in zip(sequences, run(runner, sequences, seed), strict=True):
            expected = reference.forward_all(reference.new_cache(), tokens)
            assert relative_error(logits, expected[first:]) < 1e-4
            shared += first
    assert runner.page_bytes(0) == len(runner.cache_groups[0].layers) * 2 * page_size * 4 * (
        loaded.description.num_key_value_heads * loaded.description.head_dim
    )


@pytest.mark.parametrize("name", ["llama3-rope", "mistral-window"])
@pytest.mark.parametrize(("dtype", "close"), [(torch.bfloat16, 0.02), (torch.int8, 0.03)])
def test_what_is_stored_is_what_is_used(name, dtype, close, tiny):
    """Rounded keys and values are seen by the step that computes them too, so how it is cut changes nothing."""
    loaded = load_model(tiny(name).folder)
    runner = TorchPagedRunner(loaded, page_size=8, kv_dtype=dtype)
    one, other = (run(runner, TOKENS[:1], seed)[0][1] for seed in (0, 1))
    reference = TorchRunner(loaded)
    exact = reference.forward_all(reference.new_cache(), TOKENS[0])
    error = float((one - exact).norm() / exact.norm())
    print(error)
    assert float((one - other).norm() / exact.norm()) < error / 20
    assert 1e-4 < error < close
    bits = {torch.bfloat16: 16, torch.int8: 8}[dtype]
    description, group = loaded.description, runner.cache_groups[0]
    scales = 4 if dtype == torch.int8 else 0
    entry = description.head_dim * bits // 8 + scales
    assert runner.page_bytes(0) == len(group.layers) * 2 * 8 * description.num_key_value_heads * entry


def test_a_fork_goes_on_from_a_copied_page(tiny):
    loaded = load_model(tiny("llama2").folder)
    runner, reference = TorchPagedRunner(loaded, page_size=8, kv_dtype=torch.int8), TorchRunner(loaded)
    runner.allocate((20,))
    kv = KVManager(runner.cache_groups, [20], 8)
    task = Task(kv.new_sequence(TOKENS[0][:13]), arrival=0)
    assert kv.open(task.sequence) is not None

    def step(task, length):
        for group, source, target in kv.extend(task.sequence, length):
            runner.copy_page(group, source, target)
        logits = logits_of(runner, build_batch([Row(task, task.sequence.computed, length)], 8))
        kv.advance(task.sequence, length)
        return logits[0]

    step(task, 12)
    fork = Task(kv.fork(task.sequence, [*TOKENS[0][:12], 50]), arrival=1)
    found = step(fork, 1), step(task, 1)
    for tokens, logits in zip(([*TOKENS[0][:12], 50], TOKENS[0][:13]), found, strict=True):
        expected = reference.forward(reference.new_cache(), tokens)
        assert relative_error(logits[None], expected[None]) < 0.03


@pytest.mark.parametrize("kv_dtype", [torch.float32, torch.int8])
def test_a_number_that_is_not_finite_stays_in_its_row_and_its_layer_is_named(tiny, kv_dtype):
    loaded = load_model(tiny("llama2").folder)
    broken = edited(loaded, {re.escape(EMBEDDING): with_broken_token(50)})
    runner = TorchPagedRunner(broken, kv_dtype=kv_dtype)
    runner.allocate((20,))
    kv = KVManager(runner.cache_groups, [20], 16)
    rows = []
    for arrival, tokens in enumerate(([1, 2, 3], [4, 50, 6, 7], [8])):
        sequence = kv.new_sequence(tokens)
        assert kv.open(sequence) is not None
        rows.append(Row(Task(sequence, arrival=arrival), 0, len(tokens)))
    logits = logits_of(runner, build_batch(rows, 16))
    assert logits.isfinite().all(dim=-1).tolist() == [True, False, True]
    assert runner.broken_layer(build_batch(rows[1:2], 16)) == "the embedding"
    assert runner.broken_layer(build_batch(rows[:1], 16)) is None


@pytest.mark.parametrize("layer", [0, 2])
def test_a_broken_layer_is_found(tiny, layer):
    loaded = load_model(tiny("llama2").folder)
    down = re.escape(f"model.layers.{layer}.mlp.down_proj.weight")
    runner = TorchPagedRunner(edited(loaded, {down: lambda values: np.full_like(values, 1e38)}))
    runner.allocate((2,))
    kv = KVManager(runner.cache_groups, [2], 16)
    sequence = kv.new_sequence([1, 2, 3])
    assert kv.open(sequence) is not None
    batch = build_batch([Row(Task(sequence, arrival=0), 0, 3)], 16)
    assert not logits_of(runner, batch).isfinite().all()
    assert runner.broken_layer(batch) == f"layer {layer}"


def test_layers_that_see_as_far_are_one_group(tiny):
    runner = TorchPagedRunner(load_model(tiny("qwen2-upper-windows").folder))
    assert [tuple(group) for group in runner.cache_groups] == [((0,), None), ((1, 2), 8)]
