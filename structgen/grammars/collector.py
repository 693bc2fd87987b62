"""Python's collector of cyclic garbage, kept from looking for some while a grammar is compiled.

A compile makes some ten thousand objects that all live until its end. The collector would look through them again and
again, and every now and then through all that the process holds: a third of the time of a compile, and most of it for
those that it strikes.
"""

from __future__ import annotations

import gc
import threading
from contextlib import AbstractContextManager

__all__ = ["collector_paused"]


class _Pauses:
    """Those that are open, on all threads together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count, self._resumes = 0, False

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                self._resumes = gc.isenabled()
                gc.disable()
            self._count += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._resumes:
                gc.enable()


_pauses = _Pauses()


def collector_paused() -> AbstractContextManager[None]:
    """A scope in which no garbage is collected but by reference counts; afterwards it is as it was before.

    The collector is one for the process: it rests on other threads as well until the last of such scopes is closed.
    """
    return _pauses
