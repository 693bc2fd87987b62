"""The synchronous front door over the engine."""

from __future__ import annotations

from structgen.llm.answers import Answer, AnswerDelta
from structgen.llm.calls import ToolCall
from structgen.llm.front import LLM, generate
from structgen.llm.generator import Generator

__all__ = ["LLM", "Answer", "AnswerDelta", "Generator", "ToolCall", "generate"]
