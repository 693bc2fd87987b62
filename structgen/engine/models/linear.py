"""The linear layer, with a way around slow bfloat16 products."""

from __future__ import annotations

import torch
from torch.nn import functional

__all__ = ["linear"]

# Without AVX-512, products of bfloat16 matrices are emulated a row at a time: 256 rows of SmolLM2's largest layer took
# 102 ms on one AVX2 core and 17 ms by way of float32, its weight converted anew each time; at 8 rows both are equal.
_SLOW_BFLOAT16 = torch.backends.cpu.get_cpu_capability() == "AVX2"
_FLOAT32_PAYS_FROM = 8


def linear(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Multiply ``[rows, in]`` with a weight ``[out, in]``, add the bias ``[out]``: ``[rows, out]`` in their dtype."""
    if _SLOW_BFLOAT16 and weight.dtype == torch.bfloat16 and rows.shape[0] >= _FLOAT32_PAYS_FROM:
        exact_bias = None if bias is None else bias.float()
        return functional.linear(rows.float(), weight.float(), exact_bias).to(weight.dtype)
    return functional.linear(rows, weight, bias)
