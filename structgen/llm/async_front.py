"""AsyncLLM: the model of LLM for programs on an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, TypeVar

from typing_extensions import ParamSpec, Self

from structgen.engine.client import DeltaStream, EngineClient
from structgen.engine.process import HomeProcess
from structgen.engine.request import Delta
from structgen.llm.front import LLM
from structgen.llm.steps import Steps
from structgen.llm.streaming import AnswerStream

__all__ = ["AsyncLLM"]

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 32
"""So many calls at once may compile a grammar, write a prompt or validate an answer; who waits for tokens has none."""


def _awaited(
    method: Callable[Concatenate[LLM, P], Any],
) -> Callable[Concatenate[AsyncLLM, P], Coroutine[Any, Any, Any]]:
    """Make of a blocking method of `LLM` a coroutine function with the same arguments and result."""
    steps: Callable[..., Steps[Any]] = inspect.unwrap(method)

    @wraps(method)
    async def call(self: AsyncLLM, /, *arguments: P.args, **options: P.kwargs) -> Any:
        return await self._finish(steps(self.llm, *arguments, **options))

    return call


def _iterated(
    method: Callable[Concatenate[LLM, P], AnswerStream],
) -> Callable[Concatenate[AsyncLLM, P], AsyncGenerator[Any, None]]:
    """Make of a method of `LLM` that returns a stream one that returns an asynchronous iterator with the same items."""

    @wraps(method, assigned=("__module__", "__name__"))
    def begin(self: AsyncLLM, /, *arguments: P.args, **options: P.kwargs) -> AsyncGenerator[Any, None]:
        """Answer a prompt or one conversation, and yield the text as it comes.

        Arguments, items and errors are those of :meth:`LLM.stream <structgen.LLM.stream>`, except that all errors come
        from the iteration. A slow reader holds up nobody: what was not read is put together. Cancelling the task that
        iterates, or closing the iterator, aborts the request; a loop that may be left early is best put into ``async
        with contextlib.aclosing(llm.stream(...)) as stream``.
        """
        return self._items(partial(method, self.llm, *arguments, **options))

    return begin


class AsyncLLM:
    """A language model that can only say what the program can use, for programs on an event loop.

    However many calls are awaited at once, one engine computes them together. Nothing here holds up the loop: grammars
    are compiled, prompts written and answers validated on threads. Cancelling what awaits an answer aborts its
    requests. It belongs to no loop, and can be used from several; :meth:`close`, leaving an ``async with`` block and
    losing the last reference let the engine go.

    Parameters
    ----------
    *arguments, **options
        Those of :class:`~structgen.LLM`, with the same errors. Loading a model takes a while: make it before the loop
        runs, or with ``await asyncio.to_thread(AsyncLLM, ...)``.

    Attributes
    ----------
    llm : LLM
        The same model for code that may wait; what else is known about the model is there.
    """

    @wraps(LLM.__init__)
    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.llm = LLM(*arguments, **options)
        self._home = HomeProcess()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="structgen-llm")

    @property
    def client(self) -> EngineClient:
        """The engine; requests may be submitted to it directly."""
        return self.llm.client

    generate = _awaited(LLM.generate)
    chat = _awaited(LLM.chat)
    stream = _iterated(LLM.stream)

    async def close(self) -> None:
        """End what is running with an error, and let the engine go; closing twice is fine."""
        if self._home.is_here:
            await asyncio.shield(asyncio.wrap_future(self._submit(self.llm.close)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _finish(self, steps: Steps[T]) -> T:
        """Take steps on threads, and wait on the event loop for the answers that they need."""
        step = self._submit(_advance, steps, None)
        try:
            while not isinstance(reached := await asyncio.wrap_future(step), _Finished):
                step = self._submit(_advance, steps, await _whole(reached))
            return reached.value
        finally:  # when cancelled in the middle of a step, its thread is to end it first
            step.add_done_callback(lambda done: steps.close())

    async def _items(self, begin: Callable[[], AnswerStream]) -> AsyncGenerator[Any, None]:
        stream = await asyncio.wrap_future(self._submit(begin))
        with stream.deltas as deltas:
            while not deltas.finished:
                for item in stream.reader.read(await _following(deltas)):
                    yield item

    def _submit(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> Future[T]:
        """Call a function on a thread.

        Raises
        ------
        EngineClosed
            The threads are in the process that this one was forked from.
        """
        self._home.check()
        return self._threads.submit(copy_context().run, function, *arguments, **options)


class _Finished(NamedTuple):
    value: Any


def _advance(steps: Steps[Any], deltas: list[Delta] | None) -> DeltaStream | _Finished:
    """Take the next step; ``deltas`` are what the last one waited for, None before the first."""
    try:
        return next(steps) if deltas is None else steps.send(deltas)
    except StopIteration as end:
        return _Finished(end.value)


async def _whole(stream: DeltaStream) -> list[Delta]:
    deltas: list[Delta] = []
    while not stream.finished:
        deltas.append(await _following(stream))
    return deltas


async def _following(stream: DeltaStream) -> Delta:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile, so that nobody waits there any more
            loop.call_soon_threadsafe(ready.set)

    stream.when_ready(wake)
    await ready.wait()
    return next(stream)
