from __future__ import annotations

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf_files import llama_tensors, write_gguf

from structgen.engine.weights import open_checkpoint

KINDS = [GGMLQuantizationType.F32, GGMLQuantizationType.BF16, GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1]


def check(path):
    """Any rows are those of the whole."""
    random = np.random.default_rng(0)
    with open_checkpoint(path) as checkpoint:
        for name in checkpoint.names():
            whole = checkpoint.tensor(name)
            for _ in range(3):
                first, end = np.sort(random.integers(0, len(whole) + 1, 2)).tolist()
                out = np.full_like(whole[first:end], np.nan)
                checkpoint.read_rows(name, first, out)
                np.testing.assert_array_equal(out, whole[first:end])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_gguf_tensor_are_those_of_the_whole(tmp_path, kind):
    check(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(), kind=kind))


def test_rows_of_a_safetensors_tensor_are_those_of_the_whole(tiny_folder):
    check(tiny_folder)
