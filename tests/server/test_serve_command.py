"""``structgen serve`` as a user runs it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).with_name("structgen")), "serve"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Children heed an interrupt, also where the tests themselves are a shell's background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_command_serves_until_it_is_interrupted(tiny_folder):
    arguments = [str(tiny_folder), "--port", "0", "--model-name", "tiny"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            name, address = process.stdout.readline().strip().split(" at ")
            with urllib.request.urlopen(f"{address}/models") as response:
                assert [model["id"] for model in json.load(response)["data"]] == [name] == ["tiny"]
        finally:
            process.send_signal(signal.SIGINT)
            _, log = process.communicate(timeout=60)
    assert "Traceback" not in log
    assert process.returncode == 130  # what shells expect of an interrupted command


def test_a_port_in_use_is_one_line_and_status_2(tiny_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = subprocess.run(
            [*COMMAND, str(tiny_folder), "--port", str(port)], capture_output=True, text=True, timeout=60, check=False
        )
    assert finished.returncode == 2
    (line,) = finished.stderr.splitlines()
    assert line.startswith(f"structgen: error: cannot listen on 127.0.0.1 port {port}: Address already in use")
