"""The engine's border: requests in, deltas out, both plain data. Importing it costs nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType

from typing_extensions import Self

from structgen.engine.metrics import EngineMetrics
from structgen.engine.request import Delta, GrammarSpec, Request

__all__ = ["DeltaStream", "EngineClient"]


class DeltaStream(Iterator[Delta]):
    """The deltas of one request, as they come. The last one is ``finished``; iteration ends after it.

    It is for one thread at a time. Leaving it before the end (``close``, the end of a ``with`` block, losing the last
    reference) aborts the request, so that nobody computes what nobody reads.
    """

    def __init__(self, receive: Callable[[], Delta], abort: Callable[[], None]) -> None:
        self._receive = receive
        self._abort = abort
        self._finished = False

    def __next__(self) -> Delta:
        if self._finished:
            raise StopIteration
        delta = self._receive()
        self._finished = delta.finished
        return delta

    def checked(self) -> Iterator[Delta]:
        """Yield the deltas, and close at the end or when the iterator is left early.

        Raises
        ------
        StructgenError
            What a delta brings as its ``error``.
        """
        with self:
            for delta in self:
                if delta.error is not None:
                    raise delta.error
                yield delta

    def close(self) -> None:
        """Abort the request if it is not finished; iteration ends."""
        if not self._finished:
            self._finished = True
            self._abort()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EngineClient(ABC):
    """What everything above the engine sees of it.

    The contract, for this process's engine and for one in another process or on another machine alike:

    - Requests and deltas are plain data; no tensor, tokenizer or callable crosses.
    - :meth:`submit` checks the whole request and compiles its grammar before it returns: what can be known to be wrong
      is raised there, and nothing has been generated. It does not wait for tokens.
    - Every submitted request ends in exactly one delta that is ``finished``: with a ``finish_reason``, or with an
      ``error`` when something went wrong on the way. One request's error touches no other request.
    - The same request with the same seed gives the same answer.
    - All methods may be called from any thread.
    """

    @abstractmethod
    def submit(self, request: Request) -> DeltaStream:
        """Start a request and return its deltas.

        Raises
        ------
        PromptTooLong
            Prompt and answer do not fit the model's context; the message has both numbers.
        BudgetTooSmall
            ``max_tokens`` is below the shortest text of the grammar.
        InvalidRequest
            A token id is outside the vocabulary, or the grammar is not plain data.
        GrammarError, PluginError
            The grammar cannot be compiled.
        EngineClosed
            The engine is closed.
        """

    @abstractmethod
    def prepare(self, grammar: GrammarSpec) -> None:
        """Compile a grammar now, so that the first request with it does not wait, and its errors come here.

        Raises
        ------
        InvalidRequest, GrammarError, PluginError
            As :meth:`submit` would.
        """

    @abstractmethod
    def abort(self, request_id: str) -> None:
        """End a request with ``finish_reason="abort"``; does nothing when it is over or unknown."""

    @abstractmethod
    def metrics(self) -> EngineMetrics:
        """Return what the engine has done and is doing, as numbers."""

    @abstractmethod
    def close(self) -> None:
        """End every request with an error and let go of the engine; closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
