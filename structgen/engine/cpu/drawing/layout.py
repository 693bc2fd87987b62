"""What a draw is told and what it answers: a row of `RECORD` int64 for each, as kernels and Python agree on it.

Floats stand as the bits of a float32.
"""

from __future__ import annotations

__all__ = [
    "BEST",
    "CONTENDERS",
    "COUNT",
    "EDITED_IDS",
    "EDITED_LOGITS",
    "EDITS",
    "KEY",
    "LEFT_OUT",
    "LOGITS",
    "MASK",
    "MIN_P",
    "RECORD",
    "SCORE",
    "TEMPERATURE",
    "TOP_K",
    "TOP_P",
    "VALUES",
]

(
    LOGITS, MASK, EDITS, EDITED_IDS, EDITED_LOGITS, TEMPERATURE, MIN_P, TOP_K, TOP_P, LEFT_OUT, KEY,
    BEST, SCORE, COUNT, CONTENDERS, VALUES,
) = range(16)  # fmt: skip
"""Told: addresses of the logits, of the mask or 0; how many logits are replaced, and where their ids and they are;
the temperature, 0 for the likeliest token; the logarithm of min-p or its absence, -inf; top-k or 0; top-p, and 1 less
it; the key of the noise. Answered: the likeliest token and its logit, NaN where one is none; how many tokens may win,
and, at addresses that are told, which they are, ascending, and what noise is added to."""
RECORD = 16
