"""Third-party packages, installed with pip from sources made on the spot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, str]], Path]:
    """Write a package's files, install it, and return the folder to put on ``sys.path``."""

    def run(files: dict[str, str]) -> Path:
        folder = tmp_path_factory.mktemp("package")
        source, site = folder / "source", folder / "site"
        source.mkdir()
        for name, text in files.items():
            (source / name).write_text(text)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*command, "--target", site, source], check=True)
        return site

    return run


@pytest.fixture
def structgen() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line with the folder ``path`` among the installed packages."""
    script = Path(sys.executable).with_name("structgen")

    def run(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [script, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(path)},
        )

    return run
