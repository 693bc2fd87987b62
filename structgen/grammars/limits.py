"""Limits on compiling: time, states, memory, and an event that stops it from another thread.

A front end opens a scope, and whatever takes long inside calls `checkpoint` as it goes::

    with limited(timeout=2.0, cancel=event):
        ...                     # somewhere inside: checkpoint(), or checkpoint(states=len(table))

Scopes nest, and all of them hold. Where none limits anything, a checkpoint looks no further.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from typing import cast

from typing_extensions import TypedDict

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.bounds import least

__all__ = ["LIMIT_NAMES", "Limits", "checked_at_calls", "checkpoint", "limited", "open_max_bytes", "open_max_states"]


class Limits(TypedDict, total=False):
    """Keyword arguments of every front end; beyond one, `GrammarLimitExceeded` is raised, for its caller alone."""

    timeout: float | None
    """Seconds that compiling may take."""
    max_states: int | None
    """States that the automaton may have, now and as it grows with use, and states of any one automaton that
    is built on the way."""
    max_bytes: int | None
    """Bytes that the automaton's tables may take, now and as they grow with use; 256 MiB by default."""
    cancel: threading.Event | None
    """Compiling stops soon after it is set, by whichever thread."""


_MOST_BITS = 63
_CALLS = 256
"""So many calls are between two looks at the limits."""

LIMIT_NAMES = tuple(Limits.__annotations__)


class _Scope:
    """One opened scope and the ones around it."""

    __slots__ = ("_token", "cancel", "deadline", "is_free", "max_bytes", "max_states", "outer", "started", "timeout")
    _token: Token[_Scope | None]

    def __init__(
        self,
        timeout: float | None,
        max_states: int | None,
        max_bytes: int | None,
        cancel: threading.Event | None,
        outer: _Scope | None,
    ) -> None:
        self.timeout, self.cancel, self.outer = timeout, cancel, outer
        self.max_states = least(max_states, outer and outer.max_states)
        self.max_bytes = least(max_bytes, outer and outer.max_bytes)
        self.started = time.monotonic()
        self.deadline = math.inf if timeout is None else self.started + timeout
        holds_none = timeout is None and cancel is None and self.max_states is None
        self.is_free = holds_none and (outer is None or outer.is_free)

    def __enter__(self) -> None:
        self.check(0)
        self._token = _open.set(self)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        _open.reset(self._token)
        if kind is None:
            self.check(0)

    def check(self, states: int) -> None:
        """Raise where a limit of this scope, or of one around it, is passed."""
        now, scope = time.monotonic(), self
        if self.max_states is not None and states > self.max_states:
            raise too_many_states(self.max_states)
        while scope is not None:
            if scope.cancel is not None and scope.cancel.is_set():
                raise GrammarLimitExceeded(f"compiling was cancelled after {now - scope.started:.2g} s")
            if now >= scope.deadline:
                raise GrammarLimitExceeded(
                    f"compiling took longer than timeout={scope.timeout:g} s; simplify the grammar or allow more time"
                )
            scope = scope.outer


_open: ContextVar[_Scope | None] = ContextVar("structgen_limits", default=None)


def limited(
    timeout: float | None = None,
    max_states: int | None = None,
    max_bytes: int | None = None,
    cancel: threading.Event | None = None,
) -> AbstractContextManager[None]:
    """A scope in which these limits hold, beside those already open; see `Limits`.

    Raises
    ------
    InvalidGrammar
        A limit is no such number, or ``cancel`` no event.
    GrammarLimitExceeded
        On entering it, where ``timeout`` is 0 or ``cancel`` is set.
    """
    _check_number("timeout", timeout, (int, float))
    _check_number("max_states", max_states, (int,))
    _check_number("max_bytes", max_bytes, (int,))
    if cancel is not None and not callable(getattr(cast("object", cancel), "is_set", None)):
        raise InvalidGrammar(f"cancel is a threading.Event, not {cancel!r}")
    return _Scope(timeout, max_states, max_bytes, cancel, _open.get())


def checkpoint(states: int = 0) -> None:
    """Go on, unless an open scope's limits are passed; cheap enough for every node that is made.

    Parameters
    ----------
    states : int
        States of the automaton that the caller is building, where it is.

    Raises
    ------
    GrammarLimitExceeded
        Time is up, the compile was cancelled, or ``states`` are too many.
    """
    scope = _open.get()
    if scope is not None and not scope.is_free:
        scope.check(states)


@contextmanager
def checked_at_calls() -> Generator[None, None, None]:
    """See to it that Python code of others, which has no `checkpoint`, stops at one of its calls when time is up.

    Only where there is a limit of time, or something that may cancel; and not where a debugger traces this thread.
    """
    scope, calls = _open.get(), 0
    while scope is not None and scope.timeout is None and scope.cancel is None:
        scope = scope.outer
    if scope is None or sys.gettrace() is not None:
        yield
        return

    def look(_frame: object, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1
        if calls % _CALLS == 0:
            checkpoint()

    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(None)


def open_max_states() -> int | None:
    """The least ``max_states`` of the open scopes."""
    scope = _open.get()
    return None if scope is None else scope.max_states


def open_max_bytes() -> int | None:
    """The least ``max_bytes`` of the open scopes."""
    scope = _open.get()
    return None if scope is None else scope.max_bytes


def too_many_states(max_states: int) -> GrammarLimitExceeded:
    """The error for an automaton that has more than ``max_states``."""
    return GrammarLimitExceeded(
        f"the automaton needs more than max_states={max_states:,} states; simplify the grammar or allow more"
    )


def _check_number(name: str, value: object, kinds: tuple[type, ...]) -> None:
    if value is None:
        return
    if not isinstance(value, kinds) or isinstance(value, bool) or not cast("float", value) >= 0:
        raise InvalidGrammar(f"{name} is a number of at least 0, not {value!r}")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InvalidGrammar(f"{name} is a number of at most {_MOST_BITS} bits; leave it out for no limit")
