"""The attention of one step over keys and values in pages, in plain torch, a row after the other."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from structgen.engine.models.attention import Scores, attention, attention_mask
from structgen.engine.page_storage import PageStore
from structgen.engine.step import StepBatch

__all__ = ["PagedAttention", "step_tensor"]


def step_tensor(numbers: np.ndarray, device: torch.device) -> torch.Tensor:
    """Return numbers of a step as int64 on a device, which is what indexing takes."""
    return torch.from_numpy(numbers.astype(np.int64)).to(device)


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
        self.pages = step_tensor(table[first:last], device)
        self.length = start + count - first * page_size
        """Tokens from the first page on."""
        self.window = window
        mask = attention_mask(count, self.length, window)
        self.mask = None if mask is None else mask.to(device)


class PagedAttention:
    """Keeps the keys and values of one step in pages, and attends to those of each row.

    An :class:`~structgen.engine.models.transformer.Attend`.

    Parameters
    ----------
    batch : StepBatch
        The step.
    store : PageStore
        Its pages.
    """

    def __init__(self, batch: StepBatch, store: PageStore) -> None:
        self._store = store
        groups, size, device = store.groups, store.page_size, store.device
        self._places = {
            layer: (group, index) for group, one in enumerate(groups) for index, layer in enumerate(one.layers)
        }
        slices = [slice(start, end) for start, end in itertools.pairwise(batch.row_starts.tolist())]
        self._rows = [
            [
                _Row(place, int(batch.positions[place.start]), table, group.window, size, device)
                for place, table in zip(slices, tables, strict=True)
            ]
            for group, tables in zip(groups, batch.page_tables, strict=True)
        ]
        rows = np.repeat(np.arange(len(slices)), np.diff(batch.row_starts))
        self._written = [step_tensor(tables[rows, batch.positions // size], device) for tables in batch.page_tables]
        self._offsets = step_tensor(batch.positions % size, device)

    def __call__(
        self, layer: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scores: Scores
    ) -> torch.Tensor:
        """Keep and attend; see :class:`~structgen.engine.models.transformer.Attend`."""
        group, index = self._places[layer]
        pages = self._store[group]
        pages.write(index, self._written[group], self._offsets, torch.stack((keys, values), dim=1))
        attended = queries.new_empty(queries.shape[0], queries.shape[1] * queries.shape[2])
        for row in self._rows[group]:
            stored = pages.read(index, row.pages).to(queries.dtype)  # [pages, 2, page_size, kv_heads, head_dim]
            seen = stored.permute(1, 3, 0, 2, 4).flatten(2, 3)[:, :, : row.length]  # [2, kv_heads, length, head_dim]
            attended[row.place] = attention(queries[row.place], seen[0], seen[1], row.window, row.mask, scores)
        return attended
