"""Integers of 4 bits come out of a file as they are in it."""

from __future__ import annotations

import numpy as np
import pytest
from gguf import GGMLQuantizationType, dequantize
from gguf.constants import GGML_QUANT_SIZES
from gguf_files import llama_tensors, write_gguf
from hypothesis import given
from hypothesis import strategies as st

from structgen.engine.weights import open_checkpoint
from structgen.engine.weights.dequantization import SUPPORTED_TYPES
from structgen.engine.weights.groups import groups_of_blocks

EXACT = [GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q4_1]
SCALES = {GGMLQuantizationType.Q4_0: 1, GGMLQuantizationType.Q4_1: 2, GGMLQuantizationType.Q4_K: 2}
"""Numbers of 16 bits that a block begins with."""


def random_blocks(kind: GGMLQuantizationType, count: int, seed: int) -> np.ndarray:
    """Any integers under any finite scales, negative ones too."""
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (count, GGML_QUANT_SIZES[kind][1]), np.uint8)
    scales = random.normal(0, 10.0 ** random.integers(-5, 2), (count, SCALES[kind])).astype(np.float16)
    blocks[:, : 2 * SCALES[kind]] = scales.view(np.uint8)
    return blocks


def values_of(groups) -> np.ndarray:
    codes = groups.codes.reshape(*groups.scales.shape, 32).astype(np.float64)
    values = codes * groups.scales[:, :, None].astype(np.float64) + groups.minima[:, :, None].astype(np.float64)
    return values.reshape(groups.codes.shape)


@pytest.mark.parametrize("kind", EXACT)
@given(rows=st.integers(1, 5), columns=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_what_they_stand_for_is_what_the_file_says(kind, rows, columns, seed):
    blocks = random_blocks(kind, rows * columns, seed)
    found = values_of(groups_of_blocks(blocks.reshape(-1), kind, rows))
    np.testing.assert_array_equal(found.astype(np.float32), dequantize(blocks, kind).reshape(rows, 32 * columns))


@given(rows=st.integers(1, 5), columns=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_of_blocks_with_scales_of_more_bits_the_codes_are_kept(rows, columns, seed):
    kind = GGMLQuantizationType.Q4_K
    blocks = random_blocks(kind, rows * columns, seed)
    groups = groups_of_blocks(blocks.reshape(-1), kind, rows)
    expected = dequantize(blocks, kind).reshape(rows, 256 * columns)
    # Two products are rounded to float16: to half of a last place, which is 2^-25 at the least.
    most = 15 * np.abs(groups.scales).astype(np.float64) + np.abs(groups.minima)
    allowed = np.repeat(most * 2.0**-11 + 16 * 2.0**-25, 32, axis=1) + 1e-6 * np.abs(expected)
    assert (np.abs(values_of(groups) - expected) <= allowed).all()


def test_every_type_of_four_bits_is_tested():
    assert {kind for kind in SUPPORTED_TYPES if kind.name.startswith("Q4")} == {*EXACT, GGMLQuantizationType.Q4_K}


@pytest.mark.parametrize("kind", EXACT)
def test_a_file_gives_them_in_the_order_of_its_tensors(tmp_path, kind):
    tensors = llama_tensors()
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=tensors, kind=kind)) as checkpoint:
        matrices = {name for name in tensors if ".layers." in name and tensors[name].ndim == 2}
        assert {name for name in tensors if checkpoint.bits(name) == 4} == matrices
        for name in matrices:
            expected = checkpoint.tensor(name)
            found = checkpoint.groups(name, 0, len(expected))
            np.testing.assert_array_equal(values_of(found).astype(np.float32), expected)
            some = checkpoint.groups(name, 3, 8)
            np.testing.assert_array_equal(values_of(some).astype(np.float32), expected[3:11])


def test_other_types_have_none(tmp_path):
    tensors = llama_tensors()
    path = write_gguf(tmp_path / "m.gguf", tensors=tensors, kind=GGMLQuantizationType.Q8_0)
    with open_checkpoint(path) as checkpoint:
        assert {checkpoint.bits(name) for name in tensors} == {8, None}
