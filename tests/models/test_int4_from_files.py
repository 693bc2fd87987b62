"""Weights that a file holds in 4 bits are the file's own in the compiled runner, not rounded again."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from edited_weights import edited, untied
from gguf import GGMLQuantizationType
from gguf_files import CONFIG, llama_tensors, tokenizer_fields, write_gguf
from paged_steps import logits_alone

from structgen.engine.cpu.int4 import int4_layout
from structgen.engine.cpu.kernels.linear import GROUP_BYTES
from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.weights import EMBEDDING, HEAD
from structgen.engine.runner import TorchRunner
from structgen.engine.weights.groups import Groups

TOKENS = np.random.default_rng(0).integers(0, CONFIG["vocab_size"], 40).tolist()


def model_of(folder, kind: GGMLQuantizationType) -> LoadedModel:
    """A Llama whose matrices lie in blocks of one kind."""
    letters = [chr(256 + place) for place in range(CONFIG["vocab_size"])]
    vocabulary = tokenizer_fields("gpt2", letters, [1] * len(letters), merges=[], pre="smollm")
    loaded = load_model(write_gguf(folder / "m.gguf", tensors=llama_tensors(), kind=kind, fields=vocabulary))
    assert isinstance(loaded, LoadedModel)
    return loaded


def as_int8(values: np.ndarray) -> np.ndarray:
    scale = np.abs(values).max(1, keepdims=True) / np.float32(127)
    return np.rint(values / scale) * scale


def as_bfloat16(values: np.ndarray) -> np.ndarray:
    return torch.from_numpy(values).bfloat16().float().numpy()


def error_of(loaded: LoadedModel) -> float:
    """Of int4's logits, as a part of those of the same file in fp32, but for the head and the embedding."""
    runner = CpuRunner(loaded, quantization="int4", kv="fp32")
    runner.allocate((3,))
    found = logits_alone(runner, TOKENS, range(3))
    reference = TorchRunner(untied(loaded, {re.escape(HEAD): as_int8, re.escape(EMBEDDING): as_bfloat16}))
    expected = reference.forward_all(reference.new_cache(), TOKENS)
    return float((found - expected).square().mean().sqrt() / expected.square().mean().sqrt())


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q4_1])
def test_logits_are_those_of_the_file_up_to_the_activations(tmp_path, kind):
    assert error_of(model_of(tmp_path, kind)) < 3e-4


def test_the_same_weights_rounded_again_are_others(tmp_path):
    loaded = model_of(tmp_path, GGMLQuantizationType.Q4_0)
    anew = edited(loaded, {r"model\.layers\..*_proj\.weight": lambda values: values})  # no file's any more
    assert error_of(anew) > 100 * error_of(loaded)


def random_groups(rows: int, inputs: int, seed: int) -> Groups:
    random = np.random.default_rng(seed)
    scales, minima = random.normal(0, 1, (2, rows, inputs // 32)).astype(np.float16)
    return Groups(random.integers(0, 16, (rows, inputs), np.uint8), scales, minima)


def packed(pieces: list[np.ndarray | Groups], rows: int) -> Groups:
    """What a layer keeps, out of the layout that kernels read."""
    data = int4_layout(pieces, -(-rows // 16) * 16, 96)
    blocks = len(data)
    assert data.shape == (blocks, 3, GROUP_BYTES)
    # [blocks, groups, 8 steps, 16 channels, 2 inputs], the halves of a byte being two inputs and the next two
    bytes_of_steps = data[:, :, :256].reshape(blocks, -1, 8, 16, 2)
    codes = np.stack([bytes_of_steps & 15, bytes_of_steps >> 4], axis=4)  # [..., 16 channels, halves, 2 inputs]
    codes = codes.transpose(0, 3, 1, 2, 4, 5).reshape(blocks * 16, 96)
    halves = data[:, :, 256:].copy().view(np.float16).reshape(blocks, -1, 2, 16)
    scales, minima = (halves[:, :, place].transpose(0, 2, 1).reshape(blocks * 16, -1) for place in range(2))
    return Groups(codes, scales, minima)


def test_rows_of_a_file_stand_beside_rows_made_anew():
    groups = random_groups(20, 96, 1)
    weight = np.random.default_rng(2).normal(0, 1, (50, 96)).astype(np.float32)
    found = packed([weight[:13], groups, weight[33:]], 50)
    anew = packed([weight], 50)
    for array, expected, others in zip(found, groups, anew, strict=True):
        np.testing.assert_array_equal(array[13:33], expected)
        np.testing.assert_array_equal(np.delete(array, slice(13, 33), 0), np.delete(others, slice(13, 33), 0))


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q5_0, GGMLQuantizationType.Q8_0])
def test_what_a_file_has_in_more_bits_is_kept_in_eight(tmp_path, kind):
    loaded = model_of(tmp_path, kind)
    kept, eight = (CpuRunner(loaded, quantization=quantization, kv="fp32") for quantization in ("int4", "int8"))
    for runner in (kept, eight):
        runner.allocate((3,))
    assert torch.equal(logits_alone(kept, TOKENS, range(3)), logits_alone(eight, TOKENS, range(3)))
