"""LLVM IR between Python and a compiled function: arguments in, the result or the exception out.

Numba's own takes 0.3 us for a call, and 0.3 us more for each array. This one takes a tenth: it is called with a C array
of arguments, and reads an array where numpy keeps it.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

_ir: Any = importlib.import_module("llvmlite.ir")
_types: Any = importlib.import_module("numba.core.types")
_arrays: Any = importlib.import_module("numba.np.arrayobj")

__all__ = ["ARRAY_DTYPES", "add_allocator", "add_wrapper"]

ARRAY_DTYPES = ("int32", "uint8", "int64")
"""What arrays may hold; `machine` defines ``structgen_`` and this as the address of numpy's object for it."""

_I1, _I8, _I32, _I64 = (_ir.IntType(bits) for bits in (1, 8, 32, 64))
_POINTER = _I8.as_pointer()

# numpy's PyArrayObject_fields, part of its stable ABI; Python's object comes first, its type last of that.
_HEAD = object.__basicsize__
_TYPE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = _HEAD - 8, _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48
_CONTIGUOUS, _ALIGNED = 0x1, 0x100


class _Wrapper:
    """The code of one callable, of the C type ``_PyCFunctionFast``: (self, arguments, their number) -> object."""

    def __init__(self, module: Any, name: str, context: Any, description: Any) -> None:
        self.module, self.context, self.description = module, context, description
        kind = _ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _I64])
        self.function = _ir.Function(module, kind, name)
        self.builder = _ir.IRBuilder(self.function.append_basic_block("entry"))

    def write(self) -> None:
        builder, types = self.builder, self.description.argtypes
        _, arguments, count = self.function.args
        self._unless(builder.icmp_signed("==", count, _I64(len(types))), f"takes {len(types)} arguments")
        values: list[Any] = []
        for place, kind in enumerate(types):
            value = builder.load(builder.gep(arguments, [_I64(place)]))
            values.append(self._array(value, kind, place) if isinstance(kind, _types.Array) else self._integer(value))
        thread = self._call("PyEval_SaveThread", _POINTER)
        callee = self.context.declare_function(self.module, self.description)
        convention = self.context.call_conv
        status, result = convention.call_function(builder, callee, self.description.restype, types, values)
        self._call("PyEval_RestoreThread", _ir.VoidType(), thread)
        with builder.if_then(status.is_error, likely=False):
            self._raise(status)
        builder.ret(self._boxed(result))

    def _integer(self, value: Any) -> Any:
        builder = self.builder
        number = self._call("PyLong_AsLongLong", _I64, value)
        with builder.if_then(builder.icmp_signed("==", number, _I64(-1)), likely=False):
            failed = builder.icmp_unsigned("!=", self._call("PyErr_Occurred", _POINTER), _POINTER(None))
            with builder.if_then(failed):
                builder.ret(_POINTER(None))
        return number

    def _array(self, value: Any, kind: Any, place: int) -> Any:
        builder = self.builder
        dtype, size = str(kind.dtype), np.dtype(str(kind.dtype)).itemsize
        wanted = f"argument {place + 1} must be a contiguous {dtype} array with ndim={kind.ndim}"
        self._unless(self._is(self._field(value, _TYPE, _POINTER), "structgen_ndarray"), wanted)
        flags = builder.and_(self._field(value, _FLAGS, _I32), _I32(_CONTIGUOUS | _ALIGNED))
        for holds in (
            self._is(self._field(value, _DTYPE, _POINTER), f"structgen_{dtype}"),
            builder.icmp_signed("==", self._field(value, _NDIM, _I32), _I32(kind.ndim)),
            builder.icmp_signed("==", flags, _I32(_CONTIGUOUS | _ALIGNED)),
        ):
            self._unless(holds, wanted)
        sizes = builder.bitcast(self._field(value, _SHAPE, _POINTER), _I64.as_pointer())
        shape = [builder.load(builder.gep(sizes, [_I64(axis)])) for axis in range(kind.ndim)]
        strides = [_I64(size)]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        array = self.context.make_array(kind)(self.context, builder)
        data = builder.bitcast(self._field(value, _DATA, _POINTER), array.data.type)
        _arrays.populate_array(array, data=data, shape=shape, strides=strides, itemsize=_I64(size), meminfo=None)
        return array._getvalue()

    def _boxed(self, result: Any) -> Any:
        if self.description.restype == _types.none:
            return self._call("Py_NewRef", _POINTER, self._symbol("_Py_NoneStruct"))
        if self.description.restype == _types.boolean:
            return self._call("PyBool_FromLong", _POINTER, self.builder.zext(result, _I64))
        return self._call("PyLong_FromLongLong", _POINTER, result)

    def _raise(self, status: Any) -> None:
        """Hand the pickled exception to `machine`'s function that raises it."""
        builder = self.builder
        pickled, size = (builder.extract_value(builder.load(status.excinfoptr), place) for place in (0, 1))
        text = self._call("PyBytes_FromStringAndSize", _POINTER, pickled, builder.sext(size, _I64))
        raiser = self._symbol("structgen_raise")
        builder.ret(self._call("PyObject_CallFunctionObjArgs", _POINTER, raiser, text, _POINTER(None), variadic=2))

    def _unless(self, holds: Any, wanted: str) -> None:
        """Raise `TypeError`."""
        builder = self.builder
        with builder.if_then(builder.not_(holds), likely=False):
            kind = builder.load(builder.bitcast(self._symbol("PyExc_TypeError"), _POINTER.as_pointer()))
            text = self.context.insert_const_string(self.module, f"{self.function.name}: {wanted}")
            self._call("PyErr_SetString", _ir.VoidType(), kind, text)
            builder.ret(_POINTER(None))

    def _field(self, value: Any, offset: int, kind: Any) -> Any:
        return self.builder.load(self.builder.bitcast(self.builder.gep(value, [_I64(offset)]), kind.as_pointer()))

    def _is(self, value: Any, symbol: str) -> Any:
        return self.builder.icmp_unsigned("==", value, self._symbol(symbol))

    def _symbol(self, name: str) -> Any:
        known = self.module.globals.get(name)
        return known or _ir.GlobalVariable(self.module, _I8, name)

    def _call(self, name: str, result: Any, *arguments: Any, variadic: int | None = None) -> Any:
        kind = _ir.FunctionType(result, [one.type for one in arguments[:variadic]], var_arg=variadic is not None)
        function = self.module.globals.get(name) or _ir.Function(self.module, kind, name)
        return self.builder.call(function, arguments)


