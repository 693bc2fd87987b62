"""The engine's thread: receive, schedule, compute, draw, deliver; step after step."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from structgen.engine.batching import build_batch
from structgen.engine.cpu.drawing.drawer import Drawer, DrawRow
from structgen.engine.generation import Generation
from structgen.engine.kv import KVManager
from structgen.engine.metrics import MetricsRecorder
from structgen.engine.request import Delta, Request
from structgen.engine.scheduler import Row, Scheduler
from structgen.engine.step import PagedRunner
from structgen.engine.task import Task, TaskState
from structgen.errors import DeadlineExceeded, EngineClosed, GenerationError, InvalidRequest, StructgenError

__all__ = ["EngineLoop"]

Deliver: TypeAlias = Callable[[Delta], None]
Logits: TypeAlias = npt.NDArray[np.float32]


class _Submission(NamedTuple):
    choices: Sequence[Request]
    """Of one prompt."""
    begin: Callable[[Request], Generation]
    deliver: Sequence[Deliver]
    """One a choice."""
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
    leader: _Active | None = None
    """Who computes the prompt for this choice too, until that is done."""
    followers: list[_Active] = field(default_factory=list)
    """The choices that it computes the prompt for."""
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

    def submit(
        self, choices: Sequence[Request], begin: Callable[[Request], Generation], deliver: Sequence[Deliver]
    ) -> None:
        """Queue requests of one prompt, which is computed once; what is called is called on the loop's thread.

        Parameters
        ----------
        choices : sequence of Request
            At least one; they differ in their ids and the numbers of their draws only.
        begin : callable
            Makes the generation of each.
        deliver : sequence of callable
            For each what takes its deltas, and must not block.

        Raises
        ------
        EngineClosed
            The loop has ended.
        """
        with self._end_lock:
            if self._ended:
                raise EngineClosed("the engine is closed; make a new one")
            self._inbox.put(_Submission(choices, begin, deliver, self._clock()))

    def abort(self, request_id: str) -> None:
        """End a request with ``finish_reason="abort"``; one that is unknown, or over, is left alone."""
        self._inbox.put(_Abort(request_id))

    def close(self) -> None:
        """End every request with an error, and the loop."""
        self._inbox.put(_Close())

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
        opened = [self._open(*one, submission) for one in zip(submission.choices, submission.deliver, strict=True)]
        family = [active for active in opened if active is not None]
        for active in family:
            if active.generation.request.sampling_params.echo:
                active.deliver(active.generation.echo())
            self._advance(active, active.generation.start)
        self._lead([active for active in family if active.task.state is not TaskState.ENDED])

    def _open(self, request: Request, deliver: Deliver, submission: _Submission) -> _Active | None:
        """Make room for a request; None when that failed, which it was told then."""
        if request.request_id in self._active:
            error = InvalidRequest(f"request_id: {request.request_id!r} is the id of a request that is not finished")
            deliver(Delta(request.request_id, error=error))
            return None
        try:
            generation = submission.begin(request)
        except Exception as error:  # whatever it is, it ends this request and not the thread that serves the others
            deliver(Delta(request.request_id, error=_as_structgen_error(error)))
            return None
        task = Task(
            self._kv.new_sequence(generation.tokens, request.cache_salt),
            arrival=next(self._arrivals),
            priority=request.priority,
            deadline=None if request.timeout is None else submission.at + request.timeout,
            scores_prompt=request.sampling_params.prompt_logprobs is not None,
        )
        active = _Active(generation, task, deliver, submission.at)
        self._active[request.request_id] = self._by_task[task] = active
        return active

    def _lead(self, family: Sequence[_Active]) -> None:
        """Let the first of some choices compute their prompt, and the others wait until they can share it."""
        if not family:
            return
        leader, *leader.followers = family
        leader.leader = None
        for follower in leader.followers:
            follower.leader = leader
        self._scheduler.submit(leader.task)

    def _share(self, leader: _Active) -> list[_Active]:
        """Let the choices that waited for a prompt go on from it; each has a draw of its own."""
        followers, leader.followers = leader.followers, []
        for follower in followers:
            follower.leader = None
            follower.generation.prompt_logprobs = leader.generation.prompt_logprobs
            follower.task.scores_prompt = False
            self._scheduler.fork(follower.task, leader.task)
            if follower.task.state is TaskState.RUNNING:
                self._note_start(follower)
        return followers

    def _end_the_late(self) -> None:
        now = self._clock()
        while late := self._scheduler.expired(now):  # the choices that followed one of them come up then
            for task in late:
                active = self._by_task[task]
                timeout, tokens = active.generation.request.timeout, active.generation.usage().completion_tokens
                message = f"timeout: {timeout} s were over after {tokens} tokens of the answer"
                self._fail(active, DeadlineExceeded(message))

    def _step(self) -> None:
        before = self._clock()
        plan = self._scheduler.schedule()
        for copy in plan.copies:
            self._runner.copy_page(*copy)
        caught_up: list[tuple[_Active, Logits]] = []
        for row, outcome in self._compute(plan.rows):
            active = self._by_task[row.task]
            if isinstance(outcome, Exception):
                self._fail(active, outcome)
                continue
            if row.task.scores_prompt and not self._score(active, row, outcome):
                continue
            self._scheduler.computed(row)
            self._note_start(active)
            if not row.task.remaining:
                caught_up += [(one, outcome[-1]) for one in (*self._share(active), active)]
        self._draw(caught_up)
        self._recorder.stepped(plan, self._clock() - before)

    def _draw(self, caught_up: Sequence[tuple[_Active, Logits]]) -> None:
        """Draw a token from each of some logits, all together, and let the answers go on with them."""
        asking: list[tuple[_Active, Logits, DrawRow]] = []
        for active, logits in caught_up:
            try:
                asking.append((active, logits, active.generation.row(logits)))
            except Exception as error:  # as in _open
                self._fail(active, error)
        tokens = self._drawer.draw([row for _, _, row in asking])
        for (active, logits, row), token in zip(asking, tokens, strict=True):
            self._advance(active, partial(active.generation.advance, logits, row, token))

    def _compute(self, rows: Sequence[Row]) -> list[tuple[Row, Logits | Exception]]:
        """Return for each row the logits that are wanted of it, or what went wrong with it."""
        try:
            logits = self._runner.run(build_batch(rows, self._runner.page_size))  # [logits, vocabulary]
        except Exception as error:
            if len(rows) == 1:
                return [(rows[0], error)]
            # Somebody in this step is at fault: each is computed alone, which writes the same to the same pages.
            return [outcome for row in rows for outcome in self._compute([row])]
        # One sum sees every NaN and infinity, and costs a tenth of looking at each logit.
        counts = [row.wanted for row in rows]
        with np.errstate(invalid="ignore", over="ignore"):
            finite = np.isfinite(logits.sum(axis=-1))
        ends = np.cumsum(counts)[:-1]
        return [
            (row, some if fine.all() else self._broken(row))
            for row, some, fine in zip(rows, np.split(logits, ends), np.split(finite, ends), strict=True)
        ]

    def _broken(self, row: Row) -> GenerationError:
        where = self._runner.broken_layer(build_batch([row], self._runner.page_size)) or "the output projection"
        return GenerationError(
            f"the model's logits after token {row.start + row.length} are not finite, first in {where}; "
            "its weights are broken, or overflow in this dtype"
        )

    def _score(self, active: _Active, row: Row, logits: Logits) -> bool:
        try:
            active.generation.score(row.start, logits)
        except Exception as error:  # as in _open
            self._fail(active, error)
            return False
        return True

    def _note_start(self, active: _Active) -> None:
        if not active.started:
            active.started = True
            active.generation.cached_tokens = active.task.cached_tokens
            self._recorder.started(active.task.prompt_tokens, active.task.cached_tokens)

    def _advance(self, active: _Active, compute: Callable[[], Delta]) -> None:
        try:
            delta = compute()
        except Exception as error:  # as in _open
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
        if active.leader is not None:
            active.leader.followers.remove(active)
        self._lead(active.followers)
        active.generation.close()
        self._recorder.finished(delta.finish_reason or "error")
        tokens = active.generation.usage().completion_tokens
        if active.first_token is not None and tokens > 1:
            self._recorder.took("time_per_output_token", (now - active.first_token) / (tokens - 1))

    def _observe(self) -> None:
        running = self._scheduler.running
        self._recorder.observe(waiting=len(self._active) - running, running=running, pools=self._kv.pools)

    def _end_all(self) -> None:
        with self._end_lock:
            self._ended = True
        error = GenerationError("the engine was closed before the answer was finished")
        while not self._inbox.empty():
            message = self._inbox.get()
            if isinstance(message, _Submission):
                for choice, deliver in zip(message.choices, message.deliver, strict=True):
                    deliver(Delta(choice.request_id, error=error))
        for active in list(self._active.values()):
            self._deliver(active, Delta(active.generation.request.request_id, error=error))


def _as_structgen_error(error: Exception) -> StructgenError:
    if isinstance(error, StructgenError):
        return error
    wrapped = GenerationError(f"the engine failed in this request: {error!r}")
    wrapped.__cause__ = error
    return wrapped
