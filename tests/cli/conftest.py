"""The command line as a user runs it: the installed script in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Completed = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def structgen() -> Callable[..., Completed]:
    """Run ``structgen`` with some arguments, standard input and further environment variables."""
    script = Path(sys.executable).with_name("structgen")

    def run(*arguments: str | Path, stdin: str = "", **environment: str) -> Completed:
        return subprocess.run(
            [script, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **environment},
        )

    return run


@pytest.fixture(scope="session")
def error_of(structgen: Callable[..., Completed]) -> Callable[..., str]:
    """Run ``structgen`` and return its message, having checked that it failed as every failure should.

    That is: exit status 2, one line on standard error, nothing on standard output.
    """

    def run(*arguments: str | Path, **options: str) -> str:
        done = structgen(*arguments, **options)
        assert done.returncode == 2, done
        assert done.stdout == "", done
        (line,) = done.stderr.splitlines()
        assert line.startswith("structgen: error: "), line
        return line.removeprefix("structgen: error: ")

    return run
