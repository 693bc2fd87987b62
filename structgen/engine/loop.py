"""The engine's thread: every running request takes one step, round after round."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import torch

from structgen.engine.generation import Generation
from structgen.engine.request import Delta
from structgen.errors import EngineClosed, GenerationError, InvalidRequest, StructgenError

__all__ = ["EngineLoop"]


class _Submission(NamedTuple):
    request_id: str
    begin: Callable[[], Generation]
    deliver: Callable[[Delta], None]


class _Abort(NamedTuple):
    request_id: str


class _Close(NamedTuple):
    pass


class _Running(NamedTuple):
    generation: Generation
    deliver: Callable[[Delta], None]


class EngineLoop:
    """Runs generations, one step each in turn, on the thread that calls :meth:`run`.

    Other threads speak to it through :meth:`submit`, :meth:`abort` and :meth:`close` only, which return at once. What
    goes wrong inside one request ends that request with its error; the others do not notice.

    Parameters
    ----------
    max_num_seqs : int
        Requests that run at once; more wait their turn in the order they came.
    """

    def __init__(self, max_num_seqs: int) -> None:
        self._max_num_seqs = max_num_seqs
        self._inbox: queue.SimpleQueue[_Submission | _Abort | _Close] = queue.SimpleQueue()
        self._waiting: deque[_Submission] = deque()
        self._running: dict[str, _Running] = {}
        self._closed = False
        self._ended = False
        self._end_lock = threading.Lock()  # so that nothing is put into an inbox that nobody reads any more

    def submit(self, request_id: str, begin: Callable[[], Generation], deliver: Callable[[Delta], None]) -> None:
        """Queue a request; ``begin`` and ``deliver`` are called on the loop's thread and must not block.

        Raises
        ------
        EngineClosed
            The loop has ended.
        """
        with self._end_lock:
            if self._ended:
                raise EngineClosed("the engine is closed; make a new one")
            self._inbox.put(_Submission(request_id, begin, deliver))

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
                self._admit()
                for running in list(self._running.values()):
                    self._step(running)
        finally:  # also when the loop itself is at fault: nobody may wait for ever
            self._end_all()

    def _receive(self) -> None:
        """Take what has come in; sleep until something does when there is nothing to run."""
        if not self._running and not self._waiting:
            self._handle(self._inbox.get())
        while not self._inbox.empty():
            self._handle(self._inbox.get())

    def _handle(self, message: _Submission | _Abort | _Close) -> None:
        if isinstance(message, _Submission):
            self._enqueue(message)
        elif isinstance(message, _Abort):
            self._abort(message.request_id)
        else:
            self._closed = True

    def _enqueue(self, submission: _Submission) -> None:
        request_id = submission.request_id
        if request_id in self._running or any(waiting.request_id == request_id for waiting in self._waiting):
            error = InvalidRequest(f"request_id: {request_id!r} is the id of a request that is not finished")
            submission.deliver(Delta(request_id, error=error))
        else:
            self._waiting.append(submission)

    def _abort(self, request_id: str) -> None:
        if request_id in self._running:
            running = self._running[request_id]
            self._deliver(running, running.generation.abort())
        for submission in [waiting for waiting in self._waiting if waiting.request_id == request_id]:
            self._waiting.remove(submission)
            submission.deliver(Delta(request_id, finish_reason="abort"))

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._max_num_seqs and not self._closed:
            submission = self._waiting.popleft()
            try:
                generation = submission.begin()
            except Exception as error:  # whatever it is, it ends this request and not the thread that serves the others
                submission.deliver(Delta(submission.request_id, error=_as_structgen_error(error)))
                continue
            running = self._running[submission.request_id] = _Running(generation, submission.deliver)
            self._advance(running, generation.start)

    def _step(self, running: _Running) -> None:
        self._advance(running, running.generation.step)

    def _advance(self, running: _Running, compute: Callable[[], Delta]) -> None:
        try:
            delta = compute()
        except Exception as error:  # as in _admit
            generation = running.generation
            delta = Delta(generation.request.request_id, usage=generation.usage(), error=_as_structgen_error(error))
        if delta.token_ids or delta.finished:
            self._deliver(running, delta)

    def _deliver(self, running: _Running, delta: Delta) -> None:
        if delta.finished:
            del self._running[delta.request_id]
            running.generation.close()
        running.deliver(delta)

    def _end_all(self) -> None:
        with self._end_lock:
            self._ended = True
        error = GenerationError("the engine was closed before the answer was finished")
        for running in list(self._running.values()):
            self._deliver(running, Delta(running.generation.request.request_id, error=error))
        while not self._inbox.empty():
            self._handle(self._inbox.get())
        for submission in self._waiting:
            submission.deliver(Delta(submission.request_id, error=error))
        self._waiting.clear()


def _as_structgen_error(error: Exception) -> StructgenError:
    if isinstance(error, StructgenError):
        return error
    wrapped = GenerationError(f"the engine failed in this request: {error!r}")
    wrapped.__cause__ = error
    return wrapped
