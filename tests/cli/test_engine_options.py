"""The options of engines on the command line: one list for every command, and they reach the engine."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from structgen.cli import SubCommands
from structgen.cli.engine_options import ENGINE_OPTIONS
from structgen.llm import LLM

Run = Callable[..., Any]


@pytest.mark.parametrize("command", ["generate", "serve"])
def test_a_command_has_every_option_of_an_engine_with_its_default(command: str):
    options = {parameter.name: parameter.default for parameter in SubCommands()[command].params}
    of_llm = inspect.signature(LLM).parameters
    assert {"model", "call_format", *ENGINE_OPTIONS} == of_llm.keys()
    assert {name: options[name] for name in ENGINE_OPTIONS} == {name: of_llm[name].default for name in ENGINE_OPTIONS}


def test_generate_runs_with_them(structgen: Run, tiny_folder: Path):
    engine = ("--quantization", "int8", "--kv-cache-dtype", "int8", "--max-model-len", "512", "--kv-memory", "1MiB")
    done = structgen(
        "generate", "Hi", "--model", tiny_folder, "--regex", "[ab]{3}", "--json", "--max-tokens", "9", *engine
    )
    assert done.status == 0, done.stderr
    assert len(json.loads(done.stdout)["text"]) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--quantization", "int3"), "quantization: 'int3' is not known"),
        (("--kv-memory", "much"), "kv_memory: expected a number of bytes above 0"),
        (("--grammar-timeout", "0"), "grammar_timeout: must be a number of seconds above 0"),
        (("--max-model-len", "4000"), "max_model_len: the model takes 1024 tokens, and 4000 are asked for"),
        (("--max-model-len", "8"), "the prompt has "),
    ],
)
def test_a_wrong_one_is_one_line(error_of: Run, tiny_folder: Path, options: tuple[str, ...], message: str):
    assert error_of("generate", "Hi", "--model", tiny_folder, *options).startswith(message)
