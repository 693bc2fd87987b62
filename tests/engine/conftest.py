"""One tiny model for all tests of the engine, and engines over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from structgen.engine.local_client import LocalClient
from structgen.engine.models.loading import LoadedModel, load_model
from structgen.engine.options import EngineOptions
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.grammars import TokenVocabulary


@pytest.fixture(scope="session")
def loaded(tiny_folder) -> LoadedModel:
    return load_model(tiny_folder)


@pytest.fixture(scope="session")
def vocabulary(loaded) -> TokenVocabulary:
    return TokenVocabulary.from_tokenizer(
        loaded.tokenizer, eos_token_ids=loaded.eos_token_ids, size=loaded.description.vocab_size
    )


@pytest.fixture
def start(loaded, vocabulary) -> Iterator[Callable[..., LocalClient]]:
    """Start an engine; with ``tokens``, its cache holds so many."""
    clients: list[LocalClient] = []

    def start(*, tokens=None, loaded=loaded, dtype=torch.float32, **options) -> LocalClient:
        runner = TorchPagedRunner(loaded, kv_dtype=dtype)
        if tokens is not None:
            options["kv_memory"] = tokens // runner.page_size * runner.page_bytes(0)
        clients.append(LocalClient(runner, vocabulary, EngineOptions(**options)))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
