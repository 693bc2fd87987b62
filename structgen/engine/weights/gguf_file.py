"""The GGUF container: header, key/value metadata, tensor directory, mapped data.

Follows the specification in ggml's ``docs/gguf.md``, versions 2 and 3, little-endian. ``gguf.GGUFReader`` makes numpy
views of every string and takes seconds for the hundred thousand strings of a vocabulary; this reader takes a tenth of
one. The constants still come from the package.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGUF_DEFAULT_ALIGNMENT, GGMLQuantizationType

from structgen.engine.model_files import GGUF_MAGIC
from structgen.errors import InvalidModelFile, UnsupportedModel

__all__ = ["GgufFile", "StoredTensor"]

_VERSIONS = (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_KINDS = {kind.value: kind for kind in GGMLQuantizationType}
_LEAST_FIELD = 8 + 4 + 1  # bytes of a key's length, a value's type and the smallest value
_LEAST_TENSOR = 8 + 4 + 8 + 4 + 8  # name's length, number of dimensions, one dimension, type, offset
_MOST_DIMENSIONS = 4


class StoredTensor(NamedTuple):
    """Where a tensor lies in the file, and how it is to be read."""

    shape: tuple[int, ...]
    """Rows first (the file has them the other way round)."""
    kind: GGMLQuantizationType
    start: int
    """Byte offset in the file."""
    size: int
    """Bytes."""


class GgufFile:
    """One GGUF file: all of its metadata read and checked, its tensors mapped.

    Every size in the file is checked against the file's length before it is believed, so that no header makes us
    allocate more than the file holds.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    fields : Mapping[str, object]
        The metadata: bool, int, float, str, ``list[str]``, or ``np.ndarray`` for an array of numbers.
    tensors : Mapping[str, StoredTensor]
        The tensors by the file's own names.

    Raises
    ------
    InvalidModelFile
        The file is no GGUF, is truncated or contradicts itself.
    UnsupportedModel
        Another version or byte order, a file split in parts, an array of arrays, or a tensor type that ggml lacks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise InvalidModelFile(f"{path}: cannot be read: {error}; get the file again") from error
        cursor = _Cursor(path, self._map)
        tensor_count, field_count = _read_counts(cursor)
        self.fields: Mapping[str, object] = _read_fields(cursor, field_count)
        _refuse_split(path, self.fields)
        self.tensors: Mapping[str, StoredTensor] = _read_tensors(cursor, tensor_count, _alignment(path, self.fields))

    def data(self, tensor: StoredTensor) -> npt.NDArray[np.uint8]:
        """Return the bytes of a tensor, a view of the mapping: uint8 [size]."""
        return np.frombuffer(self._map, np.uint8, tensor.size, tensor.start)


