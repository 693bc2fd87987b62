"""What compiled code computes with: integers, truth values, 64 unsigned bits, arrays, and tuples of these."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = [
    "BOOL",
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
    "Tuple",
    "Value",
    "joined",
    "kind_named",
    "types_of",
]

I1, I8, I32, I64 = (_ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER = I8.as_pointer()


class _Scalar(NamedTuple):
    name: str


class Array(NamedTuple):
    """A contiguous array: where it begins, and its length along each axis."""

    dtype: str
    ndim: int

    @property
    def element(self) -> Any:
        """The LLVM type of an element."""
        return _ir.IntType(8 * self.itemsize)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return {"uint8": 1, "int32": 4, "int64": 8}[self.dtype]


class Tuple(NamedTuple):
    """Several values."""

    items: tuple[Kind, ...]


Kind = _Scalar | Array | Tuple
INT, BOOL, WORD, NONE = (_Scalar(name) for name in ("int", "bool", "uint64", "None"))

_NAMED: dict[str, Kind] = {
    "None": NONE,
    "bool": BOOL,
    "int": INT,
    "Memory": INT,
    "Int32Array": Array("int32", 1),
    "Int32Table": Array("int32", 2),
    "Int64Array": Array("int64", 1),
    "Int64Table": Array("int64", 2),
    "UInt8Array": Array("uint8", 1),
}


def kind_named(annotation: str) -> Kind:
    """The kind that an annotation names."""
    if annotation.startswith("tuple["):
        return Tuple(tuple(_NAMED[name.strip()] for name in annotation[6:-1].split(",")))
    return _NAMED[annotation]


def types_of(kind: Kind) -> list[Any]:
    """The LLVM types of the parts of a value."""
    if isinstance(kind, Array):
        return [kind.element.as_pointer(), *[I64] * kind.ndim]
    if isinstance(kind, Tuple):
        return [one for item in kind.items for one in types_of(item)]
    return {"int": [I64], "uint64": [I64], "bool": [I1], "None": []}[kind.name]


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
