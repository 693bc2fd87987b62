from __future__ import annotations

import pytest
import torch
from gguf import GGMLQuantizationType
from gguf_files import llama_tensors, write_gguf

from structgen.engine.weights import open_checkpoint

KINDS = [GGMLQuantizationType.F32, GGMLQuantizationType.BF16, GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1]


def check(path, dtype):
    with open_checkpoint(path) as checkpoint:
        for name in checkpoint.names():
            out = torch.full(checkpoint.shape(name), float("nan"), dtype=dtype)
            checkpoint.read_into(name, out)
            assert torch.equal(out, checkpoint.tensor(name, dtype)), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_reading_a_gguf_tensor_into_memory_gives_what_reading_gives(tmp_path, kind, dtype):
    check(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(), kind=kind), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_reading_a_safetensors_tensor_into_memory_gives_what_reading_gives(tiny_folder, dtype):
    check(tiny_folder, dtype)
