"""Our attention as a function that ``transformers``' modelling code calls in place of its own.

Models look the function up by the name in their configuration (``transformers``' ``AttentionInterface``). What the
function does is up to whoever runs the model at that moment, by way of a context variable: not every model hands the
keyword arguments of a call down to its layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

import torch

from structgen.engine.models.attention import Scores

__all__ = ["ATTENTION", "Asked", "Attend", "attending", "register"]

ATTENTION = "structgen_paged"
"""The function's name, as a model's ``attn_implementation``."""


class Asked(NamedTuple):
    """What a model's code says in a call of its attention, beside queries, keys and values."""

    scores: Scores
    window: object
    """Its ``sliding_window``: a number of tokens, the token itself included, or None."""
    module: torch.nn.Module
    """The module that calls."""
    options: Mapping[str, object]
    """All that is not above, by its name."""


class Attend(Protocol):
    """One forward pass's attention, called by one layer after the other."""

    def __call__(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, asked: Asked) -> torch.Tensor:
        """Attend.

        Parameters
        ----------
        queries : torch.Tensor
            ``[tokens, heads, head_dim]``.
        keys, values : torch.Tensor
            ``[tokens, kv_heads, head_dim]`` and ``[tokens, kv_heads, value_dim]``.
        asked : Asked
            The rest of the call.

        Returns
        -------
        torch.Tensor
            ``[tokens, heads, value_dim]``.
        """
        ...


_attend: ContextVar[Attend] = ContextVar("attend")


@contextmanager
def attending(attend: Attend) -> Iterator[None]:
    """Let models that run in this context attend so."""
    token = _attend.set(attend)
    try:
        yield
    finally:
        _attend.reset(token)


def register() -> None:
    """Make the function known to ``transformers``; it may be there already."""
    from transformers.modeling_utils import AttentionInterface

    AttentionInterface.register(ATTENTION, _forward)


def _forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: object,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    sliding_window: object = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Attend from ``[1, heads, tokens, head_dim]`` to ``[1, tokens, heads, value_dim]``, as its own functions do."""
    queries, keys, values = (heads[0].transpose(0, 1) for heads in (query, key, value))
    scores = Scores(query.shape[-1] ** -0.5 if scaling is None else scaling, softcap, s_aux)
    asked = Asked(scores, sliding_window, module, {"attention_mask": attention_mask, **options})
    return _attend.get()(queries, keys, values, asked).unsqueeze(0), None
