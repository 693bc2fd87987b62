"""From what a scheduler decided to what a runner computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.engine.kv import CachedSequence
from structgen.engine.kv.radix import NO_PAGE
from structgen.engine.scheduler import Row
from structgen.engine.step import Int32Array, StepBatch

__all__ = ["build_batch"]


def build_batch(rows: Sequence[Row], page_size: int) -> StepBatch:
    """Write rows as arrays. Of each row the logits of the last ``row.wanted`` tokens are wanted.

    The last one's always, which is more than sampling needs and costs little: a number that is not finite anywhere in
    a row's chunk shows in the logits after it, so that no page that holds one is ever shared.

    Parameters
    ----------
    rows : sequence of Row
        At least one.
    page_size : int
        Tokens a page.
    """
    lengths = np.array([row.length for row in rows], np.int32)
    starts = np.array([row.start for row in rows], np.int32)
    row_starts = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(lengths, out=row_starts[1:])
    token_ids = np.empty(row_starts[-1], np.int32)
    for place, row in zip(row_starts.tolist(), rows, strict=False):
        token_ids[place : place + row.length] = row.task.sequence.tokens[row.start : row.start + row.length]
    positions = np.arange(len(token_ids), dtype=np.int32) + np.repeat(starts - row_starts[:-1], lengths)
    pages = -(-(starts + lengths) // page_size)
    sequences = [row.task.sequence for row in rows]
    tables = tuple(_page_table(sequences, group, pages) for group in range(len(sequences[0].tables)))
    counts = np.array([row.wanted for row in rows], np.int32)
    ends = np.repeat(row_starts[1:] - np.cumsum(counts, dtype=np.int32), counts)
    return StepBatch(token_ids, positions, row_starts, tables, ends + np.arange(len(ends), dtype=np.int32))


def _page_table(sequences: Sequence[CachedSequence], group: int, pages: Int32Array) -> Int32Array:
    """The first ``pages[row]`` pages of each row, and ``NO_PAGE`` behind them."""
    table = np.full((len(sequences), int(pages.max())), NO_PAGE, np.int32)
    for entries, sequence, count in zip(table, sequences, pages.tolist(), strict=True):
        entries[:count] = np.frombuffer(sequence.tables[group], np.int32, count)
    return table
