"""The compiled runner computes what the torch runner does, with the weights and pages it says it has."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from edited_weights import edited, untied, with_broken_token
from paged_steps import Row, logits_alone, logits_of, step_of

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.weights import EMBEDDING, HEAD
from structgen.engine.runner import TorchRunner
from structgen.errors import InvalidRequest, OutOfMemory, UnsupportedModel

PAGES = 12
MATRICES = r"model\.layers\.\d+\.(self_attn|mlp)\.\w+_proj\.weight"
TOKENS = np.random.default_rng(0).integers(0, 97, 60).tolist()


def runner_of(loaded: LoadedModel, quantization: str = "fp32", kv: str = "fp32", **options) -> CpuRunner:
    runner = CpuRunner(loaded, quantization=quantization, kv=kv, **options)
    runner.allocate((PAGES,) * len(runner.cache_groups))
    return runner


def expected_of(loaded: LoadedModel) -> torch.Tensor:
    reference = TorchRunner(loaded)
    return reference.forward_all(reference.new_cache(), TOKENS)


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Of the whole, as a part of its size."""
    return float((found - expected).square().mean().sqrt() / expected.square().mean().sqrt())


def quantized(loaded: LoadedModel, matrix, head, embedding=lambda weight: weight.bfloat16().float()) -> LoadedModel:
    """The model with the weights that a quantization stands for."""
    of_patterns = {MATRICES: matrix, re.escape(HEAD): head, re.escape(EMBEDDING): embedding}
    return untied(
        loaded, {name: lambda values, edit=edit: edit(torch.from_numpy(values)) for name, edit in of_patterns.items()}
    )


def as_int8(weight: torch.Tensor) -> torch.Tensor:
    scale = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scale).round() * scale


def as_int4(weight: torch.Tensor) -> torch.Tensor:
    groups = weight.view(len(weight), -1, 32)
    least, most = groups.amin(2, keepdim=True), groups.amax(2, keepdim=True)
    scale = ((most - least) / 15).half().float()
    least = least.half().float()
    return (((groups - least) / scale).round().clamp(0, 15) * scale + least).view_as(weight)


def as_bfloat16(weight: torch.Tensor) -> torch.Tensor:
    return weight.bfloat16().float()


def test_logits_are_the_torch_runner_s(case, tiny):
    loaded = load_model(tiny(case).folder)
    found, expected = logits_alone(runner_of(loaded), TOKENS, [7, 2, 0, 5]), expected_of(loaded)
    # Of a row's largest: seven layers of a Gemma give twice the spread of three of a Llama.
    assert float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max()) < 3e-5


@pytest.mark.parametrize(
    ("quantization", "matrix", "head"),
    [("bf16", as_bfloat16, as_bfloat16), ("int8", as_int8, as_int8), ("int4", as_int4, as_int8)],
)
@pytest.mark.parametrize(
    "name", ["llama2-gqa-tied", "qwen2-bias", "mistral-wide-heads", "gemma2", "gemma3-linear-rope"]
)
def test_a_quantized_model_is_the_model_of_the_weights_that_it_keeps(name, quantization, matrix, head, tiny):
    loaded = load_model(tiny(name).folder)
    found = logits_alone(runner_of(loaded, quantization), TOKENS, [7, 2, 0, 5])
    # What is left is the rounding of activations to 16 bits.
    assert error(found, expected_of(quantized(loaded, matrix, head))) < 3e-4


def test_activations_of_eight_bits_are_less_exact(tiny):
    loaded = load_model(tiny("llama2").folder)
    expected = expected_of(quantized(loaded, as_int8, as_int8))
    assert 1e-3 < error(logits_alone(runner_of(loaded, "w8a8"), TOKENS, [7, 2, 0, 5]), expected) < 0.08


@pytest.mark.parametrize(("kv", "most"), [("fp32", 1e-5), ("bf16", 0.02), ("int8", 0.05)])
@pytest.mark.parametrize("name", ["llama2", "mistral-wide-heads", "qwen3-norm", "gemma2"])
def test_keys_and_values_lose_what_their_type_cannot_hold(name, kv, most, tiny):
    loaded = load_model(tiny(name).folder)
    lost = error(logits_alone(runner_of(loaded, kv=kv), TOKENS, [7, 2, 0, 5]), expected_of(loaded))
    assert lost < most
    assert kv == "fp32" or lost > 1e-4


