"""What a model source is, what it gives, and how it tells how far it has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from structgen.engine.sources.cache import ModelCache

__all__ = [
    "UNKNOWN_LICENCE",
    "LocalModel",
    "ModelFormat",
    "ModelSource",
    "Progress",
    "ProgressCallback",
    "ignore",
    "summing",
]

ModelFormat = Literal["gguf", "huggingface"]
"""A single GGUF file, or a folder with ``config.json`` and safetensors."""

UNKNOWN_LICENCE = "unknown"
"""The licence of a model that does not say it."""


class LocalModel(NamedTuple):
    """A whole model on this machine's disk."""

    name: str
    """What :func:`~structgen.engine.sources.resolve_model` takes to find it again."""
    path: Path
    """The ``.gguf`` file, or the folder of a Hugging Face model."""
    format: ModelFormat
    size: int
    """Bytes of all its files."""
    licence: str
    """An SPDX identifier or the licence's own name; ``"unknown"`` where the model does not say."""
    source: str
    """Where it came from, ``scheme:location``."""


class Progress(NamedTuple):
    """How far one stage of a fetch has come."""

    stage: str
    """``"downloading"``, ``"verifying"``, or ``"waiting for another process"``."""
    completed: int
    """Bytes done."""
    total: int | None
    """Bytes in all; None while nobody knows."""


ProgressCallback = Callable[[Progress], None]
"""Called from the fetching thread or a helper of it, one call at a time, some ten times a second."""


def summing(progress: ProgressCallback, stage: str, total: int | None) -> Callable[[int], None]:
    """Return a function that takes the bytes of one chunk after the other and reports their sum as ``stage``'s."""
    completed = 0

    def add(size: int) -> None:
        nonlocal completed
        completed += size
        progress(Progress(stage, completed, total))

    return add


def ignore(progress: Progress) -> None:
    """Show no progress."""


class ModelSource(ABC):
    """Where models come from: a plugin of the group ``structgen.model_sources``, named by its scheme.

    ``resolve_model("scheme:location")`` makes one with the cache and hands it the location. A source holds no state
    of its own: two of them in two processes may work in one cache at the same time.

    Parameters
    ----------
    cache : ModelCache
        The folder of models; the only place that a source writes to. It has the lock, the staging folders and the
        atomic :meth:`~structgen.engine.sources.cache.ModelCache.install` that make the promises below cheap to keep.
    """

    def __init__(self, cache: ModelCache) -> None:
        self.cache = cache

    @abstractmethod
    def find(self, location: str) -> LocalModel | None:
        """Return the model if it is on disk and whole, else None.

        Quick (no hashing of weights), uses no network, changes nothing. Its ``source`` is ``scheme:location``.

        Raises
        ------
        ModelNotFound
            The location cannot be one of this source, or is known to hold no model.
        InvalidModelFile
            What is there is not a model.
        """

    @abstractmethod
    def fetch(self, location: str, progress: ProgressCallback) -> LocalModel:
        """Return the model verified, fetching what is missing or damaged.

        After an error :meth:`find` finds nothing that was not whole before; what was downloaded and verified by then
        may stay in the staging folder, so that the next try continues there.

        Raises
        ------
        ModelNotFound
            There is no such model.
        DownloadError
            Network, disk or checksum.
        """
