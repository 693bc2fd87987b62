"""The expressions of compiled functions, as LLVM IR (see `translate`)."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from structgen._compiled.emit import emit
from structgen._compiled.entries import Inlined, Instruction
from structgen._compiled.kinds import (
    BOOL,
    FLOAT,
    I1,
    I32,
    I64,
    INT,
    NONE,
    POINTER,
    WORD,
    Array,
    Kind,
    Registers,
    Tuple,
    Value,
    Vector,
    element_type,
    kind_named,
    types_of,
)
from structgen._compiled.known import FOLDED, FOLDED_COMPARISONS, Known
from structgen._compiled.lanes import COMPARISONS, Lanes
from structgen._compiled.places import Places, Room

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["Expressions"]

_OPERATIONS = {"Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor"}


class Expressions(Places, Lanes, Known):
    """Writes expressions at ``builder``; `translate` writes the statements around them."""

    def branch(self, node: ast.expr, then: Any, otherwise: Any) -> None:
        """Go to one of two blocks."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, otherwise, then)
        elif isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            for one in node.values[:-1]:
                following = self.block("and" if is_and else "or")
                self.branch(one, following if is_and else then, otherwise if is_and else following)
                self.builder.position_at_end(following)
            self.branch(node.values[-1], then, otherwise)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            self._branch_chain(node, then, otherwise)
        else:
            self.builder.cbranch(self.coerced(self.value(node), BOOL).parts[0], then, otherwise)

    def _branch_chain(self, node: ast.Compare, then: Any, otherwise: Any) -> None:
        left = self.value(node.left)
        for place, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(right_node)
            following = then if place == len(node.ops) - 1 else self.block("chain")
            self.builder.cbranch(self._compared(operator, left, right), following, otherwise)
            self.builder.position_at_end(following)
            left = right

    def value(self, node: ast.expr) -> Value:
        """Write an expression."""
        method: Callable[[Any], Value] | None = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise self.unknown(node)
        return method(node)

    def number(self, node: ast.expr) -> Any:
        """Write an expression that gives an integer."""
        return self.coerced(self.value(node), INT).parts[0]

    def of_Constant(self, node: ast.Constant) -> Value:  # noqa: N802 - named after the node, as ast's own visitors are
        return self._constant(node.value, node)

    def _constant(self, value: object, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return Value(BOOL, (I1(int(value)),))
        if isinstance(value, int):
            return Value(INT, (I64((value + 2**63) % 2**64 - 2**63),))
        if isinstance(value, float):
            return Value(FLOAT, (_ir.Constant(element_type("float32"), float(np.float32(value))),))
        raise self.unknown(node)

    def of_Name(self, node: ast.Name) -> Value:  # noqa: N802
        if node.id in self.constants:
            return self.constants[node.id]
        if node.id in self.variables:
            return self.get(self.variables[node.id])
        return self._constant(self.callee.lookup(node.id), node)

    def of_Tuple(self, node: ast.Tuple) -> Value:  # noqa: N802
        items = [self.value(one) for one in node.elts]
        return Value(Tuple(tuple(item.kind for item in items)), tuple(part for item in items for part in item.parts))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:  # noqa: N802
        if isinstance(node.op, ast.Not):
            return Value(BOOL, (self.builder.not_(self.coerced(self.value(node.operand), BOOL).parts[0]),))
        operand = self.value(node.operand)
        if isinstance(node.op, ast.USub) and (operand.kind == FLOAT or isinstance(operand.kind, Vector)):
            is_float = not isinstance(operand.kind, Vector) or operand.kind.dtype == "float32"
            negated = self.builder.fneg if is_float else self.builder.neg
            return Value(operand.kind, (negated(operand.parts[0]),))
        number = self.coerced(operand, INT).parts[0]
        if isinstance(node.op, ast.USub):
            known = isinstance(number, _ir.Constant)
            return Value(INT, (I64(-number.constant) if known else self.builder.neg(number),))
        if isinstance(node.op, ast.Invert):
            return Value(INT, (self.builder.not_(number),))
        raise self.unknown(node)

    def of_BinOp(self, node: ast.BinOp) -> Value:  # noqa: N802
        try:
            return self.binary(node.op, self.value(node.left), self.value(node.right))
        except TypeError as error:
            raise self.unknown(node) from error

    def binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        """An operation on two values."""
        name = type(operator).__name__
        if left.kind == right.kind == BOOL and name in ("BitAnd", "BitOr", "BitXor"):
            return Value(BOOL, (getattr(self.builder, _OPERATIONS[name])(left.parts[0], right.parts[0]),))
        if any(one.kind == FLOAT or isinstance(one.kind, Vector) for one in (left, right)):
            return self.elementwise(name, left, right)
        kind = WORD if WORD in (left.kind, right.kind) else INT
        a, b = (self.coerced(one, kind).parts[0] for one in (left, right))
        are_known = kind == INT and isinstance(a, _ir.Constant) and isinstance(b, _ir.Constant)
        if are_known and name in FOLDED and (b.constant or name in _OPERATIONS):
            return Value(INT, (I64((FOLDED[name](a.constant, b.constant) + 2**63) % 2**64 - 2**63),))
        if name in _OPERATIONS:
            return Value(kind, (getattr(self.builder, _OPERATIONS[name])(a, b),))
        if name == "LShift":
            return Value(kind, (self.builder.shl(a, b),))
        if name == "RShift":
            return Value(kind, ((self.builder.lshr if kind == WORD else self.builder.ashr)(a, b),))
        if name in ("FloorDiv", "Mod") and kind == INT:
            return Value(INT, (self._divided(a, b, name),))
        raise TypeError(f"{name} of {left.kind} and {right.kind}")

    def _divided(self, number: Any, divisor: Any, name: str) -> Any:
        """Rounded down, as Python does."""
        builder = self.builder
        if not isinstance(divisor, _ir.Constant):
            is_zero = builder.icmp_signed("==", divisor, I64(0))
            self.fail_if(is_zero, I64(self.unit.number_of(ZeroDivisionError)))
        remainder = builder.srem(number, divisor)
        signs_differ = builder.icmp_signed("<", builder.xor(remainder, divisor), I64(0))
        is_short = builder.and_(signs_differ, builder.icmp_signed("!=", remainder, I64(0)))
        if name == "Mod":
            return builder.select(is_short, builder.add(remainder, divisor), remainder)
        return builder.sub(builder.sdiv(number, divisor), builder.zext(is_short, I64))

    def of_Compare(self, node: ast.Compare) -> Value:  # noqa: N802
        if len(node.ops) > 1:
            return self._by_branches(node)
        (operator,), (right,) = node.ops, node.comparators
        left = self.value(node.left)
        if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(right, ast.Tuple):
            found = I1(0)
            for one in right.elts:
                found = self.builder.or_(found, self._compared(ast.Eq(), left, self.value(one)))
            return Value(BOOL, (found if isinstance(operator, ast.In) else self.builder.not_(found),))
        other = self.value(right)
        found = self._compared(operator, left, other)
        lanes = next((one.kind.lanes for one in (left, other) if isinstance(one.kind, Vector)), 0)
        return Value(Vector("bool", lanes) if lanes else BOOL, (found,))

    def _compared(self, operator: ast.cmpop, left: Value, right: Value) -> Any:
        if any(one.kind == FLOAT or isinstance(one.kind, Vector) for one in (left, right)):
            return self.compared_by_lanes(operator, left, right)
        kind = WORD if WORD in (left.kind, right.kind) else INT
        a, b = (self.coerced(one, kind).parts[0] for one in (left, right))
        if kind == INT and isinstance(a, _ir.Constant) and isinstance(b, _ir.Constant):
            return I1(int(FOLDED_COMPARISONS[type(operator).__name__](a.constant, b.constant)))
        compare = self.builder.icmp_unsigned if kind == WORD else self.builder.icmp_signed
        return compare(COMPARISONS[type(operator).__name__], a, b)

    def _by_branches(self, node: ast.expr) -> Value:
        blocks = self.block("true"), self.block("false")
        self.branch(node, *blocks)
        return self.joined([(block, Value(BOOL, (I1(bit),))) for block, bit in zip(blocks, (1, 0), strict=True)])

    def of_BoolOp(self, node: ast.BoolOp) -> Value:  # noqa: N802
        ends: list[tuple[Any, Value]] = []
        for one in node.values[:-1]:
            value = self.value(one)
            done, following = self.block("done"), self.block("other")
            is_and = isinstance(node.op, ast.And)
            truth = self.coerced(value, BOOL).parts[0]
            self.builder.cbranch(truth, following if is_and else done, done if is_and else following)
            self.builder.position_at_end(following)
            ends.append((done, value))
        value = self.value(node.values[-1])
        return self.joined([*ends, (self.builder.block, value)])

    def of_IfExp(self, node: ast.IfExp) -> Value:  # noqa: N802
        blocks = self.block("then"), self.block("else")
        self.branch(node.test, *blocks)
        ends: list[tuple[Any, Value]] = []
        for block, one in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            value = self.value(one)
            ends.append((self.builder.block, value))
        return self.joined(ends)

    def of_Attribute(self, node: ast.Attribute) -> Value:  # noqa: N802
        if node.attr == "data" and isinstance(node.value, ast.Attribute) and node.value.attr == "ctypes":
            return Value(INT, (self.builder.ptrtoint(self.value(node.value.value).parts[0], I64),))
        if node.attr == "shape":
            array = self.value(node.value)
            return Value(Tuple((INT,) * (len(array.parts) - 1)), array.parts[1:])
        raise self.unknown(node)

    # Elements

    def of_Subscript(self, node: ast.Subscript) -> Value:  # noqa: N802
        if room := self.register(node):
            return self.get(room)
        whole = self.value(node.value)
        if isinstance(whole.kind, Tuple):
            place: int = self.number(node.slice).constant
            return whole.items[place]
        if isinstance(node.slice, ast.Slice):
            return self._slice(whole, node.slice)
        if isinstance(whole.kind, Array) and whole.kind.ndim == 2 and not isinstance(node.slice, ast.Tuple):
            data, _, columns = whole.parts
            row = self.builder.gep(data, [self.builder.mul(self.number(node.slice), columns)])
            return Value(Array(whole.kind.dtype, 1), (row, columns))
        return self.read_element(*self.element_place(node))

    def register(self, node: ast.expr) -> Room | None:
        """One of a row of registers, ``None`` where ``node`` is something else."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            return None
        room = self.variables.get(node.value.id)
        if room is None or not isinstance(room[0], Registers):
            return None
        row, place = room[0], self.number(node.slice)
        if not isinstance(place, _ir.Constant) or not 0 <= place.constant < row.length:
            raise self.unknown(node)
        width = len(types_of(row.kind))
        return row.kind, room[1][place.constant * width : (place.constant + 1) * width]

    def _slice(self, array: Value, node: ast.Slice) -> Value:
        data, length = array.parts
        first = self.number(node.lower) if node.lower else I64(0)
        end = self._least(self.number(node.upper), length) if node.upper else length
        size = self._least(self.builder.sub(end, first), I64(0), largest=True)
        return Value(array.kind, (self.builder.gep(data, [first]), size))

    def element_place(self, node: ast.Subscript) -> tuple[Array, Any]:
        """The array's kind and where the element lies."""
        array = self.value(node.value)
        indices = [self.number(one) for one in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
        if not isinstance(array.kind, Array) or array.kind.ndim != len(indices):
            raise self.unknown(node)
        if any(isinstance(one, _ir.Constant) and one.constant < 0 for one in indices):
            raise self.unknown(node)
        place = indices[0]
        if len(indices) == 2:
            place = self.builder.add(self.builder.mul(place, array.parts[2]), indices[1])
        return array.kind, self.builder.gep(array.parts[0], [place])

    def read_element(self, kind: Array, pointer: Any) -> Value:
        """The element, as an integer where it is one."""
        element = self.builder.load(pointer)
        if kind.dtype == "float32":
            return Value(FLOAT, (element,))
        if kind.dtype == "int64":
            return Value(INT, (element,))
        widen = self.builder.zext if kind.dtype.startswith("u") else self.builder.sext
        return Value(INT, (widen(element, I64),))

    def write_element(self, kind: Array, pointer: Any, value: Value) -> None:
        """Set an element."""
        if kind.dtype == "float32":
            self.builder.store(self.coerced(value, FLOAT).parts[0], pointer)
            return
        number = self.coerced(value, INT).parts[0]
        self.builder.store(number if kind.dtype == "int64" else self.builder.trunc(number, kind.element), pointer)

    # Calls

    def of_Call(self, node: ast.Call) -> Value:  # noqa: N802
        called = self.called(node.func)
        if isinstance(called, Inlined):
            result = emit(self.builder, called.__wrapped__, [self.number(one) for one in node.args])
            return Value(NONE, ()) if result is None else Value(INT, (result,))
        callee = self.unit.callee(called)
        if callee is not None:
            return self._call(callee, [self.value(one) for one in node.args])
        if isinstance(called, Instruction):
            return self._instruction(called, node)
        if called in (np.empty, np.zeros):
            return self._new_array(node, is_zero=called is np.zeros)
        if called is ord and isinstance(node.args[0], ast.Constant):
            return self._constant(ord(str(node.args[0].value)), node)
        values = [self.value(one) for one in node.args]
        if called is len and isinstance(values[0].kind, Array):
            return Value(INT, (values[0].parts[1],))
        if called in (min, max):
            return self._extreme(values, largest=called is max)
        if called is np.int32:
            number = self.builder.trunc(self.coerced(values[0], INT).parts[0], I32)
            return Value(INT, (self.builder.sext(number, I64),))
        if called is np.float32:
            return self.coerced(values[0], FLOAT)
        kinds: dict[Any, Kind] = {int: INT, np.int64: INT, np.uint64: WORD, bool: BOOL}
        if called is int and values[0].kind == FLOAT:
            return Value(INT, (self.builder.fptosi(values[0].parts[0], I64),))
        if called in kinds:
            return self.coerced(values[0], kinds[called])
        raise self.unknown(node)

    def called(self, node: ast.expr) -> Any:
        """What a call calls, in Python."""
        if isinstance(node, ast.Attribute):
            return getattr(self.called(node.value), node.attr)
        if isinstance(node, ast.Name) and node.id not in self.variables:
            return self.callee.lookup(node.id)
        raise self.unknown(node)

    def _instruction(self, called: Instruction, node: ast.Call) -> Value:
        write = getattr(importlib.import_module("structgen._compiled.instructions"), called.name)
        try:
            return write(self, *(self._operand(one) for one in node.args))
        except TypeError as error:
            raise self.unknown(node) from error

    def _operand(self, node: ast.expr) -> Value | Kind | str:
        """A value, a kind by its name, or a text."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name) and node.id not in self.variables and node.id not in self.constants:
            named = self.callee.lookup(node.id)
            return kind_named(named) if isinstance(named, str) else self._constant(named, node)
        return self.value(node)

    def _call(self, callee: Any, values: list[Value]) -> Value:
        if callee.is_template:
            places: list[int] = callee.places_of_statics
            statics = tuple(int(values[place].parts[0].constant) for place in places)
            values = [value for place, value in enumerate(values) if place not in places]
            callee = self.unit.special(callee, statics)
        arguments = [self.own_arena()] if callee.makes_arrays else []
        for value, kind in zip(values, callee.arguments.values(), strict=True):
            arguments += self.coerced(value, kind).parts
        result = self.builder.call(callee.code, arguments)
        count = len(types_of(callee.result)) + callee.may_raise
        parts = [result] if count == 1 else [self.builder.extract_value(result, place) for place in range(count)]
        if callee.may_raise:
            status = parts.pop()
            self.fail_if(self.builder.icmp_signed("!=", status, I64(0)), status)
        return Value(callee.result, tuple(parts))

    def _extreme(self, values: list[Value], *, largest: bool) -> Value:
        least, *others = (self.coerced(value, INT).parts[0] for value in values)
        for other in others:
            least = self._least(least, other, largest=largest)
        return Value(INT, (least,))

    def _least(self, one: Any, other: Any, *, largest: bool = False) -> Any:
        return self.builder.select(self.builder.icmp_signed(">" if largest else "<", one, other), one, other)

    def _new_array(self, node: ast.Call, *, is_zero: bool) -> Value:
        shape_node, dtype = node.args[0], str(self.called(node.args[1]).__name__)
        shape = [self.number(one) for one in (shape_node.elts if isinstance(shape_node, ast.Tuple) else [shape_node])]
        kind = Array(dtype, len(shape))
        size = I64(kind.itemsize)
        for length in shape:
            is_known = isinstance(size, _ir.Constant) and isinstance(length, _ir.Constant)
            size = I64(size.constant * length.constant) if is_known else self.builder.mul(size, length)
        data = self.memory(size)
        if is_zero:
            self.call_runtime("memset", POINTER, [data, I32(0), size])
        return Value(kind, (self.builder.bitcast(data, kind.element.as_pointer()), *shape))
