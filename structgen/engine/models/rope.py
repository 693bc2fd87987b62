"""Rotary position embeddings in torch: angles, and the rotation itself."""

from __future__ import annotations

import torch

__all__ = ["rotate", "rotation"]


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
