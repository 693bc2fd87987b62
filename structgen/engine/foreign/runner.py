"""The :class:`~structgen.engine.step.PagedRunner` of models that run through ``transformers``' own code."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from structgen.engine.cache_groups import layers_alike
from structgen.engine.foreign.interface import Asked, attending
from structgen.engine.foreign.loading import ForeignModel
from structgen.engine.page_storage import PageStore
from structgen.engine.paged_attention import PagedAttention, step_tensor
from structgen.engine.step import CacheGroup, StepBatch

__all__ = ["ForeignPagedRunner"]


class ForeignPagedRunner:
    """Computes steps on the device that the model is on.

    All tokens of a step are one sequence to the model's code; attention takes a row after the other. How a sequence is
    cut into steps, and what else is in them, changes its logits by rounding only, as far as the model's code does.

    Parameters
    ----------
    model : ForeignModel
        The model.
    page_size : int
        Tokens a page.
    kv_dtype : torch.dtype, optional
        What keys and values are stored as: float32, bfloat16 or int8. The model's dtype if left out.
    """

    def __init__(self, model: ForeignModel, *, page_size: int = 16, kv_dtype: torch.dtype | None = None) -> None:
        self.page_size = page_size
        groups = layers_alike(model.layers)
        self.cache_groups = tuple(CacheGroup(layers, model.layers[layers[0]].window) for layers in groups)
        self._model, self._module = model, model.module
        self._device = next(model.module.parameters()).device
        shapes = [model.layers[layers[0]].shape for layers in groups]
        self._store = PageStore(self.cache_groups, shapes, page_size, kv_dtype or model.dtype, self._device)
        self._keeps_logits = "logits_to_keep" in inspect.signature(model.module.forward).parameters

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._model.vocab_size

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have, prompt and answer together."""
        return self._model.max_position_embeddings

    def page_bytes(self, group: int) -> int:
        """Bytes of one page of a cache group, over all its layers."""
        return self._store.page_bytes(group)

    def allocate(self, pages: tuple[int, ...]) -> None:
        """Make the pages. See :class:`~structgen.engine.step.PagedRunner`."""
        self._store.allocate(pages)

    def copy_page(self, group: int, source: int, target: int) -> None:
        """Copy a page's keys and values."""
        self._store.copy(group, source, target)

    def run(self, batch: StepBatch) -> npt.NDArray[np.float32]:
        """Compute a step: float32 ``[logits, vocab_size]``. See :class:`~structgen.engine.step.PagedRunner`."""
        wanted = step_tensor(batch.wanted, self._device)
        tokens, positions = (step_tensor(numbers, self._device)[None] for numbers in (batch.token_ids, batch.positions))
        kept = {"logits_to_keep": wanted} if self._keeps_logits else {}
        with torch.no_grad(), attending(_Pages(PagedAttention(batch, self._store))):
            logits = self._module(input_ids=tokens, position_ids=positions, use_cache=False, **kept).logits[0]
            return (logits if self._keeps_logits else logits[wanted]).float().cpu().numpy()

    def broken_layer(self, batch: StepBatch) -> str | None:
        """Say where the first number that is not finite comes up in a step, ``None`` where none does; slow.

        Returns
        -------
        str or None
            The name of a module of the model, such as ``model.layers.2.mlp.down_proj``.
        """
        broken: list[str] = []

        def look(name: str, output: object) -> None:
            if not broken and not all(bool(tensor.isfinite().all()) for tensor in _tensors(output)):
                broken.append(name)

        hooks = [
            module.register_forward_hook(lambda _module, _inputs, output, name=name: look(name, output))
            for name, module in self._module.named_modules()
        ]
        try:
            self.run(batch)
        finally:
            for hook in hooks:
                hook.remove()
        return broken[0] if broken else None


class _Pages:
    """An :class:`~structgen.engine.foreign.interface.Attend` over the pages of a step.

    Parameters
    ----------
    attention : PagedAttention
        The step's.
    """

    def __init__(self, attention: PagedAttention) -> None:
        self._attention = attention
        self._layers = itertools.count()

    def __call__(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, asked: Asked) -> torch.Tensor:
        tokens, heads, _ = queries.shape
        width = max(keys.shape[2], values.shape[2])
        wide = [functional.pad(part, (0, width - part.shape[2])) for part in (queries, keys, values)]
        attended = self._attention(next(self._layers), wide[0], wide[1], wide[2], asked.scores)
        return attended.view(tokens, heads, width)[..., : values.shape[2]]


def _tensors(output: object) -> Iterator[torch.Tensor]:
    """The tensors of what a module returns."""
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _tensors(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from _tensors(value)
