"""Functions that leave no call behind: their Python runs when a caller is compiled, and says what is to be computed.

What a caller gives as a constant is a number for them to compute with: the columns of a table that is named, say.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["emit", "fixed", "load", "store"]

_INT32, _INT64 = _ir.IntType(32), _ir.IntType(64)


class _Number:
    """An int64 that only running code will know."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _with(self, instruction: str, left: Any, right: Any) -> _Number:
        return _Number(self.builder, getattr(self.builder, instruction)(_value(left), _value(right)))

    def __add__(self, other: Any) -> _Number:
        return self._with("add", self, other)

    def __sub__(self, other: Any) -> _Number:
        return self._with("sub", self, other)

    def __mul__(self, other: Any) -> _Number:
        return self._with("mul", self, other)

    def __and__(self, other: Any) -> _Number:
        return self._with("and_", self, other)

    def __or__(self, other: Any) -> _Number:
        return self._with("or_", self, other)

    def __lshift__(self, other: Any) -> _Number:
        return self._with("shl", self, other)

    def __rshift__(self, other: Any) -> _Number:
        return self._with("ashr", self, other)

    def __rsub__(self, other: Any) -> _Number:
        return self._with("sub", other, self)

    def __rlshift__(self, other: Any) -> _Number:
        return self._with("shl", other, self)

    def __rrshift__(self, other: Any) -> _Number:
        return self._with("ashr", other, self)

    __radd__, __rmul__, __rand__, __ror__ = __add__, __mul__, __and__, __or__


def _value(number: Any) -> Any:
    return number.value if isinstance(number, _Number) else _INT64(number)


def emit(builder: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Write what ``function`` computes of LLVM values; returns the result's, or ``None``."""
    # What is known now stays a number, for the function to compute with.
    known = [one.constant if isinstance(one, _ir.Constant) else _Number(builder, one) for one in arguments]
    result = function(*known)
    return None if result is None else _value(result)


def load(memory: Any, index: Any) -> Any:
    """The int32 at ``index``."""
    builder = memory.builder
    return _Number(builder, builder.sext(builder.load(_element(memory, index)), _INT64))


def fixed(memory: Any, index: Any) -> Any:
    """The int32 at ``index``, which never changes: one read of it serves a whole function."""
    builder = memory.builder
    value = builder.load(_element(memory, index))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return _Number(builder, builder.sext(value, _INT64))


def store(memory: Any, index: Any, value: Any) -> None:
    """Set the int32 at ``index``."""
    memory.builder.store(memory.builder.trunc(_value(value), _INT32), _element(memory, index))


def _element(memory: Any, index: Any) -> Any:
    builder = memory.builder
    return builder.gep(builder.inttoptr(memory.value, _INT32.as_pointer()), [_value(index)])
