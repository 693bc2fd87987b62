"""An object file into memory and out come functions: needs LLVM's loader, but neither its compiler nor Numba."""

from __future__ import annotations

import ctypes
import functools
import importlib
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_binding: Any = importlib.import_module("llvmlite.binding")

__all__ = ["load", "target"]

_METH_FASTCALL = 0x80
_DTYPES = ("int32", "uint8", "int64")


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

_engines: list[Any] = []
_methods: list[_Method] = []


def target() -> str:
    """The processor that machine code is for, and what it can do."""
    features = _binding.get_host_cpu_features().flatten()
    return f"{_binding.get_process_triple()} {_binding.get_host_cpu_name()} {features}"


def load(code: bytes, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """The functions with these names, of an object file that `build` made; they stay in memory."""
    _prepare()
    host = _binding.Target.from_triple(_binding.get_process_triple()).create_target_machine()
    engine = _binding.create_mcjit_compiler(_binding.parse_assembly(""), host)
    engine.add_object_file(_binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: _function(name, engine.get_function_address(name)) for name in names}


@functools.cache
def _prepare() -> None:
    _binding.initialize_native_target()
    _binding.initialize_native_asmprinter()
    _binding.add_symbol("structgen_raise", id(_raise))
    _binding.add_symbol("structgen_ndarray", id(np.ndarray))
    for name in _DTYPES:
        _binding.add_symbol(f"structgen_{name}", id(np.dtype(name)))


def _raise(pickled: bytes) -> None:
    kind, arguments, *_ = pickle.loads(pickled)
    raise kind(*(arguments or ()))


def _function(name: str, address: int) -> Callable[..., Any]:
    method = _Method(name.encode(), address, _METH_FASTCALL, None)
    _methods.append(method)  # Python keeps a pointer to it
    return _make_function(ctypes.byref(method), None, None)
