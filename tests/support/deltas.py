"""What came out of a stream of deltas, and of an engine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from structgen.engine.client import EngineClient
from structgen.engine.metrics import EngineMetrics
from structgen.engine.request import Delta


class Gathered(NamedTuple):
    """All deltas of one answer put together."""

    text: str
    token_ids: tuple[int, ...]
    last: Delta


def gather(stream: Iterable[Delta]) -> Gathered:
    deltas = list(stream)
    token_ids = tuple(token_id for delta in deltas for token_id in delta.token_ids)
    return Gathered("".join(delta.text for delta in deltas), token_ids, deltas[-1])


def settled(client: EngineClient) -> EngineMetrics:
    """The metrics once nothing runs any more."""
    for _ in range(2000):
        metrics = client.metrics()
        if not metrics.running + metrics.waiting + metrics.kv_pages_held:
            return metrics
        time.sleep(0.01)
    raise AssertionError(f"requests are left: {metrics}")