def add_wrapper(module: Any, name: str, context: Any, description: Any) -> None:
    """Write the callable ``name`` for a compiled function."""
    _Wrapper(module, name, context, description).write()


def add_allocator(module: Any) -> None:
    """What arrays that compiled code makes lie in: Numba's record of it, in C's memory instead of Numba's."""
    for name in ("NRT_MemInfo_alloc_safe_aligned", "NRT_MemInfo_alloc_aligned"):
        _write_alloc(module, name)
    kind = _ir.FunctionType(_ir.VoidType(), [_POINTER])
    free = _ir.Function(module, kind, "free")
    release = _ir.Function(module, kind, "NRT_MemInfo_call_dtor")
    builder = _ir.IRBuilder(release.append_basic_block())
    builder.call(free, release.args)
    builder.ret_void()


def _write_alloc(module: Any, name: str) -> None:
    """(size, alignment) -> record: references, two of a destructor, the data's address, its size."""
    malloc = module.globals.get("malloc") or _ir.Function(module, _ir.FunctionType(_POINTER, [_I64]), "malloc")
    function = _ir.Function(module, _ir.FunctionType(_POINTER, [_I64, _I32]), name)
    builder = _ir.IRBuilder(function.append_basic_block())
    size, alignment = function.args[0], builder.zext(function.args[1], _I64)
    head = _I64(64)
    record = builder.call(malloc, [builder.add(builder.add(size, head), alignment)])
    with builder.if_then(builder.icmp_unsigned("==", record, _POINTER(None)), likely=False):
        builder.ret(record)
    after = builder.add(builder.add(builder.ptrtoint(record, _I64), head), builder.sub(alignment, _I64(1)))
    data = builder.and_(after, builder.neg(alignment))
    words = builder.bitcast(record, _I64.as_pointer())
    for place, value in enumerate((_I64(1), _I64(0), _I64(0), data, size)):
        builder.store(value, builder.gep(words, [_I64(place)]))
    builder.ret(record)
