"""Relaxations: what a grammar leaves out that cannot be held exactly, and what the validator behind it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Refusal", "Relaxation", "SchemaRelaxed", "Validate"]


class SchemaRelaxed(UserWarning):
    """A grammar leaves out what it cannot hold, as ``on_unsupported="validate"`` allows; a validator is behind it."""


class Relaxation(NamedTuple):
    """A keyword that the grammar does not hold. ``str()`` of it is one line for people."""

    pointer: str
    """JSON pointer of the keyword in the schema."""
    keyword: str
    why: str
    """Why it cannot be held."""

    def __str__(self) -> str:
        return f"{self.keyword!r} at {self.pointer or 'the root'} is not in the grammar: {self.why}"


class Refusal(NamedTuple):
    """What a validator has against a text that the grammar accepts."""

    path: str
    """JSON pointer of the value at fault."""
    pointer: str
    """JSON pointer of the keyword that refuses it, along the references that led there."""
    keyword: str
    why: str


Validate = Callable[[bytes], Refusal | None]
"""Looks at a whole text."""
