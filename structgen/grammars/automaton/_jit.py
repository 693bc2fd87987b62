"""How the package meets Numba: two decorators, and the names of array types.

A function is compiled for the types of its annotations when its module is imported, and the machine code is kept on
disk, in a folder of its own for each state of the package's sources: Numba would not see that a function has changed
which a kept one calls. Those that only compiled code calls are compiled when a caller is, and so not at all where the
callers are found on disk.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

# Numba and llvmlite ship no types; everything that they give passes through here once.
_numba: Any = importlib.import_module("numba")
_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = [
    "Int32Array",
    "Int32Table",
    "Int64Array",
    "Int64Table",
    "Memory",
    "UInt8Array",
    "compiled",
    "inner",
    "int64",
    "load",
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
"""The address of an int32 array that its owner keeps alive: an array's argument costs 0.3 us a call, and the time to
compile what is passed it doubles."""

if TYPE_CHECKING:

    def int64(value: Any) -> int:
        """Widen an element of an array to what compiled functions take."""
        ...

    def load(memory: int, index: int) -> int:
        """The int32 at ``index``, in compiled code only."""
        ...

    def store(memory: int, index: int, value: int) -> None:
        """Set the int32 at ``index``, in compiled code only."""
        ...

else:
    int64 = np.int64

    @_numba.extending.intrinsic
    def load(typing_context: Any, memory: Any, index: Any) -> Any:
        """The int32 at ``index``, in compiled code only."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.sext(builder.load(_element(builder, *arguments)), _ir.IntType(64))

        return _numba.int64(_numba.int64, _numba.int64), generate

    @_numba.extending.intrinsic
    def store(typing_context: Any, memory: Any, index: Any, value: Any) -> Any:
        """Set the int32 at ``index``, in compiled code only."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, place, new = arguments
            builder.store(builder.trunc(new, _ir.IntType(32)), _element(builder, address, place))
            return context.get_dummy_value()

        return _numba.void(_numba.int64, _numba.int64, _numba.int64), generate

    def _element(builder: Any, memory: Any, index: Any) -> Any:
        return builder.gep(builder.inttoptr(memory, _ir.IntType(32).as_pointer()), [index])


_F = TypeVar("_F", bound=Callable[..., object])

_SIGNATURES = {
    "None": "void",
    "bool": "boolean",
    "int": "int64",
    "Memory": "int64",
    "Int32Array": "int32[::1]",
    "Int32Table": "int32[:, ::1]",
    "Int64Array": "int64[::1]",
    "Int64Table": "int64[:, ::1]",
    "UInt8Array": "uint8[::1]",
    "tuple[int, int]": "UniTuple(int64, 2)",
    "tuple[Int64Array, Int64Array]": "UniTuple(int64[::1], 2)",
}


def compiled(function: _F) -> _F:
    """Compile ``function`` for the types of its annotations; calls release the GIL."""
    dispatcher = _in_cache(lambda cached: _numba.njit(nogil=True, cache=cached)(function))
    _compile(dispatcher, function)
    if not dispatcher.stats.cache_hits:
        _say_once("compiling the grammar code for this machine, about 20 seconds; the next start will find it on disk")
    return cast("_F", dispatcher)


def inner(function: _F) -> _F:
    """Like `compiled`, for functions that only compiled ones call."""
    dispatcher = _numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    resolve = dispatcher.get_call_template

    def compile_first(*call: Any) -> Any:
        if not dispatcher.overloads:
            _compile(dispatcher, function)
        return resolve(*call)

    dispatcher.get_call_template = compile_first
    return cast("_F", dispatcher)


def _compile(dispatcher: Any, function: Callable[..., object]) -> None:
    """Compile for the annotated types and no others: a constant is no type of its own."""
    types = dict(function.__annotations__)
    result = _SIGNATURES[types.pop("return")]
    dispatcher.compile(f"{result}({', '.join(_SIGNATURES[kind] for kind in types.values())})")
    dispatcher.disable_compile()


def _in_cache(make: Callable[[bool], Any]) -> Any:
    """Let ``make`` use the folder of machine code, where there can be one."""
    folder = _cache_folder()
    if folder is None:
        return make(False)
    before, _numba.config.CACHE_DIR = _numba.config.CACHE_DIR, folder
    try:
        return make(True)
    finally:
        _numba.config.CACHE_DIR = before


@functools.cache
def _cache_folder() -> str | None:
    """The first folder that can be written, for the sources as they are; ``None`` where there is none."""
    sources = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        digest.update(path.read_bytes())
    for base in _cache_bases(sources):
        folder = base / f"structgen-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return None


def _cache_bases(sources: Path) -> Iterator[Path]:
    if _numba.config.CACHE_DIR:
        yield Path(_numba.config.CACHE_DIR)
    yield sources / "__pycache__"
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "structgen" / "compiled"


@functools.cache
def _say_once(what: str) -> None:
    logging.getLogger("structgen").warning("structgen: %s", what)
