"""Weights laid out over themselves are those laid out elsewhere."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch

from structgen.engine.cpu.packing import Memory, pack


def floats(one):
    count = one.blocks * 16 * one.depth
    return np.array((ctypes.c_float * count).from_address(one.weights))


def weights(features, inputs):
    return torch.from_numpy(np.random.default_rng(1).normal(0, 1, (features, inputs)).astype(np.float32))


@pytest.mark.parametrize(("features", "inputs"), [(16, 32), (48, 96), (4096, 576), (50, 96), (32, 40)])
def test_a_layer_laid_out_in_place_is_the_same(features, inputs):
    memories = Memory(), Memory(consume=True)
    plain, own = (pack(memory, weights(features, inputs), None, "fp32") for memory in memories)
    np.testing.assert_array_equal(floats(own), floats(plain))
    assert memories[1].nbytes == 4 * own.blocks * 16 * own.depth


def test_no_new_memory_is_taken_for_what_fits_its_place():
    weight = weights(64, 96)
    assert pack(Memory(consume=True), weight, None, "fp32").weights == weight.data_ptr()


@pytest.mark.parametrize("quantization", ["fp32", "bf16", "int8", "int4"])
def test_what_is_shared_or_not_given_away_stays_as_it_was(quantization):
    weight = weights(64, 96)
    pack(Memory(), weight, None, quantization)
    pack(Memory(consume=True), weight, None, quantization, shared=True)
    assert torch.equal(weight, weights(64, 96))
