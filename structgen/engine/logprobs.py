"""Probabilities of tokens under the model's own distribution: no mask, bias or temperature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from structgen.engine.request import TokenLogprobs

__all__ = ["allowed_mass", "token_logprobs"]

Logits = npt.NDArray[np.float32]


def token_logprobs(logits: Logits, token_ids: Sequence[int], top: int) -> list[TokenLogprobs]:
    """Log-probabilities of tokens, and of the most likely ones in their places.

    Parameters
    ----------
    logits : np.ndarray
        float32 ``[tokens, vocabulary]``, those before each token.
    token_ids : sequence of int
        The tokens.
    top : int
        How many of the most likely ones.
    """
    return [_token_logprobs(row, token_id, top) for row, token_id in zip(logits, token_ids, strict=True)]


def _token_logprobs(logits: Logits, token_id: int, top: int) -> TokenLogprobs:
    """Of one row: while it is in the cache."""
    most = logits.max()
    total = most + np.log(np.exp(logits - most).sum(dtype=np.float64))
    best = _likeliest(logits, min(top, len(logits)))
    found = zip(best.tolist(), (logits[best] - total).tolist(), strict=True)
    return TokenLogprobs(token_id, float(logits[token_id] - total), tuple(found))


def _likeliest(logits: Logits, count: int) -> npt.NDArray[np.intp]:
    if not count:
        return np.empty(0, np.intp)
    best = np.argpartition(logits, -count)[-count:]
    return best[np.argsort(-logits[best], kind="stable")]


def allowed_mass(logits: Logits, mask: npt.NDArray[np.int32] | None) -> float:
    """Probability of all tokens of a mask together.

    Parameters
    ----------
    logits : np.ndarray
        float32 ``[vocabulary]``.
    mask : int32[ceil(vocabulary / 32)] or None
        Bit ``i % 32`` of word ``i // 32`` set: token ``i`` is one of them. None for all.
    """
    if mask is None:
        return 1.0
    bits = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little").view(np.bool_)
    weights = np.exp((logits - logits.max()).astype(np.float64))
    return min(1.0, float(weights[bits].sum() / weights.sum()))
