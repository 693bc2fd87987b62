"""Tools: Python functions that a model can call, and the ways in which models write such calls."""

from __future__ import annotations

from structgen.tools.tool import Tool, tool

__all__ = ["Tool", "tool"]
