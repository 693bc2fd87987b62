"""The safetensors files of a folder, one or many, as one set of tensors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from structgen.engine.model_files import SHARD_INDEX, read_shard_index
from structgen.errors import InvalidModelFile, UnsupportedModel

__all__ = ["SafetensorsFiles"]

_SINGLE = "model.safetensors"
_DTYPES = frozenset({"F64", "F32", "F16", "BF16"})
# Causal masks, which models used to keep beside their weights (GPT-NeoX, GPT-2), and their code makes anew.
_MASK = re.compile(r".*\.(attention|attn)\.bias")
_MASK_DTYPES = frozenset({"BOOL", "U8"})


class SafetensorsFiles:
    """``model.safetensors``, or the shards that ``model.safetensors.index.json`` names; all headers are checked here.

    Parameters
    ----------
    folder : Path
        Where they are.

    Raises
    ------
    InvalidModelFile
        A file is missing, truncated or not safetensors, or a shard lacks a tensor that the index puts there.
    UnsupportedModel
        A tensor is not floating point, or the folder has pickled weights only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, Any] = {}  # tensor name -> the open shard (safetensors has no type for it)
        self._shapes: dict[str, tuple[int, ...]] = {}
        for path, expected in self._shards().items():
            self._open(path, expected)

    def names(self) -> list[str]:
        """Every tensor's name."""
        return list(self._shapes)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, from the header."""
        self._require(name)
        return self._shapes[name]

    def rows(self, name: str, first: int, count: int) -> npt.NDArray[np.float32]:
        """Return some rows of a tensor as float32."""
        self._require(name)
        # numpy has no bfloat16, so safetensors must give torch's tensors.
        return self._places[name].get_slice(name)[first : first + count].float().numpy()

    def close(self) -> None:
        """Let go of the files; what was read stays."""
        self._places.clear()

    def _require(self, name: str) -> None:
        if name not in self._shapes:
            raise InvalidModelFile(f"{self._folder}: no tensor {name!r}; the files do not fit the architecture")
        if name not in self._places:
            raise ValueError(f"{self._folder} is closed")

    def _shards(self) -> dict[Path, list[str]]:
        """Paths of the files, each with the tensors that an index promises there."""
        single, index = self._folder / _SINGLE, self._folder / SHARD_INDEX
        if single.is_file():
            return {single: []}
        if index.is_file():
            return self._indexed(index)
        if any(self._folder.glob("*.bin")):
            raise UnsupportedModel(
                f"{self._folder}: pickled weights (.bin) run code when read; convert them with "
                "model.save_pretrained(folder), which writes safetensors"
            )
        raise InvalidModelFile(f"{self._folder}: neither {_SINGLE} nor {SHARD_INDEX}; get the weights too")

    def _indexed(self, index: Path) -> dict[Path, list[str]]:
        shards: dict[Path, list[str]] = {}
        for name, file in read_shard_index(index).items():
            shards.setdefault(self._folder / file, []).append(name)
        for path in shards:
            if not path.is_file():
                raise InvalidModelFile(f"{path}: this shard is missing, {index.name} names it; get it too")
        return shards

    def _open(self, path: Path, expected: list[str]) -> None:
        try:
            shard = safe_open(str(path), framework="pt")
            slices = {name: shard.get_slice(name) for name in expected or shard.keys()}
        except (SafetensorError, OSError) as error:
            raise InvalidModelFile(f"{path}: broken safetensors file: {error}; get the file again") from error
        for name, part in slices.items():
            if part.get_dtype() in _MASK_DTYPES and _MASK.fullmatch(name):
                continue
            if part.get_dtype() not in _DTYPES:
                raise UnsupportedModel(
                    f"{path}: tensor {name!r} is of type {part.get_dtype()}; the types here are "
                    f"{', '.join(sorted(_DTYPES))}; use the unquantized model or a GGUF file of it"
                )
            self._places[name] = shard
            self._shapes[name] = tuple(part.get_shape())
