"""Every block of README.md is run, and prints what the README says it prints."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.model

ROOT = Path(__file__).parent.parent
SERVER_PORT = "8000"
"""The port that the README's server block uses; a free one takes its place here."""


class Block(NamedTuple):
    section: str
    language: str
    text: str


def blocks(section: str, language: str) -> list[str]:
    found: list[Block] = []
    for part in re.split(r"^## ", (ROOT / "README.md").read_text(), flags=re.MULTILINE)[1:]:
        title = part.splitlines()[0]
        fences = re.findall(r"^```(\w+)\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
        found += [Block(title, tag, text) for tag, text in fences]
    return [block.text for block in found if (block.section, block.language) == (section, language)]


def promised_lines(code: str) -> list[str]:
    """What the comments behind ``print`` say will be printed."""
    return re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)


def printed_lines(code: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def environment() -> dict[str, str]:
    """With this environment's commands first, as after activating it."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_the_first_two_commands_are_targets_of_the_makefile():
    introduction = (ROOT / "README.md").read_text().split("## ")[0]
    commands = re.findall(r"^\$ make (\S+)", introduction, re.MULTILINE)
    assert commands == ["demo", "test"]
    dry = subprocess.run(["make", "--dry-run", *commands], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "examples/weather.py" in dry.stdout


def test_the_library_blocks_print_what_they_promise(smollm2: Path, tmp_path: Path):
    code = "\n".join(blocks("Library", "python"))
    assert promised_lines(code) == printed_lines(code, tmp_path)


@pytest.mark.slow
def test_the_block_of_other_engines_prints_what_it_promises(smollm2: Path, tmp_path: Path):
    (code,) = blocks("Other engines", "python")
    assert promised_lines(code) == printed_lines(code, tmp_path)


def test_the_example_of_make_demo_prints_a_validated_answer(smollm2: Path, tmp_path: Path):
    (line,) = printed_lines((ROOT / "examples" / "weather.py").read_text(), tmp_path)
    assert re.fullmatch(r"WeatherQuery\(city='Stockholm', unit='(celsius|fahrenheit)'\)", line)


def test_the_commands_print_what_they_promise(smollm2: Path, tmp_path: Path):
    (session,) = blocks("Command line", "console")
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, promised = step.partition("\n")
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment()
        )
        assert done.returncode == 0, done.stderr
        if promised:
            assert done.stdout == promised


@pytest.fixture
def server_port(smollm2: Path, tmp_path: Path) -> Iterator[str]:
    """Run the server block's command on a free port."""
    (session,) = blocks("Server", "console")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = session.removeprefix("$ ").replace(SERVER_PORT, port).split()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment())
    try:
        wait_until_healthy(port, process, tmp_path / "log")
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until_healthy(port: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        connection = HTTPConnection("127.0.0.1", int(port), timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except (OSError, HTTPException):  # not up yet
            time.sleep(0.2)
        finally:
            connection.close()
    raise AssertionError(f"no answer at /health within 120 s: {log.read_text()}")


def test_the_server_block_prints_what_it_promises(server_port: str, tmp_path: Path):
    (code,) = blocks("Server", "python")
    assert printed_lines(code.replace(SERVER_PORT, server_port), tmp_path) == promised_lines(code)
