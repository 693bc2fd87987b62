"""A model that does not fit is refused before its weights are read, and the message says what would fit."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from edited_weights import NoWeights

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.footprint import WeightFormat, check_fit, footprint
from structgen.engine.memory import MemoryLimits, parse_size
from structgen.engine.models.loading import LoadedModel, load_model
from structgen.errors import OutOfMemory

GIB = 1 << 30
FP32, INT8, BFLOAT16 = WeightFormat(None, "float32"), WeightFormat("int8", "float32"), WeightFormat(None, "bfloat16")


class Files(NoWeights):
    """Matrices of so many bits."""

    def __init__(self, bits: int | None) -> None:
        self._bits = bits

    def bits(self, name: str) -> int | None:
        return self._bits


FLOATS = Files(None)


@pytest.fixture
def limits(tmp_path):
    """A function that gives the limits of a process in a control group with so much left, of a system with 64 GiB."""

    def of_group(left: int) -> MemoryLimits:
        (tmp_path / "meminfo").write_text(f"MemTotal: {1 << 27} kB\nMemAvailable: {1 << 26} kB\n")
        (tmp_path / "memory.max").write_text(f"{left + 5 * GIB}\n")
        (tmp_path / "memory.current").write_text(f"{5 * GIB}\n")
        return MemoryLimits(proc=tmp_path, cgroup=tmp_path)

    return of_group


@pytest.fixture(scope="module")
def large(loaded):
    """The description of a Llama of 8e9 weights."""
    return replace(
        loaded.description,
        vocab_size=128_256,
        hidden_size=4096,
        intermediate_size=14_336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        sliding_windows=(None,) * 32,
    )


def test_the_bound_that_leaves_least_is_what_is_there(limits, tmp_path):
    assert limits(3 * GIB).available() == 3 * GIB
    assert limits(-GIB).available() == 0
    assert limits(1 << 50).available() == 64 * GIB
    (tmp_path / "memory.max").write_text("max\n")
    assert MemoryLimits(proc=tmp_path, cgroup=tmp_path).available() == 64 * GIB


def test_a_model_that_fits_is_let_through(large, limits):
    for weights in (FP32, INT8, BFLOAT16):
        check_fit(large, weights, GIB, FLOATS, limits(40 * GIB))
    check_fit(large, BFLOAT16, None, FLOATS, limits(17 * GIB))


def test_what_is_needed_what_is_there_and_what_fits_are_said(large, limits):
    with pytest.raises(OutOfMemory) as caught:
        check_fit(large, FP32, None, FLOATS, limits(20 * GIB))
    assert re.fullmatch(
        r"dtype='float32': the weights take [\d.]+ GiB, "
        r"and 20 GiB are free; what fits: quantization='int8' \(7[\d.]+ GiB\), .*, dtype='bfloat16' \([\d.]+ GiB\)",
        str(caught.value),
    )
    with pytest.raises(OutOfMemory, match=r"free; no format of this model fits; use a smaller one$"):
        check_fit(large, INT8, None, FLOATS, limits(2 * GIB))


def test_less_memory_for_keys_and_values_is_proposed_and_does_fit(large, limits):
    with pytest.raises(OutOfMemory, match=r"GiB, kv_memory 30 GiB beside them, and 36 GiB are free") as caught:
        check_fit(large, INT8, 30 * GIB, FLOATS, limits(36 * GIB))
    found = re.search(r"what fits: kv_memory of at most ([\d.]+ GiB), quantization='int4' \(", str(caught.value))
    assert found
    most = parse_size(found[1])
    check_fit(large, INT8, most - GIB // 100, FLOATS, limits(36 * GIB))
    with pytest.raises(OutOfMemory):
        check_fit(large, INT8, most + GIB // 100, FLOATS, limits(36 * GIB))


def test_what_a_file_has_in_more_than_four_bits_is_kept_in_eight(large):
    int4, sizes = WeightFormat("int4", "float32"), [footprint(large, INT8, FLOATS)]
    sizes += [footprint(large, int4, Files(bits)) for bits in (8, 5, 4, None)]
    assert sizes[0] == sizes[1] == sizes[2] > 1.2 * sizes[3]
    assert sizes[3] == sizes[4]


@pytest.mark.model
@pytest.mark.parametrize("weights", [FP32, INT8, BFLOAT16, WeightFormat("int4", "float32")])
def test_what_is_foreseen_is_what_a_runner_holds(smollm2: Path, weights):
    loaded = load_model(smollm2, dtype=weights.dtype)
    assert isinstance(loaded, LoadedModel)
    foreseen = footprint(loaded.description, weights, loaded.weights)
    held = CpuRunner(loaded, quantization=weights.form).weight_bytes
    assert foreseen <= held < foreseen + 3 * (64 << 20)  # the last pieces of memory are not full
