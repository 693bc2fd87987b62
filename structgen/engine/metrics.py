"""What an engine has done and is doing, as numbers."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structgen.engine.kv import PagePool
    from structgen.engine.scheduler import Plan

__all__ = ["EngineMetrics", "Histogram", "MetricsRecorder"]

_SECONDS = tuple(mantissa * 10.0**power for power in range(-5, 3) for mantissa in (1, 2.5, 5))


@dataclass(frozen=True)
class Histogram:
    """How often a number fell where.

    Parameters
    ----------
    bounds : tuple of float
        Upper bounds, ascending; a number that equals one is below it.
    counts : tuple of int
        For each bound the numbers below it and not below the one before; and, last, those above all.
    total : float
        Sum of all numbers.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        """Number of numbers."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """Their mean, 0 where there are none."""
        return self.total / self.count if self.count else 0.0


@dataclass(frozen=True)
class EngineMetrics:
    """A moment of an engine. Numbers that are not about the moment count from its start.

    Parameters
    ----------
    waiting, running : int
        Requests that wait for a place or for pages, and that have one, now.
    finished : mapping of str to int
        Requests by why they ended: a finish reason, or ``"error"``.
    steps : int
        Steps computed.
    preemptions : int
        How often a request gave its pages up.
    prompt_tokens, cached_tokens : int
        Tokens of the prompts of requests that have started, and how many of them the cache had.
    prompt_tokens_computed : int
        Tokens of prompts that were computed, those that had to be computed again too.
    generated_tokens : int
        Tokens of answers.
    kv_pages_total, kv_pages_held, kv_pages_cached : int
        Pages of all cache groups: there, held by requests, and kept for those that may come, now.
    time_to_first_token : Histogram
        Seconds from a request's submission to its first token.
    time_per_output_token : Histogram
        Seconds a token after the first, one number a request.
    step_time : Histogram
        Seconds a step, all of it.
    mask_time : Histogram
        Seconds that a grammar took for the mask of one token.
    """

    waiting: int = 0
    running: int = 0
    finished: Mapping[str, int] = field(default_factory=dict)
    steps: int = 0
    preemptions: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prompt_tokens_computed: int = 0
    generated_tokens: int = 0
    kv_pages_total: int = 0
    kv_pages_held: int = 0
    kv_pages_cached: int = 0
    time_to_first_token: Histogram = Histogram((), (0,), 0.0)
    time_per_output_token: Histogram = Histogram((), (0,), 0.0)
    step_time: Histogram = Histogram((), (0,), 0.0)
    mask_time: Histogram = Histogram((), (0,), 0.0)

    @property
    def cache_hit_rate(self) -> float:
        """Share of the prompts' tokens that the cache had, from 0 to 1."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def kv_usage(self) -> float:
        """Share of the pages that requests hold, from 0 to 1."""
        return self.kv_pages_held / self.kv_pages_total if self.kv_pages_total else 0.0


class _Recorded:
    """A histogram that grows."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_SECONDS) + 1)
        self._total = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_SECONDS, seconds)] += 1
        self._total += seconds

    def histogram(self) -> Histogram:
        return Histogram(_SECONDS, tuple(self._counts), self._total)


class MetricsRecorder:
    """Counts on the engine's thread, and is read from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        self._now: dict[str, int] = {}
        self._seconds = {
            name: _Recorded() for name in ("time_to_first_token", "time_per_output_token", "step_time", "mask_time")
        }

    def started(self, prompt_tokens: int, cached_tokens: int) -> None:
        """Count a request that starts for the first time."""
        with self._lock:
            self._counts["prompt_tokens"] += prompt_tokens
            self._counts["cached_tokens"] += cached_tokens

    def generated(self, tokens: int) -> None:
        """Count tokens of an answer."""
        with self._lock:
            self._counts["generated_tokens"] += tokens

    def finished(self, reason: str) -> None:
        """Count a request that ended."""
        with self._lock:
            self._finished[reason] += 1

    def took(self, name: str, seconds: float) -> None:
        """Count a number in the histogram of this name."""
        with self._lock:
            self._seconds[name].add(seconds)

    def stepped(self, plan: Plan, seconds: float) -> None:
        """Count a step that was computed."""
        prompt = sum(max(0, min(row.start + row.length, row.task.prompt_tokens) - row.start) for row in plan.rows)
        with self._lock:
            self._counts["steps"] += 1
            self._counts["preemptions"] += len(plan.preempted)
            self._counts["prompt_tokens_computed"] += prompt
            self._seconds["step_time"].add(seconds)

    def observe(self, *, waiting: int, running: int, pools: Sequence[PagePool]) -> None:
        """Take down how it stands now."""
        now = {
            "waiting": waiting,
            "running": running,
            "kv_pages_total": sum(pool.total for pool in pools),
            "kv_pages_held": sum(pool.held for pool in pools),
            "kv_pages_cached": sum(pool.cached for pool in pools),
        }
        with self._lock:
            self._now = now

    def metrics(self) -> EngineMetrics:
        """Return the numbers so far."""
        with self._lock:
            values: dict[str, Any] = {**self._now, **self._counts}
            values.update((name, recorded.histogram()) for name, recorded in self._seconds.items())
            return EngineMetrics(finished=dict(self._finished), **values)
