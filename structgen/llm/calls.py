"""Tools as the front door sees them, and the protocol of a call format.

A *call format* is a plugin (group ``structgen.call_formats``) that knows how one family of models is told about
tools and how it writes a call. This module says what such a plugin must give; the built-in ones live in
``structgen.tools``, a layer above, and are reached by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast, runtime_checkable

from structgen.engine.request import GrammarSpec
from structgen.errors import InvalidRequest, PluginError, ToolError
from structgen.llm.declarations import read_declaration
from structgen.plugins import registry

__all__ = [
    "CallDelta",
    "CallFormat",
    "CallReader",
    "Tool",
    "ToolCall",
    "as_tools",
    "declaration_of",
    "load_call_format",
]


@runtime_checkable
class Tool(Protocol):
    """Something that a model can call; ``@structgen.tool`` makes one of a function."""

    @property
    def name(self) -> str:
        """What the model calls it; matches :data:`~structgen.llm.declarations.TOOL_NAME`."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model; may be empty."""
        ...

    @property
    def parameters(self) -> dict[str, object]:
        """JSON Schema of the arguments, an object."""
        ...

    def validate(self, arguments: Mapping[str, object]) -> object:
        """Return the arguments as the tool takes them; changes nothing.

        Raises
        ------
        ToolError
            They do not fit; the message is shown to the model before it tries again.
        """
        ...

    def run(self, arguments: Mapping[str, object]) -> object:
        """Validate the arguments, run the tool, return what it returns."""
        ...


@dataclass(frozen=True)
class ToolCall:
    """One call that a model made.

    Parameters
    ----------
    name : str
        The tool's name.
    arguments : dict of str to object
        The arguments as JSON values, ``{}`` when there are none.
    tool : Tool or None
        The tool, once the call has been validated against it.
    """

    name: str
    arguments: dict[str, object] = field(default_factory=dict)
    tool: Tool | None = None

    def run(self) -> object:
        """Run the tool with these arguments and return what it returns.

        Raises
        ------
        ToolError
            The call belongs to no tool, or the tool was only declared and has no function to run.
        """
        if self.tool is None:
            raise ToolError(f"the call of {self.name!r} belongs to no tool that could be run")
        return self.tool.run(self.arguments)


@dataclass(frozen=True)
class CallDelta:
    """What a call that is being written grew by.

    Parameters
    ----------
    index : int
        Which call it is, from 0 in the order of the text.
    name : str or None
        The tool's name, in the first delta of a call; None in the others.
    arguments : str
        More of the arguments' JSON text. All deltas of a finished call together are one JSON object.
    """

    index: int
    name: str | None
    arguments: str


class CallReader(Protocol):
    """Reads calls from text that arrives in pieces; however it is cut, the calls are the same."""

    @property
    def inside_call(self) -> bool:
        """Whether the text so far ends within a call."""
        ...

    def feed(self, text: str) -> list[CallDelta]:
        """Read on, and return what is new: at most one delta a call.

        Raises
        ------
        ToolError
            Something ended that is no call.
        """
        ...


class CallFormat(Protocol):
    """How one family of models writes tool calls. An instance has no state; every method is safe at any time.

    The text of a call, as the model sees it in its own turn, is ``opening`` followed by a text of ``grammar``.
    ``opening`` is put behind the prompt, so the model does not spend a choice on it, and generation covers the rest.
    """

    @property
    def opening(self) -> str:
        r"""What every call begins with, such as ``"<tool_call>\n"``; may be empty."""
        ...

    def system_part(self, tools: Sequence[Tool]) -> str:
        """Describe the tools where the model's chat template does not show them itself."""
        ...

    def grammar(self, tools: Sequence[Tool]) -> GrammarSpec:
        """Return the grammar of exactly one call of one of the tools, without ``opening``."""
        ...

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls of an earlier assistant turn as the model would have written them."""
        ...

    def write_result(self, content: str) -> str:
        """Write a tool's result as a user turn, where the chat template has no ``tool`` role."""
        ...

    def reader(self) -> CallReader:
        """Return a reader for one answer that arrives in pieces; it takes the text after ``opening``."""
        ...

    def parse(self, text: str) -> list[ToolCall]:
        """Read the calls in a whole answer (``opening`` included; a closing tag may be missing).

        Raises
        ------
        ToolError
            The text has no call that can be read.
        """
        ...


def load_call_format(name: str) -> CallFormat:
    """Load the call format registered as ``name``.

    Raises
    ------
    InvalidRequest
        This is no name.
    PluginError
        There is none, or it cannot be loaded.
    """
    if not isinstance(name, str):
        raise InvalidRequest(f"call_format: expected a name, not {type(name).__name__}")
    made = registry("structgen.call_formats").load(name)
    if not callable(made):
        raise PluginError(f"structgen.call_formats: {name!r} is not a class or function that makes a call format")
    return cast(CallFormat, made())


def as_tools(tools: Sequence[object]) -> list[Tool]:
    """Tools from tool objects and OpenAI tool dictionaries.

    Raises
    ------
    InvalidRequest
        This is no list, one of them is neither, or two have one name; the message names the place.
    """
    if not isinstance(tools, Iterable) or isinstance(tools, (str, bytes, Mapping)):
        raise InvalidRequest(f"tools: expected a list of tools, not {type(tools).__name__}")
    found = [_as_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools)]
    if not found:
        raise InvalidRequest("tools: the list is empty; leave it out, or give a tool")
    names = [tool.name for tool in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidRequest(f"tools[{place}]: the name {name!r} is taken by tools[{names.index(name)}]")
    return found


def declaration_of(tool: Tool) -> dict[str, object]:
    """Return the tool as an OpenAI tool dictionary, which is what chat templates and models are shown."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _as_tool(tool: object, where: str) -> Tool:
    if isinstance(tool, Mapping):
        return read_declaration(cast("Mapping[str, object]", tool), where)
    if isinstance(tool, Tool):
        return tool
    raise InvalidRequest(
        f"{where}: expected a function under @structgen.tool or an OpenAI tool dictionary, not {type(tool).__name__}"
    )
