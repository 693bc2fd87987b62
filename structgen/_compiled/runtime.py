"""What compiled functions need while they run: memory that is freed together."""

from __future__ import annotations

import importlib
from typing import Any

from structgen._compiled.kinds import I64, POINTER

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["add_runtime"]

_HEAD = 16
"""Before each piece of memory: where the piece before it lies."""


def add_runtime(module: Any) -> None:
    """Define the functions."""
    _write_allocate(module)
    _write_free_all(module)


def _function(module: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return module.globals.get(name) or _ir.Function(module, _ir.FunctionType(result, arguments), name)


def _write_allocate(module: Any) -> None:
    """(the list, bytes) -> memory, or null."""
    function = _function(module, "structgen_allocate", POINTER, [POINTER.as_pointer(), I64])
    function.linkage = "internal"
    builder = _ir.IRBuilder(function.append_basic_block())
    pieces, size = function.args
    malloc = _function(module, "malloc", POINTER, [I64])
    piece = builder.call(malloc, [builder.add(size, I64(_HEAD))])
    with builder.if_then(builder.icmp_unsigned("==", piece, POINTER(None)), likely=False):
        builder.ret(piece)
    builder.store(builder.load(pieces), builder.bitcast(piece, POINTER.as_pointer()))
    builder.store(piece, pieces)
    builder.ret(builder.gep(piece, [I64(_HEAD)]))


def _write_free_all(module: Any) -> None:
    """(the last piece) -> nothing."""
    function = _function(module, "structgen_free_all", _ir.VoidType(), [POINTER])
    function.linkage = "internal"
    entry, test, body, end = (function.append_basic_block() for _ in range(4))
    builder = _ir.IRBuilder(entry)
    builder.branch(test)
    builder.position_at_end(test)
    piece = builder.phi(POINTER)
    piece.add_incoming(function.args[0], entry)
    builder.cbranch(builder.icmp_unsigned("==", piece, POINTER(None)), end, body)
    builder.position_at_end(body)
    before = builder.load(builder.bitcast(piece, POINTER.as_pointer()))
    builder.call(_function(module, "free", _ir.VoidType(), [POINTER]), [piece])
    piece.add_incoming(before, body)
    builder.branch(test)
    builder.position_at_end(end)
    builder.ret_void()
