"""Compiling on a thread of its own: a future that can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec

from structgen.grammars.limits import limited

if TYPE_CHECKING:
    from structgen.grammars.token_automaton import TokenAutomaton

__all__ = ["CompileFuture", "compile_in_background"]

_P = ParamSpec("_P")


class CompileFuture(Future["TokenAutomaton"]):
    """A `concurrent.futures.Future` whose ``cancel`` also stops a compile that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.stop: threading.Event = threading.Event()
        """Ends the compile soon after it is set."""

    def cancel(self) -> bool:
        """Let the automaton go; true unless it is there already."""
        cancelled = super().cancel()  # the future stays pending while the thread runs, so that this can be
        if cancelled:
            self.stop.set()
        return cancelled


def compile_in_background(
    compile_grammar: Callable[_P, TokenAutomaton], /, *args: _P.args, **kwargs: _P.kwargs
) -> CompileFuture:
    """Compile on another thread.

    ::

        future = compile_in_background(compile_json_schema, schema, vocabulary, timeout=5.0)
        ...
        automaton = future.result()

    Parameters
    ----------
    compile_grammar : function
        A front end, such as `compile_regex`.
    *args, **kwargs
        Its own.

    Returns
    -------
    CompileFuture
        Of the automaton; it raises what the front end raises. ``cancel()`` stops the compile; ``asyncio.wrap_future``
        makes it awaitable.
    """
    future = CompileFuture()

    def work() -> None:
        try:
            with limited(cancel=future.stop):
                automaton = compile_grammar(*args, **kwargs)
        except BaseException as error:
            with suppress(InvalidStateError):  # whoever has cancelled wants no news
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(automaton)

    threading.Thread(target=work, name="structgen-compile", daemon=True).start()
    return future
