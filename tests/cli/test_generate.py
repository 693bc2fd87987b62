"""``structgen generate`` with the real model."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.model

Run = Callable[..., Any]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "city.json"
    path.write_text(json.dumps(SCHEMA))
    return path


def test_an_answer_under_a_schema_is_json_of_that_schema(structgen: Run, smollm2: Path, schema_file: Path):
    done = structgen("generate", "What's the weather in Stockholm?", "--schema", schema_file)
    assert done.status == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == {"city": "Stockholm"}


def test_the_prompt_comes_from_standard_input(structgen: Run, smollm2: Path, schema_file: Path):
    asked = ("generate", "--schema", schema_file)
    piped = structgen(*asked, "-", stdin="What's the weather in Stockholm?\n")
    assert piped.stdout == structgen(*asked, stdin="What's the weather in Stockholm?").stdout
    assert json.loads(piped.stdout) == {"city": "Stockholm"}


def test_json_output_has_text_value_reason_and_usage(structgen: Run, smollm2: Path):
    found = json.loads(structgen("generate", "Is water wet?", "--choice", "yes", "--choice", "no", "--json").stdout)
    assert found["text"] == found["value"]
    assert found["value"] in ("yes", "no")
    assert found["finish_reason"] == "stop"
    assert found["usage"]["prompt_tokens"] > 0
    assert found["usage"]["completion_tokens"] > 0


def test_a_pydantic_class_is_found_from_the_current_folder(
    structgen: Run, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "shapes.py").write_text("from pydantic import BaseModel\nclass Box(BaseModel):\n    sides: int\n")
    monkeypatch.chdir(tmp_path)
    found = json.loads(structgen("generate", "A box has 6 sides.", "--pydantic", "shapes:Box", "--json").stdout)
    assert isinstance(found["value"]["sides"], int)
    assert json.loads(found["text"]) == found["value"]


@pytest.mark.filterwarnings("default::structgen.grammars.SchemaRelaxed")
def test_a_keyword_that_no_grammar_holds_is_validated_where_asked(structgen: Run, smollm2: Path, tmp_path: Path):
    path = tmp_path / "pairs.json"
    pair = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 2}
    path.write_text(json.dumps({"type": "array", "items": pair, "minItems": 2, "maxItems": 2, "uniqueItems": True}))
    refused = structgen("generate", "Two pairs of digits.", "--schema", path)
    assert (refused.status, refused.stdout) == (2, "")
    assert "uniqueItems" in refused.stderr
    done = structgen("generate", "Two pairs of digits.", "--schema", path, "--on-unsupported", "validate")
    assert done.status == 0, done.stderr
    assert done.stderr.startswith("structgen: 'uniqueItems' at /uniqueItems is not in the grammar")
    assert done.stderr.count("\n") == 1
    first, second = json.loads(done.stdout)
    assert first != second


def test_an_answer_under_a_pattern_matches_it(structgen: Run, smollm2: Path):
    done = structgen("generate", "When did the first man walk on the moon?", "--regex", "[12][0-9]{3}")
    assert re.fullmatch("[12][0-9]{3}\n", done.stdout)


def test_a_seed_makes_a_draw_repeatable(structgen: Run, smollm2: Path):
    asked = ("generate", "Name a fruit.", "--temperature", "1", "--max-tokens", "8", "--regex", "[a-z]{3,12}")
    first, again = structgen(*asked, "--seed", "7"), structgen(*asked, "--seed", "7")
    assert first.status == 0, first.stderr
    assert first.stdout == again.stdout


def test_on_a_terminal_the_text_is_shown_as_it_comes(smollm2: Path):
    script = str(Path(sys.executable).with_name("structgen"))
    leader, follower = pty.openpty()
    command = [script, "generate", "Count from one to ten in words."]
    arrivals: list[tuple[float, bytes]] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.PIPE) as process:
        os.close(follower)
        while piece := _read(leader):
            arrivals.append((time.perf_counter(), piece))
    os.close(leader)
    assert process.returncode == 0
    assert len(arrivals) > 5
    assert arrivals[-1][0] - arrivals[0][0] > 0.05
    assert b"".join(piece for _, piece in arrivals).endswith(b"\r\n")


def _read(terminal: int) -> bytes:
    """Read what has come; empty at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_a_budget_below_every_answer_is_refused_before_generating(error_of: Callable[..., str], smollm2: Path):
    line = error_of("generate", "hello", "--regex", "[a-z]{400}", "--max-tokens", "3")
    assert line.startswith("max_tokens: the shortest valid answer takes ")
