"""Answers on threads, their events on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request

from structgen.server.turns import Ended, Event, Turn

__all__ = ["run_turns"]


def run_turns(turns: Sequence[Turn], request: Request) -> AsyncIterator[tuple[int, Event]]:
    """Read started turns, and give their events as they come, each with its turn's number.

    The turns are read on threads of their own, since the engine's client blocks, and from now on: also when nobody
    iterates, they are aborted once the client of ``request`` goes away. When the iteration ends or is left, they are
    aborted and their threads have ended.

    Raises
    ------
    StructgenError
        From the iteration: a turn could not be finished.
    """
    events: asyncio.Queue[tuple[int, Event | Exception]] = asyncio.Queue()
    tasks = [asyncio.create_task(_abort_when_gone(request, turns)), *_read_on_threads(turns, events)]
    return _iterate(turns, events, tasks)


async def _iterate(
    turns: Sequence[Turn], events: asyncio.Queue[tuple[int, Event | Exception]], tasks: Sequence[asyncio.Task[None]]
) -> AsyncIterator[tuple[int, Event]]:
    watcher, *readers = tasks
    try:
        open_turns = len(turns)
        while open_turns:
            place, event = await events.get()
            if isinstance(event, Exception):
                raise event
            open_turns -= isinstance(event, Ended)
            yield place, event
    finally:
        watcher.cancel()
        for turn in turns:
            turn.abort()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(watcher, *readers, return_exceptions=True)


def _read_on_threads(
    turns: Sequence[Turn], events: asyncio.Queue[tuple[int, Event | Exception]]
) -> list[asyncio.Task[None]]:
    put = partial(asyncio.get_running_loop().call_soon_threadsafe, events.put_nowait)

    def read(place: int, turn: Turn) -> None:
        try:
            for event in turn.events():
                put((place, event))
        except Exception as error:  # raised again where the events are read
            put((place, error))

    limiter = anyio.CapacityLimiter(len(turns))  # not the shared one: long answers would use it up
    return [asyncio.create_task(run_sync(read, place, turn, limiter=limiter)) for place, turn in enumerate(turns)]


async def _abort_when_gone(request: Request, turns: Sequence[Turn]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
    for turn in turns:
        turn.abort()
