"""Where compiled functions keep values, and where they go on."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Generator, Sequence
from typing import Any

from structgen._compiled.kinds import (
    BOOL,
    FLOAT,
    I8,
    I64,
    INT,
    POINTER,
    WORD,
    Kind,
    Tuple,
    Value,
    element_type,
    types_of,
)
from structgen._compiled.kinds import joined as joined_kind

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["Places", "Room"]

_LARGEST_ON_STACK = 4096

Room = tuple[Kind, list[Any]]
"""Where a value is kept, part by part."""


class Places:
    """Writes what is no expression at ``builder``: loads and stores, blocks and branches, memory, failures."""

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

    def joined(self, ends: list[tuple[Any, Value]]) -> Value:
        """What is one of several values, by the block that was left."""
        kind, after = joined_kind([value.kind for _, value in ends]), self.block("joined")
        room = self.room(kind)
        for block, value in ends:
            self.builder.position_at_end(block)
            self.put(room, value)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        return self.get(room)

    def unknown(self, node: ast.AST) -> Exception:
        """The error for what compiled functions cannot say."""
        line = self.callee.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return NotImplementedError(f"{self.callee.name}, line {line}: {ast.unparse(node)}")

    # Memory and calls

    def own_arena(self) -> Any:
        """The list of the memory that is to be freed when the function returns."""
        if self.arena is None:
            entry = _ir.IRBuilder(self.entry)
            self.arena = entry.alloca(POINTER)
            entry.store(POINTER(None), self.arena)
        return self.arena

    def memory(self, size: Any) -> Any:
        """So many bytes, gone when the function returns."""
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
