"""How the package meets Numba: two decorators, and the names of array types.

A function is compiled for the types of its annotations when its module is imported, and the machine code is kept on
disk. Compiling on first call instead would make one version for every constant that is passed.
"""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

__all__ = ["Int32Array", "Int32Table", "Int64Array", "Int64Table", "UInt8Array", "compiled", "inner", "int64"]

# For a type checker an element is Any: numpy's scalars are no `int` to it, and to compiled code they are.
Int32Array = npt.NDArray[Any]
Int64Array = npt.NDArray[Any]
UInt8Array = npt.NDArray[Any]
Int32Table = npt.NDArray[Any]
"""Two-dimensional, as is `Int64Table`."""
Int64Table = npt.NDArray[Any]

if TYPE_CHECKING:

    def int64(value: Any) -> int:
        """Widen an element of an array to what compiled functions take."""
        ...

else:
    int64 = np.int64

_F = TypeVar("_F", bound=Callable[..., object])

_SIGNATURES = {
    "None": "void",
    "bool": "boolean",
    "int": "int64",
    "Int32Array": "int32[::1]",
    "Int32Table": "int32[:, ::1]",
    "Int64Array": "int64[::1]",
    "Int64Table": "int64[:, ::1]",
    "UInt8Array": "uint8[::1]",
    "tuple[int, int]": "UniTuple(int64, 2)",
    "tuple[Int64Array, Int64Array]": "UniTuple(int64[::1], 2)",
}

# Numba ships no types; everything that it gives passes through here once.
_numba: Any = importlib.import_module("numba")


def compiled(function: _F) -> _F:
    """Compile ``function`` for the types of its annotations; calls release the GIL."""
    return _compile(function, {})


def inner(function: _F) -> _F:
    """Like `compiled`, for functions that only compiled ones call."""
    return _compile(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


def _compile(function: _F, options: dict[str, bool]) -> _F:
    types = dict(function.__annotations__)
    result = _SIGNATURES[types.pop("return")]
    signature = f"{result}({', '.join(_SIGNATURES[kind] for kind in types.values())})"
    try:
        dispatcher = _numba.njit(signature, cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder can be written: neither beside the source nor in the user's cache
        dispatcher = _numba.njit(signature, nogil=True, **options)(function)
    if not dispatcher.stats.cache_hits:
        _say_once("compiling the grammar code for this machine, about 20 seconds; the next start will find it on disk")
    return cast("_F", dispatcher)


@functools.cache
def _say_once(what: str) -> None:
    logging.getLogger("structgen").warning("structgen: %s", what)
