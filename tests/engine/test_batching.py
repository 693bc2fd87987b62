"""Rows as arrays."""

from __future__ import annotations

from structgen.engine.batching import build_batch
from structgen.engine.kv import KVManager
from structgen.engine.scheduler import Row
from structgen.engine.step import CacheGroup
from structgen.engine.task import Task


def test_rows_follow_one_another_with_the_pages_that_they_reach():
    kv = KVManager([CacheGroup((0,), None), CacheGroup((1,), 3)], [20, 20], 4)
    rows = []
    for start, length, first_token in ((0, 7, 100), (6, 1, 200)):
        sequence = kv.new_sequence([first_token + place for place in range(20)])
        assert kv.open(sequence) is not None
        assert kv.extend(sequence, start) == []
        kv.advance(sequence, start)
        assert kv.extend(sequence, length) == []
        rows.append(Row(Task(sequence, arrival=0), start, length))
    batch = build_batch(rows, 4)
    assert batch.token_ids.tolist() == [*range(100, 107), 206]
    assert batch.positions.tolist() == [*range(7), 6]
    assert batch.row_starts.tolist() == [0, 7, 8]
    assert batch.wanted.tolist() == [6, 7]
    full, window = batch.page_tables
    assert full.shape == window.shape == (2, 2)
    assert full.tolist() == [list(row.task.sequence.tables[0][:2]) for row in rows]
    assert window[1, 0] == -1
    assert {array.dtype.name for array in (*batch[:3], *batch.page_tables, batch.wanted)} == {"int32"}


def test_a_table_ends_with_its_row():
    kv = KVManager([CacheGroup((0,), None)], [20], 4)
    long, short = (kv.new_sequence(list(range(n))) for n in (17, 2))
    assert kv.open(long) is not None
    assert kv.open(short) is not None
    rows = [Row(Task(long, arrival=0), 0, 9), Row(Task(short, arrival=1), 0, 2)]
    (table,) = build_batch(rows, 4).page_tables
    assert table.tolist() == [list(long.tables[0][:3]), [short.tables[0][0], -1, -1]]
