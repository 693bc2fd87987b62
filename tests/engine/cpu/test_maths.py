"""The exponential of kernels is that of float64, to two units in the last place."""

from __future__ import annotations

import numpy as np

from structgen._compiled.entries import add_entry
from structgen._compiled.kernel import Address, F32x16, read, write
from structgen.engine.cpu.kernels.maths import exponential


def fill(x: Address, count: int, out: Address) -> None:
    """All of ``count`` values, a multiple of 16."""
    for place in range(0, count, 16):
        write(F32x16, out + 4 * place, exponential(read(F32x16, x + 4 * place)))


entry = add_entry(fill, "structgen.engine.cpu")


def exponentials(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    entry(x.ctypes.data, len(x), out.ctypes.data)
    return out


def test_it_is_exact_to_two_units_in_the_last_place():
    x = np.linspace(-87, 88, 1 << 20).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    off = np.abs(exponentials(x) - expected) / np.spacing(expected.astype(np.float32))
    assert off.max() < 2


def test_what_no_float_holds_is_the_least_or_the_greatest():
    x = np.array([-1e30, -100, -np.inf, 100, 1e30, np.inf, 0, -0.0, *[1.0] * 8], np.float32)
    found = exponentials(x)
    assert (found[:3] < 2e-38).all()
    assert (found[3:6] > 1e38).all()
    assert (found[6:8] == 1).all()


def test_nan_stays_nan():
    assert np.isnan(exponentials(np.full(16, np.nan, np.float32))).all()
