"""How the engine's kernels meet the compiler (see `structgen._compiled.kernel` for what they are written with)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from structgen._compiled.entries import Inner, add_entry

__all__ = ["PACKAGE", "compiled", "inner"]

PACKAGE = "structgen.engine.cpu"
"""What the compiler knows the kernels by."""

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(function: _F) -> _F:
    """A function that Python calls, by position, with integers and arrays. Calls release the GIL."""
    return cast("_F", add_entry(function, PACKAGE))


def inner(function: _F) -> _F:
    """A function that compiled ones call."""
    return cast("_F", Inner(function))
