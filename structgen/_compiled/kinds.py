"""What compiled code computes with: numbers, truth values, vectors of these, arrays, and several of them together."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = [
    "BOOL",
    "FLOAT",
    "I1",
    "I8",
    "I32",
    "I64",
    "INT",
    "NONE",
    "POINTER",
    "WORD",
    "Array",
    "Kind",
    "Registers",
    "Scalar",
    "Tuple",
    "Value",
    "Vector",
    "bits_of",
    "element_type",
    "joined",
    "kind_named",
    "types_of",
]

I1, I8, I32, I64 = (_ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER = I8.as_pointer()


_ELEMENTS = {
    "float32": _ir.FloatType(),
    "float16": _ir.HalfType(),
    **{f"{sign}int{bits}": _ir.IntType(bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": I1,
}
_LETTERS = {"F": "float", "I": "int", "U": "uint"}


def element_type(dtype: str) -> Any:
    """The LLVM type of a number in memory or in a vector."""
    return _ELEMENTS[dtype]


def bits_of(dtype: str) -> int:
    """How many bits a number of this dtype has."""
    return int(re.sub(r"[a-z]+", "", dtype))


class Scalar(NamedTuple):
    """One number: as compiled code computes with it (`INT` and its like), or of a dtype, as it lies in memory."""

    name: str


class Vector(NamedTuple):
    """Numbers side by side, in as many registers as they need."""

    dtype: str
    lanes: int

    @property
    def type(self) -> Any:
        """The LLVM type."""
        return _ir.VectorType(element_type(self.dtype), self.lanes)


class Array(NamedTuple):
    """A contiguous array: where it begins, and its length along each axis."""

    dtype: str
    ndim: int

    @property
    def element(self) -> Any:
        """The LLVM type of an element."""
        return element_type(self.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return bits_of(self.dtype) // 8


class Tuple(NamedTuple):
    """Several values."""

    items: tuple[Kind, ...]


class Registers(NamedTuple):
    """A row of values of one kind that live in registers: only constants count in it."""

    kind: Kind
    length: int


Kind = Scalar | Vector | Array | Tuple | Registers
INT, BOOL, WORD, FLOAT, NONE = (Scalar(name) for name in ("int", "bool", "uint64", "float", "None"))

_NAMED: dict[str, Kind] = {
    "None": NONE,
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    "Memory": INT,
    "Address": INT,
    "Float32Array": Array("float32", 1),
    "Int8Array": Array("int8", 1),
    "Int16Array": Array("int16", 1),
    "Int32Array": Array("int32", 1),
    "Int32Table": Array("int32", 2),
    "Int64Array": Array("int64", 1),
    "Int64Table": Array("int64", 2),
    "UInt8Array": Array("uint8", 1),
}


def kind_named(annotation: str) -> Kind:
    """The kind that an annotation names: one of the table's, a tuple of them, or ``I16x32`` and the like."""
    if annotation.startswith("tuple["):
        return Tuple(tuple(_NAMED[name.strip()] for name in annotation[6:-1].split(",")))
    vector = re.fullmatch(r"([FIU])(\d+)(?:x(\d+))?", annotation)
    if vector:
        dtype = f"{_LETTERS[vector[1]]}{vector[2]}"
        return Vector(dtype, int(vector[3])) if vector[3] else Scalar(dtype)
    return _NAMED[annotation]


def types_of(kind: Kind) -> list[Any]:
    """The LLVM types of the parts of a value."""
    if isinstance(kind, Array):
        return [kind.element.as_pointer(), *[I64] * kind.ndim]
    if isinstance(kind, Tuple):
        return [one for item in kind.items for one in types_of(item)]
    if isinstance(kind, Registers):
        return types_of(kind.kind) * kind.length
    if isinstance(kind, Vector):
        return [kind.type]
    return {"int": [I64], "uint64": [I64], "float": [element_type("float32")], "bool": [I1], "None": []}[kind.name]


def joined(kinds: Sequence[Kind]) -> Kind:
    """The kind of what is of one of ``kinds``."""
    first, *others = dict.fromkeys(kinds)
    if not others:
        return first
    if all(isinstance(kind, Tuple) for kind in kinds):
        columns = zip(*(kind.items for kind in kinds if isinstance(kind, Tuple)), strict=True)
        return Tuple(tuple(joined(column) for column in columns))
    if set(kinds) == {INT, BOOL}:
        return INT
    raise TypeError(f"of different kinds: {kinds}")


class Value(NamedTuple):
    """A value in LLVM's registers."""

    kind: Kind
    parts: tuple[Any, ...]

    @property
    def items(self) -> list[Value]:
        """The values of a tuple."""
        found: list[Value] = []
        parts = list(self.parts)
        for kind in self.kind.items if isinstance(self.kind, Tuple) else ():
            count = len(types_of(kind))
            found.append(Value(kind, tuple(parts[:count])))
            del parts[:count]
        return found
