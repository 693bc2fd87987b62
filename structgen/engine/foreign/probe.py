"""What a model's code asks of attention, and whether it is one that runs over the tokens of many sequences at once.

The model runs twice over three tokens with an attention that leaves each token to itself. The second time the tokens
come in another order, each with its position as before, and one of them is another token. What the other two compute
must not change: no convolution, state, or pooling joins tokens, and positions are those that are given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from structgen.engine.foreign.interface import Asked, attending
from structgen.engine.page_storage import KVShape
from structgen.errors import UnsupportedModel

__all__ = ["KINDS", "SLIDING", "Layer", "Probed", "probe"]

SLIDING = "sliding_attention"
KINDS = frozenset({"attention", "full_attention", SLIDING})
"""The ``layer_types`` of a configuration that can be run."""

# What changes nothing over these tokens: sizes of what is returned, dropout in training, positions that the model's
# own code has already used, and indices of a cache that is not there.
_WITHOUT_EFFECT = frozenset(
    {
        "cache_position", "deterministic", "dropout", "layer_idx", "logits_to_keep", "output_attentions",
        "output_hidden_states", "output_router_logits", "position_embeddings", "position_ids", "return_dict",
        "target_dtype", "use_cache",
    }
)  # fmt: skip

_TOKENS, _POSITIONS = torch.tensor([[1, 2, 3]]), torch.tensor([[2, 0, 1]])
_OTHER_TOKENS, _OTHER_POSITIONS = torch.tensor([[4, 3, 1]]), torch.tensor([[0, 1, 2]])
_KEPT, _KEPT_THEN = [0, 2], [2, 1]
"""Places of the two tokens that are in both."""


class Layer(NamedTuple):
    """One call of attention in a forward pass."""

    shape: KVShape
    """As wide as the wider of keys and values."""
    window: int | None


class Probed(NamedTuple):
    """What was found."""

    layers: tuple[Layer, ...]
    vocab_size: int


class _Call(NamedTuple):
    """A call of attention."""

    asked: Asked
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    """Queries, keys and values."""


class _Alone:
    """Attention of each token to itself, which writes down its calls."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []

    def __call__(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, asked: Asked) -> torch.Tensor:
        self.calls.append(_Call(asked, (queries, keys, values)))
        return values.repeat_interleave(queries.shape[1] // values.shape[1], dim=1)


def probe(model: torch.nn.Module, config: Any) -> Probed:
    """Try a model out; it was loaded with :data:`~structgen.engine.foreign.interface.ATTENTION`.

    Parameters
    ----------
    model : torch.nn.Module
        A causal language model of ``transformers``, in evaluation.
    config : PretrainedConfig
        That of its text part.

    Raises
    ------
    UnsupportedModel
        Its attention does more than is implemented, or does not go through the interface, or something else than
        attention joins tokens.
    """
    calls, logits = _run(model, _TOKENS, _POSITIONS)
    again, other_logits = _run(model, _OTHER_TOKENS, _OTHER_POSITIONS)
    if len(calls) < config.num_hidden_layers or len(calls) != len(again):
        raise UnsupportedModel(
            f"{len(calls)} of its {config.num_hidden_layers} layers attend through transformers' attention interface; "
            "models run of which all do"
        )
    for call in calls:
        _check_options(call.asked)
    _check_windows(calls, config)
    pairs = [
        pair for one, other in zip(calls, again, strict=True) for pair in zip(one.tensors, other.tensors, strict=True)
    ]
    for one, other in [*pairs, (logits, other_logits)]:
        _check_apart(one[_KEPT], other[_KEPT_THEN])
    return Probed(tuple(_layer(call, config) for call in calls), logits.shape[-1])


def _run(model: torch.nn.Module, tokens: torch.Tensor, positions: torch.Tensor) -> tuple[list[_Call], torch.Tensor]:
    """The calls of attention, and logits ``[tokens, vocab]``."""
    attend = _Alone()
    with torch.no_grad(), attending(attend):
        logits = model(input_ids=tokens, position_ids=positions, use_cache=False).logits[0]
    return attend.calls, logits


def _check_options(asked: Asked) -> None:
    """Refuse what would change the result and is not implemented."""
    changing = {name for name, value in asked.options.items() if value is not None} - _WITHOUT_EFFECT - {"is_causal"}
    if changing:
        raise UnsupportedModel(
            f"its attention depends on {', '.join(sorted(changing))} of its own making, which is not implemented"
        )
    causal = asked.options.get("is_causal")
    if causal is False or (causal is None and getattr(asked.module, "is_causal", True) is False):
        raise UnsupportedModel("its tokens attend to those that come after them; causal models run")


def _check_apart(one: torch.Tensor, other: torch.Tensor) -> None:
    """Compare what two tokens computed in both runs; their order in a product may change its rounding."""
    largest = float(one.abs().nan_to_num(posinf=0.0).amax())
    if not torch.allclose(one, other, rtol=0.0, atol=torch.finfo(one.dtype).eps ** 0.5 * largest, equal_nan=True):
        raise UnsupportedModel(
            "something besides attention joins its tokens (a convolution, a state, positions that are not given); "
            "models run whose tokens meet in attention alone"
        )


def _check_windows(calls: list[_Call], config: Any) -> None:
    """Refuse a window that the configuration has for no layer in particular, and that no layer speaks of."""
    if getattr(config, "layer_types", None) is not None or any(call.asked.window for call in calls):
        return
    window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    if window is not None and window < config.max_position_embeddings:
        raise UnsupportedModel(f"sliding_window is {window} and its layers do not say which of them have it")


def _layer(call: _Call, config: Any) -> Layer:
    _, keys, values = call.tensors
    shape = KVShape(keys.shape[1], max(keys.shape[2], values.shape[2]))
    return Layer(shape, _window(call.asked, config))


def _window(asked: Asked, config: Any) -> int | None:
    """How far a layer sees.

    The configuration's word on a layer's kind counts first, because it makes the masks that models run with otherwise;
    not every layer hands its window on.
    """
    kinds, index = getattr(config, "layer_types", None), getattr(asked.module, "layer_idx", None)
    if kinds is not None and index is not None:
        window = (asked.window or config.sliding_window) if kinds[index] == SLIDING else None
    else:
        window = asked.window
    if window is None:
        return None
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise UnsupportedModel(f"a layer's sliding_window is {window!r}; a number of tokens is expected")
    return window if window < config.max_position_embeddings else None
