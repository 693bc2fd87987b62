"""Loading the real model is quick, tokenizer and chat template included."""

from __future__ import annotations

import time

import pytest

from structgen.engine.models import load_model


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Leave the threads as a user has them: tensors are dequantized on all of them."""


@pytest.mark.model
def test_the_best_of_five_loads_of_smollm2_takes_less_than_two_seconds_of_wall_time(smollm2, record_property):
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        load_model(smollm2)
        seconds.append(time.perf_counter() - started)
    record_property("seconds", seconds)
    print("loading SmolLM2:", ", ".join(f"{second:.2f} s" for second in seconds))
    assert min(seconds) < 2.0  # the best: a busy neighbour stretches the others, waiting for a disk stretches all
