"""How fast rotary position embeddings turn: frequencies from a base and a scaling."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from structgen.engine.models.description import LinearScaling, Llama3Scaling, Rope

__all__ = ["inverse_frequencies"]

Floats = npt.NDArray[np.float32]


def inverse_frequencies(rope: Rope, head_dim: int) -> Floats:
    """Radians a token for each pair of a head's dimensions.

    Computed in float32, as the models' own code does: at position 8,192 a frequency that was rounded once differently
    already turns a head by 1e-4 radians.

    Returns
    -------
    np.ndarray
        float32 ``[head_dim // 2]``.
    """
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    frequencies = np.float32(1) / np.float32(rope.theta) ** exponents
    match rope.scaling:
        case None:
            return frequencies
        case LinearScaling(factor):
            return frequencies / np.float32(factor)
        case Llama3Scaling() as scaling:
            return _llama3(frequencies, scaling)


def _llama3(frequencies: Floats, scaling: Llama3Scaling) -> Floats:
    """Divide low frequencies by the factor and leave high ones; between, a ramp in original length by wavelength."""
    low, high, factor = map(np.float32, (scaling.low_freq_factor, scaling.high_freq_factor, scaling.factor))
    turns = np.float32(scaling.original_max_position_embeddings) / (np.float32(2 * math.pi) / frequencies)
    kept = np.clip((turns - low) / (high - low), np.float32(0), np.float32(1))
    return (np.float32(1) - kept) * frequencies / factor + kept * frequencies
