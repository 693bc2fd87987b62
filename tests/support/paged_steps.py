"""Steps written by hand: rows of tokens, where they begin, and the pages that they lie in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from structgen.engine.step import PagedRunner, StepBatch


class Row(NamedTuple):
    """Some tokens of a sequence, from position ``start`` on, and the pages of the sequence in every cache group."""

    tokens: Sequence[int]
    start: int
    pages: Sequence[int]


def step_of(rows: Sequence[Row], groups: int = 1, wanted: Sequence[int] | None = None) -> StepBatch:
    """One step; the logits of every token are wanted unless some are named."""
    counts = [len(row.tokens) for row in rows]
    table = np.full((len(rows), max(len(row.pages) for row in rows)), -1, np.int32)
    for place, row in enumerate(rows):
        table[place, : len(row.pages)] = row.pages
    return StepBatch(
        token_ids=np.concatenate([np.array(row.tokens, np.int32) for row in rows]),
        positions=np.concatenate([row.start + np.arange(len(row.tokens), dtype=np.int32) for row in rows]),
        row_starts=np.cumsum([0, *counts]).astype(np.int32),
        page_tables=(table,) * groups,
        wanted=np.arange(sum(counts), dtype=np.int32) if wanted is None else np.array(wanted, np.int32),
    )


def logits_of(runner: PagedRunner, step: StepBatch) -> torch.Tensor:
    """Logits of a step."""
    return torch.from_numpy(runner.run(step))


def logits_alone(runner: PagedRunner, tokens: Sequence[int], pages: Sequence[int]) -> torch.Tensor:
    """Logits ``[tokens, vocab]`` of a sequence that is the only row of one step."""
    return logits_of(runner, step_of([Row(tokens, 0, pages)], len(runner.cache_groups)))
