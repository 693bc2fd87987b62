"""One answer on its way: the engine's deltas as text, calls and an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from structgen.engine.client import DeltaStream
from structgen.engine.request import Delta, GrammarSpec, Request, SamplingParams, TokenLogprobs
from structgen.engine.sampling_params import MAX_CHOICES
from structgen.errors import AnswerRefused, BudgetTooSmall, PromptTooLong
from structgen.llm import LLM
from structgen.llm.calls import CallDelta
from structgen.llm.drawing import params_of_draw, refused_for_good
from structgen.server.planning import Plan
from structgen.server.responses import FinishReason

__all__ = ["Ended", "Event", "TextPiece", "Turn", "start_turns"]

_DRAWS = 3
"""So often a text that must be validated is drawn at most."""


@dataclass(frozen=True)
class TextPiece:
    """More content."""

    text: str
    logprobs: tuple[TokenLogprobs, ...] = ()


@dataclass(frozen=True)
class Ended:
    """The answer's end, always the last event."""

    finish_reason: FinishReason
    completion_tokens: int
    cached_tokens: int
    """Tokens of the prompt that the first draw found computed."""


Event: TypeAlias = TextPiece | CallDelta | Ended


def start_turns(llm: LLM, plan: Plan, n: int) -> list[Turn]:
    """Start ``n`` answers of one plan; what is wrong with their request is raised here, and none is started.

    Raises
    ------
    RequestError, GrammarError
        As :meth:`structgen.engine.client.EngineClient.submit_choices` does.
    """
    params, grammar = replace(plan.sampling_params, n=n), plan.content_grammar
    if plan.must_call:
        params, grammar = replace(params, stop=()), plan.call_grammar
    elif plan.call_grammar is not None:
        params = replace(params, stop=(*params.stop_strings, _opening_tag(llm)))
    streams = llm.client.submit_choices(Request(plan.prompt_token_ids, params, grammar))
    return [Turn(llm, plan, choice, deltas) for choice, deltas in enumerate(streams)]


class Turn:
    """One of the ``n`` answers to a request.

    Where a call may come but need not, the text is free until it opens one; from there on the call's grammar holds.
    That is two requests of the engine, one after the other. The client's stop strings count for the text only: they
    never cut a call.

    Parameters
    ----------
    llm : LLM
        The model.
    plan : Plan
        What to generate.
    choice : int
        The number of the answer among the ``n``.
    deltas : DeltaStream
        Of its first request.
    """

    def __init__(self, llm: LLM, plan: Plan, choice: int, deltas: DeltaStream) -> None:
        self._llm = llm
        self._plan = plan
        self._choice = choice
        self._deltas = deltas
        self._token_ids: list[int] = []
        self._cached_tokens: int | None = None
        self._aborted = False
        self._opening_tag = _opening_tag(llm)

    def events(self) -> Iterator[Event]:
        """What the answer grows by, to its end; blocks while the engine computes.

        Raises
        ------
        StructgenError
            The engine could not finish it.
        """
        if self._plan.must_call:
            return self._call()
        if self._plan.validate is not None:
            return self._validated_text(self._plan.validate)
        return self._text() if self._plan.call_grammar is None else self._text_or_call()

    def abort(self) -> None:
        """End the answer soon, from any thread; its events then end as well."""
        self._aborted = True
        self._llm.client.abort(self._deltas.request_id)

    def _submit(
        self, prompt_token_ids: tuple[int, ...], params: SamplingParams, grammar: GrammarSpec | None, draw: int = 0
    ) -> None:
        request = Request(prompt_token_ids, params, grammar, self._choice + MAX_CHOICES * draw)
        self._deltas = self._llm.client.submit(request)
        if self._aborted:  # between two requests: abort() has seen the first one's id
            self._llm.client.abort(request.request_id)

    def _received(self) -> Iterator[Delta]:
        for delta in self._deltas.checked():
            self._token_ids.extend(delta.token_ids)
            if delta.usage is not None and self._cached_tokens is None:
                self._cached_tokens = delta.usage.cached_tokens
            yield delta

    def _text(self) -> Iterator[Event]:
        for delta in self._received():
            if delta.text or delta.logprobs:
                yield TextPiece(delta.text, delta.logprobs)
            if delta.finish_reason is not None:
                yield self._end("length" if delta.finish_reason == "length" else "stop")

    def _validated_text(self, validate: Callable[[str], object]) -> Iterator[Event]:
        """Text that is held back until it is whole, and drawn again where it is refused."""
        deltas = list(self._received())
        for draw in range(1, _DRAWS + 1):
            try:
                if deltas[-1].complete:
                    validate("".join(delta.text for delta in deltas))
                break
            except AnswerRefused as refusal:
                if draw == _DRAWS:
                    raise refused_for_good(refusal, draw) from None
            self._token_ids.clear()
            params = params_of_draw(self._plan.sampling_params, draw)
            self._submit(self._plan.prompt_token_ids, params, self._plan.content_grammar, draw)
            deltas = list(self._received())
        logprobs = tuple(entry for delta in deltas for entry in delta.logprobs)
        yield TextPiece("".join(delta.text for delta in deltas), logprobs)
        yield self._end("length" if deltas[-1].finish_reason == "length" else "stop")

    def _text_or_call(self) -> Iterator[Event]:
        """Free text; when it opens a call, the call. White space before a call is no content."""
        text = held = ""
        finish_reason = None
        for delta in self._received():
            text += delta.text
            held += delta.text
            finish_reason = delta.finish_reason
            if held.strip():
                shown = held.rstrip()
                held = held[len(shown) :]
                yield TextPiece(shown)
        if self._opened_a_call(text):
            yield from self._call_after(text)
            return
        if held:
            yield TextPiece(held)
        yield self._end("length" if finish_reason == "length" else "stop")

    def _opened_a_call(self, text: str) -> bool:
        """Whether the text was ended by a call's opening, and not by one of the client's stop strings."""
        written = self._llm.vocabulary.decode(self._token_ids)
        return written.decode("utf-8", "replace").startswith(self._opening_tag, len(text))

    def _call_after(self, text: str) -> Iterator[Event]:
        plan, params = self._plan, self._plan.sampling_params
        opened = self._llm.tokenizer.encode(text + self._llm.call_format.opening, add_special_tokens=False)
        left = None if params.max_tokens is None else params.max_tokens - len(self._token_ids)
        if left is not None and left < 1:
            yield self._end("length")
            return
        try:
            self._submit(
                (*plan.prompt_token_ids, *opened.ids), replace(params, stop=(), max_tokens=left), plan.call_grammar
            )
        except (BudgetTooSmall, PromptTooLong):  # no call fits in what is left
            yield self._end("length")
            return
        yield from self._call()

    def _call(self) -> Iterator[Event]:
        reader = self._llm.call_format.reader()
        for delta in self._received():
            yield from reader.feed(delta.text)
            if delta.finish_reason is not None:
                # A call that is whole is a call, also where the budget made it a short one.
                yield self._end("tool_calls" if delta.complete else "length")

    def _end(self, finish_reason: FinishReason) -> Ended:
        return Ended(finish_reason, len(self._token_ids), self._cached_tokens or 0)


def _opening_tag(llm: LLM) -> str:
    return llm.call_format.opening.strip()
