"""The command line as a user runs it."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from structgen.cli import main


class Finished(NamedTuple):
    """What a run of the command left."""

    status: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def process() -> Callable[..., Finished]:
    """Run the installed script in a process of its own."""
    script = Path(sys.executable).with_name("structgen")

    def run(*arguments: str) -> Finished:
        done = subprocess.run([script, *arguments], capture_output=True, text=True, check=False, timeout=120)
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def structgen(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Run the script's function in this process, which has imported torch already."""

    def run(*arguments: str | Path, stdin: str = "") -> Finished:
        monkeypatch.setattr(sys, "argv", ["structgen", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        monkeypatch.setattr(sys, "path", list(sys.path))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Finished(ended.value.code, *capfd.readouterr())

    return run


@pytest.fixture
def error_of(structgen: Callable[..., Finished]) -> Callable[..., str]:
    """Run ``structgen`` and return its message, having checked that it failed as every failure should.

    That is: exit status 2, one line on standard error, nothing on standard output.
    """

    def run(*arguments: str | Path, stdin: str = "") -> str:
        done = structgen(*arguments, stdin=stdin)
        assert done.status == 2, done
        assert done.stdout == "", done
        (line,) = done.stderr.splitlines()
        assert line.startswith("structgen: error: "), line
        return line.removeprefix("structgen: error: ")

    return run
