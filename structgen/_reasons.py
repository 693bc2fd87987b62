"""What other libraries' exceptions say, in one line for a message of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["encodable", "first_line", "validation_reason"]


def first_line(error: Exception) -> str:
    """The first line of the message; where it has none, the exception itself."""
    return (str(error).strip() or repr(error)).splitlines()[0]


def encodable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which no encoding has."""
    return text.encode("utf-8", "replace").decode("utf-8")


def validation_reason(error: ValidationError) -> str:
    """Every place that pydantic refuses with its reason, separated by semicolons."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    found = ((".".join(map(str, detail["loc"])), detail["msg"]) for detail in details)
    return "; ".join(f"{place}: {message}" if place else message for place, message in found)
