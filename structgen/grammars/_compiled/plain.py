"""Compiling as Numba documents it, for versions of it that `build` does not know: right, but slow, at each start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from structgen.grammars._compiled.functions import compiled, use

__all__ = ["compile_plainly"]


def compile_plainly(functions: Mapping[str, Callable[..., object]]) -> dict[str, Any]:
    """Numba's functions for ``functions``."""
    use(nogil=True)
    return {name: compiled(function) for name, function in functions.items()}
