"""The engine's border: requests in, deltas out, both plain data."""

from __future__ import annotations

import queue
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType

import numpy as np
from typing_extensions import Self, override

from structgen.engine.constraint import Constraint, GrammarConstraint, Mask
from structgen.engine.generation import Generation
from structgen.engine.grammar_cache import GrammarCache
from structgen.engine.loop import EngineLoop
from structgen.engine.request import Delta, Request
from structgen.engine.runner import Runner
from structgen.errors import BudgetTooSmall, InvalidRequest, PromptTooLong
from structgen.grammars import TokenAutomaton, TokenVocabulary

__all__ = ["DeltaStream", "EngineClient", "LocalClient"]


class DeltaStream(Iterator[Delta]):
    """The deltas of one request, as they come. The last one is ``finished``; iteration ends after it.

    It is for one thread at a time. Leaving it before the end (``close``, or the end of a ``with`` block) aborts the
    request, so that nobody computes what nobody reads.
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

    def close(self) -> None:
        """Abort the request if it is not finished; iteration ends."""
        if not self._finished:
            self._finished = True
            self._abort()

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
        RequestError
            The engine is closed.
        """

    @abstractmethod
    def abort(self, request_id: str) -> None:
        """End a request with ``finish_reason="abort"``; does nothing when it is over or unknown."""

    @abstractmethod
    def close(self) -> None:
        """End every request with an error and let go of the engine; closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LocalClient(EngineClient):
    """An engine on a thread of this process.

    Parameters
    ----------
    runner : Runner
        Computes logits.
    vocabulary : TokenVocabulary
        The model's, as wide as its logits.
    max_num_seqs : int
        Requests that run at once.
    """

    def __init__(self, runner: Runner, vocabulary: TokenVocabulary, *, max_num_seqs: int = 16) -> None:
        if max_num_seqs < 1:
            raise InvalidRequest(f"max_num_seqs: must be at least 1, not {max_num_seqs}")
        self._runner = runner
        self._vocabulary = vocabulary
        self._grammars = GrammarCache(vocabulary)
        self._end_mask = _mask_of(vocabulary.eos_token_ids, len(vocabulary))
        loop = EngineLoop(max_num_seqs)
        thread = threading.Thread(target=loop.run, name="structgen-engine", daemon=True)
        thread.start()
        self._loop = loop
        # The thread knows the loop and not this object, so an engine that nobody holds ends by itself.
        self._close = weakref.finalize(self, _end_thread, loop, thread)

    @override
    def submit(self, request: Request) -> DeltaStream:
        budget = self._budget(request)
        self._check_token_ids(request)
        automaton = None if request.grammar is None else self._grammars.get(request.grammar)
        if automaton is not None and automaton.min_tokens > budget:
            raise BudgetTooSmall(
                f"max_tokens: the shortest valid answer takes {automaton.min_tokens} tokens and {budget} are allowed"
            )
        deltas: queue.SimpleQueue[Delta] = queue.SimpleQueue()

        def begin() -> Generation:
            return Generation(request, self._runner, self._vocabulary, self._constraint(automaton), budget)

        self._loop.submit(request.request_id, begin, deltas.put)
        return DeltaStream(deltas.get, lambda: self.abort(request.request_id))

    @override
    def abort(self, request_id: str) -> None:
        self._loop.abort(request_id)

    @override
    def close(self) -> None:
        self._close()

    def _constraint(self, automaton: TokenAutomaton | None) -> Constraint:
        return Constraint() if automaton is None else GrammarConstraint(automaton, self._end_mask)

    def _budget(self, request: Request) -> int:
        """Return the tokens that the answer may have."""
        prompt, wanted = len(request.prompt_token_ids), request.sampling_params.max_tokens
        left = self._runner.max_model_len - prompt
        if left < 1:
            raise PromptTooLong(
                f"the prompt has {prompt} tokens and the model's context holds {self._runner.max_model_len}; "
                "shorten the prompt"
            )
        if wanted is not None and wanted > left:
            raise PromptTooLong(
                f"the prompt's {prompt} tokens and max_tokens={wanted} are more than the {self._runner.max_model_len} "
                f"that the model's context holds; shorten the prompt, or allow at most {left} (max_tokens=None)"
            )
        return left if wanted is None else wanted

    def _check_token_ids(self, request: Request) -> None:
        size = len(self._vocabulary)
        for name, token_ids in (
            ("prompt_token_ids", request.prompt_token_ids),
            ("logit_bias", request.sampling_params.logit_bias),
        ):
            wrong = next((token_id for token_id in token_ids if not 0 <= token_id < size), None)
            if wrong is not None:
                raise InvalidRequest(f"{name}: token id {wrong} is outside the vocabulary of {size}")


def _mask_of(token_ids: tuple[int, ...], size: int) -> Mask:
    bits = np.zeros(-(-size // 32) * 32, np.uint8)
    bits[list(token_ids)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)


def _end_thread(loop: EngineLoop, thread: threading.Thread) -> None:
    loop.close()
    if thread is not threading.current_thread():  # the last reference may go on the engine's own thread
        thread.join()
