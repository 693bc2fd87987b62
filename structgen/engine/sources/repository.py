"""A Hugging Face repository or folder: its name, which of its files make the model, and under what licence."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from structgen.engine.model_files import SHARD_INDEX, read_shard_index
from structgen.engine.sources.base import UNKNOWN_LICENCE
from structgen.errors import InvalidModelFile, ModelNotFound

__all__ = ["Repository", "folder_licence", "is_whole_folder", "model_files"]

_LOCATION = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(/(?P<member>[^/@]+\.gguf))?(@(?P<revision>[\w./-]+))?")

_WANTED = ("*.safetensors", "*.json", "*.txt", "*.jinja", "tokenizer.model", "README.md", "LICENSE*")
_UNWANTED = ("consolidated*",)  # Mistral's own copy of the same weights


class Repository(NamedTuple):
    """What stands after ``hf:``."""

    source: str
    """All of it, with the scheme."""
    name: str
    """``org/name``"""
    member: str | None
    """The ``.gguf`` file to take."""
    revision: str | None
    """A branch, tag or commit; None is the repository's main branch."""

    @classmethod
    def parse(cls, location: str) -> Repository:
        """Read ``org/name[/FILE.gguf][@revision]``.

        Raises
        ------
        ModelNotFound
            It is something else.
        """
        match = _LOCATION.fullmatch(location)
        if match is None:
            raise ModelNotFound(f"hf:{location}: write hf:org/name, hf:org/name@revision or hf:org/name/FILE.gguf")
        return cls(f"hf:{location}", match["name"], match["member"], match["revision"])


def model_files(repository: Repository, names: Iterable[str]) -> list[str]:
    """Choose the files of a repository that make one model.

    Only files at its top count: folders hold other forms of the same weights (ONNX, the original's own).

    Parameters
    ----------
    repository : Repository
        Which one, and which ``.gguf`` of it.
    names : iterable of str
        Every file that it holds.

    Returns
    -------
    list of str
        The ``.gguf`` file alone, or ``config.json``, the safetensors and what goes with them.

    Raises
    ------
    ModelNotFound
        There is no model, or there are several and ``repository`` names none of them.
    """
    source, member = repository.source, repository.member
    top = sorted(name for name in names if "/" not in name)
    ggufs = [name for name in top if name.endswith(".gguf")]
    if member is not None:
        if member not in ggufs:
            raise ModelNotFound(f"{source}: there is no {member}; its .gguf files are {', '.join(ggufs) or 'none'}")
        return [member]
    if "config.json" in top and any(fnmatch.fnmatchcase(name, "*.safetensors") for name in top):
        return [name for name in top if _matches(name, _WANTED) and not _matches(name, _UNWANTED)]
    if len(ggufs) > 1:
        raise ModelNotFound(f"{source}: it holds {', '.join(ggufs)}; name one: hf:{repository.name}/FILE.gguf")
    if not ggufs:
        raise ModelNotFound(f"{source}: it holds neither config.json with .safetensors files nor a .gguf file")
    return ggufs


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_whole_folder(folder: Path) -> bool:
    """Has a folder everything that a Hugging Face model needs: config, tokenizer and every shard of its index?

    Another program may have fetched a part only.
    """
    if not (folder / "config.json").is_file() or not (folder / "tokenizer.json").is_file():
        return False
    index = folder / SHARD_INDEX
    if not index.is_file():
        return any(folder.glob("*.safetensors"))
    try:
        shards = set(read_shard_index(index).values())
    except InvalidModelFile:  # cut or damaged: fetching it again is what helps
        return False
    return all((folder / shard).is_file() for shard in shards)


def folder_licence(folder: Path) -> str:
    """Return the licence that the model card of a folder states, ``"unknown"`` where there is none."""
    card = folder / "README.md"
    if not card.is_file():
        return UNKNOWN_LICENCE
    lines = card.read_text(encoding="utf-8", errors="replace").splitlines()
    if lines[:1] != ["---"]:
        return UNKNOWN_LICENCE
    for line in lines[1:]:
        if line == "---":
            break
        if line.startswith("license:"):
            return line.removeprefix("license:").strip(" \"'") or UNKNOWN_LICENCE
    return UNKNOWN_LICENCE
