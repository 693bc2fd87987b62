"""Chat templates: the Jinja text inside a model's files, rendered as ``transformers`` renders it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from structgen.errors import InvalidModelFile, InvalidRequest

__all__ = ["ChatTemplate"]


class ChatTemplate:
    """How a model wants a conversation written.

    A template is code from a stranger's file, so it runs in Jinja's immutable sandbox and sees nothing but plain JSON
    data. The dialect is that of ``transformers``: blocks are trimmed, ``tojson`` escapes neither HTML nor Unicode,
    ``raise_exception``, ``strftime_now``, loop controls and ``{% generation %}`` exist.

    Parameters
    ----------
    source : str
        The template.
    tool_source : str, optional
        The template to use when there are tools, where the files have one of its own.
    special_tokens : Mapping[str, str], optional
        Variables such as ``bos_token`` and ``eos_token``.
    origin : str, optional
        The file it came from, for error messages.

    Raises
    ------
    InvalidModelFile
        A template is not well-formed.
    """

    def __init__(
        self,
        source: str,
        *,
        tool_source: str | None = None,
        special_tokens: Mapping[str, str] | None = None,
        origin: str = "the model",
    ) -> None:
        self.source = source
        self._origin = origin
        self._special_tokens = dict(special_tokens or {})
        self._template = _compile(source, origin)
        self._tool_template = self._template if tool_source is None else _compile(tool_source, origin)

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Write a conversation as the text that the model continues.

        The text holds the model's special tokens, a beginning of text among them: encode it without adding any.

        Parameters
        ----------
        messages : sequence of mappings
            ``{"role": ..., "content": ...}`` and what else the template knows; keys whose value is None are left out.
        tools : sequence of mappings, optional
            Tools as JSON, in OpenAI's form.
        add_generation_prompt : bool
            Whether to end with the opening of the assistant's turn.
        **variables
            Further variables of the template, such as ``enable_thinking``.

        Raises
        ------
        InvalidRequest
            The template refuses the conversation or fails on it, or something in it is not plain JSON data.
        """
        present = [{key: value for key, value in message.items() if value is not None} for message in messages]
        given = {"messages": present, "tools": list(tools) if tools else None, **variables}
        template = self._tool_template if tools else self._template
        try:
            data = json.loads(json.dumps(given))
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"a conversation must be plain JSON data: {error}") from error
        try:
            return template.render({**self._special_tokens, **data, "add_generation_prompt": add_generation_prompt})
        except Exception as error:  # a template is somebody's code: it can raise anything
            raise InvalidRequest(
                f"the chat template of {self._origin} cannot write this conversation: {error}; "
                "change the messages or their roles, or pass raw text"
            ) from error


def _compile(source: str, origin: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        raise InvalidModelFile(
            f"{origin}: the chat template is not valid Jinja, line {error.lineno}: {error.message}; "
            "get the file again, or pass raw text instead of messages"
        ) from error


class _Generation(Extension):
    """``{% generation %}...{% endgeneration %}`` marks the assistant's text for training; here it is only its body."""

    tags: set[str] = {"generation"}  # noqa: RUF012 (Jinja declares it so)

    def parse(self, parser: Parser) -> nodes.Node:
        """Read the block and return its body in a scope of its own, as the original has it."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)
