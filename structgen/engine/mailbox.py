"""Between the engine's thread and a reader who may be slow: what was not read is put together."""

from __future__ import annotations

import queue
import threading
from dataclasses import replace

from structgen.engine.process import HomeProcess
from structgen.engine.request import Delta, TokenLogprobs

__all__ = ["Mailbox"]


class Mailbox:
    """The deltas of one request on their way from the engine's thread to one reader.

    A reader who is as fast as the engine gets each delta as it is. For one who is slower they are put together: there
    is one at most, which holds no more than the answer does, and whoever puts never waits.

    Parameters
    ----------
    home : HomeProcess
        The engine's; nothing comes anywhere else.
    """

    def __init__(self, home: HomeProcess) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._signal: queue.SimpleQueue[None] = queue.SimpleQueue()  # has one entry while something is unread
        self._empty()

    def put(self, delta: Delta) -> None:
        """Leave a delta."""
        with self._lock:
            is_first = self._last is None
            self._last = delta
            self._is_alone = is_first
            self._token_ids += delta.token_ids
            self._texts.append(delta.text)
            self._logprobs += delta.logprobs
            self._prompt_logprobs += delta.prompt_logprobs
        if is_first:
            self._signal.put(None)

    def take(self) -> Delta:
        """Wait until something is unread, and return all of it as one delta.

        Raises
        ------
        EngineClosed
            The engine is in the process that this one was forked from.
        """
        self._home.check()
        self._signal.get()
        with self._lock:
            delta = self._joined()
            self._empty()
        return delta

    def _empty(self) -> None:
        self._last: Delta | None = None
        self._is_alone = False
        self._token_ids: list[int] = []
        self._texts: list[str] = []
        self._logprobs: list[TokenLogprobs] = []
        self._prompt_logprobs: list[TokenLogprobs | None] = []

    def _joined(self) -> Delta:
        if self._last is None:
            raise RuntimeError("a signal came without a delta")
        if self._is_alone:
            return self._last
        return replace(
            self._last,
            token_ids=tuple(self._token_ids),
            text="".join(self._texts),
            logprobs=tuple(self._logprobs),
            prompt_logprobs=tuple(self._prompt_logprobs),
        )
