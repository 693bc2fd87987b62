"""Bytes on disk: hashing, making sure they are there, and what an operating system's refusal means."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from structgen.errors import DownloadError

__all__ = [
    "FULL_DISK",
    "Hashed",
    "disk_error",
    "folder_size",
    "hash_stream",
    "is_disk_error",
    "largest_file",
    "readable_size",
    "require_space",
    "sha256_of",
    "sync",
]

_CHUNK = 1 << 20
"""Bytes read at once while hashing and copying."""

FULL_DISK = "the disk of {folder} is full; free some space, or set STRUCTGEN_CACHE to a folder on another disk"
"""What to say of a disk that filled up; a template of the ``folder``."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR}


class Hashed(NamedTuple):
    """What was read, without the bytes themselves."""

    size: int
    sha256: str


def sha256_of(path: Path, report: Callable[[int], None] | None = None) -> str:
    """Return the hexadecimal SHA-256 of a file; ``report`` hears the bytes of each chunk."""
    with path.open("rb") as file:
        return hash_stream(file, each=None if report is None else lambda chunk: report(len(chunk))).sha256


def hash_stream(
    stream: IO[bytes], *, limit: int | None = None, each: Callable[[bytes], object] | None = None
) -> Hashed:
    """Read a stream to its end, or ``limit`` bytes of it, and hash them; ``each`` gets every chunk."""
    digest, size = hashlib.sha256(), 0
    while chunk := stream.read(_CHUNK if limit is None else min(_CHUNK, limit - size)):
        digest.update(chunk)
        size += len(chunk)
        if each is not None:
            each(chunk)
    return Hashed(size, digest.hexdigest())


def sync(folder: Path) -> None:
    """Make every file below ``folder``, and the folders' entries, survive a loss of power."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_file() or os.name == "posix":  # Windows opens no folders
            descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def folder_size(folder: Path) -> int:
    """Bytes of all files below ``folder``, links followed; files that vanish meanwhile count nothing."""
    return sum(_sizes(folder))


def largest_file(folder: Path) -> int:
    """Bytes of the largest file below ``folder``, 0 where there is none."""
    return max(_sizes(folder), default=0)


def _sizes(folder: Path) -> list[int]:
    sizes = []
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(parent, name)).st_size)
            except FileNotFoundError:  # another process is at work here
                continue
    return sizes


def readable_size(size: int) -> str:
    """``98.4 MB``: decimal units, as disks are sold and wheels are listed."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def require_space(folder: Path, needed: int, what: str) -> None:
    """Refuse before the first byte when ``folder``'s disk cannot hold ``needed`` more bytes.

    Raises
    ------
    DownloadError
        It cannot; the message has both numbers.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DownloadError(
            f"{what} needs {readable_size(needed)} in {folder} and its disk has {readable_size(free)} free; "
            "free some, or set STRUCTGEN_CACHE to a folder on another disk"
        )


def is_disk_error(error: OSError) -> bool:
    """Is it about the disk (full, read-only, not ours), and not about the network?"""
    return error.errno in _FULL | _UNWRITABLE


def disk_error(error: OSError, folder: Path, what: str) -> DownloadError:
    """Say in one line what a failed write below ``folder`` means."""
    if error.errno in _FULL:
        return DownloadError(f"{what}: {FULL_DISK.format(folder=folder)} ({error.strerror})")
    if error.errno in _UNWRITABLE:
        return DownloadError(
            f"{what}: cannot write {error.filename or folder} ({error.strerror}); set STRUCTGEN_CACHE "
            "to a folder that you may write to"
        )
    return DownloadError(f"{what}: {error}")
