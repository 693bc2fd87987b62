"""The engine's thread: receive, schedule, compute, draw, deliver; step after step."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import torch

from structgen.engine.batching import build_batch
from structgen.engine.cpu.drawing.drawer import Drawer, DrawRow
from structgen.engine.generation import Generation
from structgen.engine.kv import KVManager
from structgen.engine.metrics import MetricsRecorder
from structgen.engine.request import Delta, Request
from structgen.engine.scheduler import Row, Scheduler
from structgen.engine.step import PagedRunner
from structgen.engine.task import Task
from structgen.errors import DeadlineExceeded, EngineClosed, GenerationError, InvalidRequest, StructgenError

__all__ = ["EngineLoop"]

Deliver: TypeAlias = Callable[[Delta], None]


class _Submission(NamedTuple):
    request: Request
    begin: Callable[[], Generation]
    deliver: Deliver
    at: float
    """On the loop's clock."""


class _Abort(NamedTuple):
    request_id: str


class _Close(NamedTuple):
    pass


@dataclass(eq=False)
class _Active:
    """A request that is not finished."""

    generation: Generation
    task: Task
    deliver: Deliver
    submitted: float
    started: bool = False
    first_token: float | None = None


class EngineLoop:
    """Runs generations on the thread that calls :meth:`run`, as many as the scheduler lets into each step.

    Other threads speak to it through :meth:`submit`, :meth:`abort` and :meth:`close` only, which return at once. What
    goes wrong inside one request ends that request with its error; the others do not notice.

    Parameters
    ----------
    runner : PagedRunner
        Computes; its pages are allocated.
    kv : KVManager
        Of these pages.
    scheduler : Scheduler
        Decides, over the same manager.
    recorder : MetricsRecorder
        Counts.
    clock : callable
        Seconds, never going back.
    """

    def __init__(
        self,
        runner: PagedRunner,
        kv: KVManager,
        scheduler: Scheduler,
        recorder: MetricsRecorder,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._kv = kv
        self._scheduler = scheduler
        self._recorder = recorder
        self._clock = clock
        self._drawer = Drawer()
        self._inbox: queue.SimpleQueue[_Submission | _Abort | _Close] = queue.SimpleQueue()
        self._arrivals = itertools.count()
        self._active: dict[str, _Active] = {}
        self._by_task: dict[Task, _Active] = {}
        self._closed = False
        self._ended = False
        self._end_lock = threading.Lock()  # so that nothing is put into an inbox that nobody reads any more

    def submit(self, request: Request, begin: Callable[[], Generation], deliver: Deliver) -> None:
        """Queue a request; ``begin`` and ``deliver`` are called on the loop's thread and must not block.

        Raises
        ------
        EngineClosed
            The loop has ended.
        """
        with self._end_lock:
            if self._ended:
                raise EngineClosed("the engine is closed; make a new one")
            self._inbox.put(_Submission(request, begin, deliver, self._clock()))

    def abort(self, request_id: str) -> None:
        """End a request with ``finish_reason="abort"``; one that is unknown, or over, is left alone."""
        self._inbox.put(_Abort(request_id))

    def close(self) -> None:
        """End every request with an error, and the loop."""
        self._inbox.put(_Close())

    @torch.inference_mode()
    def run(self) -> None:
        """Serve until closed."""
        try:
            while not self._closed:
                self._receive()
                self._end_the_late()
                if self._active and not self._closed:
                    self._step()
                self._observe()
        finally:  # also when the loop itself is at fault: nobody may wait for ever
            self._end_all()

    def _receive(self) -> None:
        """Take what has come in; sleep until something does when there is nothing to run."""
        if not self._active:
            self._handle(self._inbox.get())
        while not self._inbox.empty():
            self._handle(self._inbox.get())

    def _handle(self, message: _Submission | _Abort | _Close) -> None:
        if isinstance(message, _Submission):
            self._begin(message)
        elif isinstance(message, _Abort):
            active = self._active.get(message.request_id)
            if active is not None:
                self._deliver(active, active.generation.abort())
        else:
            self._closed = True

    def _begin(self, submission: _Submission) -> None:
        request = submission.request
        if request.request_id in self._active:
            error = InvalidRequest(f"request_id: {request.request_id!r} is the id of a request that is not finished")
            submission.deliver(Delta(request.request_id, error=error))
            return
        try:
            generation = submission.begin()
        except Exception as error:  # whatever it is, it ends this request and not the thread that serves the others
            submission.deliver(Delta(request.request_id, error=_as_structgen_error(error)))
            return
        task = Task(
            self._kv.new_sequence(generation.tokens, request.cache_salt),
            arrival=next(self._arrivals),
            priority=request.priority,
            deadline=None if request.timeout is None else submission.at + request.timeout,
        )
        active = _Active(generation, task, submission.deliver, submission.at)
        self._active[request.request_id] = self._by_task[task] = active
        self._scheduler.submit(task)
        self._advance(active, generation.start)

    def _end_the_late(self) -> None:
        for task in self._scheduler.expired(self._clock()):
            active = self._by_task[task]
            timeout, tokens = active.generation.request.timeout, active.generation.usage().completion_tokens
            self._fail(active, DeadlineExceeded(f"timeout: {timeout} s were over after {tokens} tokens of the answer"))

    def _step(self) -> None:
        before = self._clock()
        plan = self._scheduler.schedule()
        for copy in plan.copies:
            self._runner.copy_page(*copy)
        caught_up: list[tuple[_Active, torch.Tensor]] = []
        for row, outcome in self._compute(plan.rows):
            active = self._by_task[row.task]
            if isinstance(outcome, Exception):
                self._fail(active, outcome)
                continue
            self._scheduler.computed(row)
            self._note_start(active)
            if not row.task.remaining:
                caught_up.append((active, outcome))
        self._draw(caught_up)
        self._recorder.stepped(plan, self._clock() - before)

    def _draw(self, caught_up: Sequence[tuple[_Active, torch.Tensor]]) -> None:
        """Draw a token from each of some logits, all together, and let the answers go on with them."""
        asking: list[tuple[_Active, torch.Tensor, DrawRow]] = []
        for active, logits in caught_up:
            try:
                asking.append((active, logits, active.generation.row(logits)))
            except Exception as error:  # as in _begin
                self._fail(active, error)
        tokens = self._drawer.draw([row for _, _, row in asking])
        for (active, logits, _), token in zip(asking, tokens, strict=True):
            self._advance(active, partial(active.generation.advance, logits, token))

    def _compute(self, rows: Sequence[Row]) -> list[tuple[Row, torch.Tensor | Exception]]:
        """Return for each row the logits after it, or what went wrong with it."""
        try:
            logits = self._runner.run(build_batch(rows, self._runner.page_size))  # [rows, vocabulary]
        except Exception as error:
            if len(rows) == 1:
                return [(rows[0], error)]
            # Somebody in this step is at fault: each is computed alone, which writes the same to the same pages.
            return [outcome for row in rows for outcome in self._compute([row])]
        # One sum sees every NaN and infinity, and costs a tenth of looking at each logit.
        finite = logits.sum(dim=-1).isfinite().tolist()
        return [
            (row, one if fine else self._broken(row)) for row, one, fine in zip(rows, logits.cpu(), finite, strict=True)
        ]

    def _broken(self, row: Row) -> GenerationError:
        where = self._runner.broken_layer(build_batch([row], self._runner.page_size)) or "the output projection"
        return GenerationError(
            f"the model's logits after token {row.start + row.length} are not finite, first in {where}; "
            "its weights are broken, or overflow in this dtype"
        )

    def _note_start(self, active: _Active) -> None:
        if not active.started:
            active.started = True
            active.generation.cached_tokens = active.task.cached_tokens
            self._recorder.started(active.task.prompt_tokens, active.task.cached_tokens)

    def _advance(self, active: _Active, compute: Callable[[], Delta]) -> None:
        try:
            delta = compute()
        except Exception as error:  # as in _begin
            self._fail(active, error)
            return
        if active.generation.mask_seconds:
            self._recorder.took("mask_time", active.generation.mask_seconds)
        if delta.token_ids or delta.finished:
            self._deliver(active, delta)

    def _fail(self, active: _Active, error: Exception) -> None:
        generation = active.generation
        delta = Delta(generation.request.request_id, usage=generation.usage(), error=_as_structgen_error(error))
        self._deliver(active, delta)

    def _deliver(self, active: _Active, delta: Delta) -> None:
        now = self._clock()
        if delta.token_ids:
            self._recorder.generated(len(delta.token_ids))
            if active.first_token is None:
                active.first_token = now
                self._recorder.took("time_to_first_token", now - active.submitted)
        if delta.finished:
            self._end(active, delta, now)
        active.deliver(delta)

    def _end(self, active: _Active, delta: Delta, now: float) -> None:
        del self._active[delta.request_id], self._by_task[active.task]
        self._scheduler.end(active.task)
        active.generation.close()
        self._recorder.finished(delta.finish_reason or "error")
        tokens = active.generation.usage().completion_tokens
        if active.first_token is not None and tokens > 1:
            self._recorder.took("time_per_output_token", (now - active.first_token) / (tokens - 1))

    def _observe(self) -> None:
        self._recorder.observe(waiting=self._scheduler.waiting, running=self._scheduler.running, pools=self._kv.pools)

    def _end_all(self) -> None:
        with self._end_lock:
            self._ended = True
        error = GenerationError("the engine was closed before the answer was finished")
        while not self._inbox.empty():
            message = self._inbox.get()
            if isinstance(message, _Submission):
                message.deliver(Delta(message.request.request_id, error=error))
        for active in list(self._active.values()):
            self._deliver(active, Delta(active.generation.request.request_id, error=error))


def _as_structgen_error(error: Exception) -> StructgenError:
    if isinstance(error, StructgenError):
        return error
    wrapped = GenerationError(f"the engine failed in this request: {error!r}")
    wrapped.__cause__ = error
    return wrapped
