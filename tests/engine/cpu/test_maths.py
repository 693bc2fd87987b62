"""The functions of kernels are those of float64, to a few units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from structgen._compiled.entries import add_entry
from structgen._compiled.kernel import Address, F32x16, read, write
from structgen.engine.cpu.kernels.maths import capped, exponential, hyperbolic_tangent


def fill(x: Address, count: int, out: Address) -> None:
    """All of ``count`` values, a multiple of 16."""
    for place in range(0, count, 16):
        write(F32x16, out + 4 * place, exponential(read(F32x16, x + 4 * place)))


def fill_tangents(x: Address, count: int, out: Address) -> None:
    for place in range(0, count, 16):
        write(F32x16, out + 4 * place, hyperbolic_tangent(read(F32x16, x + 4 * place)))


def fill_capped(x: Address, count: int, out: Address) -> None:
    for place in range(0, count, 16):
        write(F32x16, out + 4 * place, capped(read(F32x16, x + 4 * place), 30.0))


ENTRIES = {
    function.__name__: add_entry(function, "structgen.engine.cpu") for function in (fill, fill_tangents, fill_capped)
}


def of(function, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    ENTRIES[function.__name__](x.ctypes.data, len(x), out.ctypes.data)
    return out


def exponentials(x: np.ndarray) -> np.ndarray:
    return of(fill, x)


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


@pytest.mark.parametrize("function", [fill, fill_tangents, fill_capped])
def test_nan_stays_nan(function):
    assert np.isnan(of(function, np.full(16, np.nan, np.float32))).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 12.0])
def test_the_tangent_is_exact_to_three_units_in_the_last_place(scale):
    x = np.linspace(-scale, scale, 1 << 20).astype(np.float32)
    expected = np.tanh(x.astype(np.float64))
    off = np.abs(of(fill_tangents, x) - expected) / np.spacing(np.abs(expected).astype(np.float32))
    assert off.max() < 3


def test_no_cap_is_ever_passed():
    x = np.array([-np.inf, -1e30, -300, 300, 1e30, np.inf, 0.5, -0.5, *[30.0] * 8], np.float32)
    found = of(fill_capped, x)
    np.testing.assert_array_equal(found[:6], [-30, -30, np.float32(-30), 30, 30, 30])
    np.testing.assert_allclose(found[6:], 30 * np.tanh(x[6:].astype(np.float64) / 30), rtol=1e-6)
