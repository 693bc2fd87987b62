"""The :class:`~structgen.engine.step.PagedRunner` in plain torch, which the faster ones are tested against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from structgen.engine.cache_groups import cache_groups
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.torch_weights import DTYPES, read_weights
from structgen.engine.models.transformer import Transformer
from structgen.engine.page_storage import KVShape, PageStore
from structgen.engine.paged_attention import PagedAttention, step_tensor
from structgen.engine.step import StepBatch

__all__ = ["TorchPagedRunner"]


class TorchPagedRunner:
    """Computes steps on the device that the weights are on.

    Everything but attention is one operation over all tokens of a step; attention takes a row after the other. How a
    sequence is cut into steps, and what else is in them, changes its logits by rounding only.

    Parameters
    ----------
    loaded : LoadedModel
        The model; it computes in its dtype.
    page_size : int
        Tokens a page.
    kv_dtype : torch.dtype, optional
        What keys and values are stored as: float32, bfloat16 or int8. The model's dtype if left out.
    """

    def __init__(self, loaded: LoadedModel, *, page_size: int = 16, kv_dtype: torch.dtype | None = None) -> None:
        self.page_size = page_size
        self.cache_groups = cache_groups(loaded.description)
        self._description = loaded.description
        weights = read_weights(loaded.description, loaded.weights, DTYPES[loaded.dtype])
        self._transformer = Transformer(loaded.description, weights)
        self._device = weights.embedding.device
        shape = KVShape(loaded.description.num_key_value_heads, loaded.description.head_dim)
        shapes = [shape] * len(self.cache_groups)
        self._store = PageStore(self.cache_groups, shapes, page_size, kv_dtype or weights.dtype, self._device)

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._description.vocab_size

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have, prompt and answer together."""
        return self._description.max_position_embeddings

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
        with torch.no_grad():
            tokens, positions = (step_tensor(numbers, self._device) for numbers in (batch.token_ids, batch.positions))
            hidden = self._transformer.run(tokens, positions, PagedAttention(batch, self._store))
            return self._transformer.logits(hidden[step_tensor(batch.wanted, self._device)]).float().cpu().numpy()

    def broken_layer(self, batch: StepBatch) -> str | None:
        """Say where the first number that is not finite comes up in a step, ``None`` where none does; slow."""
        tokens, positions = (step_tensor(numbers, self._device) for numbers in (batch.token_ids, batch.positions))
        hidden = torch.empty(0)
        with torch.no_grad():
            stages = self._transformer.stages(tokens, positions, PagedAttention(batch, self._store))
            for number, hidden in enumerate(stages):
                if not hidden.isfinite().all():
                    return self._stage_name(number)
            return None if self._transformer.logits(hidden).isfinite().all() else "the output projection"

    def _stage_name(self, number: int) -> str:
        if number == 0:
            return "the embedding"
        return f"layer {number - 1}" if number <= self._description.num_hidden_layers else "the last norm"
