"""The :class:`~structgen.engine.step.PagedRunner` in plain torch, which the faster ones are tested against."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from structgen.engine.models.attention import Scores, attention, attention_mask
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.transformer import Transformer
from structgen.engine.page_storage import PlainPages, cache_groups, make_pages, page_bytes
from structgen.engine.step import CacheGroup, StepBatch
from structgen.errors import OutOfMemory

__all__ = ["TorchPagedRunner"]


class TorchPagedRunner:
    """Computes steps on the device that the weights are on.

    Everything but attention is one operation over all tokens of a step; attention takes a row after the other. How a
    sequence is cut into steps, and what else is in them, changes its logits by rounding only.

    Parameters
    ----------
    loaded : LoadedModel
        The model; it computes in its weights' dtype.
    page_size : int
        Tokens a page.
    kv_dtype : torch.dtype, optional
        What keys and values are stored as: float32, bfloat16 or int8. The weights' dtype if left out.
    """

    def __init__(self, loaded: LoadedModel, *, page_size: int = 16, kv_dtype: torch.dtype | None = None) -> None:
        self.page_size = page_size
        self.cache_groups = cache_groups(loaded.description)
        self._description = loaded.description
        self._transformer = Transformer(loaded.description, loaded.weights)
        self._device = loaded.weights.embedding.device
        self._kv_dtype = kv_dtype or loaded.weights.dtype
        self._pages: list[PlainPages] = []

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
        return page_bytes(self._description, len(self.cache_groups[group].layers), self.page_size, self._kv_dtype)

    def allocate(self, pages: tuple[int, ...]) -> None:
        """Make the pages. See :class:`~structgen.engine.step.PagedRunner`."""
        try:
            self._pages = [
                make_pages(self._description, len(group.layers), count, self.page_size, self._kv_dtype, self._device)
                for group, count in zip(self.cache_groups, pages, strict=True)
            ]
        except RuntimeError as error:  # torch has no narrower one for the CPU
            size = sum(self.page_bytes(group) * count for group, count in enumerate(pages))
            raise OutOfMemory(
                f"there is no room for keys and values of {size} bytes; give a smaller kv_memory"
            ) from error

    def copy_page(self, group: int, source: int, target: int) -> None:
        """Copy a page's keys and values."""
        self._pages[group].copy(source, target)

    def run(self, batch: StepBatch) -> torch.Tensor:
        """Compute a step: float32 ``[logits, vocab_size]``. See :class:`~structgen.engine.step.PagedRunner`."""
        with torch.no_grad():
            tokens, positions = self._tensor(batch.token_ids), self._tensor(batch.positions)
            hidden = self._transformer.run(tokens, positions, self._attending(batch))
            return self._transformer.logits(hidden[self._tensor(batch.wanted)]).float()

    def broken_layer(self, batch: StepBatch) -> str | None:
        """Say where the first number that is not finite comes up in a step, ``None`` where none does; slow."""
        tokens, positions = self._tensor(batch.token_ids), self._tensor(batch.positions)
        hidden = torch.empty(0)
        with torch.no_grad():
            stages = self._transformer.stages(tokens, positions, self._attending(batch))
            for number, hidden in enumerate(stages):
                if not hidden.isfinite().all():
                    return self._stage_name(number)
            return None if self._transformer.logits(hidden).isfinite().all() else "the output projection"

    def _stage_name(self, number: int) -> str:
        if number == 0:
            return "the embedding"
        return f"layer {number - 1}" if number <= self._description.num_hidden_layers else "the last norm"

    def _attending(self, batch: StepBatch) -> _Attending:
        return _Attending(batch, self.cache_groups, self._pages, self.page_size, self._device)

    def _tensor(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(numbers.astype(np.int64)).to(self._device)


class _Row:
    """What the tokens of one row see in one cache group.

    Parameters
    ----------
    place : slice
        The row in the step's tokens.
    start : int
        Position of its first token.
    table : int32[pages]
        The row's page table.
    window : int or None
        The group's.
    page_size : int
        Tokens a page.
    device : torch.device
        Where the pages are.
    """

    def __init__(
        self, place: slice, start: int, table: np.ndarray, window: int | None, page_size: int, device: torch.device
    ) -> None:
        self.place = place
        count = place.stop - place.start
        first = 0 if window is None else max(0, start - window + 1) // page_size
        last = -(-(start + count) // page_size)
        self.pages = torch.from_numpy(table[first:last].astype(np.int64)).to(device)
        self.length = start + count - first * page_size
        """Tokens from the first page on."""
        self.window = window
        mask = attention_mask(count, self.length, window)
        self.mask = None if mask is None else mask.to(device)


class _Attending:
    """Keeps the keys and values of one step in pages, and attends to those of each row; an ``Attend``."""

    def __init__(
        self,
        batch: StepBatch,
        groups: tuple[CacheGroup, ...],
        pages: list[PlainPages],
        page_size: int,
        device: torch.device,
    ) -> None:
        self._pages = pages
        self._places = {
            layer: (group, index) for group, one in enumerate(groups) for index, layer in enumerate(one.layers)
        }
        starts = batch.row_starts.tolist()
        slices = [slice(start, end) for start, end in itertools.pairwise(starts)]
        self._rows = [
            [
                _Row(place, int(batch.positions[place.start]), table, group.window, page_size, device)
                for place, table in zip(slices, tables, strict=True)
            ]
            for group, tables in zip(groups, batch.page_tables, strict=True)
        ]
        rows = np.repeat(np.arange(len(slices)), np.diff(batch.row_starts))
        self._written = [
            torch.from_numpy(tables[rows, batch.positions // page_size].astype(np.int64)).to(device)
            for tables in batch.page_tables
        ]
        self._offsets = torch.from_numpy((batch.positions % page_size).astype(np.int64)).to(device)

    def __call__(
        self, layer: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scores: Scores
    ) -> torch.Tensor:
        group, index = self._places[layer]
        pages = self._pages[group]
        pages.write(index, self._written[group], self._offsets, torch.stack((keys, values), dim=1))
        attended = queries.new_empty(queries.shape[0], queries.shape[1] * queries.shape[2])
        for row in self._rows[group]:
            stored = pages.read(index, row.pages).to(queries.dtype)  # [pages, 2, page_size, kv_heads, head_dim]
            seen = stored.permute(1, 3, 0, 2, 4).flatten(2, 3)[:, :, : row.length]  # [2, kv_heads, length, head_dim]
            attended[row.place] = attention(queries[row.place], seen[0], seen[1], row.window, row.mask, scores)
        return attended
