"""Uniform numbers that are a hash of what they are for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FACTORS", "GAMMA", "key_of_draw", "keyed_uniforms"]

GAMMA = 0x9E3779B97F4A7C15
FACTORS = _FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 0xFFFFFFFFFFFFFFFF


def key_of_draw(seed: int, choice: int, position: int) -> int:
    """Hash what all tokens of one draw have in common to 64 bits; see :func:`keyed_uniforms`."""
    key = 0
    for number in (seed, choice, position):
        word = (key + number + GAMMA) & _WORD
        word = (word ^ word >> 30) * _FIRST & _WORD
        word = (word ^ word >> 27) * _SECOND & _WORD
        key = word ^ word >> 31
    return key


def keyed_uniforms(seed: int, choice: int, position: int, token_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Hash (seed, choice, position, token id) to numbers that are uniform in (0, 1).

    With *mix* the finalizer of SplitMix64 (Steele, Lea and Flood, 2014) and *gamma* its increment, in 64-bit words::

        key  = mix(mix(mix(seed + gamma) + choice + gamma) + position + gamma)
        word = mix(key + (token_id + 1) * gamma)
        u    = (word >> 11 + 1/2) / 2**53

    so the tokens of one position are successive outputs of a SplitMix64 generator that starts from its key.

    Parameters
    ----------
    seed, choice, position : int
        At least 0; what is above 64 bits is cut off.
    token_ids : int64[n]
        Token ids.

    Returns
    -------
    float64[n]
    """
    words = (token_ids.astype(np.uint64) + np.uint64(1)) * np.uint64(GAMMA)
    words += np.uint64(key_of_draw(seed, choice, position))
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_SECOND)
    words ^= words >> np.uint64(31)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
