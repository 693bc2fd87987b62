"""What a client may send to ``/v1/chat/completions``: OpenAI's fields, and a few of our own.

Beyond OpenAI there are ``top_k``, ``min_p``, ``min_tokens``, ``repetition_penalty``, ``ignore_eos`` and, with
``logprobs``, ``allowed_mass``, as :class:`~structgen.SamplingParams` has them. A field that is ``null`` counts as left
out. A field that is not here is refused and never ignored; those of :data:`HARMLESS_FIELDS` are taken and have no
effect on the answer.

``stop`` counts for the content, also where it is held to a schema: a stop string inside it cuts the JSON there. It
never cuts a tool call. A schema is shown to the model in its system message, as are tools.

Two more fields are checked and change nothing, since every answer is as they may ask: ``parallel_tool_calls`` (there is
at most one call, whether true or false) and ``modalities`` (only ``["text"]``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from typing_extensions import Self

from structgen.llm.declarations import TOOL_NAME

__all__ = [
    "HARMLESS_FIELDS",
    "AllowedToolsChoice",
    "ChatCompletionRequest",
    "JsonObjectFormat",
    "JsonSchemaFormat",
    "Message",
    "NamedToolChoice",
    "ResponseFormat",
    "StructuralTagFormat",
    "ToolChoice",
    "ToolDefinition",
]

JsonObject: TypeAlias = dict[str, Any]


class _Part(BaseModel):
    """A part of a request: nothing unknown in it, no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Message(_Part):
    """One message of the conversation; its content and calls are read by :func:`structgen.llm.messages.read_messages`.

    ``annotations``, ``audio``, ``function_call`` and ``refusal`` are there because clients send an answer back as they
    got it; only the empty values that this server writes are taken.
    """

    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: str | list[JsonObject] | None = None
    name: str | None = None
    tool_calls: list[JsonObject] | None = None
    tool_call_id: str | None = None
    annotations: Annotated[list[JsonObject], Field(max_length=0)] | None = None
    audio: None = None
    function_call: None = None
    refusal: None = None

    @model_validator(mode="after")
    def _only_an_assistant_may_say_nothing(self) -> Self:
        if self.content is None and self.role != "assistant":
            raise ValueError(f"a message of the role {self.role!r} needs content")
        return self

    def as_dict(self) -> JsonObject:
        """The message with what models are shown; a developer's message is a system message."""
        fields = ("role", "content", "name", "tool_calls", "tool_call_id")
        shown = {name: value for name in fields if (value := getattr(self, name)) is not None}
        return {**shown, "role": "system"} if self.role == "developer" else shown


class FunctionDefinition(_Part):
    """A function that the model may call. Its arguments are always held to its schema.

    With ``strict`` that must lie in OpenAI's strict subset.
    """

    name: str = Field(pattern=f"^{TOOL_NAME}$")
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class ToolDefinition(_Part):
    """A tool; functions are the only kind."""

    type: Literal["function"]
    function: FunctionDefinition

    def as_dict(self) -> JsonObject:
        """The definition as it came; ``model_dump`` would refuse a schema of 255 levels."""
        return {"type": self.type, "function": dict(self.function)}


class ToolName(_Part):
    """The name of a function."""

    name: str


class NamedToolChoice(_Part):
    """The function that must be called."""

    type: Literal["function"]
    function: ToolName


class AllowedTools(_Part):
    """The functions that may be called, of all that are shown."""

    mode: Literal["auto", "required"]
    tools: list[NamedToolChoice] = Field(min_length=1)


