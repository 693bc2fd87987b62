"""structgen: a language model that can only say what the program can use.

The public names are imported when first used, so that ``import structgen`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from structgen._version import __version__

if TYPE_CHECKING:
    from structgen.engine.request import SamplingParams
    from structgen.errors import StructgenError
    from structgen.llm import LLM, generate
    from structgen.tools import Tool, tool

_HOMES = {
    "LLM": "structgen.llm",
    "SamplingParams": "structgen.engine.request",
    "StructgenError": "structgen.errors",
    "Tool": "structgen.tools",
    "generate": "structgen.llm",
    "tool": "structgen.tools",
}

__all__ = ["LLM", "SamplingParams", "StructgenError", "Tool", "__version__", "generate", "tool"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structgen' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
