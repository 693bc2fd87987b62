"""Attention of the last tokens of one sequence over all its keys and values."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional

__all__ = ["Scores", "attention", "attention_mask"]


def attention_mask(count: int, length: int, window: int | None) -> torch.Tensor | None:
    """Which of ``length`` tokens each of the last ``count`` sees: bool ``[count, length]``.

    None where no mask is needed: a single token sees a plain slice, and the kernel knows a whole causal prefill.
    """
    if count == 1 or (count == length and (window is None or length <= window)):
        return None
    mask = torch.ones((count, length), dtype=torch.bool).tril(diagonal=length - count)
    return mask if window is None else mask.triu(diagonal=length - count - window + 1)


class Scores(NamedTuple):
    """What becomes of the product of a query and a key before the softmax."""

    scale: float
    softcap: float | None = None
    sinks: torch.Tensor | None = None
    """``[heads]``: the score of nothing, which takes its share of a head's softmax and gives no value (gpt-oss)."""


def attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    window: int | None,
    mask: torch.Tensor | None,
    scores: Scores,
) -> torch.Tensor:
    """Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245) of the last tokens over all.

    Parameters
    ----------
    queries : torch.Tensor
        ``[tokens, heads, head_dim]``; ``heads // kv_heads`` neighbours share a key and value head.
    keys, values : torch.Tensor
        ``[kv_heads, length, head_dim]``.
    window, mask
        As :func:`attention_mask` has them.
    scores : Scores
        See :class:`ModelDescription`.

    Returns
    -------
    torch.Tensor
        ``[tokens, heads * head_dim]``.
    """
    count, heads, head_dim = queries.shape
    kv_heads = keys.shape[0]
    if count == 1:
        # The heads of a group are rows over one key head: no copy of the cache, no mask, a slice for the window.
        if window is not None:
            keys, values = keys[:, -window:], values[:, -window:]
        grouped = queries.view(1, kv_heads, heads // kv_heads, head_dim)
        attended = _attend(grouped, keys[None], values[None], None, False, _shaped(scores, kv_heads, -1))
        return attended.reshape(1, heads * head_dim)
    grouped = queries.view(count, kv_heads, heads // kv_heads, head_dim).permute(1, 2, 0, 3)
    shape = (kv_heads, heads // kv_heads, keys.shape[1], head_dim)
    keys, values = keys[:, None].expand(shape), values[:, None].expand(shape)
    attended = _attend(grouped, keys, values, mask, mask is None, _shaped(scores, kv_heads, -1, 1))
    return attended.permute(2, 0, 1, 3).reshape(count, heads * head_dim)


def _attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    is_causal: bool,
    scores: Scores,
) -> torch.Tensor:
    """Attend ``[..., queries, head_dim]`` over ``[..., length, head_dim]``; torch has it with neither cap nor sinks."""
    if scores.softcap is None and scores.sinks is None:
        return functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=is_causal, scale=scores.scale
        )
    products = queries @ keys.transpose(-1, -2) * scores.scale
    if scores.softcap is not None:
        products = scores.softcap * torch.tanh(products / scores.softcap)
    if is_causal:
        mask = torch.ones(products.shape[-2:], dtype=torch.bool, device=products.device).tril()
    if mask is not None:
        products = products.masked_fill(~mask, -torch.inf)
    return _shares(products.float(), scores.sinks).to(values.dtype) @ values


def _shares(products: torch.Tensor, sinks: torch.Tensor | None) -> torch.Tensor:
    """The softmax over the last dimension, and over a sink's score where there is one."""
    if sinks is None:
        return torch.softmax(products, dim=-1)
    nothing = sinks.float().unsqueeze(-1).expand(*products.shape[:-1], 1)
    return torch.softmax(torch.cat((products, nothing), dim=-1), dim=-1)[..., :-1]


def _shaped(scores: Scores, *shape: int) -> Scores:
    """The sinks as grouped queries have their heads."""
    return scores if scores.sinks is None else scores._replace(sinks=scores.sinks.view(shape))
