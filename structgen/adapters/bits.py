"""Bit masks of tokens as torch has them."""

from __future__ import annotations

import torch

__all__ = ["WORD", "forbid", "forbidden"]

WORD = 32
"""Tokens that one int32 of a mask tells of."""


def forbidden(masks: torch.Tensor, width: int) -> torch.Tensor:
    """Which tokens a mask leaves out, on the mask's device.

    Parameters
    ----------
    masks : int32[rows, words]
        Bit ``i % 32`` of word ``i // 32`` set = token ``i`` allowed.
    width : int
        Tokens to tell of; those beyond the mask are left out.

    Returns
    -------
    bool[rows, width]
    """
    words = masks.unsqueeze(-1) >> torch.arange(WORD, dtype=torch.int32, device=masks.device)  # [rows, words, 32]
    known = (words.bitwise_and_(1) == 0).flatten(1)[:, :width]  # [rows, min(32 words, width)]
    return torch.nn.functional.pad(known, (0, width - known.shape[1]), value=True)


def forbid(logits: torch.Tensor, masks: torch.Tensor) -> None:
    """Set the logits of tokens that ``masks`` leaves out to minus infinity, in place.

    Parameters
    ----------
    logits : float[rows, width]
        Changed.
    masks : int32[rows, words]
        On the same device.
    """
    logits.masked_fill_(forbidden(masks, logits.shape[-1]), -torch.inf)
