"""Compiled functions do what their Python says, and no machine code is run but that of the present sources."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen.grammars
from structgen._compiled import store
from structgen._compiled.build import build
from structgen._compiled.store import Place, key_of
from structgen.grammars import warm_up
from structgen.grammars.automaton._jit import (
    Int32Array,
    Int32Table,
    Int64Array,
    Int64Table,
    Memory,
    UInt8Array,
    compiled,
    fixed,
    inlined,
    inner,
    load,
    rare,
)
from structgen.grammars.automaton._jit import store as store_element


class TooFar(Exception):
    """What a compiled function raises here."""


@inlined
def element(memory: Memory, row: int, column: int) -> int:
    return load(memory, fixed(memory, 0) + row * 4 + column)


@rare
def doubled(memory: Memory, place: int) -> None:
    store_element(memory, place, 2 * load(memory, place))


@inner
def fibonacci(number: int) -> int:
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


@inner
def filled(count: int) -> int:
    room = np.empty(count, np.int64)
    for place in range(count):
        room[place] = place
    return room[0] + room[count // 2] + room[count - 1]


@compiled
def total(table: Int32Table, row: Int32Array, text: UInt8Array, factor: int) -> int:
    found = 0
    for place in range(table.shape[0]):
        for column in range(table.shape[1]):
            found += table[place, column]
    for place in range(len(row)):
        found += row[place]
    for place in range(len(text)):
        found += text[place]
    return found * factor


@compiled
def total_of_many(table: Int64Table, row: Int64Array) -> int:
    return table[1, 1] + row[1]


@compiled
def read(memory: Memory, row: int, column: int) -> int:
    doubled(memory, 1)
    return element(memory, row, column)


@compiled
def is_even(number: int) -> bool:
    return number % 2 == 0


@compiled
def clear(row: Int32Array, end: int) -> None:
    if end > len(row):
        raise TooFar
    for place in range(end):
        row[place] = 0


@compiled
def recursive(number: int) -> int:
    return fibonacci(number) + filled(number)


@inner
def doubled_array(values: Int64Array) -> Int64Array:
    longer = np.zeros(2 * len(values), np.int64)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer


@inner
def extremes(values: Int64Array, count: int) -> tuple[int, int]:
    least, most = values[0], values[0]
    for place in range(1, count):
        least, most = min(least, values[place]), max(most, values[place])
    return least, most


@compiled
def collatz(number: int, limit: int) -> int:
    """Arrays that grow, tuples, and every kind of loop."""
    values, count = np.empty(1, np.int64), 0
    while True:
        if count == len(values):
            values = doubled_array(values)
        values[count] = number
        count += 1
        if number == 1 or count >= limit:
            break
        number = number // 2 if number % 2 == 0 else 3 * number + 1
    least, most = extremes(values, count)
    part = values[1:count]
    odd = 0
    for place in range(len(part) - 1, -1, -1):
        if not part[place] & 1:
            continue
        odd += part[place]
    return 7 * least + 5 * most + 3 * count + odd


@compiled
def arithmetic(a: int, b: int) -> int:
    shift = b & 31
    total = a * 3 - b + (a // 7) * 2 + a % 9 + (a >> shift) + ((b & 0xFFFF) << (shift // 2))
    total ^= ~b | a & 0xFF0
    total += -a if a < b else min(a, b, 10) - max(b, -4)
    return total


@compiled
def divided(a: int, b: int) -> int:
    return a // b * 1000 + a % b


@compiled
def logic(a: int, b: int, c: int) -> int:
    found = a or b
    both = a and c
    is_between = -5 <= a < b <= 50
    any_of = b in (1, 2, a) or (not c and a != 3)
    seen = False
    for one in range(a, b, 3):
        seen |= one == c
        if one > 20:
            break
    state, other = (a, b) if is_between else (c, 0)
    state, other = other, state
    return found + 10 * both + 100 * (1 if any_of else 0) + seen + 3 * state - other + is_between


@compiled
def hashed(a: int, b: int) -> int:
    value: Any = np.uint64(14695981039346656037)
    value = (value ^ np.uint64(a)) * np.uint64(1099511628211)
    value = (value ^ np.uint64(b)) * np.uint64(1099511628211)
    return np.int64((value ^ (value >> np.uint64(29))) & np.uint64(0x7FFFFFFF))


@compiled
def set_bits(table: Int32Table, row: int, first: int, last: int) -> int:
    line = table[row]
    line[:] = 0
    for place in range(first, last):
        line[place >> 5] |= np.int32(1) << np.int32(place & 31)
    return line[0]


@compiled
def large(count: int) -> int:
    return np.zeros(count, np.int64)[count - 1]


@pytest.fixture(scope="module", autouse=True)
def compile_all() -> None:
    """Before hypothesis looks at the clock."""
    warm_up()


small_numbers = st.integers(-60, 60)
numbers = st.integers(-(2**40), 2**40)


@given(numbers, numbers)
def test_arithmetic_is_pythons(a, b):
    assert arithmetic(a, b) == arithmetic.__wrapped__(a, b)


@given(small_numbers, small_numbers)
def test_division_is_pythons(a, b):
    if b == 0:
        with pytest.raises(ZeroDivisionError):
            divided(a, b)
    else:
        assert divided(a, b) == divided.__wrapped__(a, b)


@given(small_numbers, small_numbers, small_numbers)
def test_logic_is_pythons(a, b, c):
    assert logic(a, b, c) == logic.__wrapped__(a, b, c)


@given(st.integers(1, 1000), st.integers(1, 200))
def test_loops_and_arrays_are_pythons(number, limit):
    known = {**globals(), "extremes": extremes.__wrapped__, "doubled_array": doubled_array.__wrapped__}
    assert collatz(number, limit) == types.FunctionType(collatz.__wrapped__.__code__, known)(number, limit)


@given(numbers, numbers)
def test_words_are_unsigned(a, b):
    value = 14695981039346656037
    for one in (a, b):
        value = (value ^ (one % 2**64)) * 1099511628211 % 2**64
    assert hashed(a, b) == (value ^ (value >> 29)) & 0x7FFFFFFF


def test_elements_are_cut_to_their_size():
    table = np.full((3, 2), 7, np.int32)
    assert set_bits(table, 1, 3, 34) == -8
    assert table.tolist() == [[7, 7], [-8, 3], [7, 7]]


def test_what_a_function_allocates_is_freed_when_it_returns():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        assert large(1 << 19) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB; 800,000 are allocated


def test_memory_that_there_is_not_is_an_error():
    with pytest.raises(MemoryError):
        large(1 << 55)


def test_what_compiled_code_cannot_say_is_named_with_its_line():
    def power(number: int) -> int:
        return number**2

    line = power.__code__.co_firstlineno + 1
    with pytest.raises((NotImplementedError, TypeError), match=f"power, line {line}"):
        build({"power": power})


def test_arguments_and_results_are_those_of_python():
    table, row = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([10, -20], np.int32)
    assert total(table, row, np.frombuffer(bytearray(b"\x01\xff"), np.uint8), -2) == -2 * (15 - 10 + 256)
    assert total_of_many(np.arange(4).reshape(2, 2), np.array([0, -(2**50)])) == 3 - 2**50
    assert total(table, row[:0], np.zeros(0, np.uint8), 2**40) == 15 * 2**40
    assert (is_even(np.int32(4)), is_even(-3)) == (True, False)
    assert clear(row, 1) is None
    assert row.tolist() == [0, -20]


def test_inlined_functions_reach_memory():
    memory = np.array([2, 21, 0, 0, 0, 0, 0, 77], np.int32)
    assert read(memory.ctypes.data, 1, 1) == 77
    assert memory[1] == 42


def test_a_function_may_call_itself_and_make_arrays():
    assert recursive(20) == 6765 + 0 + 10 + 19


def test_an_exception_arrives_as_what_was_raised():
    row = np.ones(3, np.int32)
    with pytest.raises(TooFar):
        clear(row, 4)
    assert row.tolist() == [1, 1, 1]


def test_raising_keeps_no_memory():
    row, before = np.ones(3, np.int32), 0
    for number in range(2_000):
        if number == 1_000:
            before = sys.getallocatedblocks()
        with contextlib.suppress(TooFar):
            clear(row, 4)
    assert sys.getallocatedblocks() < before + 100


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (np.zeros(3, np.int32),),
        (np.zeros(3, np.int32), 1, 1),
        (np.zeros(3, np.int64), 1),
        (np.zeros((1, 3), np.int32), 1),
        (np.zeros(6, np.int32)[::2], 1),
        ([0, 0, 0], 1),
        (None, 1),
        (np.zeros(3, np.int32), 1.5),
        (np.zeros(3, np.int32), None),
    ],
)
def test_wrong_arguments_are_a_type_error(arguments):
    with pytest.raises(TypeError):
        clear(*arguments)


def test_a_number_beyond_64_bits_is_an_error():
    with pytest.raises(OverflowError):
        is_even(2**64)


def test_inner_functions_say_that_they_are():
    with pytest.raises(TypeError, match="fibonacci"):
        fibonacci(3)


def run(script: str, cache: Path, **environment: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(Path(structgen.__file__).parents[1]), str(cache.parent)])
    everything = {**os.environ, "STRUCTGEN_CACHE": str(cache), "PYTHONPATH": paths, **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", script], env=everything, stdout=pipe, stderr=pipe, text=True)


SMALL = """
import structgen._compiled.entries as entries
entries._waiting.clear()  # the grammars' own functions would take long
import small
print(small.answer(20))
"""
"""Calls one small compiled function."""


@pytest.fixture
def small(tmp_path) -> Path:
    """The cache for a module `small`."""
    (tmp_path / "small.py").write_text(
        "from __future__ import annotations\n"
        "from structgen.grammars.automaton._jit import compiled, inner\n\n"
        "@inner\n"
        "def more(n: int) -> int:\n    return n + 1\n\n"
        "@compiled\n"
        "def answer(n: int) -> int:\n    return more(n) * 2\n"
    )
    return tmp_path / "cache"


def files(cache: Path) -> list[Path]:
    return sorted((cache / "compiled").glob("*.o"))


def test_processes_that_start_together_compile_once_and_later_ones_not_at_all(small):
    first = [run(SMALL, small) for _ in range(2)]
    results = [one.communicate() for one in first]
    assert [one for one, _ in results] == ["42\n", "42\n"]
    assert sum("compiling" in errors for _, errors in results) == 1
    assert len(files(small)) == 1
    script = SMALL + "import sys\nprint('structgen._compiled.build' in sys.modules)"
    output, errors = run(script, small).communicate()
    assert (output, errors) == ("42\nFalse\n", "")


def test_functions_outlive_the_modules_that_made_them_as_while_python_ends(small):
    script = SMALL + (
        "import gc, structgen._compiled.machine as machine\n"
        "machine.__dict__.clear()\n"
        "gc.collect()\n"
        "others = [b'\\xff' * size for size in range(1, 512) for _ in range(500)]  # where something was freed\n"
        "gc.collect()\n"
        "print(small.answer(20))\n"
    )
    one = run(script, small)
    assert one.communicate()[0] == "42\n42\n"
    assert one.returncode == 0


def test_a_changed_source_is_compiled_anew_and_a_damaged_file_too(small):
    assert run(SMALL, small).communicate()[0] == "42\n"
    (file,) = files(small)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    output, errors = run(SMALL, small).communicate()
    assert output == "42\n"
    assert "compiling" in errors
    module = small.parent / "small.py"
    module.write_text(module.read_text().replace("n + 1", "n + 3"))
    assert run(SMALL, small).communicate()[0] == "46\n"


def test_without_a_folder_to_write_it_compiles_and_says_so(small):
    small.write_text("a file, so that no folder can be made of it")
    script = "import structgen._compiled.store as store, os, pathlib\n"
    script += "store._folders = lambda: [pathlib.Path(os.environ['STRUCTGEN_CACHE']) / 'compiled']\n" + SMALL
    output, errors = run(script, small).communicate()
    assert output == "42\n"
    assert "STRUCTGEN_CACHE" in errors


def test_machine_code_is_for_one_state_of_the_sources_and_one_processor(tmp_path, monkeypatch):
    shutil.copytree(Path(structgen.grammars.__file__).parent, tmp_path / "grammars")
    monkeypatch.setattr(store, "_folder_of", lambda package: tmp_path / package)
    functions = {"total": total.__wrapped__}
    before = key_of(functions, "this", "grammars")
    assert before == key_of(functions, "this", "grammars")
    assert before != key_of(functions, "that", "grammars")
    assert before != key_of({"sum": total.__wrapped__}, "this", "grammars")
    for path in (tmp_path / "grammars").rglob("*.py"):
        path.write_text(path.read_text() + "\n")
        after = key_of(functions, "this", "grammars")
        assert after != before, path
        before = after
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "kernels.py").write_text("")
    assert key_of(functions, "this", "grammars") == before
    shutil.copytree(Path(store.__file__).parent, tmp_path / "_compiled")
    monkeypatch.setattr(store, "__file__", str(tmp_path / "_compiled" / "store.py"))
    before = key_of(functions, "this", "grammars")
    for path in (tmp_path / "_compiled").rglob("*.py"):
        path.write_text(path.read_text() + "\n")
        assert key_of(functions, "this", "grammars") != before, path
        before = key_of(functions, "this", "grammars")


def test_files_that_nobody_loads_are_removed_after_a_month(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_folders", lambda: [tmp_path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    age = time.time() - 40 * 86400
    for name in ("used", "unused"):
        Place(name).write(b"code")
    for path in tmp_path.iterdir():
        os.utime(path, (age, age))
    assert Place("used").read() == b"code"
    Place("new").write(b"more")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["structgen-new.o", "structgen-used.o"]


def test_a_folder_that_can_only_be_read_serves(tmp_path, monkeypatch):
    readable, writable = tmp_path / "a", tmp_path / "b"
    monkeypatch.setattr(store, "_folders", lambda: [readable])
    Place("key").write(b"code")
    monkeypatch.setattr(store, "_folders", lambda: [readable, writable])
    monkeypatch.setattr(store, "_folders_to_write", lambda: [writable])
    assert Place("key").read() == b"code"
    assert not writable.exists()


def test_without_byte_code_nothing_is_written_beside_the_sources(monkeypatch):
    beside = Path(store.__file__).parent
    monkeypatch.delenv("STRUCTGEN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    for without, expected in ((True, False), (False, True)):
        monkeypatch.setattr(sys, "dont_write_bytecode", without)
        assert any(beside in folder.parents for folder in store._folders_to_write()) == expected
