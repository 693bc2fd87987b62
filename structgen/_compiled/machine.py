"""An object file into memory and out come functions: needs LLVM's loader alone."""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_binding: Any = importlib.import_module("llvmlite.binding")

__all__ = ["is_there", "load", "start_llvm", "target"]

_LIBC = {"calloc", "free", "malloc", "memcpy", "memmove", "memset"}
_METH_FASTCALL = 0x80


class _Method(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_make_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def _keep(one: object) -> None:
    """Never free ``one``: functions outlive every module while Python ends, and are looked at until the last."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def target() -> str:
    """The processor that machine code is for, and what it can do."""
    features = _binding.get_host_cpu_features().flatten()
    return f"{_binding.get_process_triple()} {_binding.get_host_cpu_name()} {features}"


def load(code: bytes, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """The functions with these names, of an object file that `build` made; they stay in memory."""
    start_llvm()
    host = _binding.Target.from_triple(_binding.get_process_triple()).create_target_machine()
    engine = _binding.create_mcjit_compiler(_binding.parse_assembly(""), host)
    engine.add_object_file(_binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _keep(engine)
    return {name: _function(name, engine.get_function_address(name)) for name in names}


@functools.cache
def start_llvm() -> None:
    """Once."""
    _binding.initialize_native_target()
    _binding.initialize_native_asmprinter()
    for name, one in _OBJECTS.items():
        _binding.add_symbol(f"structgen_{name}", id(one))


def is_there(symbol: str) -> bool:
    """Whether machine code may refer to ``symbol``; for one that is not there LLVM leaves 0 and says nothing."""
    if symbol.startswith("structgen_"):
        return symbol.removeprefix("structgen_") in _OBJECTS
    return symbol in _LIBC or hasattr(ctypes.pythonapi, symbol)


@functools.cache
def _exception(name: str) -> type[Exception]:
    module, _, kind = name.partition(":")
    found: type[Exception] = getattr(importlib.import_module(module), kind)
    return found


def _raise(name: str) -> None:
    raise _exception(name)


_OBJECTS: dict[str, object] = {
    "None": None,
    "TypeError": TypeError,
    "ndarray": np.ndarray,
    "raise": _raise,
    **{name: np.dtype(name) for name in ("float32", "int8", "int16", "int32", "int64", "uint8")},
}
"""What machine code refers to, by ``structgen_`` and this name."""


def _function(name: str, address: int) -> Callable[..., Any]:
    method = _Method(name.encode(), address, _METH_FASTCALL, None)
    _keep(method)
    return _make_function(ctypes.byref(method), None, None)
