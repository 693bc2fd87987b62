"""Which runner a model gets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from edited_weights import RandomWeights

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models.loading import load_model
from structgen.engine.options import EngineOptions
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.engine.runners import make_runner
from structgen.errors import InvalidRequest, UnsupportedModel
from structgen.llm import LLM

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("quantization", "kv_cache_dtype"),
    [
        *((quantization, "auto") for quantization in (None, "fp32", "bf16", "int8", "int4")),
        *(("int8", kv_cache_dtype) for kv_cache_dtype in ("float32", "bfloat16", "int8")),
    ],
)
def test_an_answer_is_valid_in_every_format(tiny_folder, quantization, kv_cache_dtype):
    with LLM(tiny_folder, quantization=quantization, kv_cache_dtype=kv_cache_dtype) as llm:
        answers = llm.generate(["one", "two", "three"], schema=SCHEMA)
    assert all(isinstance(answer["a"], int) for answer in answers)


def test_a_format_that_is_not_known_is_refused_before_anything_is_loaded(tmp_path):
    with pytest.raises(InvalidRequest, match=r"quantization: 'int3' is not known; known are fp32, bf16, int8, "):
        LLM(tmp_path / "absent", quantization="int3")


def test_what_the_compiled_runner_does_not_know_runs_in_torch_unless_it_is_to_be_quantized(tiny_folder):
    loaded = load_model(tiny_folder)
    assert isinstance(make_runner(loaded, EngineOptions(), None), CpuRunner)
    description = replace(loaded.description, intermediate_size=24)
    odd = replace(loaded, description=description, weights=RandomWeights(description, spread=0.3))
    assert isinstance(make_runner(odd, EngineOptions(), None), TorchPagedRunner)
    with pytest.raises(UnsupportedModel, match="intermediate_size is 24; the compiled CPU path needs a multiple of 16"):
        make_runner(odd, EngineOptions(), "int8")
