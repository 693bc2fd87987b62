"""The front doors over the engine: `LLM` for code that may wait, `AsyncLLM` for event loops."""

from __future__ import annotations

from structgen.llm.answers import Answer, AnswerDelta
from structgen.llm.async_front import AsyncLLM
from structgen.llm.calls import ToolCall
from structgen.llm.default import generate
from structgen.llm.front import LLM
from structgen.llm.generator import Generator

__all__ = ["LLM", "Answer", "AnswerDelta", "AsyncLLM", "Generator", "ToolCall", "generate"]
