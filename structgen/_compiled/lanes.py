"""Arithmetic of floats, and of vectors lane by lane; a number beside a vector counts for every lane."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from structgen._compiled.kinds import FLOAT, I32, INT, Kind, Value, Vector, element_type

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["COMPARISONS", "Lanes"]

COMPARISONS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
_FLOAT_OPERATIONS = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
_INTEGER_OPERATIONS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor", "LShift": "shl",
    "RShift": "ashr",
}  # fmt: skip


class Lanes:
    """What `expressions` writes of floats and vectors."""

    builder: Any

    def coerced(self, value: Value, kind: Kind) -> Value:
        """``value`` as one of ``kind``."""
        raise NotImplementedError

    def elementwise(self, name: str, left: Value, right: Value) -> Value:
        """An operation of Python by its node's name."""
        (a, b), kind = self.alike(left, right)
        dtype = kind.dtype if isinstance(kind, Vector) else "float32"
        operations = _FLOAT_OPERATIONS if dtype == "float32" else _INTEGER_OPERATIONS
        if name not in operations:
            raise TypeError(f"{name} of {left.kind} and {right.kind}")
        operation = "lshr" if name == "RShift" and dtype.startswith("u") else operations[name]
        return Value(kind, (getattr(self.builder, operation)(a, b),))

    def alike(self, left: Value, right: Value) -> tuple[tuple[Any, Any], Kind]:
        """Both as one kind, that of the vector among them."""
        kinds = [one.kind for one in (left, right) if isinstance(one.kind, Vector)]
        kind = kinds[0] if kinds else FLOAT
        if any(one != kind for one in kinds):
            raise TypeError(f"{left.kind} with {right.kind}")
        return tuple(self.spread(one, kind) for one in (left, right)), kind

    def spread(self, value: Value, kind: Kind) -> Any:
        """A number in every lane."""
        if not isinstance(kind, Vector) or value.kind == kind:
            return self.coerced(value, kind).parts[0]
        element = element_type(kind.dtype)
        if kind.dtype == "float32":
            number = self.coerced(value, FLOAT).parts[0]
        else:
            number = self.coerced(value, INT).parts[0]
            is_known = isinstance(number, _ir.Constant)
            number = element(number.constant) if is_known else self.builder.trunc(number, element)
        if isinstance(number, _ir.Constant) and isinstance(number.constant, (int, float)):
            return _ir.Constant(kind.type, [number.constant] * kind.lanes)
        undefined = _ir.Constant(kind.type, _ir.Undefined)
        single = self.builder.insert_element(undefined, number, I32(0))
        places = _ir.Constant(_ir.VectorType(I32, kind.lanes), [0] * kind.lanes)
        return self.builder.shuffle_vector(single, undefined, places)

    def compared_by_lanes(self, operator: ast.cmpop, left: Value, right: Value) -> Any:
        """A truth value, or one for each lane."""
        (a, b), kind = self.alike(left, right)
        name = COMPARISONS[type(operator).__name__]
        if kind == FLOAT or (isinstance(kind, Vector) and kind.dtype == "float32"):
            return (self.builder.fcmp_unordered if name == "!=" else self.builder.fcmp_ordered)(name, a, b)
        return self.builder.icmp_signed(name, a, b)
