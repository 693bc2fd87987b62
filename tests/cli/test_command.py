"""The command as a whole: its help, its version, and how quickly it is there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import structgen as package
from structgen.cli import SUB_COMMANDS


def test_help_names_every_sub_command_and_its_purpose(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    done = structgen("--help")
    assert done.returncode == 0
    for name in SUB_COMMANDS:
        assert f" {name} " in done.stdout


def test_without_arguments_the_help_comes(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    assert structgen().stdout == structgen("--help").stdout


def test_help_is_there_in_under_a_second(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    seconds: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        structgen("--help")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1  # the least: whatever else runs only adds


def test_a_sub_command_does_not_import_the_others_nor_anything_heavy():
    code = (
        "import sys, atexit\n"
        "sys.argv = ['structgen', 'plugins']\n"
        "atexit.register(lambda: print([name for name in sys.modules if name in\n"
        "    ('torch', 'transformers', 'fastapi', 'structgen.cli.generate', 'structgen.cli.serve')]))\n"
        "from structgen.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_version_is_printed(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    assert structgen("--version").stdout == f"structgen {package.__version__}\n"


def test_an_unknown_sub_command_shows_the_near_one(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    done = structgen("generte")
    assert done.returncode == 2
    assert "Did you mean 'generate'?" in done.stderr


def test_an_unknown_option_is_a_usage_error(structgen: Callable[..., subprocess.CompletedProcess[str]]):
    done = structgen("plugins", "--colour")
    assert done.returncode == 2
    assert "No such option: --colour" in done.stderr
    assert "Traceback" not in done.stderr
