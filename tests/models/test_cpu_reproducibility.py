"""The logits of a token are the same bits whatever else is in the step, and however its sequence came there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paged_steps import Row, logits_alone, logits_of, step_of

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model

PAGES = 200
KINDS = [("fp32", "fp32"), ("fp32", "int8"), ("int8", "int8"), ("int8", "bf16"), ("int4", "bf16"), ("w8a8", "int8")]
MODELS = ["llama2-gqa-tied", "mistral-window", "qwen3-norm", "gemma2", "gemma3-linear-rope"]


@pytest.fixture(scope="module")
def runners(tiny):
    """The runner for a model and kind with so many threads, and the logits of one sequence by itself."""
    known: dict[object, CpuRunner] = {}

    def runner_of(name: str, kind: tuple[str, str], threads: int) -> CpuRunner:
        key = name, kind, threads
        if key not in known:
            loaded = load_model(tiny(name).folder)
            known[key] = CpuRunner(loaded, quantization=kind[0], kv=kind[1], threads=threads)
            known[key].allocate((PAGES,) * len(known[key].cache_groups))
        return known[key]

    return runner_of


def sequences_of(seed: int, count: int, longest: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, 97, random.integers(1, longest + 1)).tolist() for _ in range(count)]


class Schedule(NamedTuple):
    """Sequences, steps that each compute some tokens of some of them, and pages in any order."""

    sequences: list[list[int]]
    steps: list[list[tuple[int, int, int]]]
    pages: list[int]


def schedule_of(seed: int, count: int, longest: int) -> Schedule:
    random = np.random.default_rng(seed)
    sequences = sequences_of(seed, count, longest)
    done, steps = [0] * count, []
    while any(place < len(one) for place, one in zip(done, sequences, strict=True)):
        step: list[tuple[int, int, int]] = []
        for index in random.permutation(count).tolist():
            size = min(len(sequences[index]) - done[index], int(random.choice([0, 1, 1, 2, 5, 13, 40])))
            if size:
                step.append((index, done[index], size))
                done[index] += size
        if step:
            steps.append(step)
    return Schedule(sequences, steps, random.permutation(PAGES).tolist())


schedules = st.builds(schedule_of, st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 70))


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@settings(max_examples=20, deadline=None)
@given(schedule=schedules, name=st.sampled_from(MODELS), threads=st.integers(1, 3))
def test_schedules_pages_and_threads_leave_the_bits(schedule, name, threads, kind, runners):
    sequences, steps, pages = schedule
    alone, together = runners(name, kind, 1), runners(name, kind, threads)
    expected = [logits_alone(alone, one, range(5)) for one in sequences]
    groups = len(together.cache_groups)
    for step in steps:
        rows = [
            Row(sequences[index][start : start + count], start, pages[5 * index : 5 * index + 5])
            for index, start, count in step
        ]
        found = logits_of(together, step_of(rows, groups))
        assert torch.equal(found, torch.cat([expected[index][start : start + count] for index, start, count in step]))


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 6, 7, 8, 13, 32, 64])
def test_decoding_many_rows_gives_each_its_own_bits(rows, kind, runners):
    runner = runners("llama2-gqa-tied", kind, 2)
    sequences = sequences_of(rows, rows, 47)
    pages = [range(3 * index, 3 * index + 3) for index in range(rows)]
    prompts = [Row(one[:-1], 0, pages[index]) for index, one in enumerate(sequences) if len(one) > 1]
    if prompts:
        logits_of(runner, step_of(prompts, wanted=[]))
    last = [Row(one[-1:], len(one) - 1, pages[index]) for index, one in enumerate(sequences)]
    found = logits_of(runner, step_of(last))
    for index, one in enumerate(sequences):
        assert torch.equal(found[index], logits_alone(runner, one, pages[index])[-1])
