"""Where machine code and what else takes long is kept: a file for each state of all that it depends on.

A file is written beside its place and moved there, and begins with a hash of the rest: one that is found is whole.
Files that nobody has loaded for a month are removed when another is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Place", "key_of", "sources_of"]

_MONTH, _DAY = 30 * 86400.0, 86400.0


def key_of(functions: Mapping[str, Callable[..., object]], target: str, package: str) -> str:
    """A name for all that the machine code of ``functions`` depends on.

    Parameters
    ----------
    functions : Mapping of str to callable
        What is compiled, by name.
    target : str
        The processor.
    package : str
        All of its sources count, as do the translator's and the files of the ``functions``.
    """
    folders = (Path(__file__).resolve().parent, _folder_of(package))
    files = {path for folder in folders for path in folder.rglob("*.py")}
    files |= {Path(function.__code__.co_filename) for function in functions.values()}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    versions = [version(name) for name in ("numpy", "llvmlite")]
    digest.update(repr((sorted(functions), target, sys.version, versions)).encode())
    return digest.hexdigest()[:32]


def sources_of(package: str, *modules: str) -> bytes:
    """A hash of some of the sources of a package, by their paths in it."""
    folder = _folder_of(package)
    return b"".join(hashlib.sha256((folder / one).read_bytes()).digest() for one in modules)


def _folder_of(package: str) -> Path:
    return Path(importlib.import_module(package).__path__[0]).resolve()


class Place:
    """The file for one key.

    Parameters
    ----------
    key : str
        Names all that the content depends on.
    kind : str, optional
        What the content is, the end of the file's name; machine code by default.
    """

    def __init__(self, key: str, kind: str = "o") -> None:
        self._name = f"structgen-{key}.{kind}"

    def read(self) -> bytes | None:
        """What the file holds, ``None`` where it is missing or damaged."""
        for folder in _folders():
            path = folder / self._name
            with contextlib.suppress(OSError):
                content = path.read_bytes()
                if content[:32] == hashlib.sha256(content[32:]).digest():
                    _touch(path)
                    return content[32:]
        return None

    def write(self, code: bytes) -> Path | None:
        """Keep ``code`` in the first folder that can be written; returns the folder, ``None`` where there is none."""
        for folder in _folders_to_write():
            with contextlib.suppress(OSError):
                _write_whole(folder / self._name, hashlib.sha256(code).digest() + code)
                _remove_unused(folder)
                return folder
        return None

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """Wait for another process that makes the same file, if that can be had, and for two minutes at most."""
        from filelock import FileLock, Timeout

        for folder in _folders_to_write():
            lock: Any = FileLock(folder / f"{self._name}.lock")
            with contextlib.suppress(OSError, NotImplementedError, Timeout):
                lock.acquire(timeout=120)
                break
        else:
            lock = None
        try:
            yield
        finally:
            if lock:
                lock.release()


def _folders() -> Iterator[Path]:
    """Where files may be: as the user says, else by the package's byte code, else in the user's cache."""
    if own := os.environ.get("STRUCTGEN_CACHE"):
        yield Path(own) / "compiled"
    yield Path(importlib.util.cache_from_source(__file__)).parent
    with contextlib.suppress(RuntimeError):  # of a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "structgen" / "compiled"


def _folders_to_write() -> Iterator[Path]:
    by_byte_code = Path(importlib.util.cache_from_source(__file__)).parent
    for folder in _folders():
        if folder == by_byte_code and sys.dont_write_bytecode:
            continue
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            yield folder


def _write_whole(path: Path, content: bytes) -> None:
    handle, beside = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.chmod(beside, 0o644)  # for users that may read the folder
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _touch(path: Path) -> None:
    """Say that ``path`` is in use, once a day."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _remove_unused(folder: Path) -> None:
    """Remove our files that nobody has loaded for a month; one that a process has loaded it needs no more."""
    for path in folder.glob("structgen-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MONTH:
                path.unlink()
