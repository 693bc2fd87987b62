"""Rotary position embeddings: frequencies from a scaling, and the rotation itself."""

from __future__ import annotations

import math

import torch

from structgen.engine.models.description import LinearScaling, Llama3Scaling, Rope

__all__ = ["inverse_frequencies", "rotate", "rotation"]


def inverse_frequencies(rope: Rope, head_dim: int) -> torch.Tensor:
    """Radians a token for each pair of a head's dimensions.

    Computed in float32, as the models' own code does: at position 8,192 a frequency that was rounded once differently
    already turns a head by 1e-4 radians.

    Returns
    -------
    torch.Tensor
        float32 ``[head_dim // 2]``.
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / (rope.theta**exponents)
    match rope.scaling:
        case None:
            return frequencies
        case LinearScaling(factor):
            return frequencies / factor
        case Llama3Scaling() as scaling:
            return _llama3(frequencies, scaling)


def _llama3(frequencies: torch.Tensor, scaling: Llama3Scaling) -> torch.Tensor:
    """Divide low frequencies by the factor and leave high ones; between, a ramp in original length by wavelength."""
    turns = scaling.original_max_position_embeddings / (2 * math.pi / frequencies)
    ramp = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    kept = ramp.clamp(0.0, 1.0)
    return (1.0 - kept) * frequencies / scaling.factor + kept * frequencies


def rotation(frequencies: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of positions ``[tokens]``, each float32 ``[tokens, 1, head_dim // 2]``."""
    angles = torch.outer(positions.float(), frequencies).unsqueeze(1)
    return angles.cos(), angles.sin()


def rotate(heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Rotate each head's pairs (dimension ``i`` with ``i + head_dim // 2``) by their position's angles.

    Parameters
    ----------
    heads : torch.Tensor
        ``[tokens, heads, head_dim]``.
    cosines, sines : torch.Tensor
        As :func:`rotation` gives them.

    Returns
    -------
    torch.Tensor
        Same shape and dtype as ``heads``; computed in float32.
    """
    first, second = heads.chunk(2, dim=-1)
    rotated = torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)
    return rotated.to(heads.dtype)
