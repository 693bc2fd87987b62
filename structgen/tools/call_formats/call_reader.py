"""Reads calls, written as JSON objects, from text that arrives in pieces."""

from __future__ import annotations

import json

from structgen.errors import ToolError
from structgen.llm.arguments import decode_arguments
from structgen.llm.calls import CallDelta

__all__ = ["JsonCallReader"]


class JsonCallReader:
    """Reads objects ``{"name": ..., "arguments": {...}}``, with anything but a brace between them.

    The arguments are passed on as they come and as they were written, so that one text gives one result however it
    was cut into pieces. Four things are put right: white space between tokens is left out, so that no arguments are
    always ``{}``; a raw control character in a string is escaped; arguments that are ``null``, left out or JSON text
    inside a string become the object that they mean; arguments that come before the name wait for it.
    """

    def __init__(self) -> None:
        self._index = -1
        self._start_object()
        self._depth = 0

    @property
    def inside_call(self) -> bool:
        """Whether the text so far ends within a call."""
        return self._depth > 0

    def feed(self, text: str) -> list[CallDelta]:
        """Read on, and return what is new: at most one delta a call.

        Raises
        ------
        ToolError
            An object ended that is no call.
        """
        deltas: list[CallDelta] = []
        for character in text:
            was_inside = self.inside_call
            self._read(character)
            if was_inside and not self.inside_call:
                deltas.extend(self._news())
        return [*deltas, *self._news()] if self.inside_call else deltas

    def _start_object(self) -> None:
        self._depth = 1
        self._in_string = self._escaped = False
        self._key: str | None = None
        self._part: list[str] = []  # the text of the key or value that is being read
        self._name: str | None = None
        self._announced = False
        self._has_arguments = False
        self._arguments: list[str] = []  # text of the arguments that was not yet passed on

    def _read(self, character: str) -> None:
        if self._depth == 0:
            if character == "{":
                self._start_object()
                self._index += 1
        elif self._in_string:
            self._read_in_string(character)
        elif self._depth == 1 and character in ":,}":
            self._end_part(character)
        elif not character.isspace():
            self._in_string = character == '"'
            self._append(character)
            self._depth += (character in "{[") - (character in "}]")

    def _read_in_string(self, character: str) -> None:
        self._append(character if character >= " " else json.dumps(character)[1:-1])
        if self._escaped:
            self._escaped = False
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            self._in_string = False

    def _append(self, piece: str) -> None:
        if self._key == "arguments" and self._depth == 1 and piece == "{" and not self._part:
            self._has_arguments = True  # an object: it is passed on as it comes
        (self._arguments if self._key == "arguments" and self._has_arguments else self._part).append(piece)

    def _end_part(self, end: str) -> None:
        """A key (``:``) or a value (``,`` or ``}``) at the first level has ended."""
        text = "".join(self._part)
        self._part = []
        if end == ":":
            self._key = _read_string(text)
            return
        if self._key == "name":
            self._name = _read_string(text)
        elif self._key == "arguments" and not self._has_arguments:
            self._arguments.append(json.dumps(decode_arguments(text), ensure_ascii=False))
            self._has_arguments = True
        self._key = None
        if end == "}":
            self._end_object()

    def _end_object(self) -> None:
        self._depth = 0
        if self._name is None:
            raise ToolError('a call must be {"name": ..., "arguments": {...}}; this one has no name')
        if not self._has_arguments:
            self._arguments.append("{}")

    def _news(self) -> list[CallDelta]:
        """What is known of the call and was not passed on before."""
        if self._name is None or (self._announced and not self._arguments):
            return []
        delta = CallDelta(self._index, None if self._announced else self._name, "".join(self._arguments))
        self._announced = True
        self._arguments = []
        return [delta]


def _read_string(text: str) -> str:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ToolError(f"a call is not JSON at {text!r}") from error
    if not isinstance(value, str):
        raise ToolError(f"a call's keys and name must be strings, not {text}")
    return value