class AllowedToolsChoice(_Part):
    """A choice among some of the tools."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _kind_of_choice(choice: object) -> str | None:
    if isinstance(choice, str):
        return "mode"
    kind = cast("JsonObject", choice).get("type") if isinstance(choice, dict) else getattr(choice, "type", None)
    return kind if isinstance(kind, str) else None


ToolChoice: TypeAlias = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedToolChoice, Tag("function")]
    | Annotated[AllowedToolsChoice, Tag("allowed_tools")],
    Discriminator(_kind_of_choice),
]


class TextFormat(_Part):
    """Any text."""

    type: Literal["text"]


class JsonObjectFormat(_Part):
    """Any JSON object."""

    type: Literal["json_object"]


class NamedSchema(_Part):
    """A JSON Schema in OpenAI's wrapping. It is always held; with ``strict`` it must lie in OpenAI's strict subset."""

    name: str | None = None
    description: str | None = None
    json_schema: JsonObject = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(_Part):
    """JSON under a schema, in the nested form (``json_schema.schema``) or the bare one (``schema``).

    With ``on_unsupported="validate"``, which OpenAI does not have, a keyword that no grammar holds is left out of it;
    the finished text is then validated, drawn again if need be, and sent in one piece also where it is streamed.
    """

    type: Literal["json_schema"]
    json_schema: NamedSchema | None = None
    on_unsupported: Literal["error", "validate"] = "error"
    bare_schema: JsonObject | None = Field(default=None, alias="schema")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.json_schema is None) == (self.bare_schema is None):
            raise ValueError("give the schema once, as json_schema.schema or as schema")
        return self

    @property
    def source(self) -> JsonObject:
        """The schema itself."""
        return self.json_schema.json_schema if self.json_schema is not None else self.bare_schema or {}

    @property
    def place(self) -> str:
        """Where the schema is in the request."""
        return "response_format.schema" if self.json_schema is None else "response_format.json_schema.schema"


class StructuralTagFormat(_Part):
    """A structural tag as vLLM takes it, in either form; see `structgen.grammars.structural_tag`."""

    type: Literal["structural_tag"]
    format: JsonObject | None = None
    structures: list[JsonObject] | None = None
    triggers: list[Any] | None = None

    @property
    def source(self) -> JsonObject:
        """The structural tag itself."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


ResponseFormat: TypeAlias = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat, Field(discriminator="type")
]


class StreamOptions(_Part):
    """What a stream contains. Chunks are never padded, so ``include_obfuscation`` changes nothing."""

    include_usage: bool = False
    include_obfuscation: bool | None = None


class _HarmlessFields(_Part):
    """Top-level fields about billing, caching and record keeping: they say nothing about what the answer is."""

    metadata: JsonObject | None = None
    prediction: JsonObject | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: JsonObject | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    user: str | None = None


HARMLESS_FIELDS = tuple(_HarmlessFields.model_fields)
"""Top-level fields that are checked and then have no effect on the answer."""


class ChatCompletionRequest(_HarmlessFields):
    """The body of ``POST /v1/chat/completions``."""

    model: str
    messages: list[Message] = Field(min_length=1)

    allowed_mass: bool = False
    frequency_penalty: float = 0.0
    ignore_eos: bool = False
    logit_bias: dict[str, float] = Field(default_factory=dict[str, float])
    logprobs: bool = False
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    min_p: float = 0.0
    min_tokens: int = 0
    modalities: list[Literal["text"]] | None = None
    n: int = Field(default=1, ge=1, le=128)
    parallel_tool_calls: bool = True
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    response_format: ResponseFormat = Field(default_factory=lambda: TextFormat(type="text"))
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: str | list[str] = Field(default_factory=list[str])
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float = Field(default=1.0, ge=0, le=2)
    tool_choice: ToolChoice | None = None
    tools: list[ToolDefinition] = Field(default_factory=list[ToolDefinition])
    top_k: int = 0
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    top_p: float = 1.0

    @model_validator(mode="before")
    @classmethod
    def _without_what_says_nothing(cls, body: object) -> object:
        if not isinstance(body, dict):
            return body
        fields = cast("JsonObject", body)
        return {name: value for name, value in fields.items() if value is not None}

    @model_validator(mode="after")
    def _fields_that_belong_together(self) -> Self:
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options: only with stream=true")
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs: only with logprobs=true")
        if self.allowed_mass and not self.logprobs:
            raise ValueError("allowed_mass: only with logprobs=true")
        both = (self.max_tokens, self.max_completion_tokens)
        if None not in both and both[0] != both[1]:
            raise ValueError(f"max_tokens and max_completion_tokens differ: {both[0]} and {both[1]}; give one of them")
        return self
