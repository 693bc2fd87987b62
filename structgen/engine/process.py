"""Processes that are forked from one that has an engine: the engine's threads are not there."""

from __future__ import annotations

import os
import sys

from structgen.errors import EngineClosed

__all__ = ["HomeProcess", "calm_torch"]

_FIRST = os.getpid()


class HomeProcess:
    """The process in which something was made that works in no other."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is it."""
        return self._pid == os.getpid()

    def check(self) -> None:
        """Refuse to go on anywhere else.

        Raises
        ------
        EngineClosed
            This process was forked from it.
        """
        if not self.is_here:
            raise EngineClosed(
                "the engine is in the process that this one was forked from, and cannot be used here; make the LLM "
                "after the fork, or start processes with multiprocessing.get_context('spawn')"
            )


def calm_torch() -> None:
    """Keep torch to one thread where this process was forked: it would wait for its threads, which are not here."""
    if os.getpid() != _FIRST and "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
