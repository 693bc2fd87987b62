"""Linear layers: integer sums are exact in every form, and no tile changes an output."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from held_matrix import pack
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen._compiled.build import Processor, assembly
from structgen._compiled.entries import add_entry, prepare
from structgen._compiled.kernel import Address
from structgen.engine.cpu import layout
from structgen.engine.cpu.interpreter import run_program
from structgen.engine.cpu.kernels.activations import FLOATS, GROUPS, PAIRS, QUADS, QUADS_SIGNED
from structgen.engine.cpu.kernels.linear import SHORT_FLOATS, linear, panel_bytes
from structgen.engine.cpu.memory import Memory
from structgen.engine.cpu.packing import Linear
from structgen.errors import InvalidRequest


def multiply(operands: Address, step: Address, form: int) -> None:
    """Every form, whatever the processor has."""
    if form == FLOATS:
        linear(FLOATS, operands, step, 0)
    elif form == SHORT_FLOATS:
        linear(SHORT_FLOATS, operands, step, 0)
    elif form == PAIRS:
        linear(PAIRS, operands, step, 0)
    elif form == QUADS:
        linear(QUADS, operands, step, 0)
    elif form == QUADS_SIGNED:
        linear(QUADS_SIGNED, operands, step, 0)
    else:
        linear(GROUPS, operands, step, 0)


entry = add_entry(multiply, "structgen.engine.cpu")
MEMORY = Memory()
"""Weights live as long as what holds them."""


@pytest.fixture(scope="module", autouse=True)
def compile_all() -> None:
    """Before hypothesis looks at the clock."""
    prepare("structgen.engine.cpu")


def outputs(one: Linear, activations: np.ndarray, scales: np.ndarray, sums: np.ndarray, begin: int = 0) -> np.ndarray:
    """Run a layer over rows; ``activations`` are in the layer's form."""
    step = np.zeros(layout.STEP_SIZE, np.int64)
    found = np.zeros((len(activations), one.blocks * 16), np.float32)
    step[layout.TOKENS], step[layout.MEMBERS] = len(activations), 1
    scratch = np.empty(panel_bytes(one.depth), np.uint8)
    step[layout.SCRATCH], step[layout.SCRATCH_BYTES] = scratch.ctypes.data, len(scratch)
    places = {layout.ACTIVATIONS: activations, layout.SCALES: scales, layout.SUMS: sums, layout.LOGITS: found}
    for place, array in places.items():
        step[place] = array.ctypes.data
    row = [0, 0, one.weights, one.blocks, one.depth, layout.LOGITS, found.shape[1], one.bias, one.scales, 0, 0]
    operands = np.array([*row, begin or one.begin, 0, 0, 0, 0], np.int64)
    entry(operands.ctypes.data, step.ctypes.data, one.form)
    return found


def random_integers(seed: int, rows: int, depth: int, limit: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-limit, limit + 1, (rows, depth))


sizes = st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(1, 80), st.integers(0, 99))


