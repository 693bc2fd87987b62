"""The arguments of a call as they arrive: a mapping, JSON text, or nothing at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from structgen.errors import ToolError

__all__ = ["JSON", "decode_arguments"]


def _refuse_constant(name: str) -> NoReturn:
    raise ToolError(f"{name} is no JSON number")


JSON = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
"""Reads JSON as models write it: a raw line feed or tab in a string is itself."""


def decode_arguments(arguments: object) -> dict[str, Any]:
    """The arguments as a new dictionary of JSON values.

    Models and servers write "no arguments" as ``{}``, ``null``, an empty text or the text ``null``; some write the
    object as JSON text inside a JSON string. All of these mean the object. Raw line feeds and tabs inside strings
    are taken as themselves.

    Parameters
    ----------
    arguments : Mapping, str or None
        As they came.

    Raises
    ------
    ToolError
        They are not an object, or not JSON.
    """
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return dict(cast("Mapping[str, Any]", arguments))
    if not isinstance(arguments, str):
        raise ToolError(f"arguments must be an object, not {_kind(arguments)}")
    decoded = _decode(arguments)
    if isinstance(decoded, str):  # JSON text inside a JSON string
        decoded = _decode(decoded)
    if decoded is None or isinstance(decoded, dict):
        return cast("dict[str, Any]", decoded or {})
    raise ToolError(f"arguments must be an object, not {_kind(decoded)}")


def _decode(text: str) -> object:
    if not text.strip():
        return None
    try:
        return JSON.decode(text)
    except ValueError as error:  # a JSONDecodeError, or an integer of more digits than Python reads
        raise ToolError(f"arguments are not JSON: {error}") from error
    except RecursionError as error:
        raise ToolError("arguments are nested too deeply") from error


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    return {"str": "a string", "bool": "a boolean", "int": "a number", "float": "a number"}.get(
        type(value).__name__, type(value).__name__
    )