class _Cursor:
    """Reads forward through the mapped file and never past its end."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data
        self.size = len(data)
        self.position = 0

    def fail(self, reason: str) -> NoReturn:
        raise InvalidModelFile(f"{self.path}: {reason} (at byte {self.position}); get the file again")

    def need(self, count: int, what: str) -> None:
        """Refuse to go on when fewer than ``count`` bytes are left."""
        if count > self.size - self.position:
            self.fail(f"truncated: {what} needs {count} bytes, {self.size - self.position} are left")

    def number(self, code: str, what: str) -> int | float | bool:
        form = f"<{code}"
        self.need(struct.calcsize(form), what)
        (value,) = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return value

    def count(self, code: str, what: str) -> int:
        return int(self.number(code, what))

    def string(self, what: str) -> str:
        return self.strings(1, what)[0]

    def strings(self, count: int, what: str) -> list[str]:
        """Read ``count`` strings; written flat, because a vocabulary is read by this loop."""
        data, size, position = self.data, self.size, self.position
        length_at = struct.Struct("<Q").unpack_from
        found: list[str] = []
        try:
            for _ in range(count):
                start = position + 8
                position = start + length_at(data, position)[0]
                if position > size:
                    self.fail(f"truncated: {what} goes beyond the end of the file")
                found.append(data[start:position].decode())
        except struct.error:
            self.fail(f"truncated: {what} goes beyond the end of the file")
        except UnicodeDecodeError as error:
            self.fail(f"{what} is not UTF-8: {error}")
        self.position = position
        return found

    def value(self, kind: int, what: str) -> object:
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self.array(what)
        if kind not in _SCALARS:
            self.fail(f"{what} has the unknown value type {kind}")
        return self.number(_SCALARS[kind], what)

    def array(self, what: str) -> list[str] | np.ndarray:
        kind, count = self.count("I", what), self.count("Q", what)
        if kind == _ARRAY:
            raise UnsupportedModel(f"{self.path}: {what} is an array of arrays, which is not read here")
        if kind == _STRING:
            self.need(8 * count, what)
            return self.strings(count, what)
        if kind not in _SCALARS:
            self.fail(f"{what} has the unknown element type {kind}")
        dtype = np.dtype(f"<{_SCALARS[kind]}") if kind != 7 else np.dtype(bool)
        self.need(dtype.itemsize * count, what)
        values = np.frombuffer(self.data, dtype, count, self.position)
        self.position += values.nbytes
        return values


def _read_counts(cursor: _Cursor) -> tuple[int, int]:
    """Read the fixed header; return the number of tensors and of fields."""
    if cursor.data[: len(GGUF_MAGIC)] != GGUF_MAGIC:
        cursor.fail(f"not a GGUF file: it begins with {cursor.data[:4]!r} instead of {GGUF_MAGIC!r}")
    cursor.position = len(GGUF_MAGIC)
    version = cursor.count("I", "the version")
    if version not in _VERSIONS:
        why = "is big-endian" if version & 0xFFFF == 0 else f"has GGUF version {version}"
        raise UnsupportedModel(
            f"{cursor.path}: the file {why}; little-endian versions 2 and 3 are read: convert it with llama.cpp"
        )
    tensors, fields = cursor.count("Q", "the number of tensors"), cursor.count("Q", "the number of fields")
    cursor.need(tensors * _LEAST_TENSOR + fields * _LEAST_FIELD, f"a header of {tensors} tensors and {fields} fields")
    return tensors, fields


def _read_fields(cursor: _Cursor, count: int) -> dict[str, object]:
    fields: dict[str, object] = {}
    for _ in range(count):
        key = cursor.string("a metadata key")
        if key in fields:
            cursor.fail(f"the metadata key {key!r} stands there twice")
        kind = cursor.count("I", f"the type of {key}")
        fields[key] = cursor.value(kind, key)
    return fields


def _refuse_split(path: Path, fields: Mapping[str, object]) -> None:
    parts = fields.get("split.count", 1)
    if isinstance(parts, int) and parts > 1:
        raise UnsupportedModel(
            f"{path}: one of {parts} parts of a split model; join them with `llama-gguf-split --merge`"
        )


def _alignment(path: Path, fields: Mapping[str, object]) -> int:
    alignment = fields.get("general.alignment", GGUF_DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 8 or alignment & (alignment - 1):
        raise InvalidModelFile(f"{path}: general.alignment is {alignment!r}, not a power of two; get the file again")
    return alignment


def _read_tensors(cursor: _Cursor, count: int, alignment: int) -> dict[str, StoredTensor]:
    found: dict[str, StoredTensor] = {}
    for _ in range(count):
        name = cursor.string("a tensor's name")
        if name in found:
            cursor.fail(f"the tensor {name!r} stands there twice")
        found[name] = _read_tensor(cursor, name, alignment)
    data_start = -(-cursor.position // alignment) * alignment
    placed = {name: tensor._replace(start=data_start + tensor.start) for name, tensor in found.items()}
    for name, tensor in placed.items():
        if tensor.start + tensor.size > cursor.size:
            cursor.fail(
                f"truncated: tensor {name!r} ends at byte {tensor.start + tensor.size}, the file at {cursor.size}"
            )
    return placed


def _read_tensor(cursor: _Cursor, name: str, alignment: int) -> StoredTensor:
    """Read one entry of the directory; its start is still relative to the data section."""
    dimensions = cursor.count("I", f"the shape of {name}")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        cursor.fail(f"tensor {name!r} has {dimensions} dimensions")
    shape = tuple(reversed([cursor.count("Q", f"the shape of {name}") for _ in range(dimensions)]))
    number, start = cursor.count("I", f"the type of {name}"), cursor.count("Q", f"the offset of {name}")
    if number not in _KINDS:
        raise UnsupportedModel(f"{cursor.path}: tensor {name!r} is of type number {number}, which ggml does not have")
    kind = _KINDS[number]
    block, block_size = GGML_QUANT_SIZES[kind]
    if 0 in shape or shape[-1] % block or start % alignment:
        cursor.fail(f"tensor {name!r} of type {kind.name} cannot have shape {list(shape)} and offset {start}")
    return StoredTensor(shape, kind, start, math.prod(shape) // block * block_size)