def test_a_bfloat16_model_runs(tiny):
    folder = tiny("llama2").folder
    found = logits_alone(runner_of(load_model(folder, dtype="bfloat16"), "bf16"), TOKENS, [1, 2, 3, 4])
    assert error(found, expected_of(load_model(folder))) < 0.05


def test_pages_of_another_size_hold_the_same(tiny):
    loaded = load_model(tiny("mistral-window").folder)
    expected = logits_alone(runner_of(loaded), TOKENS, [7, 2, 0, 5])
    assert torch.equal(logits_alone(runner_of(loaded, page_size=64), TOKENS, [3]), expected)


def test_pages_that_no_window_reaches_need_not_be_there(tiny):
    loaded = load_model(tiny("mistral-window").folder)  # eight tokens
    runner = runner_of(loaded)
    expected = logits_alone(runner, TOKENS, [7, 2, 0, 5])
    later = logits_of(runner, step_of([Row(TOKENS[50:], 50, [-1, -1, 0, 5])]))
    assert torch.equal(later, expected[50:])


@pytest.mark.parametrize(
    ("name", "groups", "windows"),
    [
        ("qwen2-upper-windows", [(0,), (1, 2)], [None, 8]),
        ("gemma2", [(0, 2), (1,)], [8, None]),
        ("gemma3", [(0, 1, 2, 3, 4, 6), (5,)], [8, None]),
    ],
)
def test_layers_with_other_windows_have_pages_of_their_own(name, groups, windows, tiny):
    loaded = load_model(tiny(name).folder)
    runner = runner_of(loaded)
    assert [group.layers for group in runner.cache_groups] == groups
    assert [group.window for group in runner.cache_groups] == windows
    assert runner.page_bytes(0) * len(groups[1]) == runner.page_bytes(1) * len(groups[0])
    expected = logits_alone(runner, TOKENS, [7, 2, 0, 5])
    tables = [[4, 3, 2, 1], [8, 9, 10, 11]]

    def run(tokens: list[int], start: int, pages: list[list[int]]) -> torch.Tensor:
        step = step_of([Row(tokens, start, pages[0])])
        return logits_of(runner, step._replace(page_tables=tuple(np.array([row], np.int32) for row in pages)))

    assert torch.equal(run(TOKENS, 0, tables), expected)
    # At position 40 no window reaches the first two pages any more; they are another sequence's by then.
    run(TOKENS[::-1][:32], 0, [[5, 6] if one is None else row[:2] for row, one in zip(tables, windows, strict=True)])
    freed = [row if one is None else [-1, -1, *row[2:]] for row, one in zip(tables, windows, strict=True)]
    assert torch.equal(run(TOKENS[40:], 40, freed), expected[40:])


def test_only_wanted_logits_are_computed(tiny):
    runner = runner_of(load_model(tiny("llama2").folder))
    everything = logits_alone(runner, TOKENS, [0, 1, 2, 3])
    rows = [Row(TOKENS, 0, [0, 1, 2, 3]), Row(TOKENS[:20], 0, [4, 5])]
    found = logits_of(runner, step_of(rows, wanted=[3, 59, 60]))
    assert torch.equal(found, everything[[3, 59, 0]])
    assert logits_of(runner, step_of(rows, wanted=[])).shape == (0, runner.vocab_size)


def test_logits_belong_to_the_caller(tiny):
    runner = runner_of(load_model(tiny("llama2").folder))
    found = logits_alone(runner, TOKENS, [0, 1, 2, 3])
    kept = found.clone()
    found.fill_(float("-inf"))
    assert torch.equal(logits_alone(runner, TOKENS, [0, 1, 2, 3]), kept)


@pytest.mark.parametrize("kv", ["fp32", "bf16", "int8"])
def test_rows_share_pages_and_go_on_in_copies(kv, tiny):
    runner = runner_of(load_model(tiny("llama2-gqa-tied").folder), "int8", kv)
    expected = logits_alone(runner, TOKENS, [0, 1, 2, 3])
    runner.copy_page(0, 1, 6)
    rows = [Row(TOKENS[20:30], 20, [0, 1]), Row(TOKENS[20:40], 20, [0, 6, 7])]
    assert torch.equal(logits_of(runner, step_of(rows)), torch.cat((expected[20:30], expected[20:40])))


