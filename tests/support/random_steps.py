"""Sequences computed in random pieces beside each other, as an engine would, for their logits."""

from __future__ import annotations

import random

import numpy as np
import torch
from paged_steps import logits_of

from structgen.engine.batching import build_batch
from structgen.engine.kv import KVManager
from structgen.engine.scheduler import Row
from structgen.engine.task import Task

PAGES = 120


def relative_error(found, expected):
    """The largest difference of a token's logits, against that token's largest logit."""
    return float(((found - expected).abs().amax(-1) / expected.abs().amax(-1)).max())


def all_wanted(batch):
    return batch._replace(wanted=np.arange(len(batch.token_ids), dtype=np.int32))


def run(runner, sequences, seed):
    """Compute sequences in random pieces beside each other; logits ``[tokens, vocab]`` of what was not shared."""
    rng = random.Random(seed)
    kv = KVManager(runner.cache_groups, [PAGES] * len(runner.cache_groups), runner.page_size)
    runner.allocate((PAGES,) * len(runner.cache_groups))
    scattered = kv.new_sequence([96] * rng.randrange(1, 60))  # so that pages do not begin at the first
    assert kv.open(scattered) == []
    waiting, running = [Task(kv.new_sequence(list(one)), arrival=n) for n, one in enumerate(sequences)], []
    logits = {task.arrival: [] for task in waiting}
    first = {}
    while waiting or running:
        if waiting and (not running or rng.random() < 0.3):
            task = waiting.pop(0)
            for copy in kv.open(task.sequence) or ():
                runner.copy_page(*copy)
            assert task.sequence.tip is not None
            first[task.arrival] = task.sequence.computed
            running.append(task)
        chosen = [task for task in running if rng.random() < 0.7] or running
        rows = []
        for task in chosen:
            length = rng.randint(1, min(task.remaining, rng.choice([1, 5, 40])))
            assert kv.extend(task.sequence, length) == []
            rows.append(Row(task, task.sequence.computed, length))
        batch = all_wanted(build_batch(rows, runner.page_size))
        found = logits_of(runner, batch).split([row.length for row in rows])
        for row, one in zip(rows, found, strict=True):
            logits[row.task.arrival].append(one)
            kv.advance(row.task.sequence, row.length)
            if not row.task.remaining:
                running.remove(row.task)
                if row.task.arrival % 2:
                    kv.release(row.task.sequence)
    return [(first[number], torch.cat(pieces)) for number, pieces in logits.items()]
