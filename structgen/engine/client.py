"""The engine's border: requests in, deltas out, both plain data. Importing it costs nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType

from typing_extensions import Self

from structgen.engine.metrics import EngineMetrics
from structgen.engine.request import Delta, GrammarSpec, Request
from structgen.errors import InvalidRequest

__all__ = ["DeltaStream", "EngineClient"]


class DeltaStream(Iterator[Delta]):
    """The deltas of one request, as they come. The last one is ``finished``; iteration ends after it.

    Deltas that come faster than they are read are put together: a slow reader holds up nobody, and what was not read
    takes no more memory than the answer. A stream is for one thread at a time. Leaving it before the end (``close``,
    the end of a ``with`` block, losing the last reference) aborts the request, so that nobody computes what nobody
    reads.

    Attributes
    ----------
    request_id : str
        Whose they are; what :meth:`EngineClient.abort` takes.
    """

    def __init__(self, request_id: str, receive: Callable[[], Delta], abort: Callable[[], None]) -> None:
        self.request_id = request_id
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
    - Several answers of one prompt, ``n`` in its sampling parameters, are requests of their own from their submission
      on (:meth:`Request.choices <structgen.engine.request.Request.choices>`), which compute their prompt once.
    - The same request with the same seed gives the same answer, the same choice of it whatever ``n`` is.
    - All methods may be called from any thread.
    """

    def submit(self, request: Request) -> DeltaStream:
        """Start a request for one answer and return its deltas.

        Raises
        ------
        InvalidRequest
            It is for several answers. Everything else is as in :meth:`submit_choices`.
        """
        if request.sampling_params.n > 1:
            raise InvalidRequest(f"n: there is one answer here, not {request.sampling_params.n}; use submit_choices")
        (stream,) = self.submit_choices(request)
        return stream

    @abstractmethod
    def submit_choices(self, request: Request) -> tuple[DeltaStream, ...]:
        """Start a request and return the deltas of each of its ``n`` answers.

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
            The engine is closed, or in a process that this one was forked from.
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
