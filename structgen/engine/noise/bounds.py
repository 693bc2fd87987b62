r"""Which tokens may win a draw, in one pass of compiled code.

The winner has the largest :math:`\ell_i - \log(-\log u_i)`. That takes two logarithms in double precision for each of
49,152 tokens, a millisecond; a bound on it takes the exponent of one number. Since :math:`-\log u \ge 1 - u`,

.. math:: -\log(-\log u) \le -\log(1 - u) \le (31 - \lfloor\log_2 t\rfloor) \log 2

with :math:`t` the upper 31 bits of :math:`1 - u`. Only tokens whose bound reaches the exact score of some other token
are looked at more closely: a handful.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from structgen._compiled.entries import add_entry
from structgen._compiled.kernel import (
    F32x16,
    I32x16,
    convert,
    lane_numbers,
    read,
    reinterpret,
    splat,
    write,
)
from structgen.engine.noise.uniforms import FACTORS, GAMMA, key_of_draw

__all__ = ["score_bounds"]

_F = TypeVar("_F", bound=Callable[..., object])

_LANES = 16
_LN2 = 0.6931471805599453
_SLACK = 0.01
"""More than all roundings of a bound together."""
U64x16: Any = "U64x16"


def _compiled(function: _F) -> _F:
    return cast("_F", add_entry(function, "structgen.engine.noise"))


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


_FIRST, _SECOND, _STEP = (_signed(word) for word in (*FACTORS, GAMMA))


def score_bounds(logits: np.ndarray, seed: int, choice: int, position: int) -> np.ndarray:
    """Return for each token a bound on its score in a draw, which is close where the score is high.

    Parameters
    ----------
    logits : float32[vocabulary]
        Contiguous; of all tokens, -inf where one must not win.
    seed, choice, position : int
        See :func:`~structgen.engine.noise.keyed_uniforms`.

    Returns
    -------
    float32[vocabulary]
    """
    size = len(logits)
    padded = -(-size // _LANES) * _LANES
    if padded != size:
        logits = np.concatenate((logits, np.zeros(padded - size, np.float32)))
    bounds = np.empty(padded, np.float32)
    key = _signed(key_of_draw(seed, choice, position))
    _fill(key, logits.ctypes.data, bounds.ctypes.data, padded)
    return bounds[:size]


@_compiled
def _fill(key: int, logits: int, bounds: int, size: int) -> None:
    """Write the bounds of ``size`` tokens, a multiple of 16, from addresses to addresses."""
    for first in range(0, size, _LANES):
        numbers = lane_numbers(U64x16) + (first + 1)
        words = numbers * _STEP + key
        words = (words ^ (words >> 30)) * _FIRST
        words = (words ^ (words >> 27)) * _SECOND
        words = words ^ (words >> 31)
        rest = convert(F32x16, convert(I32x16, (words ^ -1) >> 33))  # 31 bits: an int32 is never below 0
        exponent = (reinterpret(I32x16, rest) >> 23) - 127
        noise = convert(F32x16, splat(I32x16, 31) - exponent) * _LN2 + _SLACK
        write(F32x16, bounds + 4 * first, read(F32x16, logits + 4 * first) + noise)
