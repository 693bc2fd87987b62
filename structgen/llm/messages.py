"""Conversations as callers give them, brought to the one form that chat templates understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from structgen.errors import InvalidRequest, ToolError
from structgen.llm.arguments import decode_arguments
from structgen.llm.calls import ToolCall

__all__ = ["Message", "are_conversations", "read_messages"]

Message: TypeAlias = dict[str, object]
"""``role``, ``content`` (always a string) and, in an assistant's turn, ``tool_calls`` with decoded arguments."""


def are_conversations(messages: object) -> bool:
    """Say whether this is a list of conversations rather than one.

    Raises
    ------
    InvalidRequest
        It is neither, or an empty conversation.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes)):
        raise InvalidRequest(f"messages: expected a list of messages, not {type(messages).__name__}")
    if not messages:
        raise InvalidRequest("messages: the list is empty; give at least one message")
    return not isinstance(messages[0], Mapping)


def read_messages(messages: Sequence[object], where: str = "messages") -> list[Message]:
    """Copy a conversation with every content a string and every call's arguments an object.

    What clients send for "nothing" (no content, None, an empty string) becomes ``""``; text parts are joined;
    arguments are read by :func:`~structgen.llm.arguments.decode_arguments`.

    Raises
    ------
    InvalidRequest
        Something is malformed; the message names its place.
    """
    are_conversations(messages)
    return [_message(message, f"{where}[{place}]") for place, message in enumerate(messages)]


def _message(message: object, where: str) -> Message:
    if not isinstance(message, Mapping):
        raise InvalidRequest(f"{where}: expected an object with role and content, not {type(message).__name__}")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise InvalidRequest(f"{where}.role: expected a role such as 'user', not {role!r}")
    read: Message = {**message, "content": _content(message.get("content"), f"{where}.content")}
    calls = read.pop("tool_calls", None)
    if calls:
        if not isinstance(calls, Sequence) or isinstance(calls, str):
            raise InvalidRequest(f"{where}.tool_calls: expected a list, not {type(calls).__name__}")
        read["tool_calls"] = [_call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(calls)]
    return read


def _content(content: object, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return "".join(_text_part(part, f"{where}[{place}]") for place, part in enumerate(content))
    raise InvalidRequest(f"{where}: expected text or a list of text parts, not {type(content).__name__}")


def _text_part(part: object, where: str) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return cast(str, part["text"])
    raise InvalidRequest(f'{where}: only text parts can be read, {{"type": "text", "text": ...}}')


def _call(call: object, where: str) -> dict[str, object]:
    if isinstance(call, ToolCall):
        return {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise InvalidRequest(f'{where}: expected {{"type": "function", "function": {{"name": ..., "arguments": ...}}}}')
    if not isinstance(function.get("name"), str):
        raise InvalidRequest(f"{where}.function.name: expected a string, not {function.get('name')!r}")
    arguments = _arguments(function.get("arguments"), f"{where}.function.arguments")
    return {**call, "function": {**function, "arguments": arguments}}


def _arguments(arguments: object, where: str) -> dict[str, object]:
    try:
        return decode_arguments(arguments)
    except ToolError as error:
        raise InvalidRequest(f"{where}: {error}") from error
