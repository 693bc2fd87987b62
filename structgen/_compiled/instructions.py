"""The IR of the functions in `kernel`: one of the same name for each. They take values, kinds and texts."""

from __future__ import annotations

import importlib
from typing import Any

from structgen._compiled.expressions import Expressions
from structgen._compiled.kinds import (
    BOOL,
    FLOAT,
    I1,
    I8,
    I32,
    I64,
    INT,
    NONE,
    Kind,
    Registers,
    Scalar,
    Value,
    Vector,
    bits_of,
    element_type,
    types_of,
)

_ir: Any = importlib.import_module("llvmlite.ir")

_NOTHING = Value(NONE, ())


def read(code: Expressions, kind: Kind, address: Value) -> Value:
    pointer = _pointer(code, address, _in_memory(kind))
    found = code.builder.load(pointer, align=1)
    if isinstance(kind, Vector):
        return Value(kind, (found,))
    assert isinstance(kind, Scalar)
    if kind.name.startswith("float"):
        wide = found if kind.name == "float32" else code.builder.fpext(found, element_type("float32"))
        return Value(FLOAT, (wide,))
    widen = code.builder.zext if kind.name.startswith("u") else code.builder.sext
    return Value(INT, (found if found.type == I64 else widen(found, I64),))


def write(code: Expressions, kind: Kind, address: Value, value: Value) -> Value:
    builder, stored = code.builder, _in_memory(kind)
    if isinstance(kind, Vector):
        part = code.spread(value, kind)
    elif stored == element_type("float32"):
        part = code.coerced(value, FLOAT).parts[0]
    elif stored == element_type("float16"):
        part = builder.fptrunc(code.coerced(value, FLOAT).parts[0], stored)
    else:
        part = code.coerced(value, INT).parts[0]
        part = part if stored == I64 else builder.trunc(part, stored)
    builder.store(part, _pointer(code, address, stored), align=1)
    return _NOTHING


def splat(code: Expressions, kind: Kind, number: Value) -> Value:
    return Value(kind, (code.spread(number, kind),))


def lane_numbers(code: Expressions, kind: Vector) -> Value:
    return Value(kind, (_ir.Constant(kind.type, list(range(kind.lanes))),))


def registers(code: Expressions, value: Value, count: Value) -> Value:
    number = count.parts[0].constant
    return Value(Registers(value.kind, number), value.parts * number)


def convert(code: Expressions, kind: Vector, value: Value) -> Value:
    source = value.kind
    if not isinstance(source, Vector) or source.lanes != kind.lanes:
        raise TypeError(f"{source} to {kind}")
    from_float, to_float = source.dtype.startswith("float"), kind.dtype.startswith("float")
    builder, part = code.builder, value.parts[0]
    if from_float and to_float:
        name = "fpext" if kind.dtype == "float32" else "fptrunc"
    elif from_float:
        name = "fptosi"
    elif to_float:
        name = "uitofp" if source.dtype.startswith("u") else "sitofp"
    elif _bits(kind) < _bits(source):
        name = "trunc"
    else:
        name = "zext" if source.dtype.startswith("u") else "sext"
    if from_float == to_float and _bits(kind) == _bits(source):
        return Value(kind, (part,))
    return Value(kind, (getattr(builder, name)(part, kind.type),))


def reinterpret(code: Expressions, kind: Kind, value: Value) -> Value:
    if kind == Scalar("float32"):
        cut = code.builder.trunc(value.parts[0], I32)
        return Value(FLOAT, (code.builder.bitcast(cut, element_type("float32")),))
    if kind == Scalar("int32"):
        return Value(INT, (code.builder.zext(code.builder.bitcast(value.parts[0], I32), I64),))
    return Value(kind, (code.builder.bitcast(value.parts[0], types_of(kind)[0]),))


def fused(code: Expressions, a: Value, b: Value, c: Value) -> Value:
    return _same(code, "llvm.fma", a, b, c)


def minimum(code: Expressions, a: Value, b: Value) -> Value:
    return _extreme(code, "<", a, b)


def maximum(code: Expressions, a: Value, b: Value) -> Value:
    return _extreme(code, ">", a, b)