def test_what_is_not_finite_stays_with_its_row(tiny):
    loaded = load_model(tiny("llama2").folder)
    broken = untied(loaded, {re.escape(EMBEDDING): with_broken_token(13)})
    for quantization, kv in (("fp32", "fp32"), ("fp32", "int8"), ("int8", "int8"), ("int4", "bf16"), ("w8a8", "bf16")):
        good = runner_of(loaded, quantization, kv)
        runner = runner_of(broken, quantization, kv)
        rows = [Row([1, 2, 3], 0, [0]), Row([4, 13, 5], 0, [1]), Row([6], 0, [2])]
        found, expected = logits_of(runner, step_of(rows)), logits_of(good, step_of(rows))
        assert torch.equal(found[[0, 1, 2, 6]], expected[[0, 1, 2, 6]])
        assert found[[4, 5]].isnan().all()
        # A page that held such numbers serves the next sequence.
        assert torch.equal(
            logits_of(runner, step_of([Row([4, 2], 0, [1])])), logits_of(good, step_of([Row([4, 2], 0, [1])]))
        )


@pytest.mark.parametrize("name", ["llama2", "gemma2-uncapped"])
@pytest.mark.parametrize("quantization", ["fp32", "bf16", "int8", "int4", "w8a8"])
def test_the_layer_with_broken_weights_is_named(quantization, name, tiny):
    loaded = load_model(tiny(name).folder)
    whole = runner_of(loaded, quantization)
    step = step_of([Row([1, 2, 3], 0, [0])], len(whole.cache_groups))
    assert whole.broken_layer(step) is None
    down = re.escape("model.layers.1.mlp.down_proj.weight")
    runner = runner_of(edited(loaded, {down: lambda values: np.full_like(values, np.nan)}), quantization)
    assert logits_of(runner, step).isnan().all()
    assert runner.broken_layer(step) == "layer 1"
    head = re.escape(HEAD)
    runner = runner_of(untied(loaded, {head: lambda values: np.full_like(values, np.inf)}), quantization)
    assert runner.broken_layer(step) == "the output projection"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row([97], 0, [0]), "vocabulary of 97"),
        (Row([-1], 0, [0]), "vocabulary of 97"),
        (Row([1, 2], 127, [0] * 9), "position 128"),
        (Row([1], 0, [PAGES]), "page is none"),
        (Row([1], 16, [0, -1]), "page is none"),
        (Row([], 0, [0]), "no tokens"),
    ],
)
def test_a_step_that_leads_out_of_the_model_is_refused(row, reason, tiny):
    runner = runner_of(load_model(tiny("llama2").folder))
    with pytest.raises(InvalidRequest, match=reason):
        logits_of(runner, step_of([row]))


def test_more_pages_than_there_is_memory_are_refused(tiny):
    runner = CpuRunner(load_model(tiny("llama2").folder))
    with pytest.raises(OutOfMemory, match="pages would fit"):
        runner.allocate((1 << 40,))


@pytest.mark.parametrize("options", [{"quantization": "int3"}, {"kv": "fp8"}, {"page_size": 24}, {"page_size": 0}])
def test_what_is_not_known_is_refused(options, tiny):
    with pytest.raises(InvalidRequest):
        CpuRunner(load_model(tiny("llama2").folder), **options)


def test_widths_that_kernels_cannot_take_are_refused(tiny):
    loaded = load_model(tiny("llama2").folder)
    odd = dataclasses.replace(loaded.description, intermediate_size=90)
    with pytest.raises(UnsupportedModel, match="intermediate_size is 90"):
        CpuRunner(dataclasses.replace(loaded, description=odd))


def test_a_profile_names_every_operation(tiny):
    runner = runner_of(load_model(tiny("llama2").folder))
    profile = runner.profile(step_of([Row(TOKENS, 0, [0, 1, 2, 3])]))
    assert len(profile) == 1 + 3 * 10 + 2
    assert {one.name for one in profile} == {"embed", "norm", "linear", "project", "attend", "quantize", "gate"}
    assert all(one.ticks >= 0 for one in profile)
    matrices = 64 * (192 + 64 + 2 * 96 + 96) * 3 + 112 * 64  # the vocabulary in whole blocks
    assert sum(one.weight_bytes for one in profile) == 4 * matrices


FORKS = """
import os, sys, torch
from edited_weights import edited, untied, with_broken_token
from paged_steps import Row, logits_alone, logits_of
from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model
runner = CpuRunner(load_model(sys.argv[1]), threads=2)
runner.allocate((4,))
before = logits_alone(runner, [1, 2, 3], [0])
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(logits_alone(runner, [1, 2, 3], [0]), before) else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.equal(logits_alone(runner, [1, 2, 3], [0]), before)
print("equal")
"""


def test_a_forked_process_has_a_team_of_its_own(tiny):
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(tiny("llama2").folder)]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.stdout == "equal\n", done.stderr
