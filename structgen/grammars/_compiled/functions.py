"""What our functions are to Numba: callables of one signature, that of their annotations."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from structgen.grammars._compiled.emit import emit

# Numba ships no types; everything that it gives passes through here once.
_numba: Any = importlib.import_module("numba")
_registry: Any = importlib.import_module("numba.core.registry")

__all__ = ["called_type", "compiled", "inlined_type"]

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


def _signature(function: Callable[..., object]) -> str:
    """Numba's spelling of the annotations."""
    types = dict(function.__annotations__)
    result = _SIGNATURES[types.pop("return")]
    return f"{result}({', '.join(_SIGNATURES[kind] for kind in types.values())})"


@functools.cache
def _dispatcher(function: Callable[..., object]) -> Any:
    pipeline = importlib.import_module("structgen.grammars._compiled.build").Pipeline
    dispatcher = _numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=pipeline)(function)
    resolve = dispatcher.get_call_template

    def compile_first(*call: Any) -> Any:
        compiled(function)
        return resolve(*call)

    dispatcher.get_call_template = compile_first
    return dispatcher


def compiled(function: Callable[..., object]) -> Any:
    """Numba's result of compiling for the annotated types, and no others: a constant is no type of its own."""
    dispatcher = _dispatcher(function)
    if not dispatcher.overloads:
        dispatcher.compile(_signature(function))
        dispatcher.disable_compile()
    (result,) = dispatcher.overloads.values()
    return result


def called_type(function: Callable[..., object]) -> Any:
    """The type of a function that compiled code calls."""
    return _numba.types.Dispatcher(_dispatcher(function))


@functools.cache
def inlined_type(function: Callable[..., object]) -> Any:
    """The type of a function that leaves no call behind."""
    parameters = list(inspect.signature(function).parameters.values())
    result = _numba.void if function.__annotations__["return"] == "None" else _numba.int64
    kinds = result(*[_numba.int64] * len(parameters))

    def define(typing_context: Any, *arguments: Any) -> Any:
        return kinds, generate

    def generate(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
        value = emit(builder, function, arguments)
        return context.get_dummy_value() if value is None else value

    first = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    define.__signature__ = inspect.Signature([first, *parameters])
    intrinsic = _numba.extending.intrinsic(define)
    context = _registry.cpu_target.typing_context
    context.refresh()  # which sees the new function
    return context.resolve_value_type(intrinsic)
