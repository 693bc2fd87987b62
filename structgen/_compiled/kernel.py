"""What kernels are written with: vectors, typed memory, and what threads meet by. For compiled code to call.

A kernel is a Python function that `structgen._compiled` translates, as the automata's are. It computes besides with
vectors, which are named like ``I16x32`` (32 integers of 16 bits), reads and writes them at addresses, and writes loops
out over constants::

    @inner
    def product(rows: Static, x: Address, weights: Address, depth: int, sums: Address) -> None:
        found = registers(splat(F32x16, 0.0), rows)
        for k in range(depth):
            weight = read(F32x16, weights + 64 * k)
            for row in unrolled(rows):
                found[row] = fused(splat(F32x16, read(F32, x + 4 * (row * depth + k))), weight, found[row])
        for row in unrolled(rows):
            write(F32x16, sums + 64 * row, found[row])

Vectors may be wider than the processor's registers: they take several. Arithmetic and comparisons are lane by lane;
nothing is reordered or contracted, so that a kernel gives the same bits wherever it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structgen._compiled.entries import Instruction

__all__ = [
    "F16",
    "F32",
    "I8",
    "I16",
    "I32",
    "I64",
    "U8",
    "U16",
    "U32",
    "Address",
    "F16x16",
    "F32x8",
    "F32x16",
    "I8x16",
    "I8x32",
    "I8x64",
    "I16x16",
    "I16x32",
    "I32x8",
    "I32x16",
    "Static",
    "U8x16",
    "U8x32",
    "U8x64",
    "U16x16",
    "U32x16",
    "U64x16",
    "absolute",
    "chosen",
    "convert",
    "cycles",
    "fetch_add",
    "fused",
    "has",
    "lane_numbers",
    "largest",
    "maximum",
    "minimum",
    "nearest",
    "pair_products",
    "pause",
    "prefetch",
    "quad_products",
    "read",
    "read_acquire",
    "registers",
    "reinterpret",
    "splat",
    "square_root",
    "total",
    "unrolled",
    "write",
    "write_release",
    "yield_core",
]

Address = int
"""Bytes from the beginning of memory."""
Static = int
"""An argument that is a constant at every call."""

if TYPE_CHECKING:
    # A type checker sees anything: what vectors can do is the translator's business.
    F16 = F32 = I8 = I16 = I32 = I64 = U8 = U16 = U32 = Any
    F32x8 = F32x16 = F16x16 = I8x16 = I8x32 = I8x64 = U8x16 = U8x32 = U8x64 = Any
    I16x16 = I16x32 = U16x16 = I32x8 = I32x16 = U32x16 = U64x16 = Any

    def unrolled(*bounds: int) -> range:
        """As ``range``, for a loop that is written out."""
        ...

else:
    F16, F32 = "F16", "F32"
    I8, I16, I32, I64, U8, U16, U32 = "I8", "I16", "I32", "I64", "U8", "U16", "U32"
    F32x8, F32x16, F16x16 = "F32x8", "F32x16", "F16x16"
    I8x16, I8x32, I8x64, U8x16, U8x32, U8x64 = "I8x16", "I8x32", "I8x64", "U8x16", "U8x32", "U8x64"
    I16x16, I16x32, U16x16, I32x8, I32x16 = "I16x16", "I16x32", "U16x16", "I32x8", "I32x16"
    U32x16, U64x16 = "U32x16", "U64x16"
    unrolled = range


@Instruction
def read(kind: Any, address: Address) -> Any:
    """What lies at an address, aligned or not: a vector, or a number, which becomes an ``int`` or a ``float``."""


@Instruction
def write(kind: Any, address: Address, value: Any) -> None:
    """Put a value of ``kind`` at an address, aligned or not; an integer is cut to its size."""


@Instruction
def splat(kind: Any, number: Any) -> Any:
    """A vector with one number in every lane."""


@Instruction
def lane_numbers(kind: Any) -> Any:
    """0, 1, 2, ..."""


@Instruction
def registers(value: Any, count: Static) -> Any:
    """A row of ``count`` variables that begin as ``value``; only constants count in it."""


@Instruction
def convert(kind: Any, value: Any) -> Any:
    """Numbers as another type's: integers are widened or cut, floats that become integers lose their fraction."""


@Instruction
def reinterpret(kind: Any, value: Any) -> Any:
    """The same bits as another kind."""


@Instruction
def fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""


@Instruction
def minimum(a: Any, b: Any) -> Any:
    """The lesser in each lane: ``a if a < b else b``."""


@Instruction
def maximum(a: Any, b: Any) -> Any:
    """The greater in each lane: ``a if a > b else b``."""


@Instruction
def chosen(mask: Any, a: Any, b: Any) -> Any:
    """``a`` in lanes where a comparison held, ``b`` in the others."""


@Instruction
def absolute(value: Any) -> Any:
    """Floats without their sign."""


@Instruction
def square_root(value: Any) -> Any:
    """Of floats."""


@Instruction
def nearest(value: Any) -> Any:
    """Floats rounded to whole numbers, halves to even."""


@Instruction
def total(value: Any) -> Any:
    """The sum of all lanes: the upper half onto the lower, until one is left."""


@Instruction
def largest(value: Any) -> Any:
    """The maximum over all lanes."""


@Instruction
def pair_products(a: Any, b: Any) -> Any:
    """Products of int16 lanes, neighbours added: ``I32xN`` of two ``I16x2N``. Exact below ``2**31``."""


@Instruction
def quad_products(sums: Any, a: Any, b: Any) -> Any:
    """``sums`` and products of bytes, four neighbours added: ``I32xN`` of ``U8x4N`` or ``I8x4N`` and ``I8x4N``."""


@Instruction
def prefetch(address: Address) -> None:
    """Bring a cache line near, for reading."""


@Instruction
def fetch_add(address: Address, number: int) -> Any:
    """Add to an int64 that other threads see, and get what was there before."""


@Instruction
def read_acquire(address: Address) -> Any:
    """An int64 that another thread wrote with `write_release`, and all that it wrote before."""


@Instruction
def write_release(address: Address, number: int) -> None:
    """Set an int64 for other threads, which see all that was written before."""


@Instruction
def pause() -> None:
    """Tell the core that this thread spins."""


@Instruction
def yield_core() -> None:
    """Let another thread of the machine have the core, if one wants it."""


@Instruction
def cycles() -> Any:
    """The processor's clock."""


@Instruction
def has(feature: str) -> Any:
    """Whether the processor that is compiled for has a feature, by LLVM's name; a constant."""
