"""Functions of 16 floats at once."""

from __future__ import annotations

from typing import Any

from structgen._compiled.kernel import (
    F32x16,
    I32x16,
    absolute,
    chosen,
    convert,
    fused,
    maximum,
    minimum,
    nearest,
    reinterpret,
    splat,
)
from structgen.engine.cpu._jit import inner

__all__ = ["capped", "exponential", "hyperbolic_tangent"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 in two parts, the first of so few bits that its products with exponents are exact."""
_LEAST, _MOST = -87.33, 88.37
_NEAR_ZERO = 0.625
"""Up to here ``1 - 2 / (exp(2 x) + 1)`` would lose what it subtracts."""


@inner
def exponential(x: F32x16) -> F32x16:
    """``exp(x)`` within 2 ulp; beyond what normal floats hold, their least and greatest. NaN stays NaN.

    ``2**n * exp(r)`` with ``|r| <= ln(2) / 2``, where Taylor's polynomial of degree 7 is exact to half an ulp.
    """
    # Constants first: a comparison with NaN does not hold, and the second operand is what is left.
    bounded = minimum(splat(F32x16, _MOST), maximum(splat(F32x16, _LEAST), x))
    power = nearest(bounded * _LOG2_E)
    rest = fused(power, splat(F32x16, -_LN2_HIGH), bounded)
    rest = fused(power, splat(F32x16, -_LN2_LOW), rest)
    found: Any = fused(rest, splat(F32x16, 1.0 / 5040.0), splat(F32x16, 1.0 / 720.0))
    found = fused(found, rest, splat(F32x16, 1.0 / 120.0))
    found = fused(found, rest, splat(F32x16, 1.0 / 24.0))
    found = fused(found, rest, splat(F32x16, 1.0 / 6.0))
    found = fused(found, rest, splat(F32x16, 0.5))
    found = fused(found, rest, splat(F32x16, 1.0))
    found = fused(found, rest, splat(F32x16, 1.0))
    return found * reinterpret(F32x16, (convert(I32x16, power) + 127) << 23)


@inner
def hyperbolic_tangent(x: F32x16) -> F32x16:
    """``tanh(x)`` within 3 ulp. NaN stays NaN.

    Near 0 ``x + x**3 * p(x**2)``, ``p`` of degree 4 fitted at Chebyshev's points, elsewhere by the exponential.
    """
    far = splat(F32x16, 1.0) - splat(F32x16, 2.0) / (exponential(x + x) + 1.0)
    square = x * x
    found: Any = fused(square, splat(F32x16, -0.006104947999119759), splat(F32x16, 0.021003641188144684))
    found = fused(found, square, splat(F32x16, -0.05385249853134155))
    found = fused(found, square, splat(F32x16, 0.13332782685756683))
    found = fused(found, square, splat(F32x16, -0.333333283662796))
    return chosen(absolute(x) < _NEAR_ZERO, fused(found * square, x, x), far)


@inner
def capped(x: F32x16, cap: float) -> F32x16:
    """``cap * tanh(x / cap)``."""
    return hyperbolic_tangent(x / splat(F32x16, cap)) * cap
