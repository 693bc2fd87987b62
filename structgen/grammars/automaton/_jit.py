"""How the package meets the compiler: three decorators, access to memory, and the names of array types.

A function is compiled for the types of its annotations when the first of all `compiled` ones is called, and the machine
code is kept on disk for each state of the package's sources. See `structgen._compiled`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from structgen._compiled.entries import Inlined, Inner, add_entry

__all__ = [
    "Int32Array",
    "Int32Table",
    "Int64Array",
    "Int64Table",
    "Memory",
    "UInt8Array",
    "compiled",
    "fixed",
    "inlined",
    "inner",
    "int64",
    "load",
    "rare",
    "store",
]

# For a type checker an element is Any: numpy's scalars are no `int` to it, and to compiled code they are.
Int32Array = npt.NDArray[Any]
Int64Array = npt.NDArray[Any]
UInt8Array = npt.NDArray[Any]
Int32Table = npt.NDArray[Any]
"""Two-dimensional, as is `Int64Table`."""
Int64Table = npt.NDArray[Any]

Memory = int
"""The address of an int32 array that its owner keeps alive."""

if TYPE_CHECKING:

    def int64(value: Any) -> int:
        """Widen an element of an array to what compiled functions take."""
        ...

else:
    int64 = np.int64

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(function: _F) -> _F:
    """A function that Python calls. Calls release the GIL.

    Takes integers and arrays, by position; returns an integer, a bool or nothing.
    """
    return cast("_F", add_entry(function, "structgen.grammars"))


def inner(function: _F) -> _F:
    """A function that compiled ones call."""
    return cast("_F", Inner(function))


def rare(function: _F) -> _F:
    """Like `inner`, for what seldom runs: it is never inlined, so that its callers can be."""
    return cast("_F", Inner(function, is_rare=True))


def inlined(function: _F) -> _F:
    """A function whose calls cost nothing to compile: integer arithmetic, and calls of others of its kind.

    Its Python runs once for each call that is compiled, with numbers where the caller's arguments are constants.
    """
    return cast("_F", Inlined(function))


@inlined
def load(memory: Memory, index: int) -> int:
    """The int32 at ``index``, in compiled code only."""
    return _emit().load(memory, index)


@inlined
def fixed(memory: Memory, index: int) -> int:
    """The int32 at ``index``, which no compiled function ever changes: one look serves for many."""
    return _emit().fixed(memory, index)


@inlined
def store(memory: Memory, index: int, value: int) -> None:
    """Set the int32 at ``index``, in compiled code only."""
    _emit().store(memory, index, value)


def _emit() -> Any:
    return importlib.import_module("structgen._compiled.emit")  # which brings in LLVM's writer
