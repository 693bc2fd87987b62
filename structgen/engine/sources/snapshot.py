"""One commit of a repository on a Hugging Face hub: listed, downloaded through ``huggingface_hub``, verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from structgen.engine.sources.base import UNKNOWN_LICENCE, Progress, ProgressCallback, summing
from structgen.engine.sources.cache import Manifest, StoredFile
from structgen.engine.sources.files import folder_size, sha256_of
from structgen.engine.sources.hub_errors import hub_errors
from structgen.engine.sources.repository import Repository, model_files
from structgen.errors import DownloadError

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

__all__ = ["RemoteFile", "Snapshot"]

POLL_SECONDS = 0.1


class RemoteFile(NamedTuple):
    """A file as the hub lists it."""

    name: str
    size: int
    sha256: str | None
    """None for a small file, of which the hub tells the size only."""


class Snapshot(NamedTuple):
    """The files that make a model, at one commit."""

    repository: Repository
    commit: str | None
    licence: str
    files: tuple[RemoteFile, ...]

    @classmethod
    def listed(cls, repository: Repository) -> Snapshot:
        """Ask the hub what the revision holds.

        Raises
        ------
        ModelNotFound
            No such repository, revision or file, or no model in it.
        DownloadError
            No network, or no access.
        """
        from huggingface_hub import HfApi

        with hub_errors(repository):
            info = HfApi().model_info(repository.name, revision=repository.revision, files_metadata=True)
        siblings = {sibling.rfilename: sibling for sibling in info.siblings or []}
        files = []
        for name in model_files(repository, siblings):
            lfs = siblings[name].lfs
            files.append(RemoteFile(name, siblings[name].size or 0, lfs.sha256 if lfs is not None else None))
        return cls(repository, info.sha, _licence(info), tuple(files))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def download(self, progress: ProgressCallback) -> list[Path]:
        """Bring every file into Hugging Face's cache; what is there is not downloaded again.

        Returns
        -------
        list of Path
            Where each of ``files`` is.

        Raises
        ------
        DownloadError
            No network, or no access.
        OSError
            The disk.
        """
        from huggingface_hub import constants, hf_hub_download

        blobs = Path(constants.HF_HUB_CACHE) / f"models--{self.repository.name.replace('/', '--')}" / "blobs"
        before = folder_size(blobs)
        paths: list[Path] = []

        def report() -> None:
            whole = sum(file.size for file in self.files[: len(paths)])
            progress(Progress("downloading", min(max(whole, folder_size(blobs) - before), self.size), self.size))

        with hub_errors(self.repository), _quiet_hub(), _repeating(report):
            for file in self.files:
                path = hf_hub_download(self.repository.name, file.name, revision=self.commit)
                paths.append(Path(path))  # not a comprehension: report() counts them meanwhile
        return paths

    def verified(self, paths: Sequence[Path], progress: ProgressCallback) -> Manifest:
        """Compare every file with what the hub said of it; a wrong one is removed.

        Raises
        ------
        DownloadError
            Wrong size or checksum.
        """
        report = summing(progress, "verifying", self.size)
        stored = []
        for file, path in zip(self.files, paths, strict=True):
            size, digest = path.stat().st_size, sha256_of(path, report)
            if size != file.size or file.sha256 not in (None, digest):
                path.resolve().unlink()  # the blob behind the link, so that it is downloaded again
                path.unlink(missing_ok=True)
                raise DownloadError(
                    f"{self.repository.source}: wrong checksum of {file.name}: sha256 {digest}, {size} bytes, "
                    f"must be {file.sha256 or 'any'}, {file.size} bytes; it was removed, try again"
                )
            stored.append(StoredFile(file.name, size, digest))
        is_gguf = self.files[0].name.endswith(".gguf")
        return Manifest(
            source=self.repository.source,
            format="gguf" if is_gguf else "huggingface",
            licence=self.licence,
            path=self.files[0].name if is_gguf else ".",
            files=tuple(stored),
            root=str(paths[0].parent),
        )


def _licence(info: ModelInfo) -> str:
    tags = [tag.removeprefix("license:") for tag in info.tags or [] if tag.startswith("license:")]
    return tags[0] if tags else UNKNOWN_LICENCE


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keep huggingface_hub from drawing its own bars beside ours."""
    from huggingface_hub import utils

    if utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()


@contextmanager
def _repeating(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` ten times a second in a thread, and once at the end."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.wait(POLL_SECONDS):
            action()

    thread = threading.Thread(target=repeat, name="structgen-download-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    action()
