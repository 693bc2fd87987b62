"""The expressions of compiled functions, as LLVM IR (see `translate`)."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from structgen._compiled.emit import emit
from structgen._compiled.entries import Inlined, Instruction
from structgen._compiled.kinds import (
    BOOL,
    FLOAT,
    I1,
    I8,
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
    joined,
    kind_named,
    types_of,
)

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["Expressions"]

_FLOAT_OPERATIONS = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
_INTEGER_OPERATIONS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor", "LShift": "shl",
    "RShift": "ashr",
}  # fmt: skip
_COMPARISONS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
_OPERATIONS = {"Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor"}
_FOLDED_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "Eq": int.__eq__, "NotEq": int.__ne__, "Lt": int.__lt__, "LtE": int.__le__, "Gt": int.__gt__, "GtE": int.__ge__,
}  # fmt: skip
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "Sub": int.__sub__,
    "Mult": int.__mul__,
    "FloorDiv": int.__floordiv__,
    "Mod": int.__mod__,
}
_LARGEST_ON_STACK = 4096

Room = tuple[Kind, list[Any]]
"""Where a value is kept, part by part."""


class Expressions:
    """Writes expressions at ``builder``; `translate` writes the statements around them."""

    builder: Any
    entry: Any
    exit: Any
    callee: Any
    unit: Any
    arena: Any
    status: Room
    loops: list[tuple[Any, Any]]

    def __init__(self) -> None:
        self.variables: dict[str, Room] = {}
        self.constants: dict[str, Value] = {}

    # Values and where they are kept

    def room(self, kind: Kind) -> Room:
        """Room for a value, in the function's frame; LLVM makes it registers."""
        entry = _ir.IRBuilder(self.entry)
        return kind, [entry.alloca(one) for one in types_of(kind)]

    def put(self, room: Room, value: Value) -> None:
        """Keep ``value``."""
        kind, places = room
        for part, place in zip(self.coerced(value, kind).parts, places, strict=True):
            self.builder.store(part, place)

    def get(self, room: Room) -> Value:
        """What is kept."""
        return Value(room[0], tuple(self.builder.load(place) for place in room[1]))

    def assign(self, name: str, value: Value) -> None:
        """Set a variable, of the kind of what it was first set to."""
        if name not in self.variables:
            self.variables[name] = self.room(value.kind)
        self.put(self.variables[name], value)

    def coerced(self, value: Value, kind: Kind) -> Value:
        """``value`` as one of ``kind``."""
        if value.kind == kind:
            return value
        if isinstance(kind, Tuple):
            items = [self.coerced(*pair) for pair in zip(value.items, kind.items, strict=True)]
            return Value(kind, tuple(part for item in items for part in item.parts))
        if value.kind in (INT, WORD) and kind == BOOL:
            return Value(BOOL, (self.builder.icmp_signed("!=", value.parts[0], I64(0)),))
        if value.kind == BOOL and kind in (INT, WORD):
            return Value(kind, (self.builder.zext(value.parts[0], I64),))
        if value.kind == INT and kind == FLOAT:
            return Value(FLOAT, (self.builder.sitofp(value.parts[0], element_type("float32")),))
        if {value.kind, kind} == {INT, WORD}:
            return Value(kind, value.parts)
        raise TypeError(f"{self.callee.name}: {value.kind} where {kind} must be")

    def packed(self, parts: Sequence[Any]) -> Any:
        """A structure of ``parts``."""
        structure = _ir.Constant(_ir.LiteralStructType([part.type for part in parts]), _ir.Undefined)
        for place, part in enumerate(parts):
            structure = self.builder.insert_value(structure, part, place)
        return structure

    # Control

    def block(self, name: str) -> Any:
        """A new block."""
        return self.callee.code.append_basic_block(name)

    def go(self, block: Any) -> None:
        """Go on there, unless it goes elsewhere already."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def fail(self, status: Any) -> None:
        """Return ``status``."""
        if not self.callee.may_raise:
            raise NotImplementedError(f"{self.callee.name} was not seen to raise")
        self.put(self.status, Value(INT, (status,)))
        self.builder.branch(self.exit)

    def fail_if(self, failed: Any, status: Any) -> None:
        """Return ``status`` where ``failed``, which it seldom is."""
        with self.builder.if_then(failed, likely=False):
            self.fail(status)

    @contextlib.contextmanager
    def counting(self, first: Any, end: Any, step: Any) -> Generator[Any]:
        """A loop, upwards where its step is no constant; its body is what is written meanwhile."""
        is_down = isinstance(step, _ir.Constant) and step.constant < 0
        test, body, following, after = (self.block(name) for name in ("for", "body", "next", "endfor"))
        place = self.room(INT)
        self.put(place, Value(INT, (first,)))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        index = self.get(place).parts[0]
        self.builder.cbranch(self.builder.icmp_signed(">" if is_down else "<", index, end), body, after)
        self.builder.position_at_end(body)
        self.loops.append((following, after))
        yield index
        self.loops.pop()
        self.go(following)
        self.builder.position_at_end(following)
        self.put(place, Value(INT, (self.builder.add(index, step),)))
        self.builder.branch(test)
        self.builder.position_at_end(after)

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

    def _joined(self, ends: list[tuple[Any, Value]]) -> Value:
        """What is one of several values, by the block that was left."""
        kind, after = joined([value.kind for _, value in ends]), self.block("joined")
        room = self.room(kind)
        for block, value in ends:
            self.builder.position_at_end(block)
            self.put(room, value)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        return self.get(room)

    # Expressions

    def unknown(self, node: ast.AST) -> Exception:
        """The error for what compiled functions cannot say."""
        line = self.callee.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return NotImplementedError(f"{self.callee.name}, line {line}: {ast.unparse(node)}")

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
            return self._elementwise(name, left, right)
        kind = WORD if WORD in (left.kind, right.kind) else INT
        a, b = (self.coerced(one, kind).parts[0] for one in (left, right))
        are_known = kind == INT and isinstance(a, _ir.Constant) and isinstance(b, _ir.Constant)
        if are_known and name in _FOLDED and (b.constant or name in _OPERATIONS):
            return Value(INT, (I64((_FOLDED[name](a.constant, b.constant) + 2**63) % 2**64 - 2**63),))
        if name in _OPERATIONS:
            return Value(kind, (getattr(self.builder, _OPERATIONS[name])(a, b),))
        if name == "LShift":
            return Value(kind, (self.builder.shl(a, b),))
        if name == "RShift":
            return Value(kind, ((self.builder.lshr if kind == WORD else self.builder.ashr)(a, b),))
        if name in ("FloorDiv", "Mod") and kind == INT:
            return Value(INT, (self._divided(a, b, name),))
        raise TypeError(f"{name} of {left.kind} and {right.kind}")

    def _elementwise(self, name: str, left: Value, right: Value) -> Value:
        """An operation on floats, or on vectors lane by lane; a number beside a vector counts for every lane."""
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
            return self._compared_by_lanes(operator, left, right)
        kind = WORD if WORD in (left.kind, right.kind) else INT
        a, b = (self.coerced(one, kind).parts[0] for one in (left, right))
        if kind == INT and isinstance(a, _ir.Constant) and isinstance(b, _ir.Constant):
            return I1(int(_FOLDED_COMPARISONS[type(operator).__name__](a.constant, b.constant)))
        compare = self.builder.icmp_unsigned if kind == WORD else self.builder.icmp_signed
        return compare(_COMPARISONS[type(operator).__name__], a, b)

    def _compared_by_lanes(self, operator: ast.cmpop, left: Value, right: Value) -> Any:
        (a, b), kind = self.alike(left, right)
        name = _COMPARISONS[type(operator).__name__]
        if kind == FLOAT or (isinstance(kind, Vector) and kind.dtype == "float32"):
            return (self.builder.fcmp_unordered if name == "!=" else self.builder.fcmp_ordered)(name, a, b)
        return self.builder.icmp_signed(name, a, b)

    def known_truth(self, node: ast.expr) -> bool | None:
        """Whether a condition holds that constants decide; ``None`` where they do not."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            left, right = self._known(node.left), self._known(node.comparators[0])
            if left is not None and right is not None:
                return _FOLDED_COMPARISONS[type(node.ops[0]).__name__](left, right)
        if isinstance(node, ast.Call) and isinstance(self._called(node.func), Instruction):
            truth = self.value(node)
            if truth.kind == BOOL and isinstance(truth.parts[0], _ir.Constant):
                return bool(truth.parts[0].constant)
        return None

    def _known(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.Name) and node.id in self.constants:
            return int(self.constants[node.id].parts[0].constant)
        if isinstance(node, ast.Name) and node.id not in self.variables:
            known = self.callee.lookup(node.id)
            return known if isinstance(known, int) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op).__name__ in _FOLDED:
            left, right = self._known(node.left), self._known(node.right)
            if left is not None and right is not None:
                return _FOLDED[type(node.op).__name__](left, right)
        return None

    def _by_branches(self, node: ast.expr) -> Value:
        blocks = self.block("true"), self.block("false")
        self.branch(node, *blocks)
        return self._joined([(block, Value(BOOL, (I1(bit),))) for block, bit in zip(blocks, (1, 0), strict=True)])

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
        return self._joined([*ends, (self.builder.block, value)])

    def of_IfExp(self, node: ast.IfExp) -> Value:  # noqa: N802
        blocks = self.block("then"), self.block("else")
        self.branch(node.test, *blocks)
        ends: list[tuple[Any, Value]] = []
        for block, one in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            value = self.value(one)
            ends.append((self.builder.block, value))
        return self._joined(ends)

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
        called = self._called(node.func)
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

    def _called(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute):
            return getattr(self._called(node.value), node.attr)
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

    def own_arena(self) -> Any:
        """The list of the memory that is to be freed when the function returns."""
        if self.arena is None:
            entry = _ir.IRBuilder(self.entry)
            self.arena = entry.alloca(POINTER)
            entry.store(POINTER(None), self.arena)
        return self.arena

    def _new_array(self, node: ast.Call, *, is_zero: bool) -> Value:
        shape_node, dtype = node.args[0], str(self._called(node.args[1]).__name__)
        shape = [self.number(one) for one in (shape_node.elts if isinstance(shape_node, ast.Tuple) else [shape_node])]
        kind = Array(dtype, len(shape))
        size = I64(kind.itemsize)
        for length in shape:
            is_known = isinstance(size, _ir.Constant) and isinstance(length, _ir.Constant)
            size = I64(size.constant * length.constant) if is_known else self.builder.mul(size, length)
        data = self._memory(size)
        if is_zero:
            self.call_runtime("memset", POINTER, [data, I32(0), size])
        return Value(kind, (self.builder.bitcast(data, kind.element.as_pointer()), *shape))

    def _memory(self, size: Any) -> Any:
        is_small = isinstance(size, _ir.Constant) and size.constant <= _LARGEST_ON_STACK
        if is_small and not self.callee.makes_arrays and not self.loops:
            room = _ir.IRBuilder(self.entry).alloca(_ir.ArrayType(I8, size.constant))
            room.align = 16
            return self.builder.bitcast(room, POINTER)
        data = self.call_runtime("structgen_allocate", POINTER, [self.own_arena(), size])
        failed = self.builder.icmp_unsigned("==", data, POINTER(None))
        self.fail_if(failed, I64(self.unit.number_of(MemoryError)))
        return data

    def call_runtime(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        """Call a function of the runtime or of C."""
        kind = _ir.FunctionType(result, [one.type for one in arguments])
        function = self.unit.module.globals.get(name) or _ir.Function(self.unit.module, kind, name)
        return self.builder.call(function, arguments)
