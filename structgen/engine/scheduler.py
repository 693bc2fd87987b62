"""The one scheduling rule: each step lets the computed tokens of every request catch up with the known ones."""

from __future__ import annotations

import heapq
from bisect import insort
from typing import NamedTuple

from structgen.engine.kv import CachedSequence, InFlight, KVManager, PageCopy
from structgen.engine.policies import Policies
from structgen.engine.task import Task, TaskState

__all__ = ["Plan", "Row", "Scheduler"]


_SCORED_AT_ONCE = 128
"""Logits of 128 tokens over a vocabulary of 128,256 are 66 MB, and their log-probabilities as much again."""


class Row(NamedTuple):
    """What one task computes in a step: ``length`` known tokens from ``start`` on."""

    task: Task
    start: int
    length: int

    @property
    def wanted(self) -> int:
        """How many of its tokens, from the last backwards, their logits are wanted of."""
        return self.length if self.task.scores_prompt else 1


class Plan(NamedTuple):
    """One step."""

    rows: tuple[Row, ...]
    copies: tuple[PageCopy, ...]
    """To be made first, in this order."""
    preempted: tuple[Task, ...]
    """Tasks that gave way in it."""


class Scheduler:
    """Decides what each step computes. It computes nothing, and knows no clock.

    Prefill, its chunks, prefix hits and decoding are one rule: a running task has known tokens and computed ones, and
    gets a share of the step's budget to catch up. A task starts when there is a place and there are pages for all its
    known tokens, those of a known prefix being there already; where another task is computing more of its prefix, it
    waits for that instead of computing it again. When pages run out, tasks give way: their pages are let go of, and
    they start again later with what is left of them in the tree. A task that is alone always has room, as long as its
    tokens are no more than ``kv.longest_sequence``; so somebody always gets on.

    Parameters
    ----------
    kv : KVManager
        The pages.
    max_num_seqs : int
        Tasks that run at once.
    max_num_batched_tokens : int
        Tokens that a step computes, at least one for each that runs.
    policies : Policies
        What is left open.
    """

    def __init__(
        self, kv: KVManager, *, max_num_seqs: int, max_num_batched_tokens: int, policies: Policies | None = None
    ) -> None:
        self._kv = kv
        self._max_num_seqs = min(max_num_seqs, max_num_batched_tokens)
        self._budget = max_num_batched_tokens
        self._policies = policies or Policies()
        self._in_flight = InFlight(kv.page_size)
        self._waiting: list[Task] = []  # in the order of admission
        self._running: list[Task] = []
        self._by_sequence: dict[CachedSequence, Task] = {}
        self._deadlines: list[tuple[float, int, Task]] = []

    @property
    def running(self) -> int:
        """Number of tasks that hold pages."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Number of tasks that have not started, or gave way."""
        return len(self._waiting)

    def submit(self, task: Task) -> None:
        """Take a new task; it starts in a later step."""
        task.state = TaskState.WAITING
        insort(self._waiting, task, key=self._policies.order.key)
        self._know(task)

    def fork(self, task: Task, parent: Task) -> None:
        """Take a new task whose tokens begin with all of a running one's, which are computed.

        It shares their pages and runs from now on; where there is no place or no room for it, or somebody before it
        waits, it waits like any other.
        """
        if self._has_room_for_fork(task):
            task.sequence = self._kv.fork(parent.sequence, task.sequence.tokens)
            task.state, task.caught_up = TaskState.RUNNING, True
            task.cached_tokens = min(task.sequence.computed, task.prompt_tokens)
            self._running.append(task)
            self._know(task)
        else:
            self.submit(task)

    def end(self, task: Task) -> None:
        """Let a task go, whatever its state; its full pages stay for others until their room is needed."""
        if task.state is TaskState.RUNNING:
            self._stop(task)
        elif task.state in (TaskState.WAITING, TaskState.JOINING):
            self._waiting.remove(task)
        task.state = TaskState.ENDED
        self._by_sequence.pop(task.sequence, None)

    def expired(self, now: float) -> list[Task]:
        """Return the tasks whose deadline has come, each of them once; ending them is the caller's."""
        found: list[Task] = []
        while self._deadlines and self._deadlines[0][0] <= now:
            task = heapq.heappop(self._deadlines)[2]
            if task.state is not TaskState.ENDED:
                found.append(task)
        return found

    def schedule(self) -> Plan:
        """Decide on the next step. It has a row at least while there is any task."""
        copies: list[PageCopy] = []
        preempted = self._admit(copies)
        lengths = self._policies.share.split(self._running, self._budget)
        rows: dict[Task, Row] = {}
        for task in sorted(lengths, key=self._policies.order.key):
            length = min(lengths[task], _SCORED_AT_ONCE) if task.scores_prompt else lengths[task]
            gave_way = self._extend(task, length, rows, copies)
            for victim in gave_way:
                rows.pop(victim, None)
            preempted += gave_way
        return Plan(tuple(rows.values()), tuple(copies), tuple(preempted))

    def computed(self, row: Row) -> None:
        """Take note that a row of the last plan was computed, and that its numbers are sound."""
        task = row.task
        full = self._kv.advance(task.sequence, row.length)
        self._in_flight.withdraw(task.sequence, full)
        if row.start + row.length >= task.prompt_tokens:
            task.scores_prompt = False
        if not task.remaining:
            task.caught_up = True

    def _know(self, task: Task) -> None:
        self._by_sequence[task.sequence] = task
        if task.deadline is not None:
            heapq.heappush(self._deadlines, (task.deadline, task.arrival, task))

    def _has_room_for_fork(self, task: Task) -> bool:
        key = self._policies.order.key
        is_next = not self._waiting or key(task) < key(self._waiting[0])
        # As in _start: it and each that runs may soon need a page.
        has_page = self._kv.available > len(self._running)
        return is_next and has_page and len(self._running) < self._max_num_seqs

    def _extend(self, task: Task, length: int, rows: dict[Task, Row], copies: list[PageCopy]) -> list[Task]:
        """Plan a task's row if it still runs, and return who had to give way for it, itself perhaps."""
        gave_way: list[Task] = []
        while task.state is TaskState.RUNNING:
            made = self._kv.extend(task.sequence, length)
            if made is not None:
                rows[task] = Row(task, task.sequence.computed, length)
                copies += made
                break
            if length > 1:  # rather a smaller step than somebody else's pages
                length //= 2
                continue
            victim = self._policies.victim.choose(self._running)
            self._preempt(victim)
            gave_way.append(victim)
        return gave_way

    def _admit(self, copies: list[PageCopy]) -> list[Task]:
        """Start waiting tasks in order, as far as places and pages go; who joins another is passed over."""
        preempted: list[Task] = []
        place = 0
        while place < len(self._waiting):
            task = self._waiting[place]
            if self._joins(task):
                place += 1
                continue
            while not self._start(task, copies):
                below = self._policies.victim.below(task, self._running)
                if not below:
                    return preempted
                victim = self._policies.victim.choose(below)
                self._preempt(victim)
                preempted.append(victim)
            del self._waiting[place]
        return preempted

    def _joins(self, task: Task) -> bool:
        """Whether a task waits for pages that another, no less urgent, is computing."""
        if task.awaited is not None and task.awaited in self._in_flight:
            return True
        if task.scores_prompt:  # it takes nothing from others
            return False
        if len(self._running) >= self._max_num_seqs:  # it could not start anyway
            return False
        claim = self._in_flight.awaited(task.sequence, self._kv.found(task.sequence))
        joins = claim is not None and self._by_sequence[claim.writer].priority <= task.priority
        task.awaited = claim.key if claim is not None and joins else None
        task.state = TaskState.JOINING if joins else TaskState.WAITING
        return joins

    def _start(self, task: Task, copies: list[PageCopy]) -> bool:
        if len(self._running) >= self._max_num_seqs:
            return False
        made = self._kv.open(task.sequence, from_scratch=task.scores_prompt)
        if made is None:
            return False
        # Those that run grow by a page now and then. Who gave way before asks for more room than it had, or it would
        # give way again at once.
        if self._running and self._kv.available < len(self._running) * (1 + task.preemptions):
            self._kv.release(task.sequence)
            return False
        copies += made
        if not task.preemptions:
            task.cached_tokens = min(task.sequence.computed, task.prompt_tokens)
        task.state = TaskState.RUNNING
        self._in_flight.claim(task.sequence)
        self._running.append(task)
        return True

    def _preempt(self, task: Task) -> None:
        self._stop(task)
        task.state = TaskState.WAITING
        task.preemptions += 1
        insort(self._waiting, task, key=self._policies.order.key)

    def _stop(self, task: Task) -> None:
        """Take a running task's pages and claims away."""
        self._running.remove(task)
        self._in_flight.withdraw(task.sequence)
        self._kv.release(task.sequence)
        task.caught_up = False
        task.awaited = None
