"""Answers on threads, their events on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request

from structgen.server.turns import Ended, Event, Turn

__all__ = ["run_turns"]

_AHEAD = 64
"""So many events wait for a client that does not read them."""


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
    events = _EventQueue()
    tasks = [asyncio.create_task(_abort_when_gone(request, turns, events)), *_read_on_threads(turns, events)]
    return _iterate(turns, events, tasks)


async def _iterate(
    turns: Sequence[Turn], events: _EventQueue, tasks: Sequence[asyncio.Task[None]]
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
        events.leave()
        watcher.cancel()
        for turn in turns:
            turn.abort()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(watcher, *readers, return_exceptions=True)


def _read_on_threads(turns: Sequence[Turn], events: _EventQueue) -> list[asyncio.Task[None]]:
    def read(place: int, turn: Turn) -> None:
        try:
            for event in turn.events():
                events.put(place, event)
        except Exception as error:  # raised again where the events are read
            events.put(place, error)

    limiter = anyio.CapacityLimiter(len(turns))  # not the shared one: long answers would use it up
    return [asyncio.create_task(run_sync(read, place, turn, limiter=limiter)) for place, turn in enumerate(turns)]


class _EventQueue:
    """Events from threads to the event loop, few at a time.

    Where a client does not read, its threads wait here, and the engine puts together what they do not take.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[tuple[int, Event | Exception]] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._left = False

    def put(self, place: int, event: Event | Exception) -> None:
        """Leave an event of a turn, from any thread; waits for room while somebody is there to make it."""
        self._room.acquire()
        if self._left:
            self._room.release()  # for the next that waits
        self._loop.call_soon_threadsafe(self._events.put_nowait, (place, event))

    async def get(self) -> tuple[int, Event | Exception]:
        """Take the next event and its turn's number."""
        found = await self._events.get()
        self._room.release()
        return found

    def leave(self) -> None:
        """Say that the client is gone, so that nobody waits for it any more."""
        self._left = True
        self._room.release()


async def _abort_when_gone(request: Request, turns: Sequence[Turn], events: _EventQueue) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
    events.leave()
    for turn in turns:
        turn.abort()
