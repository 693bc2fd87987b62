"""What ``/v1`` answers: OpenAI's objects, with the fields that this server fills."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

__all__ = [
    "ChatCompletion",
    "ChatCompletionChunk",
    "Choice",
    "ChunkChoice",
    "ChunkDelta",
    "ChunkFunction",
    "ChunkToolCall",
    "CompletionUsage",
    "CountedChunk",
    "ErrorBody",
    "ErrorDetails",
    "FinishReason",
    "Function",
    "Logprobs",
    "Model",
    "ModelList",
    "ReplyMessage",
    "TokenLogprob",
    "ToolCall",
    "TopLogprob",
]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"]
"""``tool_calls`` for every answer that ends in a whole call, a named one too; a call that is cut is ``length``."""


class _Body(BaseModel):
    """A part of a response. A field with a default is left out when it is null; one without is always there."""

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if value is not None or fields[name].is_required()}


class TopLogprob(_Body):
    """One of the most likely tokens at a place, with the natural logarithm of its probability."""

    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    """A token of the answer; ``allowed_mass`` is the probability of all tokens that its grammar left, if asked for."""

    top_logprobs: list[TopLogprob]
    allowed_mass: float | None = None


class Logprobs(_Body):
    """One entry a token of the content."""

    content: list[TokenLogprob]


class PromptTokensDetails(_Body):
    """Of the prompt's tokens, how many need not be computed for any of the choices."""

    cached_tokens: int


class CompletionUsage(_Body):
    """Tokens taken, of all choices together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails


class Function(_Body):
    """A function's name and its arguments as JSON text, never empty."""

    name: str
    arguments: str


class ToolCall(_Body):
    """One call."""

    id: str
    type: Literal["function"] = "function"
    function: Function


class ReplyMessage(_Body):
    """The assistant's message; ``content`` is null where there are only calls."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    tool_calls: list[ToolCall] | None = None


class Choice(_Body):
    """One of ``n`` answers."""

    index: int
    message: ReplyMessage
    logprobs: Logprobs | None
    finish_reason: FinishReason


class ChatCompletion(_Body):
    """The answer to a request without ``stream``."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage


class ChunkFunction(_Body):
    """What a function's call grew by; the name only in a call's first chunk."""

    name: str | None = None
    arguments: str


class ChunkToolCall(_Body):
    """What a call grew by; ``id`` and ``type`` only in its first chunk, ``index`` in each."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: ChunkFunction


class ChunkDelta(_Body):
    """What a message grew by."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    tool_calls: list[ChunkToolCall] | None = None


class ChunkChoice(_Body):
    """What one of ``n`` answers grew by."""

    index: int
    delta: ChunkDelta
    logprobs: Logprobs | None = None
    finish_reason: FinishReason | None


class ChatCompletionChunk(_Body):
    """One event of a stream."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]


class CountedChunk(ChatCompletionChunk):
    """One event of a stream with ``stream_options.include_usage``: ``usage`` is null in all but the last."""

    usage: CompletionUsage | None


class Model(_Body):
    """A model that this server runs."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["structgen"] = "structgen"


class ModelList(_Body):
    """All of them."""

    object: Literal["list"] = "list"
    data: list[Model]


class ErrorDetails(_Body):
    """What went wrong, which field is at fault, and a word for programs to look at."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: str | None
    code: str | None


class ErrorBody(_Body):
    """The body of every response that is an error."""

    error: ErrorDetails
