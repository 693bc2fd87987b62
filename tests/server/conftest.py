from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from serving import client_of
from tiny_model import write_model
from tokenizers import AddedToken, Tokenizer

from structgen import LLM

CALL_TAG = "<tool_call>"


@pytest.fixture(scope="session")
def served_llm(tmp_path_factory) -> Iterator[LLM]:
    """A tiny model for which a call's opening tag is one token, so that a bias makes it call or not."""
    folder = write_model(tmp_path_factory.mktemp("served"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens([AddedToken(CALL_TAG, special=False, normalized=False)])
    tokenizer.save(str(folder / "tokenizer.json"))
    with LLM(folder) as llm:
        yield llm


@pytest.fixture(scope="session")
def client(served_llm) -> Iterator[openai.OpenAI]:
    with client_of(served_llm, model_name="tiny") as client:
        yield client


@pytest.fixture(scope="session")
def call_tag_id(served_llm) -> int:
    return served_llm.tokenizer.token_to_id(CALL_TAG)
