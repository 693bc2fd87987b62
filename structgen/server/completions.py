"""Answers as OpenAI's objects: whole, or as the chunks of a stream. Both are made of the same events."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from structgen.engine.request import TokenLogprobs
from structgen.llm import LLM
from structgen.llm.calls import CallDelta
from structgen.server.requests import ChatCompletionRequest
from structgen.server.responses import (
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    ChunkChoice,
    ChunkDelta,
    ChunkFunction,
    ChunkToolCall,
    CompletionUsage,
    CountedChunk,
    Function,
    Logprobs,
    PromptTokensDetails,
    ReplyMessage,
    TokenLogprob,
    ToolCall,
    TopLogprob,
)
from structgen.server.turns import Ended, Event, TextPiece

__all__ = ["Reply"]

_LOWEST_LOGPROB = -9999.0
"""OpenAI's number for a token that cannot come: JSON has no infinity."""


@dataclass
class _Gathered:
    """What has come of one choice."""

    text: str | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list[TokenLogprob])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])


class Reply:
    """The reply to one request.

    Parameters
    ----------
    llm : LLM
        Its vocabulary names the tokens of log-probabilities.
    request : ChatCompletionRequest
        What was asked.
    prompt_tokens : int
        Length of the prompt.
    """

    def __init__(self, llm: LLM, request: ChatCompletionRequest, prompt_tokens: int) -> None:
        self._llm = llm
        self._request = request
        self._prompt_tokens = prompt_tokens
        self._id = f"chatcmpl-{uuid.uuid4().hex}"
        self._created = int(time.time())

    async def whole(self, events: AsyncIterator[tuple[int, Event]]) -> ChatCompletion:
        """The reply once all its events are there."""
        gathered = [_Gathered() for _ in range(self._request.n)]
        ends: dict[int, Ended] = {}
        async for place, event in events:
            if isinstance(event, Ended):
                ends[place] = event
            else:
                self._gather(gathered[place], event)
        return ChatCompletion(
            id=self._id,
            created=self._created,
            model=self._request.model,
            choices=[self._choice(place, gathered[place], ends[place]) for place in range(self._request.n)],
            usage=self._usage(list(ends.values())),
        )

    async def chunks(self, events: AsyncIterator[tuple[int, Event]]) -> AsyncIterator[ChatCompletionChunk]:
        """The reply as it comes: a role, pieces and an end for each choice, then the usage if it was asked for."""
        for place in range(self._request.n):
            yield self._chunk(place, ChunkDelta(role="assistant", content=""))
        ends: list[Ended] = []
        async for place, event in events:
            if isinstance(event, Ended):
                ends.append(event)
            yield self._chunk_of(place, event)
        if self._counts_usage:
            yield CountedChunk(
                id=self._id, created=self._created, model=self._request.model, choices=[], usage=self._usage(ends)
            )

    def _gather(self, gathered: _Gathered, event: TextPiece | CallDelta) -> None:
        if isinstance(event, TextPiece):
            gathered.text = (gathered.text or "") + event.text
            gathered.logprobs.extend(self._token_logprobs(event.logprobs))
        elif event.name is not None:
            function = Function(name=event.name, arguments=event.arguments)
            gathered.calls.append(ToolCall(id=_call_id(), function=function))
        else:
            gathered.calls[event.index].function.arguments += event.arguments

    def _choice(self, place: int, gathered: _Gathered, end: Ended) -> Choice:
        # A call that the budget cut is no call to be made: its arguments are not JSON.
        calls = gathered.calls if end.finish_reason == "tool_calls" else []
        content = gathered.text if calls else gathered.text or ""
        return Choice(
            index=place,
            message=ReplyMessage(content=content, tool_calls=calls or None),
            logprobs=Logprobs(content=gathered.logprobs) if self._request.logprobs else None,
            finish_reason=end.finish_reason,
        )

    def _chunk_of(self, place: int, event: Event) -> ChatCompletionChunk:
        if isinstance(event, TextPiece):
            return self._chunk(place, ChunkDelta(content=event.text), event.logprobs)
        if isinstance(event, Ended):
            return self._chunk(place, ChunkDelta(), end=event)
        is_first = event.name is not None
        call = ChunkToolCall(
            index=event.index,
            id=_call_id() if is_first else None,
            type="function" if is_first else None,
            function=ChunkFunction(name=event.name, arguments=event.arguments),
        )
        return self._chunk(place, ChunkDelta(tool_calls=[call]))

    def _chunk(
        self,
        place: int,
        delta: ChunkDelta,
        logprobs: Sequence[TokenLogprobs] = (),
        end: Ended | None = None,
    ) -> ChatCompletionChunk:
        choice = ChunkChoice(
            index=place,
            delta=delta,
            logprobs=Logprobs(content=self._token_logprobs(logprobs)) if logprobs else None,
            finish_reason=None if end is None else end.finish_reason,
        )
        if self._counts_usage:
            return CountedChunk(
                id=self._id, created=self._created, model=self._request.model, choices=[choice], usage=None
            )
        return ChatCompletionChunk(id=self._id, created=self._created, model=self._request.model, choices=[choice])

    @property
    def _counts_usage(self) -> bool:
        return self._request.stream_options is not None and self._request.stream_options.include_usage

    def _usage(self, ends: Sequence[Ended]) -> CompletionUsage:
        completion = sum(end.completion_tokens for end in ends)
        return CompletionUsage(
            prompt_tokens=self._prompt_tokens,
            completion_tokens=completion,
            total_tokens=self._prompt_tokens + completion,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=min(end.cached_tokens for end in ends)),
        )

    def _token_logprobs(self, entries: Sequence[TokenLogprobs]) -> list[TokenLogprob]:
        return [
            TokenLogprob(
                **self._named(entry.token_id, entry.logprob).model_dump(),
                top_logprobs=[self._named(token_id, logprob) for token_id, logprob in entry.top],
                allowed_mass=entry.allowed_mass,
            )
            for entry in entries
        ]

    def _named(self, token_id: int, logprob: float) -> TopLogprob:
        """A token as text (a special one by its name) and bytes."""
        spelt = self._llm.vocabulary.token_bytes(token_id)
        name = spelt.decode("utf-8", "replace") or self._llm.tokenizer.id_to_token(token_id) or ""
        return TopLogprob(token=name, logprob=max(logprob, _LOWEST_LOGPROB), bytes=list(spelt))


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"
