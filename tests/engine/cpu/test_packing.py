"""Weights are laid out the same in any order of their parts, and rounded as torch rounds."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest
import torch
from held_matrix import matrix_of
from hypothesis import given
from hypothesis import strategies as st

from structgen.engine.cpu.kernels.linear import BYTES_OF_WEIGHT
from structgen.engine.cpu.memory import Memory
from structgen.engine.cpu.packing import Linear, bfloat16_bits, plan, plan_rows


def laid_out(linear: Linear) -> np.ndarray:
    size = int(linear.blocks * 16 * linear.depth * BYTES_OF_WEIGHT[linear.form])
    return np.array((ctypes.c_uint8 * size).from_address(linear.weights))


def weights(features, inputs):
    return np.random.default_rng(1).normal(0, 1, (features, inputs)).astype(np.float32)


@pytest.mark.parametrize("quantization", ["fp32", "bf16", "int8", "int4"])
@pytest.mark.parametrize(("features", "inputs"), [(16, 32), (4096, 576), (1050, 608), (32, 40)])
def test_parts_of_a_layer_are_filled_in_any_order(features, inputs, quantization):
    found, memory = [], Memory()
    for seed in range(2):
        linear, fills = plan(memory, matrix_of(weights(features, inputs)), None, quantization)
        random.Random(seed).shuffle(fills)
        for fill in fills:
            fill()
        found.append(laid_out(linear))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("is_short", [False, True])
def test_a_table_has_its_rows(is_short):
    memory, rows = Memory(), weights(1500, 576)
    address, fills = plan_rows(memory, matrix_of(rows), is_short=is_short)
    for fill in reversed(fills):
        fill()
    kind = ctypes.c_uint16 if is_short else ctypes.c_float
    found = np.array((kind * rows.size).from_address(address)).reshape(rows.shape)
    np.testing.assert_array_equal(found, bfloat16_bits(rows) if is_short else rows)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1))
def test_bfloat16_is_torch_s(bits):
    values = np.array(bits, np.uint32).view(np.float32)
    found = torch.from_numpy(bfloat16_bits(values).view(np.int16)).view(torch.bfloat16)
    assert torch.equal(found.isnan(), torch.from_numpy(values).isnan())
    kept = ~found.isnan()
    assert torch.equal(found[kept], torch.from_numpy(values).bfloat16()[kept])
