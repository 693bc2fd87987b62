"""Functions of 16 floats at once."""

from __future__ import annotations

from typing import Any

from structgen._compiled.kernel import F32x16, I32x16, convert, fused, maximum, minimum, nearest, reinterpret, splat
from structgen.engine.cpu._jit import inner

__all__ = ["exponential"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 in two parts, the first of so few bits that its products with exponents are exact."""
_LEAST, _MOST = -87.33, 88.37


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
