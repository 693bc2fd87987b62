"""Python to LLVM IR: functions of one signature over numbers, vectors and arrays.

Statements: assignments, ``if``, ``while``, ``for`` over ``range``, ``return``, ``raise`` of a class. An integer has 64
bits and wraps; an element is read as one and cut where it is written. An index is not checked, and no negative one
counts from the end. What a name is bound to in the module is a constant. ``np.empty`` and ``np.zeros`` make arrays
that live until the function returns, or its caller where it returns arrays itself. Over ``unrolled`` a loop is written
out, its variable a constant in each turn; an argument that is annotated ``Static`` is a constant too, and the function
is compiled for each value that it is called with. An ``if`` that constants decide leaves one branch.

A function that may raise returns a number besides: 0, or the place of the class in `Unit.raised`, from 1.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from typing import Any

from structgen._compiled.entries import Entry, Inlined, Inner, rare_functions
from structgen._compiled.expressions import Expressions
from structgen._compiled.kinds import (
    I64,
    INT,
    NONE,
    POINTER,
    Array,
    Kind,
    Tuple,
    Value,
    kind_named,
    types_of,
)

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["Callee", "Unit"]


class Callee:
    """A function of the unit: its source, its signature and, once asked for, its IR."""

    def __init__(self, function: Callable[..., object], statics: tuple[int, ...] = ()) -> None:
        self.function = function
        self.name = f"{function.__module__}.{function.__qualname__}{list(statics) if statics else ''}"
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef)
        self.tree = tree
        annotations = dict(function.__annotations__)
        self.result = kind_named(annotations.pop("return"))
        names = [name for name, kind in annotations.items() if kind == "Static"]
        self.is_template = bool(names) and not statics
        self.statics = dict(zip(names, statics, strict=not self.is_template))
        self.places_of_statics = [place for place, name in enumerate(annotations) if name in names]
        self.arguments = {name: kind_named(kind) for name, kind in annotations.items() if name not in names}
        self.makes_arrays = _has_array(self.result)
        self.may_raise = False
        self.code: Any = None

    def lookup(self, name: str) -> Any:
        """What a name that is no variable stands for."""
        known = self.function.__globals__
        return known[name] if name in known else getattr(importlib.import_module("builtins"), name)


def _has_array(kind: Kind) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Tuple) and any(_has_array(item) for item in kind.items))


class Unit:
    """The functions that some entries need, in one LLVM module."""

    def __init__(self, module: Any, features: Collection[str] = ()) -> None:
        self.module, self.features = module, features
        self.raised: list[type[BaseException]] = []
        self._callees: dict[Callable[..., object], Callee] = {}
        self._special: dict[tuple[Callable[..., object], tuple[int, ...]], Callee] = {}
        self._waiting: list[Callee] = []

    def add(self, functions: Mapping[str, Callable[..., object]]) -> dict[str, Callee]:
        """Translate ``functions`` and what they call."""
        entries = {name: self._find(function) for name, function in functions.items()}
        self._note_who_raises()
        self._waiting = [callee for callee in self._callees.values() if not callee.is_template]
        for callee in self._waiting:
            callee.code = self._declare(callee)
        while self._waiting:
            _Body(self, self._waiting.pop()).write()
        return entries

    def special(self, template: Callee, statics: tuple[int, ...]) -> Callee:
        """The callee for these constants."""
        key = template.function, statics
        if key not in self._special:
            callee = self._special[key] = Callee(template.function, statics)
            callee.may_raise = template.may_raise
            callee.code = self._declare(callee)
            self._waiting.append(callee)
        return self._special[key]

    def callee(self, one: Any) -> Callee | None:
        """The callee that a value in Python's module is."""
        return self._callees[one.__wrapped__] if isinstance(one, (Entry, Inner)) else None

    def number_of(self, raised: type[BaseException]) -> int:
        """What a function returns that raises this."""
        if raised not in self.raised:
            self.raised.append(raised)
        return self.raised.index(raised) + 1

    def _find(self, function: Callable[..., object]) -> Callee:
        known = self._callees.get(function)
        if known:
            return known
        callee = self._callees[function] = Callee(function)
        for one in self._called(callee):
            self._find(one)
        return callee

    def _called(self, callee: Callee) -> list[Callable[..., object]]:
        names = dict.fromkeys(
            node.func.id
            for node in ast.walk(callee.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        found = [callee.lookup(name) for name in names]
        return [one.__wrapped__ for one in found if isinstance(one, (Entry, Inner)) and not isinstance(one, Inlined)]

    def _note_who_raises(self) -> None:
        waiting = [callee for callee in self._callees.values() if _raises_itself(callee)]
        callers: dict[Callee, list[Callee]] = {}
        for callee in self._callees.values():
            for called in self._called(callee):
                callers.setdefault(self._callees[called], []).append(callee)
        while waiting:
            callee = waiting.pop()
            if not callee.may_raise:
                callee.may_raise = True
                waiting += callers.get(callee, [])

    def _declare(self, callee: Callee) -> Any:
        arguments = [one for kind in callee.arguments.values() for one in types_of(kind)]
        if callee.makes_arrays:
            arguments.insert(0, POINTER.as_pointer())
        results = types_of(callee.result) + [I64] * callee.may_raise
        result = _ir.VoidType() if not results else results[0] if len(results) == 1 else _ir.LiteralStructType(results)
        code = _ir.Function(self.module, _ir.FunctionType(result, arguments), f"{callee.name}.body")
        code.linkage = "internal"
        code.attributes.add("nounwind")
        if callee.function in rare_functions:
            code.attributes.add("noinline")
            code.attributes.add("cold")
        return code


def _raises_itself(callee: Callee) -> bool:
    """Whether memory may lack, a divisor be 0, or it says ``raise``."""
    for node in ast.walk(callee.tree):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("empty", "zeros"):
            return True
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            divisor = node.right if isinstance(node, ast.BinOp) else node.value
            if not isinstance(divisor, ast.Constant):
                return True
    return False


class _Body(Expressions):
    """Writes one function."""

    def __init__(self, unit: Unit, callee: Callee) -> None:
        self.unit, self.callee = unit, callee
        code = callee.code
        self.entry = code.append_basic_block("entry")
        self.builder = _ir.IRBuilder(code.append_basic_block("begin"))
        self.exit = code.append_basic_block("exit")
        self.loops: list[tuple[Any, Any]] = []
        super().__init__()
        self.constants = {name: Value(INT, (I64(value),)) for name, value in callee.statics.items()}

    def write(self) -> None:
        callee = self.callee
        parameters = list(callee.code.args)
        self.result = self.room(callee.result)
        self.status = self.room(INT)
        self.put(self.status, Value(INT, (I64(0),)))
        self.arena = parameters.pop(0) if callee.makes_arrays else None  # made when asked for
        for name, kind in callee.arguments.items():
            count = len(types_of(kind))
            self.assign(name, Value(kind, tuple(parameters[:count])))
            del parameters[:count]
        self.run(callee.tree.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(self.exit)
        self._leave()
        entry = _ir.IRBuilder(self.entry)
        entry.branch(self.entry.function.blocks[1])

    def _leave(self) -> None:
        self.builder.position_at_end(self.exit)
        if self.arena is not None and not self.callee.makes_arrays:
            self.call_runtime("structgen_free_all", _ir.VoidType(), [self.builder.load(self.arena)])
        parts = list(self.get(self.result).parts)
        if self.callee.may_raise:
            parts += self.get(self.status).parts
        if not parts:
            self.builder.ret_void()
        elif len(parts) == 1:
            self.builder.ret(parts[0])
        else:
            self.builder.ret(self.packed(parts))

    def run(self, statements: list[ast.stmt]) -> None:
        """Write statements, up to one that leaves."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            method = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                raise self.unknown(statement)
            method(statement)

    def do_Pass(self, statement: ast.Pass) -> None:  # noqa: N802 - named after the node, as ast's own visitors are
        pass

    def do_Expr(self, statement: ast.Expr) -> None:  # noqa: N802
        if not isinstance(statement.value, ast.Constant):
            self.value(statement.value)

    def do_Return(self, statement: ast.Return) -> None:  # noqa: N802
        if statement.value is not None and self.callee.result != NONE:
            self.put(self.result, self.value(statement.value))
        self.builder.branch(self.exit)

    def do_Raise(self, statement: ast.Raise) -> None:  # noqa: N802
        assert isinstance(statement.exc, ast.Name)
        self.fail(I64(self.unit.number_of(self.callee.lookup(statement.exc.id))))

    def do_Assign(self, statement: ast.Assign) -> None:  # noqa: N802
        value = self.value(statement.value)
        for target in statement.targets:
            self.assign_to(target, value)

    def do_AnnAssign(self, statement: ast.AnnAssign) -> None:  # noqa: N802
        if statement.value is not None:
            self.assign_to(statement.target, self.value(statement.value))

    def do_AugAssign(self, statement: ast.AugAssign) -> None:  # noqa: N802
        if isinstance(statement.target, ast.Name) or self.register(statement.target):
            new = self.binary(statement.op, self.value(statement.target), self.value(statement.value))
            self.assign_to(statement.target, new)
            return
        assert isinstance(statement.target, ast.Subscript)
        place = self.element_place(statement.target)
        self.write_element(*place, self.binary(statement.op, self.read_element(*place), self.value(statement.value)))

    def assign_to(self, target: ast.expr, value: Value) -> None:
        """Assign to a variable, an element, a whole array, or several of them."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            for one, item in zip(target.elts, value.items, strict=True):
                self.assign_to(one, item)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            self.fill(self.value(target), value)
        elif room := self.register(target):
            self.put(room, value)
        elif isinstance(target, ast.Subscript):
            self.write_element(*self.element_place(target), value)
        else:
            raise self.unknown(target)

    def fill(self, array: Value, value: Value) -> None:
        """Set every element."""
        with self.counting(I64(0), array.parts[1], I64(1)) as index:
            assert isinstance(array.kind, Array)
            self.write_element(array.kind, self.builder.gep(array.parts[0], [index]), value)

    def do_If(self, statement: ast.If) -> None:  # noqa: N802
        known = self.known_truth(statement.test)
        if known is not None:
            self.run(statement.body if known else statement.orelse)
            return
        then, otherwise, after = (self.block(name) for name in ("then", "else", "endif"))
        self.branch(statement.test, then, otherwise)
        for block, body in ((then, statement.body), (otherwise, statement.orelse)):
            self.builder.position_at_end(block)
            self.run(body)
            self.go(after)
        self.builder.position_at_end(after)

    def do_While(self, statement: ast.While) -> None:  # noqa: N802
        test, body, after = (self.block(name) for name in ("while", "body", "endwhile"))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.branch(statement.test, body, after)
        self.builder.position_at_end(body)
        self.loops.append((test, after))
        self.run(statement.body)
        self.loops.pop()
        self.go(test)
        self.builder.position_at_end(after)

    def do_For(self, statement: ast.For) -> None:  # noqa: N802
        call = statement.iter
        if not (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("range", "unrolled")
        ):
            raise self.unknown(statement)
        bounds = [self.number(one) for one in call.args]
        first = bounds[0] if len(bounds) > 1 else I64(0)
        step = bounds[2] if len(bounds) > 2 else I64(1)
        assert isinstance(statement.target, ast.Name)
        if call.func.id == "unrolled":
            self._write_out(statement.target.id, range(*(one.constant for one in bounds)), statement.body)
            return
        with self.counting(first, bounds[min(1, len(bounds) - 1)], step) as index:
            self.assign(statement.target.id, Value(INT, (index,)))
            self.run(statement.body)

    def _write_out(self, name: str, numbers: range, body: list[ast.stmt]) -> None:
        """A loop as one turn after the other."""
        after = self.block("endunrolled")
        for number in numbers:
            following = self.block("turn")
            self.constants[name] = Value(INT, (I64(number),))
            self.loops.append((following, after))
            self.run(body)
            self.loops.pop()
            self.go(following)
            self.builder.position_at_end(following)
        self.constants.pop(name, None)
        self.go(after)
        self.builder.position_at_end(after)

    def do_Break(self, statement: ast.Break) -> None:  # noqa: N802
        self.builder.branch(self.loops[-1][1])

    def do_Continue(self, statement: ast.Continue) -> None:  # noqa: N802
        self.builder.branch(self.loops[-1][0])
