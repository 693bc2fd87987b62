"""structgen: a language model that can only say what the program can use.

The public names are imported when first used, so that ``import structgen`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from structgen import errors
from structgen._version import __version__

if TYPE_CHECKING:
    from structgen.engine.request import SamplingParams
    from structgen.errors import *  # noqa: F403  (all of them, and only them, are public here too)
    from structgen.llm import LLM, AsyncLLM, generate
    from structgen.tools import Tool, tool

_HOMES = {
    "AsyncLLM": "structgen.llm",
    "LLM": "structgen.llm",
    "SamplingParams": "structgen.engine.request",
    "Tool": "structgen.tools",
    "generate": "structgen.llm",
    "tool": "structgen.tools",
    **dict.fromkeys(errors.__all__, "structgen.errors"),
}

__all__ = ["LLM", "AsyncLLM", "SamplingParams", "Tool", "__version__", "generate", "tool"]
__all__ += errors.__all__


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structgen' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
