from __future__ import annotations

import numpy as np
import pytest
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from structgen.engine.weights.dequantization import SUPPORTED_TYPES, dequantize

KINDS = sorted(SUPPORTED_TYPES, key=lambda kind: kind.name)
F16_PLACES = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 1],
    "Q5_0": [0],
    "Q5_1": [0, 1],
    "Q4_K": [0, 1],
    "Q5_K": [0, 1],
    "Q6_K": [104],
}


def random_blocks(kind: GGMLQuantizationType, count: int, seed: int) -> np.ndarray:
    """Random bytes with ordinary scales: uint8 [count * bytes of a block]."""
    generator = np.random.default_rng(seed)
    size = GGML_QUANT_SIZES[kind][1]
    if kind.name in ("F32", "F16"):
        return generator.standard_normal(count).astype(f"f{size}").view(np.uint8)
    if kind.name == "BF16":
        return quants.quantize(generator.standard_normal(count).astype(np.float32), kind).view(np.uint8).ravel()
    blocks = generator.integers(0, 256, (count, size), dtype=np.uint8)
    for place in F16_PLACES[kind.name]:
        blocks.view(np.float16)[:, place] = generator.standard_normal(count)
    return blocks.ravel()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_type_is_bit_equal_to_the_reference(kind):
    blocks = random_blocks(kind, 5000, seed=kind.value)
    expected = quants.dequantize(blocks, kind)
    assert np.array_equal(dequantize(blocks, kind), expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_any_bytes_at_all_are_bit_equal_to_the_reference(kind):
    blocks = np.random.default_rng(1).integers(0, 256, 500 * GGML_QUANT_SIZES[kind][1], dtype=np.uint8)
    with np.errstate(all="ignore"):
        expected = quants.dequantize(blocks, kind)
    assert np.array_equal(dequantize(blocks, kind), expected, equal_nan=True)


def test_many_chunks_are_as_one():
    kind = GGMLQuantizationType.Q4_1
    blocks = random_blocks(kind, 70_000, seed=3)  # 2.2 million elements
    assert np.array_equal(dequantize(blocks, kind), quants.dequantize(blocks, kind))
