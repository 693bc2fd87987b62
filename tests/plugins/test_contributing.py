"""The plugin that CONTRIBUTING.md shows is built, installed and used as it stands there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"

Run = Callable[..., subprocess.CompletedProcess[str]]


def shown_files() -> dict[str, str]:
    """The blocks that follow a file's name in backticks, by that name."""
    return dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", CONTRIBUTING.read_text(), re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def team(install: Callable[[dict[str, str]], Path]) -> Path:
    return install(shown_files())


def test_the_example_is_a_package_with_one_module():
    assert sorted(shown_files()) == ["pyproject.toml", "structgen_team_models.py"]


def test_the_example_is_listed(team: Path, structgen: Run):
    rows = [line.split() for line in structgen("plugins", path=team).stdout.splitlines()]
    assert ["team", "structgen_team_models:TeamSource", "structgen-team-models"] in rows


@pytest.mark.model
def test_a_model_of_the_example_s_source_answers(
    team: Path, structgen: Run, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "assistant.gguf").symlink_to(smollm2)
    monkeypatch.setenv("TEAM_MODELS", str(tmp_path))
    done = structgen("generate", "Is water wet?", "--model", "team:assistant", "--choice", "yes", path=team)
    assert done.stdout == "yes\n", done.stderr


def test_a_model_that_is_not_there_is_refused_in_the_example_s_words(
    team: Path, structgen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "assistant.gguf").touch()
    monkeypatch.setenv("TEAM_MODELS", str(tmp_path))
    done = structgen("pull", "team:assistent", path=team)
    assert done.returncode == 2
    expected = f"team:assistent: no file {tmp_path}/assistent.gguf; there is assistant"
    assert done.stderr == f"structgen: error: {expected}\n"
