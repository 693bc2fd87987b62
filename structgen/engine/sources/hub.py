"""Models of a Hugging Face hub: ``hf:org/name``, ``hf:org/name@revision``, ``hf:org/name/FILE.gguf``."""

from __future__ import annotations

from pathlib import Path

from structgen.engine.sources.base import LocalModel, ModelSource, ProgressCallback
from structgen.engine.sources.files import disk_error, folder_size
from structgen.engine.sources.hub_errors import hub_errors
from structgen.engine.sources.repository import Repository, folder_licence, is_whole_folder
from structgen.engine.sources.snapshot import Snapshot

__all__ = ["HubSource"]


class HubSource(ModelSource):
    """Repositories of a Hugging Face hub, through ``huggingface_hub`` and with its settings.

    The files stay in Hugging Face's own cache (``HF_HOME``), where other programs find them too; ``HF_TOKEN``,
    ``HF_ENDPOINT``, ``HF_HUB_OFFLINE`` and a stored login count. structgen's cache holds the manifest.
    """

    def find(self, location: str) -> LocalModel | None:
        """Return the model if it was pulled before, or if Hugging Face's cache holds all of it."""
        repository = Repository.parse(location)
        return self.cache.load(repository.source) or _in_hub_cache(repository)

    def fetch(self, location: str, progress: ProgressCallback) -> LocalModel:
        """Download what the revision has by now and the cache lacks; verify all of it."""
        repository = Repository.parse(location)
        with self.cache.lock(repository.source, progress):
            try:
                snapshot = Snapshot.listed(repository)
                manifest = snapshot.verified(snapshot.download(progress), progress)
                folder = self.cache.staging(repository.source) / "model"
                folder.mkdir(exist_ok=True)
                return self.cache.install(manifest, folder)
            except OSError as error:
                raise disk_error(error, self.cache.folder, repository.source) from error


def _in_hub_cache(repository: Repository) -> LocalModel | None:
    """Find what another program, or an older structgen, has downloaded."""
    from huggingface_hub import try_to_load_from_cache

    wanted = repository.member or "config.json"
    with hub_errors(repository):
        found = try_to_load_from_cache(repository.name, wanted, revision=repository.revision)
    if not isinstance(found, str):
        return None
    path = Path(found)
    licence = folder_licence(path.parent)
    if repository.member is not None:
        return LocalModel(repository.source, path, "gguf", path.stat().st_size, licence, repository.source)
    if not is_whole_folder(path.parent):
        return None
    size = folder_size(path.parent)
    return LocalModel(repository.source, path.parent, "huggingface", size, licence, repository.source)