def int8_weights(features: int, inputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Integers that reach 127 in every channel, so that they are what is kept of them."""
    integers = random_integers(seed, features, inputs, 127)
    integers[:, 0] = np.where(seed % 2, -127, 127)
    return integers, integers.astype(np.float32)


@settings(deadline=None, max_examples=50)
@given(sizes)
def test_sums_of_eight_and_sixteen_bits_are_exact(size):
    rows, features, inputs, seed = size
    integers, weight = int8_weights(features, inputs, seed)
    one = pack(MEMORY, weight, None, "int8")
    assert one.form == PAIRS
    limit = min(one.limit, 2**24 // (127 * inputs))  # what a float holds exactly
    activations = np.zeros((rows, one.depth), np.int16)
    activations[:, :inputs] = random_integers(seed + 1, rows, inputs, limit)
    found = outputs(one, activations, np.ones(rows, np.float32), np.zeros(0))
    np.testing.assert_array_equal(found[:, :features], activations[:, :inputs].astype(np.int64) @ integers.T)


@settings(deadline=None, max_examples=50)
@given(sizes, st.sampled_from([QUADS, QUADS_SIGNED]))
def test_products_of_bytes_give_the_sums_of_pairs(size, form):
    rows, features, inputs, seed = size
    integers, _ = int8_weights(features, inputs, seed)
    blocks, depth = -(-features // 16), -(-inputs // 32) * 32
    padded = np.zeros((blocks * 16, depth), np.int8)
    padded[:features, :inputs] = integers
    layed_out = np.ascontiguousarray(padded.reshape(blocks, 16, depth // 4, 4).transpose(0, 2, 1, 3))
    activations = np.zeros((rows, depth), np.int64)
    activations[:, :inputs] = random_integers(seed + 1, rows, inputs, 127)
    begin = -128 * padded.sum(1, dtype=np.int32) if form == QUADS else np.zeros(blocks * 16, np.int32)
    stored = (activations + 128).astype(np.uint8) if form == QUADS else activations.astype(np.int8)
    scales = np.ones(blocks * 16, np.float32)
    addresses = (layed_out.ctypes.data, blocks, depth, 0, scales.ctypes.data, begin.ctypes.data)
    one = Linear(form, 127, *addresses)
    found = outputs(one, stored, np.ones(rows, np.float32), np.zeros(0))
    np.testing.assert_array_equal(found[:, :features], activations[:, :inputs] @ integers.T)


def q4_1(features: int, inputs: int, seed: int) -> np.ndarray:
    """Weights as a file of type Q4_1 holds them: each block has its least and its greatest integer."""
    random = np.random.default_rng(seed)
    quants = random.integers(0, 16, (features, inputs // 32, 32))
    quants[:, :, 3], quants[:, :, 17] = 0, 15
    scale, least = (random.normal(0, 1, (features, inputs // 32, 1)).astype(np.float16) for _ in range(2))
    weights = quants.astype(np.float32) * np.abs(scale).astype(np.float32) + least.astype(np.float32)
    return weights.reshape(features, inputs)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 13), st.integers(1, 40), st.integers(1, 4), st.integers(0, 99))
def test_weights_of_a_q4_1_file_are_kept_exactly(rows, features, groups, seed):
    weight = q4_1(features, 32 * groups, seed)
    one = pack(MEMORY, weight, None, "int4")
    # Each row picks one input, so that outputs are single weights.
    chosen = np.random.default_rng(seed).integers(0, 32 * groups, rows)
    activations = np.zeros((rows, one.depth), np.int16)
    activations[np.arange(rows), chosen] = 1
    scales = np.ones((rows, groups), np.float32)
    sums = activations.reshape(rows, groups, 32).sum(2, dtype=np.float32)
    found = outputs(one, activations, scales, sums)
    np.testing.assert_allclose(found[:, :features], weight[:, chosen].T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("quantization", ["fp32", "bf16", "int8", "int4"])
def test_no_tile_changes_an_output(quantization):
    random = np.random.default_rng(3)
    weight, bias = random.normal(0, 1, (50, 96)).astype(np.float32), np.ones(50, np.float32)
    one = pack(MEMORY, weight, bias, quantization)
    dtype = np.float32 if one.activations == FLOATS else np.int16
    activations = random.normal(0, 100, (64, one.depth)).astype(dtype)
    scales, sums = random.normal(0, 1, (2, 64, one.depth // 32)).astype(np.float32)
    scales = scales if one.form == GROUPS else np.ascontiguousarray(scales[:, 0])
    whole = outputs(one, activations, scales, sums)
    for first in range(64):
        for count in (1, 2, 3, 4, 5, 6, 7, 13):
            part = slice(first, min(first + count, 64))
            some = outputs(one, activations[part], scales[part], sums[part])
            np.testing.assert_array_equal(some, whole[part])


def test_float_layers_are_matrix_products():
    random = np.random.default_rng(4)
    weight = random.normal(0, 1, (50, 96)).astype(np.float32)
    activations = random.normal(0, 1, (10, 96)).astype(np.float32)
    for quantization, exact in (("fp32", weight), ("bf16", torch.from_numpy(weight).bfloat16().float().numpy())):
        found = outputs(pack(MEMORY, weight, None, quantization), activations, np.zeros(0), np.zeros(0))
        np.testing.assert_allclose(found[:, :50], activations @ exact.T, rtol=1e-5, atol=1e-4)


def test_a_quantization_that_is_not_known_is_refused():
    with pytest.raises(InvalidRequest, match="int3"):
        pack(MEMORY, np.ones((16, 32), np.float32), None, "int3")


def multiply_bytes(operands: Address, step: Address) -> None:
    linear(QUADS, operands, step, 0)


def test_unsigned_bytes_are_multiplied_four_at_once_where_there_is_an_instruction():
    vnni = Processor("x86_64-unknown-linux-gnu", "icelake-server", "+avx2,+avx512f,+avx512bw,+avx512vnni")
    assert "vpdpbusd" in assembly({"multiply_bytes": multiply_bytes}, vnni)


def test_the_whole_interpreter_compiles_for_a_processor_of_another_kind():
    arm = Processor("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+dotprod")
    assert "sdot" in assembly({"run_program": run_program.__wrapped__}, arm)