def chosen(code: Expressions, mask: Value, a: Value, b: Value) -> Value:
    (first, second), kind = code.alike(a, b)
    return Value(kind, (code.builder.select(mask.parts[0], first, second),))


def absolute(code: Expressions, value: Value) -> Value:
    return _same(code, "llvm.fabs", value)


def square_root(code: Expressions, value: Value) -> Value:
    return _same(code, "llvm.sqrt", value)


def nearest(code: Expressions, value: Value) -> Value:
    return _same(code, "llvm.roundeven", value)


def total(code: Expressions, value: Value) -> Value:
    is_float = _vector(value).dtype == "float32"
    return _halved(code, value, code.builder.fadd if is_float else code.builder.add)


def largest(code: Expressions, value: Value) -> Value:
    assert _vector(value).dtype == "float32"
    builder = code.builder

    def greater(a: Any, b: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return _halved(code, value, greater)


def pair_products(code: Expressions, a: Value, b: Value) -> Value:
    lanes = _vector(a).lanes // 2
    if "avx512bw" in code.unit.features and lanes % 16 == 0:
        return _by_pieces(code, "llvm.x86.avx512.pmaddw.d.512", 16, a, b)
    if "avx2" in code.unit.features and lanes % 8 == 0:
        return _by_pieces(code, "llvm.x86.avx2.pmadd.wd", 8, a, b)
    wide = [code.builder.sext(one.parts[0], _ir.VectorType(I32, 2 * lanes)) for one in (a, b)]
    products = code.builder.mul(*wide)
    even, odd = (_shuffled(code, products, range(first, 2 * lanes, 2)) for first in (0, 1))
    return Value(Vector("int32", lanes), (code.builder.add(even, odd),))


def quad_products(code: Expressions, sums: Value, a: Value, b: Value) -> Value:
    lanes, is_unsigned = _vector(sums).lanes, _vector(a).dtype == "uint8"
    if is_unsigned and "avx512vnni" in code.unit.features and lanes % 16 == 0:
        return _quads(code, "llvm.x86.avx512.vpdpbusd.512", 16, sums, a, b)
    if is_unsigned and "avxvnni" in code.unit.features and lanes % 8 == 0:
        return _quads(code, "llvm.x86.avx512.vpdpbusd.256", 8, sums, a, b)
    if not is_unsigned and "dotprod" in code.unit.features and lanes % 4 == 0:
        return _quads(code, "llvm.aarch64.neon.sdot.v4i32.v16i8", 4, sums, a, b)
    wide = _ir.VectorType(I32, 4 * lanes)
    first = (code.builder.zext if is_unsigned else code.builder.sext)(a.parts[0], wide)
    products, found = code.builder.mul(first, code.builder.sext(b.parts[0], wide)), sums.parts[0]
    for place in range(4):
        found = code.builder.add(found, _shuffled(code, products, range(place, 4 * lanes, 4)))
    return Value(sums.kind, (found,))


def prefetch(code: Expressions, address: Value) -> Value:
    pointer = _pointer(code, address, I8)
    _call(code, "llvm.prefetch.p0", _ir.VoidType(), pointer, I32(0), I32(3), I32(1))
    return _NOTHING


def fetch_add(code: Expressions, address: Value, number: Value) -> Value:
    pointer = _pointer(code, address, I64)
    return Value(INT, (code.builder.atomic_rmw("add", pointer, number.parts[0], "acq_rel"),))


def read_acquire(code: Expressions, address: Value) -> Value:
    return Value(INT, (code.builder.load_atomic(_pointer(code, address, I64), "acquire", 8),))


def write_release(code: Expressions, address: Value, number: Value) -> Value:
    code.builder.store_atomic(number.parts[0], _pointer(code, address, I64), "release", 8)
    return _NOTHING


def pause(code: Expressions) -> Value:
    if "sse2" in code.unit.features:
        _call(code, "llvm.x86.sse2.pause", _ir.VoidType())
    elif "neon" in code.unit.features:
        _call(code, "llvm.aarch64.hint", _ir.VoidType(), I32(1))
    return _NOTHING


def yield_core(code: Expressions) -> Value:
    _call(code, "sched_yield", I32)
    return _NOTHING


def cycles(code: Expressions) -> Value:
    return Value(INT, (_call(code, "llvm.readcyclecounter", I64),))


def has(code: Expressions, feature: str) -> Value:
    return Value(BOOL, (I1(int(feature in code.unit.features)),))


def _in_memory(kind: Kind) -> Any:
    return kind.type if isinstance(kind, Vector) else element_type(kind.name) if isinstance(kind, Scalar) else None


def _bits(kind: Vector) -> int:
    return bits_of(kind.dtype)


def _vector(value: Value) -> Vector:
    if not isinstance(value.kind, Vector):
        raise TypeError(f"{value.kind} is no vector")
    return value.kind


def _pointer(code: Expressions, address: Value, kind: Any) -> Any:
    return code.builder.inttoptr(code.coerced(address, INT).parts[0], kind.as_pointer())


def _call(code: Expressions, name: str, result: Any, *arguments: Any) -> Any:
    kind = _ir.FunctionType(result, [one.type for one in arguments])
    function = code.unit.module.globals.get(name) or _ir.Function(code.unit.module, kind, name)
    return code.builder.call(function, arguments)


def _same(code: Expressions, name: str, *values: Value) -> Value:
    """An intrinsic of LLVM whose arguments and result are of one kind."""
    kind = next((one.kind for one in values if isinstance(one.kind, Vector)), FLOAT)
    parts = [code.spread(one, kind) for one in values]
    suffix = f"v{kind.lanes}f32" if isinstance(kind, Vector) else "f32"
    return Value(kind, (_call(code, f"{name}.{suffix}", parts[0].type, *parts),))


def _extreme(code: Expressions, order: str, a: Value, b: Value) -> Value:
    (first, second), kind = code.alike(a, b)
    is_float = kind == FLOAT or (isinstance(kind, Vector) and kind.dtype == "float32")
    compare = code.builder.fcmp_ordered if is_float else code.builder.icmp_signed
    return Value(kind, (code.builder.select(compare(order, first, second), first, second),))


def _halved(code: Expressions, value: Value, join: Any) -> Value:
    part, lanes = value.parts[0], _vector(value).lanes
    while lanes > 1:
        lanes //= 2
        part = join(_shuffled(code, part, range(lanes)), _shuffled(code, part, range(lanes, 2 * lanes)))
    single = code.builder.extract_element(part, I32(0))
    if _vector(value).dtype == "float32":
        return Value(FLOAT, (single,))
    return Value(INT, (code.builder.sext(single, I64),))


def _shuffled(code: Expressions, part: Any, places: range) -> Any:
    mask = _ir.Constant(_ir.VectorType(I32, len(places)), list(places))
    return code.builder.shuffle_vector(part, _ir.Constant(part.type, _ir.Undefined), mask)


def _by_pieces(code: Expressions, name: str, lanes: int, a: Value, b: Value) -> Value:
    """A product of the processor's own width, piece by piece."""
    whole = _vector(a).lanes // 2
    result = _ir.VectorType(I32, lanes)
    pieces: list[Any] = []
    for first in range(0, whole, lanes):
        places = range(2 * first, 2 * (first + lanes))
        parts = [_shuffled(code, one.parts[0], places) for one in (a, b)]
        pieces.append(_call(code, name, result, *parts))
    return Value(Vector("int32", whole), (_concatenated(code, pieces),))


def _quads(code: Expressions, name: str, lanes: int, sums: Value, a: Value, b: Value) -> Value:
    """As `_by_pieces`; since LLVM 22 the operands of x86's are bytes."""
    pieces: list[Any] = []
    for first in range(0, _vector(sums).lanes, lanes):
        old = _shuffled(code, sums.parts[0], range(first, first + lanes))
        parts = [_shuffled(code, one.parts[0], range(4 * first, 4 * (first + lanes))) for one in (a, b)]
        pieces.append(_call(code, name, old.type, old, *parts))
    return Value(sums.kind, (_concatenated(code, pieces),))


def _concatenated(code: Expressions, pieces: list[Any]) -> Any:
    while len(pieces) > 1:
        width = pieces[0].type.count
        mask = _ir.Constant(_ir.VectorType(I32, 2 * width), list(range(2 * width)))
        pieces = [
            code.builder.shuffle_vector(one, other, mask) for one, other in zip(pieces[::2], pieces[1::2], strict=True)
        ]
    return pieces[0]
