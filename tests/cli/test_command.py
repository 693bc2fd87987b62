"""The command as a whole: its help, its version, and how quickly it is there."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable

import structgen as package
from structgen.cli import SUB_COMMANDS


def test_help_names_every_sub_command(process: Callable[..., tuple[int, str, str]]):
    status, stdout, _ = process("--help")
    assert status == 0
    for name in SUB_COMMANDS:
        assert f" {name} " in stdout


def test_without_arguments_the_help_comes(process: Callable[..., tuple[int, str, str]]):
    assert process() == process("--help")


def test_help_takes_less_than_a_second_of_processor_time(process: Callable[..., tuple[int, str, str]]):
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 1  # a busy neighbour slows a core down


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


def test_the_version_is_printed(process: Callable[..., tuple[int, str, str]]):
    assert process("--version") == (0, f"structgen {package.__version__}\n", "")


def test_an_unknown_sub_command_shows_the_near_one(structgen: Callable[..., tuple[int, str, str]]):
    status, _, stderr = structgen("generte")
    assert status == 2
    assert "Did you mean 'generate'?" in stderr


def test_an_unknown_option_is_a_usage_error(structgen: Callable[..., tuple[int, str, str]]):
    status, _, stderr = structgen("plugins", "--colour")
    assert status == 2
    assert "No such option: --colour" in stderr


def test_warmup_compiles_once(process: Callable[..., tuple[int, str, str]]):
    process("warmup")
    assert process("warmup") == (0, "ready: it was compiled already\n", "")
