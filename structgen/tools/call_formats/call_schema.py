"""One JSON Schema for a call of any of several tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from structgen.llm.calls import Tool
from structgen.llm.json_schema import map_subschemas

__all__ = ["call_schema"]


def call_schema(tools: Sequence[Tool]) -> dict[str, object]:
    """The schema of ``{"name": ..., "arguments": {...}}``, one alternative a tool.

    Each tool's parameters stand whole under ``$defs/<tool's name>`` and their local references are moved along, so
    that definitions of one name in two tools never meet. The tools' own schemas are not changed.

    Parameters
    ----------
    tools : Sequence[Tool]
        At least one, of different names.
    """
    alternatives: list[object] = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": {"$ref": _place(tool)}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return {"anyOf": alternatives, "$defs": {tool.name: _moved(tool.parameters, _place(tool)) for tool in tools}}


def _place(tool: Tool) -> str:
    """A reference to the tool's parameters; its name as a JSON pointer and a URI escape it."""
    return "#/$defs/" + quote(tool.name.replace("~", "~0").replace("/", "~1"))


def _moved(schema: Mapping[str, object], place: str) -> dict[str, object]:
    """A copy that means the same when it stands at ``place``."""
    if "$id" in schema:  # its references are relative to itself already
        return dict(schema)
    moved = map_subschemas(schema, lambda part: _moved(part, place))
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        moved["$ref"] = place + reference[1:]
    return moved
