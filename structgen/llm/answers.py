"""An answer with everything that is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from structgen.engine.request import Delta, FinishReason, TokenLogprobs, Usage
from structgen.errors import StructgenError
from structgen.llm.calls import ToolCall

__all__ = ["Answer", "AnswerDelta", "Outcome"]


@dataclass(frozen=True)
class Answer:
    """What ``return_details=True`` returns.

    Parameters
    ----------
    text : str
        The answer as the model wrote it.
    token_ids : tuple of int
        Its tokens, without an end token.
    value : object
        What it stands for: the validated value, the call, or the text itself.
    finish_reason : {"stop", "length", "abort"}
        Why it ended. ``"length"`` on a whole answer: the budget made it shorter than the model wanted.
    usage : Usage
        Tokens of the prompt and the answer, of the last draw when earlier ones were refused.
    logprobs : tuple of TokenLogprobs
        One a token of the answer, when asked for.
    prompt_logprobs : tuple of TokenLogprobs or None
        One a token of the prompt, when asked for; None for its first.
    """

    text: str
    token_ids: tuple[int, ...]
    value: object
    finish_reason: FinishReason
    usage: Usage
    logprobs: tuple[TokenLogprobs, ...] = ()
    prompt_logprobs: tuple[TokenLogprobs | None, ...] = ()

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the answer makes."""
        return (self.value,) if isinstance(self.value, ToolCall) else ()


@dataclass(frozen=True)
class AnswerDelta(Delta):
    """What an answer grew by, and its value so far: what ``LLM.stream(..., return_details=True)`` yields.

    Parameters
    ----------
    value : object
        Of JSON what is there: a list has the items that are whole, a dictionary and a pydantic model have the members
        that are whole or, being such themselves, have begun; a model has no other attributes yet, and shows none by
        default. Parts are of their types, and their validators have run; those of what is around them have not. Lists,
        dictionaries and models grow in place: copy what is to stay as it is. None while nothing is there, and for
        every other form. On the last delta of a complete answer it is what ``LLM.generate`` returns.
    """

    value: object = None


Outcome: TypeAlias = Answer | StructgenError
"""What came of a question: an answer, or why there is none."""
