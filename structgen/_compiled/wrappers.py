"""LLVM IR between Python and a compiled function: arguments in, the result or the exception out.

It is called with a C array of arguments, and reads an array where numpy keeps it, so that a call takes 0.1 us.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from structgen._compiled.kinds import BOOL, I8, I32, I64, INT, NONE, POINTER, Array
from structgen._compiled.translate import Callee, Unit

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["add_wrapper"]

_LONG = _ir.IntType(8 * ctypes.sizeof(ctypes.c_long))

# numpy's PyArrayObject_fields, part of its stable ABI; Python's object comes first, its type last of that.
_HEAD = object.__basicsize__
_TYPE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = _HEAD - 8, _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48
_BEHAVED = 0x1 | 0x100 | 0x400
"""Contiguous, aligned, writeable: what a function writes is not told from what it only reads."""


class _Wrapper:
    """The code of one callable, of the C type ``_PyCFunctionFast``: (self, arguments, their number) -> object."""

    def __init__(self, module: Any, name: str, unit: Unit, callee: Callee) -> None:
        self.module, self.unit, self.callee = module, unit, callee
        kind = _ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), I64])
        self.function = _ir.Function(module, kind, name)
        self.builder = _ir.IRBuilder(self.function.append_basic_block("entry"))

    def write(self) -> None:
        builder, kinds = self.builder, list(self.callee.arguments.values())
        _, arguments, count = self.function.args
        self._unless(builder.icmp_signed("==", count, I64(len(kinds))), f"takes {len(kinds)} arguments")
        parts: list[Any] = []
        for place, kind in enumerate(kinds):
            value = builder.load(builder.gep(arguments, [I64(place)]))
            if kind != INT and not isinstance(kind, Array):
                raise NotImplementedError(f"{self.function.name}: Python gives integers and arrays, no {kind}")
            parts += self._array(value, kind, place) if isinstance(kind, Array) else [self._integer(value)]
        thread = self._call("PyEval_SaveThread", POINTER)
        result = builder.call(self.callee.code, parts)
        self._call("PyEval_RestoreThread", _ir.VoidType(), thread)
        if self.callee.may_raise:
            has_value = self.callee.result != NONE
            status = builder.extract_value(result, 1) if has_value else result
            result = builder.extract_value(result, 0) if has_value else None
            if self.unit.raised:  # empty where all divisors turned out to be constants
                self._raise(status)
        builder.ret(self._boxed(result))

    def _integer(self, value: Any) -> Any:
        builder = self.builder
        number = self._call("PyLong_AsLongLong", I64, value)
        with builder.if_then(builder.icmp_signed("==", number, I64(-1)), likely=False):
            failed = builder.icmp_unsigned("!=", self._call("PyErr_Occurred", POINTER), POINTER(None))
            with builder.if_then(failed):
                builder.ret(POINTER(None))
        return number

    def _array(self, value: Any, kind: Array, place: int) -> list[Any]:
        builder = self.builder
        wanted = f"argument {place + 1} must be a contiguous, writeable {kind.dtype} array with ndim={kind.ndim}"
        self._unless(self._is(self._field(value, _TYPE, POINTER), "structgen_ndarray"), wanted)
        flags = builder.and_(self._field(value, _FLAGS, I32), I32(_BEHAVED))
        is_of_dtype = self._is(self._field(value, _DTYPE, POINTER), f"structgen_{kind.dtype}")
        has_ndim = builder.icmp_signed("==", self._field(value, _NDIM, I32), I32(kind.ndim))
        has_flags = builder.icmp_signed("==", flags, I32(_BEHAVED))
        self._unless(builder.and_(builder.and_(is_of_dtype, has_ndim), has_flags), wanted)
        sizes = builder.bitcast(self._field(value, _SHAPE, POINTER), I64.as_pointer())
        shape = [builder.load(builder.gep(sizes, [I64(axis)])) for axis in range(kind.ndim)]
        data = builder.bitcast(self._field(value, _DATA, POINTER), kind.element.as_pointer())
        return [data, *shape]

    def _boxed(self, result: Any) -> Any:
        if self.callee.result == NONE:
            return self._call("Py_NewRef", POINTER, self._symbol("structgen_None"))
        if self.callee.result == BOOL:
            return self._call("PyBool_FromLong", POINTER, self.builder.zext(result, _LONG))
        return self._call("PyLong_FromLongLong", POINTER, result)

    def _raise(self, status: Any) -> None:
        """Have `machine`'s function raise the exception that ``status`` stands for, if any."""
        builder, raised = self.builder, self.unit.raised
        failed = self.function.append_basic_block("failed")
        well = self.function.append_basic_block("well")
        builder.cbranch(builder.icmp_signed("==", status, I64(0)), well, failed).set_weights([1000, 1])
        builder.position_at_end(failed)
        names = [self._text(f"{one.__module__}:{one.__qualname__}") for one in raised]
        name = names[0]
        for number, other in enumerate(names[1:], 2):
            name = builder.select(builder.icmp_signed("==", status, I64(number)), other, name)
        text = self._call("PyUnicode_FromString", POINTER, name)
        raiser = self._symbol("structgen_raise")
        nothing = self._call("PyObject_CallFunctionObjArgs", POINTER, raiser, text, POINTER(None), variadic=2)
        self._call("Py_DecRef", _ir.VoidType(), text)
        builder.ret(nothing)
        builder.position_at_end(well)

    def _unless(self, holds: Any, wanted: str) -> None:
        """Raise `TypeError`."""
        builder = self.builder
        with builder.if_then(builder.not_(holds), likely=False):
            kind = self._symbol("structgen_TypeError")
            text = self._text(f"{self.function.name}: {wanted}")
            self._call("PyErr_SetString", _ir.VoidType(), kind, text)
            builder.ret(POINTER(None))

    def _text(self, text: str) -> Any:
        data = text.encode() + b"\0"
        known = self.module.globals.get(f"text {text}")
        if known is None:
            known = _ir.GlobalVariable(self.module, _ir.ArrayType(I8, len(data)), f"text {text}")
            known.initializer = _ir.Constant(known.value_type, bytearray(data))
            known.linkage, known.global_constant = "internal", True
        return self.builder.bitcast(known, POINTER)

    def _field(self, value: Any, offset: int, kind: Any) -> Any:
        return self.builder.load(self.builder.bitcast(self.builder.gep(value, [I64(offset)]), kind.as_pointer()))

    def _is(self, value: Any, symbol: str) -> Any:
        return self.builder.icmp_unsigned("==", value, self._symbol(symbol))

    def _symbol(self, name: str) -> Any:
        """The object that `machine` gives this name: not Python's own, which other compilers may redefine."""
        known = self.module.globals.get(name)
        return known or _ir.GlobalVariable(self.module, I8, name)

    def _call(self, name: str, result: Any, *arguments: Any, variadic: int | None = None) -> Any:
        kind = _ir.FunctionType(result, [one.type for one in arguments[:variadic]], var_arg=variadic is not None)
        function = self.module.globals.get(name) or _ir.Function(self.module, kind, name)
        return self.builder.call(function, arguments)


def add_wrapper(module: Any, name: str, unit: Unit, callee: Callee) -> None:
    """Write the callable ``name`` for a compiled function."""
    _Wrapper(module, name, unit, callee).write()
