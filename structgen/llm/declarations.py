"""Tools that are known by their declaration: OpenAI's tool dictionaries, read and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from structgen.errors import InvalidRequest, ToolError
from structgen.llm.json_schema import bounded_nesting, check_instance, close_objects

__all__ = ["TOOL_NAME", "DeclaredTool", "read_declaration"]

TOOL_NAME = r"[A-Za-z0-9_-]{1,64}"
"""Pattern of a tool's whole name: OpenAI's rule, which every client and model knows."""


@dataclass(frozen=True)
class DeclaredTool:
    """A tool known by its declaration alone (an OpenAI tool dictionary): it can be called but not run here."""

    name: str
    description: str
    parameters: dict[str, object]

    def validate(self, arguments: Mapping[str, object]) -> object:
        """Return the arguments if they fit ``parameters``.

        Raises
        ------
        ToolError
            They do not.
        """
        wrong = check_instance(dict(arguments), self.parameters)
        if wrong is not None:
            raise ToolError(f"{self.name}: {wrong}")
        return dict(arguments)

    def run(self, arguments: Mapping[str, object]) -> object:
        """Refuse: there is no function behind a declaration.

        Raises
        ------
        ToolError
            Always.
        """
        raise ToolError(f"{self.name!r} was declared as a dictionary; there is no function to run")


def read_declaration(declaration: Mapping[str, object], where: str) -> DeclaredTool:
    """Read an OpenAI tool dictionary.

    Parameters
    ----------
    declaration : mapping
        ``{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}``.
    where : str
        Its place, for messages.

    Raises
    ------
    InvalidRequest
        It is malformed; the message names the place.
    """
    function = declaration.get("function")
    if declaration.get("type") != "function" or not isinstance(function, Mapping):
        raise InvalidRequest(f'{where}: expected {{"type": "function", "function": {{"name": ...}}}}')
    name = function.get("name")
    if not isinstance(name, str) or not re.fullmatch(TOOL_NAME, name):
        raise InvalidRequest(f"{where}.function.name: expected a name of the form {TOOL_NAME}, not {name!r}")
    description = function.get("description") or ""
    if not isinstance(description, str):
        raise InvalidRequest(f"{where}.function.description: expected a string, not {description!r}")
    return DeclaredTool(name, description, _parameters(function.get("parameters"), f"{where}.function.parameters"))


def _parameters(parameters: object, where: str) -> dict[str, object]:
    """Read ``parameters``, absent in OpenAI's form when there are none; unknown arguments are of no use: closed."""
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping):
        raise InvalidRequest(f"{where}: expected a JSON Schema object, not {parameters!r}")
    if parameters.get("type", "object") != "object":
        raise InvalidRequest(f"{where}.type: arguments are an object, not {parameters['type']!r}")
    if not isinstance(parameters.get("properties", {}), Mapping):
        raise InvalidRequest(f"{where}.properties: expected an object, not {parameters['properties']!r}")
    with bounded_nesting():
        return close_objects({"type": "object", "properties": {}, **parameters})
