"""What kernels are written with does what it says, and for other processors becomes the instructions it is for."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from structgen._compiled.build import Processor, assembly
from structgen._compiled.entries import add_entry, prepare
from structgen._compiled.kernel import (
    F16,
    F32,
    I8,
    I32,
    I64,
    U16,
    Address,
    F16x16,
    F32x16,
    I8x16,
    I8x64,
    I16x16,
    I16x32,
    I32x16,
    Static,
    U8x16,
    U8x64,
    absolute,
    chosen,
    convert,
    fetch_add,
    fused,
    lane_numbers,
    largest,
    maximum,
    minimum,
    nearest,
    pair_products,
    pause,
    quad_products,
    read,
    read_acquire,
    registers,
    reinterpret,
    splat,
    square_root,
    total,
    unrolled,
    write,
    write_release,
    yield_core,
)
from structgen.engine.cpu._jit import inner
from structgen.grammars.automaton._jit import Int32Array


def compiled(function):
    return add_entry(function, "structgen.engine.cpu")


Float32Array = Int8Array = Int16Array = np.ndarray


@inner
def power(exponent: Static, x: float) -> float:
    found = 1.0
    for _turn in unrolled(exponent):
        found = found * x
    if exponent == 0:
        found = -1.0
    return found


@compiled
def powers(x: Float32Array, out: Float32Array) -> None:
    for place in range(len(x)):
        out[4 * place] = power(0, x[place])
        out[4 * place + 1] = power(1, x[place])
        out[4 * place + 2] = power(3, x[place]) - 1
        out[4 * place + 3] = -x[place] / 3.0 if x[place] > 0.5 else 0.0


@compiled
def by_lanes(a: Float32Array, b: Float32Array, out: Float32Array) -> None:
    x, y = read(F32x16, a.ctypes.data), read(F32x16, b.ctypes.data)
    found = registers(x + y, 9)
    found[1] = x * y - 2.0
    found[2] = fused(x, y, x)
    found[3] = minimum(x, y) + maximum(x, 1)
    found[4] = chosen((x > y) & (lane_numbers(I32x16) >= 3), x, -y)
    found[5] = absolute(x) / square_root(absolute(y) + 1.0)
    found[6] = nearest(x)
    found[7] = convert(F32x16, convert(I32x16, x) >> 1)
    found[8] *= splat(F32x16, largest(y))
    for one in unrolled(9):
        write(F32x16, out.ctypes.data + 64 * one, found[one])


@compiled
def sums(values: Float32Array, integers: Int32Array, out: Float32Array) -> int:
    out[0] = total(read(F32x16, values.ctypes.data))
    return total(read(I32x16, integers.ctypes.data))


@compiled
def converted(values: Float32Array, shorts: Int16Array, bytes_: Int8Array, out: Address) -> int:
    x = read(F32x16, values.ctypes.data)
    write(F16x16, out, convert(F16x16, x))
    write(I16x16, out + 32, convert(I16x16, read(I8x16, bytes_.ctypes.data)))
    write(U8x16, out + 64, convert(U8x16, convert(I32x16, read(I16x16, shorts.ctypes.data))))
    write(F16, out + 80, values[0])
    write(U16, out + 82, reinterpret(I32, values[0]) >> 16)
    write(I8, out + 84, int(values[0]))
    write(F32, out + 88, reinterpret(F32, read(I32, values.ctypes.data + 4)))
    return read(I8, bytes_.ctypes.data) + read(U16, shorts.ctypes.data) + shorts[1] + bytes_[1]


@compiled
def products(a: Address, b: Address, out: Address) -> None:
    write(I32x16, out, pair_products(read(I16x32, a), read(I16x32, b)))
    start = read(I32x16, out + 64)
    write(I32x16, out + 64, quad_products(start, read(U8x64, a), read(I8x64, b)))
    write(I32x16, out + 128, quad_products(start, read(I8x64, a), read(I8x64, b)))


@compiled
def count_up(counter: Address, times: int) -> int:
    for _ in range(times):
        fetch_add(counter, 1)
    return read_acquire(counter)


@compiled
def pass_on(flag: Address, data: Address, wanted: int) -> int:
    """Wait for a flag, read what it guards, and set the next one."""
    while read_acquire(flag) != wanted:
        pause()
        yield_core()
    found = read(I64, data)
    write(I64, data, found + wanted)
    write_release(flag, wanted + 1)
    return found


@pytest.fixture(scope="module", autouse=True)
def compile_all() -> None:
    """Before hypothesis looks at the clock."""
    prepare("structgen.engine.cpu")


floats = numpy_strategies.arrays(np.float32, 16, elements=st.floats(-1000, 1000, width=32))


@given(st.floats(-100, 100, width=32))
def test_numbers_are_float32_and_constants_choose_what_is_compiled(x):
    x, out = np.array([x], np.float32), np.empty(4, np.float32)
    powers(x, out)
    expected = [np.float32(-1), x[0], x[0] * x[0] * x[0] - np.float32(1)]
    expected.append(-x[0] / np.float32(3) if x[0] > 0.5 else np.float32(0))
    np.testing.assert_array_equal(out, np.array(expected, np.float32))


@given(floats, floats)
def test_vectors_compute_as_numpy_does(a, b):
    out = np.empty((9, 16), np.float32)
    by_lanes(a, b, out.reshape(-1))
    one = np.float32(1)
    expected = [
        a + b,
        a * b - np.float32(2),
        (a.astype(np.float64) * b + a).astype(np.float32),
        np.minimum(a, b) + np.maximum(a, one),
        np.where((a > b) & (np.arange(16) >= 3), a, -b),
        np.abs(a) / np.sqrt(np.abs(b) + one),
        np.rint(a),
        (a.astype(np.int32) >> 1).astype(np.float32),
        (a + b) * b.max(),
    ]
    np.testing.assert_array_equal(out, np.array(expected))


@given(floats, numpy_strategies.arrays(np.int32, 16))
def test_sums_of_lanes_have_one_order(values, integers):
    out = np.empty(1, np.float32)
    found = sums(values, integers, out)
    halves = values
    while len(halves) > 1:
        halves = halves[: len(halves) // 2] + halves[len(halves) // 2 :]
    assert out[0] == halves[0]
    assert found == integers.sum(dtype=np.int32)


@given(floats, numpy_strategies.arrays(np.int16, 16), numpy_strategies.arrays(np.int8, 16))
def test_conversions_are_numpys(values, shorts, small):
    values[0] = np.clip(values[0], -100, 100)
    out = np.zeros(96, np.uint8)
    found = converted(values, shorts, small, out.ctypes.data)
    np.testing.assert_array_equal(out[:32].view(np.float16), values.astype(np.float16))
    np.testing.assert_array_equal(out[32:64].view(np.int16), small)
    np.testing.assert_array_equal(out[64:80], shorts.astype(np.uint8))
    assert out[80:82].view(np.float16)[0] == np.float16(values[0])
    assert out[82:84].view(np.uint16)[0] == values.view(np.uint32)[0] >> 16
    assert out[84:85].view(np.int8)[0] == int(values[0])
    assert out[88:92].view(np.float32)[0] == values[1]
    assert found == int(small[0]) + int(shorts.view(np.uint16)[0]) + int(shorts[1]) + int(small[1])


@given(numpy_strategies.arrays(np.int16, 32), numpy_strategies.arrays(np.int16, 32, elements=st.integers(-128, 127)))
def test_products_of_pairs_and_fours_are_exact(a, b):
    out = np.zeros((3, 16), np.int32)
    out[1] = np.arange(16) - 8
    products(a.ctypes.data, b.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(out[0], (a.astype(np.int64) * b).reshape(16, 2).sum(1))
    signed, other = (one.view(np.int8).astype(np.int64) for one in (a, b))
    unsigned = a.view(np.uint8).astype(np.int64)
    np.testing.assert_array_equal(out[1], np.arange(16) - 8 + (unsigned * other).reshape(16, 4).sum(1))
    np.testing.assert_array_equal(out[2], np.arange(16) - 8 + (signed * other).reshape(16, 4).sum(1))


def test_no_count_is_lost_between_threads():
    counter = np.zeros(1, np.int64)
    threads = [threading.Thread(target=count_up, args=(counter.ctypes.data, 20_000)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter[0] == 60_000


def test_what_was_written_before_a_release_is_seen_after_an_acquire():
    flag, data = np.zeros(1, np.int64), np.zeros(1, np.int64)
    found = []

    def play(first: int) -> None:
        found.extend((turn, pass_on(flag.ctypes.data, data.ctypes.data, turn)) for turn in range(first, 400, 2))

    threads = [threading.Thread(target=play, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(turn, turn * (turn - 1) // 2) for turn in range(400)]


ICE_LAKE = Processor("x86_64-unknown-linux-gnu", "icelake-server", "+avx2,+avx512f,+avx512bw,+avx512vnni,+sse2")
ALDER_LAKE = Processor("x86_64-unknown-linux-gnu", "alderlake", "+avx2,+avxvnni,+sse2")
ARM = Processor("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+dotprod")
ZEN_3 = Processor("x86_64-unknown-linux-gnu", "znver3", "+avx2,+fma,+sse2")


@pytest.mark.parametrize(
    ("processor", "instructions"),
    [
        (ZEN_3, ["vpmaddwd", "ymm"]),
        (ALDER_LAKE, ["vpdpbusd", "vpmaddwd"]),
        (ICE_LAKE, ["vpdpbusd", "vpmaddwd", "zmm"]),
        (ARM, ["sdot"]),
    ],
    ids=lambda one: one.name if isinstance(one, Processor) else "",
)
def test_integer_products_are_the_processor_s_own_instructions(processor, instructions):
    text = assembly({"products": products.__wrapped__}, processor)
    assert [one for one in instructions if one not in text] == []


def test_arm_spins_with_its_own_instruction():
    text = assembly({"pass_on": pass_on.__wrapped__}, ARM)
    assert "yield" in text
    assert "ldar" in text or "ldapr" in text


def test_kernels_say_no_to_python():
    with pytest.raises(TypeError, match="compiled code"):
        read(F32, 0)
    with pytest.raises(TypeError, match="compiled code"):
        power(2, 1.0)
