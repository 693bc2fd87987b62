"""The threads that run a step together.

Between steps they wait for a lock, which costs no core; within one they meet at the barrier in `kernels.access`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

__all__ = ["CoreWatch", "Team", "available_cores"]


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Helper:
    """A thread that runs what it is given; one step at a time."""

    def __init__(self) -> None:
        self.begin, self.end = threading.Semaphore(0), threading.Semaphore(0)
        self.work: Callable[[], object] | None = None
        self.error: BaseException | None = None
        # A daemon: Python must not wait at its end for a thread that waits for work.
        threading.Thread(target=self._serve, name="structgen-cpu", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.begin.acquire()
            if self.work is None:
                return
            try:
                self.work()
            except BaseException as error:  # the caller's, who waits for this part
                self.error = error
            self.end.release()


def _dismiss(helpers: list[_Helper]) -> None:
    for helper in helpers:
        helper.work = None
        helper.begin.release()


class Team:
    """Runs one function on several threads at once, the caller's among them.

    The helpers start when they are first needed, in each process anew: a process that was forked has none.

    Parameters
    ----------
    size : int
        Threads at most.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._helpers: list[_Helper] = []
        self._process = os.getpid()
        weakref.finalize(self, _dismiss, self._helpers)

    def run(self, work: Callable[[int], object], members: int) -> None:
        """Call ``work(member)`` for each member from 0 on, all at once; returns, or raises, when all have ended."""
        if self._process != os.getpid():
            self._helpers.clear()
            self._process = os.getpid()
        while len(self._helpers) < members - 1:
            self._helpers.append(_Helper())
        for member, helper in enumerate(self._helpers[: members - 1], 1):
            helper.work, helper.error = lambda member=member: work(member), None
            helper.begin.release()
        try:
            work(0)
        finally:  # whatever ends it early, no helper is still at work when the next step is prepared
            for helper in self._helpers[: members - 1]:
                helper.end.acquire()
        for helper in self._helpers[: members - 1]:
            if helper.error is not None:
                raise helper.error


class CoreWatch:
    """How many threads the next step gets.

    With one core taken by another process, a team waits at every barrier for the member that has lost its core: two
    threads are then slower than one. Where members wait for more than a third of two steps in a row, one thread goes
    on alone, for a time that doubles as long as the core stays taken.

    Parameters
    ----------
    size : int
        Threads when all cores are free.
    """

    _SHORTEST, _LONGEST = 16, 1024
    _MOST_LOST = 0.35
    """Uneven shares of work cost members a tenth of a step at most, half of a core costs two of them a half."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._alone = 0
        self._period = self._SHORTEST
        self._late_steps = 0
        self._good_steps = 0

    def next_members(self) -> int:
        """Threads for the next step."""
        if self._alone > 0:
            self._alone -= 1
            return 1
        return self.size

    def note(self, members: int, lost: float) -> None:
        """Say how the last step went.

        Parameters
        ----------
        members : int
            Threads it had.
        lost : float
            How long all of them together waited without a core, as a part of the step's time.
        """
        if members == 1:
            return
        if lost < self._MOST_LOST * (members - 1):
            self._late_steps, self._good_steps = 0, self._good_steps + 1
            if self._good_steps >= self._SHORTEST:
                self._period = self._SHORTEST
            return
        self._late_steps, self._good_steps = self._late_steps + 1, 0
        if self._late_steps >= 2:
            self._alone, self._late_steps = self._period, 1
            self._period = min(2 * self._period, self._LONGEST)
