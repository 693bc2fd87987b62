"""Models that are on disk already: a ``.gguf`` file, or a folder."""

from __future__ import annotations

from pathlib import Path

from structgen.engine.model_files import GGUF_MAGIC
from structgen.engine.sources.base import UNKNOWN_LICENCE, LocalModel, ModelSource, ProgressCallback
from structgen.engine.sources.files import folder_size
from structgen.engine.sources.repository import folder_licence
from structgen.errors import InvalidModelFile, ModelNotFound

__all__ = ["LocalSource"]


class LocalSource(ModelSource):
    """A path of the user's; nothing is copied or fetched.

    A folder is taken as a Hugging Face model when it has a ``config.json``, else as its only ``.gguf`` file.
    """

    def find(self, location: str) -> LocalModel:
        """Return the model at the path.

        Raises
        ------
        ModelNotFound
            There is no such path, or a folder without a model, or with several.
        InvalidModelFile
            A file that is no GGUF.
        """
        path = Path(location).expanduser().absolute()
        if not path.exists():
            raise ModelNotFound(f"{location}: no such file or folder; check the path")
        return _folder(path) if path.is_dir() else _gguf(path)

    def fetch(self, location: str, progress: ProgressCallback) -> LocalModel:
        """Return the model at the path; there is nowhere to fetch it from."""
        return self.find(location)


def _gguf(path: Path) -> LocalModel:
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise InvalidModelFile(f"{path}: cannot be read: {error.strerror}") from error
    if magic != GGUF_MAGIC:
        raise InvalidModelFile(
            f"{path}: not a GGUF file (it begins with {magic!r}); give a .gguf file or a folder with config.json"
        )
    return LocalModel(str(path), path, "gguf", path.stat().st_size, UNKNOWN_LICENCE, f"local:{path}")


def _folder(path: Path) -> LocalModel:
    if (path / "config.json").is_file():
        return LocalModel(str(path), path, "huggingface", folder_size(path), folder_licence(path), f"local:{path}")
    ggufs = sorted(path.glob("*.gguf"))
    if len(ggufs) == 1:
        return _gguf(ggufs[0])
    if ggufs:
        raise ModelNotFound(f"{path}: holds {', '.join(file.name for file in ggufs)}; name one of them")
    raise ModelNotFound(f"{path}: holds neither config.json with .safetensors files nor a .gguf file")
