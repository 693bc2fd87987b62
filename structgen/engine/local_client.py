"""The engine in this process, on a thread of its own."""

from __future__ import annotations

import threading
import weakref
from functools import partial

from typing_extensions import override

from structgen.engine.allocation import allocate_cache
from structgen.engine.client import DeltaStream, EngineClient
from structgen.engine.constraint import Constraint, GrammarConstraint
from structgen.engine.generation import Generation
from structgen.engine.grammar_cache import GrammarCache
from structgen.engine.loop import EngineLoop
from structgen.engine.mailbox import Mailbox
from structgen.engine.metrics import EngineMetrics, MetricsRecorder
from structgen.engine.options import EngineOptions
from structgen.engine.process import HomeProcess
from structgen.engine.request import GrammarSpec, Request
from structgen.engine.scheduler import Scheduler
from structgen.engine.step import PagedRunner
from structgen.errors import BudgetTooSmall, InvalidRequest, PromptTooLong
from structgen.grammars import TokenAutomaton, TokenVocabulary

__all__ = ["LocalClient"]


class LocalClient(EngineClient):
    """An engine on a thread of this process, for this process only: in one that is forked from it all is refused.

    Parameters
    ----------
    runner : PagedRunner
        Computes logits; its pages are allocated here.
    vocabulary : TokenVocabulary
        The model's, as wide as its logits.
    options : EngineOptions, optional
        How the engine runs. What a runner is made with, ``block_size`` and ``kv_cache_dtype``, is not looked at here.

    Raises
    ------
    InvalidRequest, OutOfMemory
        As :func:`~structgen.engine.allocation.allocate_cache` does.
    """

    def __init__(self, runner: PagedRunner, vocabulary: TokenVocabulary, options: EngineOptions | None = None) -> None:
        options = options or EngineOptions()
        kv = allocate_cache(runner, options)
        self.max_model_len = min(options.max_model_len or runner.max_model_len, kv.longest_sequence)
        """Tokens that prompt and answer may have together: what the model takes, was asked for, and fits the cache."""
        self._vocabulary = vocabulary
        self._grammars = GrammarCache(vocabulary, timeout=options.grammar_timeout)
        self._recorder = MetricsRecorder()
        self._home = HomeProcess()
        scheduler = Scheduler(
            kv, max_num_seqs=options.max_num_seqs, max_num_batched_tokens=options.max_num_batched_tokens
        )
        loop = EngineLoop(runner, kv, scheduler, self._recorder)
        thread = threading.Thread(target=loop.run, name="structgen-engine", daemon=True)
        thread.start()
        self._loop = loop
        # The thread knows the loop and not this object, so an engine that nobody holds ends by itself.
        self._close = weakref.finalize(self, _end_thread, self._home, loop, thread)

    @override
    def submit_choices(self, request: Request) -> tuple[DeltaStream, ...]:
        self._home.check()
        budget = self._budget(request)
        self._check_token_ids(request)
        automaton = None if request.grammar is None else self._grammars.get(request.grammar)
        # The exact count is a search; most budgets are far above what is known to suffice.
        if automaton is not None and automaton.distance > budget and automaton.min_tokens > budget:
            raise BudgetTooSmall(
                f"max_tokens: the shortest valid answer takes {automaton.min_tokens} tokens and {budget} are allowed"
            )

        def begin(choice: Request) -> Generation:
            return Generation(choice, self._vocabulary, self._constraint(automaton), budget)

        choices = request.choices()
        mailboxes = [Mailbox(self._home) for _ in choices]
        self._loop.submit(choices, begin, [mailbox.put for mailbox in mailboxes])
        return tuple(
            DeltaStream(choice.request_id, mailbox.take, partial(self.abort, choice.request_id), mailbox.when_unread)
            for choice, mailbox in zip(choices, mailboxes, strict=True)
        )

    @override
    def prepare(self, grammar: GrammarSpec) -> None:
        self._home.check()
        self._grammars.get(grammar)

    @override
    def abort(self, request_id: str) -> None:
        if self._home.is_here:
            self._loop.abort(request_id)

    @override
    def metrics(self) -> EngineMetrics:
        self._home.check()
        return self._recorder.metrics()

    @override
    def close(self) -> None:
        self._close()

    def _constraint(self, automaton: TokenAutomaton | None) -> Constraint:
        return Constraint() if automaton is None else GrammarConstraint(automaton, self._vocabulary.end_row)

    def _budget(self, request: Request) -> int:
        """Return the tokens that the answer may have."""
        prompt, wanted = len(request.prompt_token_ids), request.sampling_params.max_tokens
        left = self.max_model_len - prompt
        if left < 1:
            raise PromptTooLong(
                f"the prompt has {prompt} tokens and the context holds {self.max_model_len}; shorten the prompt"
            )
        if wanted is not None and wanted > left:
            raise PromptTooLong(
                f"the prompt's {prompt} tokens and max_tokens={wanted} are more than the {self.max_model_len} "
                f"that the context holds; shorten the prompt, or allow at most {left} (max_tokens=None)"
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


def _end_thread(home: HomeProcess, loop: EngineLoop, thread: threading.Thread) -> None:
    if not home.is_here:
        return
    loop.close()
    if thread is not threading.current_thread():  # the last reference may go on the engine's own thread
        thread.join()
