"""The Hermes call format: JSON between ``<tool_call>`` tags, as Hermes, Qwen 2.5 and Qwen 3 write it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from structgen.engine.request import GrammarSpec
from structgen.errors import ToolError
from structgen.llm.arguments import JSON, decode_arguments
from structgen.llm.calls import Tool, ToolCall, declaration_of
from structgen.tools.call_formats.call_reader import JsonCallReader
from structgen.tools.call_formats.call_schema import call_schema

__all__ = ["HermesFormat"]

OPENING_TAG = "<tool_call>"
CLOSING_TAG = "</tool_call>"

_SYSTEM_PART = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{signatures}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
"""Word for word what these models were trained on."""


class HermesFormat:
    """Calls as ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``; follows ``CallFormat``.

    The models were trained with these tags and texts (https://github.com/NousResearch/Hermes-Function-Calling; the
    chat template of Qwen 2.5); others understand them from the system part.
    """

    @property
    def opening(self) -> str:
        """What every call begins with."""
        return f"{OPENING_TAG}\n"

    def system_part(self, tools: Sequence[Tool]) -> str:
        """The tools, one a line, and how to call them."""
        return _SYSTEM_PART.format(signatures="\n".join(_to_json(declaration_of(tool)) for tool in tools))

    def grammar(self, tools: Sequence[Tool]) -> GrammarSpec:
        """Exactly one call of one of the tools, without the tags."""
        return GrammarSpec("json_schema", call_schema(tools))

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        """Calls in their tags, characters as they are and not escaped."""
        return "\n".join(
            f"{OPENING_TAG}\n{_to_json({'name': call.name, 'arguments': call.arguments})}\n{CLOSING_TAG}"
            for call in calls
        )

    def write_result(self, content: str) -> str:
        """A result in its tags."""
        return f"<tool_response>\n{content}\n</tool_response>"

    def parse(self, text: str) -> list[ToolCall]:
        """The calls in a text: each object after an opening tag, or the objects that are the whole text.

        Where an object ends is found by reading it as JSON, so that a tag inside a string is part of the string.
        A call that cannot be read does not take the others with it.

        Raises
        ------
        ToolError
            No call can be read.
        """
        calls: list[ToolCall] = []
        failure: Exception | None = None
        place = _next_call(text, 0)
        while place is not None:
            try:
                value, place = JSON.raw_decode(text, place)
                calls.append(_as_call(value))
            except (json.JSONDecodeError, RecursionError, ToolError) as error:
                failure = error
                place += 1
            place = _next_call(text, place)
        if not calls:
            reason = failure or f"there is neither {OPENING_TAG} nor a bare JSON object"
            raise ToolError(f"no call can be read from {text!r}: {reason}") from failure
        return calls

    def reader(self) -> JsonCallReader:
        """A new reader for text that arrives in pieces; it takes what comes after the opening."""
        return JsonCallReader()


def _next_call(text: str, place: int) -> int | None:
    """Where the next call's JSON begins, from ``place`` on; in a text without tags, objects follow each other."""
    if OPENING_TAG in text:
        tag = text.find(OPENING_TAG, place)
        return None if tag < 0 else _skip_space(text, tag + len(OPENING_TAG))
    start = _skip_space(text, place)
    return start if text.startswith("{", start) else None


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _as_call(value: object) -> ToolCall:
    if not isinstance(value, dict):
        raise ToolError(f'a call must be {{"name": ..., "arguments": {{...}}}}, not {value!r}')
    call = cast("dict[str, Any]", value)
    if not isinstance(call.get("name"), str):
        raise ToolError(f"a call must have a name: {call!r}")
    return ToolCall(call["name"], decode_arguments(call.get("arguments")))


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
