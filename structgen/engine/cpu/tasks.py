"""Which queries attention takes together: tiles of a row's queries, and tasks of rows that begin with the same pages.

A row's queries count heads that share a key head first, then tokens. The tables are int32::

    tiles  [tiles][3]   row, first query, queries
    tasks  [tasks][4]   first tile, tiles, queries of all its tiles, positions that all its rows share
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.kernels.attention import QUERIES_TOGETHER
from structgen.engine.cpu.kernels.scores import QUERIES_AT_ONCE
from structgen.engine.step import Int32Array, StepBatch

__all__ = ["AttentionTasks", "attention_tasks"]

_Integers = npt.NDArray[np.integer]


class AttentionTasks(NamedTuple):
    """The tables of a step."""

    tiles: Int32Array
    tasks: Int32Array


def attention_tasks(batch: StepBatch, heads: int, page_size: int, full: int | None) -> AttentionTasks:
    """Make the tables of a step.

    Only rows of one tile share: longer ones read what they have in common once for six queries as they are.

    Parameters
    ----------
    batch : StepBatch
        The step.
    heads : int
        Query heads that share a key head.
    page_size : int
        Tokens a page.
    full : int or None
        The cache group whose tokens see all before them, the only one where rows share reading; ``None`` where there
        is none.
    """
    queries = np.diff(batch.row_starts) * heads
    order, common = np.arange(len(queries)), np.zeros(len(queries), np.int64)
    if full is not None:
        order, common = _by_prefix(batch, batch.page_tables[full], page_size)
    tiles = _tiles(queries, order)
    common = np.where(queries[order] <= QUERIES_AT_ONCE, common, 0)
    common[1:] = np.where(queries[order[:-1]] <= QUERIES_AT_ONCE, common[1:], 0)
    if common.any():
        return AttentionTasks(tiles, _joined(tiles, order, common))
    numbers, nothing = np.arange(len(tiles)), np.zeros(len(tiles), np.int64)
    return AttentionTasks(tiles, np.stack((numbers, nothing + 1, tiles[:, 2], nothing), axis=1).astype(np.int32))


def _by_prefix(batch: StepBatch, table: Int32Array, page_size: int) -> tuple[_Integers, _Integers]:
    """Rows in an order that brings common prefixes together, and the positions each shares with the one before it."""
    order = np.array(sorted(range(len(table)), key=lambda row: table[row].tobytes()))
    equal = table[order[1:]] == table[order[:-1]]
    common = np.zeros(len(table), np.int64)
    common[1:] = np.logical_and.accumulate(equal, axis=1).sum(axis=1)
    # Behind the pages that are full before a row's first token, pages are being written, or are none.
    full_pages = batch.positions[batch.row_starts[:-1]][order] // page_size
    common[1:] = np.minimum(common[1:], np.minimum(full_pages[1:], full_pages[:-1]))
    return order, common * page_size


def _tiles(queries: _Integers, order: _Integers) -> Int32Array:
    counts = -(-queries[order] // QUERIES_AT_ONCE)
    rows = np.repeat(order, counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    first = (np.arange(len(rows)) - before) * QUERIES_AT_ONCE
    return np.stack((rows, first, np.minimum(queries[rows] - first, QUERIES_AT_ONCE)), axis=1).astype(np.int32)


def _joined(tiles: Int32Array, order: _Integers, common: _Integers) -> Int32Array:
    """Tasks of as many tiles as share half of what the first two of them do."""
    shared_by_row = dict(zip(order.tolist(), common.tolist(), strict=True))
    tasks: list[list[int]] = []
    for number, (row, first, queries) in enumerate(tiles.tolist()):
        shared, task = shared_by_row[row] if first == 0 else 0, tasks[-1] if tasks else [0] * 4
        if shared and task[2] + queries <= QUERIES_TOGETHER and 2 * shared >= task[3]:
            task[3] = min(shared, task[3] or shared)
            task[1], task[2] = task[1] + 1, task[2] + queries
        else:
            tasks.append([number, 1, queries, 0])
    return np.array(tasks, np.int32)
