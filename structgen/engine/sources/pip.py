"""One wheel through ``pip download``, with the user's own pip configuration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from structgen.engine.sources.files import FULL_DISK, largest_file
from structgen.errors import DownloadError

__all__ = ["download_wheel"]

POLL_SECONDS = 0.1

_CAUSES = {
    r"No space left on device|Disk quota exceeded|File too large": FULL_DISK,
    r"No module named pip": "this Python has no pip; run `{python} -m ensurepip`",
    r"connection broken|Connection reset|NameResolutionError|ProtocolError|ProxyError|SSLError|Timeout": (
        "no network: pip cannot reach its package index; check the connection, the proxy and `pip config list`"
    ),
    r"No matching distribution|Could not find a version": (
        "pip finds no such package: its index has none of that name and version, or cannot be reached; "
        "check the name, the connection and `pip config list`"
    ),
}
"""What went wrong, by what pip prints; the first that is found counts."""


def download_wheel(requirement: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Download the wheel of ``requirement`` into ``folder`` and return its path.

    pip works in a folder inside ``folder``, so that what it leaves half-written is on the same disk and goes with
    that folder, whatever happens.

    Parameters
    ----------
    requirement : str
        As on pip's command line, ``name==version``.
    folder : Path
        Where the wheel appears, by one rename.
    report : callable
        Hears the number of bytes that have come so far.

    Raises
    ------
    DownloadError
        No pip, no network, no such package, or no space.
    """
    with tempfile.TemporaryDirectory(prefix="pip-", dir=folder) as scratch:
        code, errors = _run_pip(requirement, Path(scratch), report)
        wheels = list((Path(scratch) / "wheels").glob("*.whl"))
        if code != 0 or len(wheels) != 1:
            raise DownloadError(f"{requirement}: {_cause(errors, folder)}")
        wheel = folder / wheels[0].name
        os.replace(wheels[0], wheel)
    return wheel


def _run_pip(requirement: str, scratch: Path, report: Callable[[int], None]) -> tuple[int, str]:
    """Run it to its end; return its exit status and what it said on standard error."""
    (scratch / "tmp").mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", f"--dest={scratch / 'wheels'}", "--", requirement]
    with subprocess.Popen(
        command,
        env=os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch / "tmp")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            while True:
                try:
                    _, errors = process.communicate(timeout=POLL_SECONDS)
                    return process.returncode, errors
                except subprocess.TimeoutExpired:
                    report(largest_file(scratch))  # pip writes the wheel into its TMPDIR, then copies it
        except BaseException:
            process.kill()
            raise


def _cause(errors: str, folder: Path) -> str:
    for pattern, cause in _CAUSES.items():
        if re.search(pattern, errors):
            return cause.format(folder=folder, python=sys.executable)
    told = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    return f"pip download failed: {told[-1] if told else errors.strip()[-300:] or 'it said nothing'}"
