"""Asking without waiting: what is done between waits is written once, for threads and for event loops."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import wraps
from typing import Any, TypeAlias, TypeVar

from typing_extensions import ParamSpec

from structgen.engine.client import DeltaStream
from structgen.engine.request import Delta

__all__ = ["Steps", "blocking", "finish"]

T = TypeVar("T")
P = ParamSpec("P")

Steps: TypeAlias = Generator[DeltaStream, list[Delta], T]
"""Work that waits for answers: it yields a stream, is sent all deltas of it, and returns what became of them.

The stream stays its own: closing the generator aborts what it waits for."""


def finish(steps: Steps[T]) -> T:
    """Take all steps, waiting on this thread."""
    with closing(steps):
        try:
            stream = next(steps)
            while True:
                stream = steps.send(list(stream))
        except StopIteration as end:
            return end.value


def blocking(function: Callable[P, Any]) -> Callable[P, Any]:
    """Make a function that returns `Steps` one that finishes them; ``inspect.unwrap`` gives the first one back."""

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> Any:
        return finish(function(*arguments, **options))

    return call
