"""Probabilities of tokens under the model's own distribution: no mask, bias or temperature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from structgen.engine.request import TokenLogprobs

__all__ = ["allowed_mass", "token_logprobs"]


def token_logprobs(logits: torch.Tensor, token_ids: Sequence[int], top: int) -> list[TokenLogprobs]:
    """Log-probabilities of tokens, and of the most likely ones in their places.

    Parameters
    ----------
    logits : torch.Tensor
        float32 ``[tokens, vocabulary]``, those before each token.
    token_ids : sequence of int
        The tokens.
    top : int
        How many of the most likely ones.
    """
    values = torch.log_softmax(logits.float(), dim=-1)
    found = values.gather(1, torch.tensor(token_ids).unsqueeze(1)).squeeze(1)  # [tokens]
    best = torch.topk(values, min(top, values.shape[1]))
    return [
        TokenLogprobs(token_id, value, tuple(zip(ids, top_values, strict=True)))
        for token_id, value, ids, top_values in zip(
            token_ids, found.tolist(), best.indices.tolist(), best.values.tolist(), strict=True
        )
    ]


def allowed_mass(logits: torch.Tensor, mask: npt.NDArray[np.int32] | None) -> float:
    """Probability of all tokens of a mask together.

    Parameters
    ----------
    logits : torch.Tensor
        float32 ``[vocabulary]``.
    mask : int32[ceil(vocabulary / 32)] or None
        Bit ``i % 32`` of word ``i // 32`` set: token ``i`` is one of them. None for all.
    """
    if mask is None:
        return 1.0
    bits = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little").view(np.bool_)
    probabilities = torch.softmax(logits.double(), dim=-1).numpy()
    return min(1.0, float(probabilities[bits].sum()))
