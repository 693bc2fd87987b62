from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from published_tokenizers import fetch

from structgen import LLM
from structgen.engine.sources import resolve_model


def pytest_configure() -> None:
    """One thread for torch, here and in the processes that tests start.

    Torch's threads wait for each other by spinning: where something else has one of two cores, two threads take ten
    times as long as one.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of SmolLM2-135M; the first run on a machine downloads it into structgen's cache."""
    return resolve_model("smollm2-135m").path


@pytest.fixture(scope="session")
def published(pytestconfig) -> Callable[[str], Path]:
    """A function that gives the folder with the tokenizer files of a published model, fetched once."""
    cache = Path(pytestconfig.cache.mkdir("tokenizers"))
    return lambda name: fetch(name, cache)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> Path:
    """A Hugging Face folder with a model of random weights and a small byte-level tokenizer."""
    from tiny_model import write_model  # brings torch in, which is to see the environment first

    return write_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_llm(tiny_folder):
    """A model that says nothing of sense, for everything but good answers."""
    with LLM(tiny_folder) as llm:
        yield llm
