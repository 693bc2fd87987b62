"""Attention's tasks: every query is in one, and rows share only complete pages that are the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from paged_steps import logits_of

from structgen.engine.cpu.kernels.attention import QUERIES_TOGETHER
from structgen.engine.cpu.kernels.scores import QUERIES_AT_ONCE
from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.cpu.tasks import attention_tasks
from structgen.engine.models.loading import load_model
from structgen.engine.step import StepBatch

PAGE = 16


@st.composite
def batches(draw):
    """Rows whose pages come from few prefixes."""
    prefixes = draw(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3))
    lengths, starts, tables = [], [], []
    for number in range(draw(st.integers(1, 12))):
        prefix = draw(st.sampled_from(prefixes))
        shared = draw(st.integers(0, len(prefix)))
        starts.append(draw(st.integers(shared * PAGE, shared * PAGE + 40)))
        lengths.append(draw(st.sampled_from([1, 1, 1, 2, 3, 20])))
        pages = -(-(starts[-1] + lengths[-1]) // PAGE)
        tables.append([*prefix[:shared], *range(100 * (number + 1), 100 * (number + 1) + pages - shared)])
    table = np.full((len(tables), max(map(len, tables))), -1, np.int32)
    for row, pages in zip(table, tables, strict=True):
        row[: len(pages)] = pages
    row_starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    positions = np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)]).astype(np.int32)
    return StepBatch(np.zeros(len(positions), np.int32), positions, row_starts, (table,), row_starts[1:] - 1)


@given(batches(), st.integers(1, 8))
def test_every_query_is_in_one_tile_of_one_task(batch, heads):
    tiles, tasks = attention_tasks(batch, heads, PAGE, 0)
    queries = [(row, first + n) for row, first, count in tiles.tolist() for n in range(count)]
    counts = np.diff(batch.row_starts) * heads
    assert sorted(queries) == [(row, n) for row, count in enumerate(counts) for n in range(count)]
    covered = [first + n for first, count, _, _ in tasks.tolist() for n in range(count)]
    assert covered == list(range(len(tiles)))


@given(batches(), st.integers(1, 8))
def test_rows_share_complete_pages_of_the_same_numbers(batch, heads):
    tiles, tasks = attention_tasks(batch, heads, PAGE, 0)
    assert tiles[:, 2].max() <= QUERIES_AT_ONCE
    for first, count, queries, shared in tasks.tolist():
        rows = tiles[first : first + count, 0]
        assert queries == tiles[first : first + count, 2].sum() <= QUERIES_TOGETHER
        assert shared % PAGE == 0
        assert (shared > 0) == (count > 1)
        assert len({batch.page_tables[0][row, : shared // PAGE].tobytes() for row in rows}) == 1
        assert shared <= batch.positions[batch.row_starts[rows]].min()


def test_without_a_group_that_sees_all_nothing_is_shared():
    table = np.zeros((2, 2), np.int32)
    starts = np.arange(3, dtype=np.int32)
    batch = StepBatch(starts[:2], np.full(2, 20, np.int32), starts, (table,), starts[:2])
    assert attention_tasks(batch, 1, PAGE, None).tasks.tolist() == [[0, 1, 1, 0], [1, 1, 1, 0]]
    assert attention_tasks(batch, 1, PAGE, 0).tasks.tolist() == [[0, 2, 2, 16]]


@pytest.mark.parametrize("kv", ["fp32", "bf16", "int8"])
def test_rows_that_share_pages_get_the_bits_they_get_alone(tiny_folder, kv):
    runner = CpuRunner(load_model(tiny_folder), quantization="int8", kv=kv, threads=2)
    runner.allocate((40,))
    rows, shared = 9, 3
    prompt = np.random.default_rng(1).integers(3, 300, shared * PAGE).astype(np.int32)
    places = np.arange(len(prompt), dtype=np.int32)
    prefix = np.arange(shared, dtype=np.int32)
    ends = np.array([0, len(prompt)], np.int32)
    logits_of(runner, StepBatch(prompt, places, ends, (prefix[None],), ends[1:] - 1))
    table = np.concatenate((np.tile(prefix, (rows, 1)), 10 + np.arange(2 * rows).reshape(rows, 2)), axis=1)
    table = table.astype(np.int32)
    for position in range(len(prompt), len(prompt) + 20):
        tokens = (np.arange(rows, dtype=np.int32) * 7 + position) % 300
        starts = np.arange(rows + 1, dtype=np.int32)
        together = StepBatch(tokens, np.full(rows, position, np.int32), starts, (table,), starts[:-1])
        assert len(attention_tasks(together, 2, PAGE, 0).tasks) < rows
        logits = logits_of(runner, together).clone()
        for row in range(rows):
            one = slice(row, row + 1)
            alone = StepBatch(tokens[one], together.positions[one], starts[:2], (table[one],), starts[:1])
            assert torch.equal(logits_of(runner, alone)[0], logits[row])
