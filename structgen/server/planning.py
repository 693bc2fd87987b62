"""From a request to what the engine is asked: the prompt, how to choose tokens, what the answer may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from structgen.engine.request import GrammarSpec, SamplingParams
from structgen.errors import GrammarError, InvalidRequest, UnsupportedSchema
from structgen.grammars import check_openai_strict
from structgen.llm import LLM
from structgen.llm.calls import Tool, as_tools
from structgen.llm.forms import SchemaForm, TagForm, TextForm
from structgen.llm.json_schema import bounded_nesting
from structgen.llm.messages import read_messages
from structgen.llm.prompting import Question
from structgen.server.errors import ApiError, api_error
from structgen.server.requests import (
    AllowedToolsChoice,
    ChatCompletionRequest,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedToolChoice,
    StructuralTagFormat,
)

__all__ = ["Plan", "plan_completion"]

_TOKEN_ID = re.compile("[0-9]{1,20}")  # longer ones are no token of any model, and int() refuses the longest


@dataclass(frozen=True)
class Plan:
    """What is to be generated for each of the ``n`` choices.

    Parameters
    ----------
    prompt_token_ids : tuple of int
        Up to where the answer begins; where a call must come, its opening is part of the prompt.
    sampling_params : SamplingParams
        For the content.
    content_grammar : GrammarSpec or None
        What the content must be.
    call_grammar : GrammarSpec or None
        What a call must be; ``None`` when nothing may be called.
    must_call : bool
        Whether the answer is a call and nothing else.
    validate : callable or None
        Reads the whole content where its grammar may be wider than its schema; raises `AnswerRefused`.
    """

    prompt_token_ids: tuple[int, ...]
    sampling_params: SamplingParams
    content_grammar: GrammarSpec | None
    call_grammar: GrammarSpec | None
    must_call: bool
    validate: Callable[[str], object] | None = None


class _ContentWithTools(TextForm):
    """Free text, or the beginning of a call, by a model that is told about tools."""

    def __init__(self, instructions: str, opening: str) -> None:
        self.instructions = instructions
        self.opening = opening


def plan_completion(llm: LLM, request: ChatCompletionRequest) -> Plan:
    """Check the whole request and compile its grammars, so that nothing is wrong any more once it starts.

    Raises
    ------
    ApiError
        It cannot be served; the error names the field.
    InvalidRequest
        A message or a value is wrong.
    """
    _check_strict_tools(request)
    with _naming("tools"):
        tools = as_tools([tool.as_dict() for tool in request.tools]) if request.tools else []
    callable_tools, must_call = _choose(request, tools)
    params = _sampling_params(request)
    if callable_tools:
        return _plan_with_tools(llm, request, params, tools, callable_tools, must_call)
    form = _content_form(request)
    if form.grammar is not None:
        _prepare_content(llm, form.grammar, request)
    asked = request.response_format
    is_wide = isinstance(asked, JsonSchemaFormat) and asked.on_unsupported == "validate"
    validate = form.read if is_wide else None
    return Plan(_prompt(llm, request, form, ()), params, form.grammar, None, False, validate)


def _check_strict_tools(request: ChatCompletionRequest) -> None:
    for place, tool in enumerate(request.tools):
        if tool.function.strict and tool.function.parameters is not None:
            with _naming(f"tools[{place}].function.parameters"):
                check_openai_strict(tool.function.parameters)


def _plan_with_tools(
    llm: LLM,
    request: ChatCompletionRequest,
    params: SamplingParams,
    tools: Sequence[Tool],
    callable_tools: Sequence[Tool],
    must_call: bool,
) -> Plan:
    if request.logprobs:
        raise ApiError(400, "logprobs: not together with tools; set tool_choice='none'", "logprobs")
    if request.response_format.type != "text" and not must_call:
        message = "response_format: not together with tools that may be called; set tool_choice"
        raise ApiError(400, message, "response_format")
    if not must_call and not llm.call_format.opening.strip():
        message = "tool_choice: nothing marks where this model's calls begin, so it must call: set 'required' or 'none'"
        raise ApiError(400, message, "tool_choice")
    with _naming("tools"), bounded_nesting():
        grammar = llm.call_format.grammar(callable_tools)
    _prepare_calls(llm, grammar, request, callable_tools)
    # All tools are shown, also those that may not be called now: the prompt's beginning stays the same.
    instructions = "" if llm.prompt_writer.knows_tools else llm.call_format.system_part(tools)
    form = _ContentWithTools(instructions, llm.call_format.opening if must_call else "")
    return Plan(_prompt(llm, request, form, tools), params, None, grammar, must_call)


def _choose(request: ChatCompletionRequest, tools: Sequence[Tool]) -> tuple[Sequence[Tool], bool]:
    """The tools that may be called, and whether one must be."""
    choice = request.tool_choice
    if choice is None or choice == "auto":
        return tools, False
    if choice == "none":
        return [], False
    if not tools:
        raise ApiError(400, "tool_choice: there are no tools; give tools, or leave tool_choice out", "tool_choice")
    if isinstance(choice, NamedToolChoice):
        return [_named(choice, tools)], True
    if isinstance(choice, AllowedToolsChoice):
        allowed = [_named(tool, tools).name for tool in choice.allowed_tools.tools]
        return [tool for tool in tools if tool.name in allowed], choice.allowed_tools.mode == "required"
    return tools, True


def _named(choice: NamedToolChoice, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == choice.function.name:
            return tool
    names = ", ".join(tool.name for tool in tools)
    raise ApiError(400, f"tool_choice: no tool {choice.function.name!r}; there is {names}", "tool_choice")


def _sampling_params(request: ChatCompletionRequest) -> SamplingParams:
    limit = request.max_completion_tokens if request.max_tokens is None else request.max_tokens
    return SamplingParams(
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        min_p=request.min_p,
        seed=None if request.seed is None else request.seed % 2**64,
        max_tokens=limit,
        min_tokens=request.min_tokens,
        stop=request.stop if isinstance(request.stop, str) else tuple(request.stop),
        presence_penalty=request.presence_penalty,
        frequency_penalty=request.frequency_penalty,
        repetition_penalty=request.repetition_penalty,
        logit_bias=_logit_bias(request),
        logprobs=(request.top_logprobs or 0) if request.logprobs else None,
        allowed_mass=request.allowed_mass,
        ignore_eos=request.ignore_eos,
    )


def _logit_bias(request: ChatCompletionRequest) -> dict[int, float]:
    """JSON has only strings for keys; here they are token ids."""
    wrong = [key for key in request.logit_bias if not _TOKEN_ID.fullmatch(key)]
    if wrong:
        raise InvalidRequest(f"logit_bias: keys must be token ids, not {wrong[0][:40]!r}")
    return {int(key): bias for key, bias in request.logit_bias.items()}


def _content_form(request: ChatCompletionRequest) -> TextForm | SchemaForm:
    asked = request.response_format
    if isinstance(asked, StructuralTagFormat):
        return TagForm(asked.source)
    if isinstance(asked, JsonSchemaFormat):
        with _naming(asked.place):
            if asked.json_schema is not None and asked.json_schema.strict:
                check_openai_strict(asked.source)
            return SchemaForm(asked.source, asked.on_unsupported)
    return SchemaForm({"type": "object"}) if isinstance(asked, JsonObjectFormat) else TextForm()


def _prompt(
    llm: LLM, request: ChatCompletionRequest, form: TextForm | SchemaForm, tools: Sequence[Tool]
) -> tuple[int, ...]:
    messages = read_messages([message.as_dict() for message in request.messages])
    return llm.prompt_writer.write(Question(form, tuple(messages), tools=tuple(tools)))


def _prepare_content(llm: LLM, grammar: GrammarSpec, request: ChatCompletionRequest) -> None:
    asked = request.response_format
    if isinstance(asked, JsonSchemaFormat):
        return _prepare(llm, grammar, asked.place)
    if isinstance(asked, StructuralTagFormat):
        return _prepare(llm, grammar, "response_format")
    try:
        llm.client.prepare(grammar)
    except UnsupportedSchema as error:
        message = "response_format: any JSON object cannot be held exactly by this version; give a json_schema"
        raise ApiError(400, message, "response_format", "unsupported_schema") from error


def _prepare(llm: LLM, grammar: GrammarSpec, place: str) -> None:
    with _naming(place):
        llm.client.prepare(grammar)


@contextmanager
def _naming(place: str) -> Generator[None, None, None]:
    """Say of a schema that cannot be held where it is in the request."""
    try:
        yield
    except GrammarError as error:
        raise api_error(error, place) from error


def _prepare_calls(
    llm: LLM, grammar: GrammarSpec, request: ChatCompletionRequest, callable_tools: Sequence[Tool]
) -> None:
    try:
        llm.client.prepare(grammar)
    except GrammarError as error:
        places = {tool.function.name: place for place, tool in enumerate(request.tools)}
        for tool in callable_tools:  # the one that cannot be held alone either, with a pointer into its own parameters
            _prepare(
                llm,
                GrammarSpec("json_schema", tool.parameters),
                f"tools[{places[tool.name]}].function.parameters",
            )
        raise api_error(error, "tools") from error
