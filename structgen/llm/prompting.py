"""Conversations to token ids: the chat template, the system part, tools that a template does not know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from structgen._reasons import encodable
from structgen.errors import InvalidRequest
from structgen.llm.calls import CallFormat, Tool, ToolCall, declaration_of
from structgen.llm.declarations import DeclaredTool
from structgen.llm.forms import AnswerForm
from structgen.llm.messages import Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.engine.tokenization.chat_template import ChatTemplate

__all__ = ["PromptWriter", "Question"]

_PROBE = "structgen_probe"


@dataclass(frozen=True)
class Question:
    """What a model is asked and in which form it answers.

    Parameters
    ----------
    form : AnswerForm
        What the answer must be.
    messages : tuple of Message
        The conversation; without any, ``text`` is the question.
    text : str
        Raw text for the model to continue.
    tools : tuple of Tool
        What the model may call.
    show_form : bool
        Whether the form's instructions are part of the prompt.
    """

    form: AnswerForm
    messages: tuple[Message, ...] = ()
    text: str = ""
    tools: tuple[Tool, ...] = ()
    show_form: bool = True

    def after_refusal(self, answer: str, reason: str) -> Question:
        """Return the question to ask once ``answer`` was refused, the reason included."""
        answer = self.form.opening + answer
        why = f"That answer is wrong. {encodable(reason)}\nGive a corrected answer in the same form."
        if not self.messages:
            return replace(self, text=f"{self.text}{answer}\n\n{why}\n")
        turns: tuple[Message, ...] = ({"role": "assistant", "content": answer}, {"role": "user", "content": why})
        return replace(self, messages=self.messages + turns)


class PromptWriter:
    """Writes questions as the token ids that one model continues.

    Parameters
    ----------
    tokenizer : Tokenizer
        The model's.
    template : ChatTemplate or None
        The model's, if it has one.
    call_format : CallFormat
        Writes tools, calls and results where the template does not.
    """

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate | None, call_format: CallFormat) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._call_format = call_format
        self._knows_system = self._renders(system=_PROBE)
        self.knows_tools = self._renders(tool=_PROBE)
        """Whether the template shows tools itself."""

    def question(
        self, prompt: str, form: AnswerForm, *, chat_template: bool = True, show_form: bool = True
    ) -> Question:
        """Return the question that a prompt asks: a user's message where there is a template, raw text else."""
        if chat_template and self._template is not None:
            return Question(form, messages=({"role": "user", "content": prompt},), show_form=show_form)
        return Question(form, text=prompt, show_form=show_form)

    def write(self, question: Question) -> tuple[int, ...]:
        """Return the prompt's token ids, up to where the answer's own text begins.

        Raises
        ------
        InvalidRequest
            The conversation cannot be written: there is no chat template, it refuses the messages, the arguments of a
            call are nested too deeply, or a text has half a surrogate pair.
        """
        form = question.form
        instructions = form.instructions if question.show_form else ""
        if question.messages:
            try:
                text = self._chat(question, instructions)
            except RecursionError as error:
                raise InvalidRequest("messages: a call's arguments or a tool are nested too deeply") from error
        else:
            text = "\n\n".join(part for part in (instructions, question.text) if part)
        return self._encode(text + form.opening, add_special_tokens=not question.messages)

    def _encode(self, text: str, *, add_special_tokens: bool) -> tuple[int, ...]:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = text[max(0, error.start - 20) : error.start]
            raise InvalidRequest(f"the prompt is no Unicode text: half a surrogate pair after {around!r}") from error
        return tuple(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def _chat(self, question: Question, instructions: str) -> str:
        if self._template is None:
            raise InvalidRequest("messages: this model has no chat template; ask it with generate(), as raw text")
        messages = list(question.messages)
        if not self.knows_tools:
            messages = [self._without_tools(message) for message in messages]
        messages = _with_system_part(messages, instructions)
        if not self._knows_system:
            messages = _without_system(messages)
        tools = [declaration_of(tool) for tool in question.tools] if self.knows_tools else None
        return self._template.render(messages, tools=tools)

    def _without_tools(self, message: Message) -> Message:
        """Rewrite calls and results as plain text of the assistant's and the user's turn."""
        if message["role"] == "tool":
            return {"role": "user", "content": self._call_format.write_result(str(message["content"]))}
        if "tool_calls" not in message:
            return message
        calls = [_tool_call(call) for call in cast("list[Any]", message["tool_calls"])]
        parts = (str(message["content"]), self._call_format.write_calls(calls))
        return {"role": message["role"], "content": "\n".join(part for part in parts if part)}

    def _renders(self, *, system: str = "", tool: str = "") -> bool:
        """Say whether a system message's content or a tool's name comes out of the template."""
        if self._template is None:
            return False
        messages = [{"role": "user", "content": "hello"}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        declared = DeclaredTool(tool, "", {"type": "object", "properties": {}})
        tools = [declaration_of(declared)] if tool else None
        try:
            return (system or tool) in self._template.render(messages, tools=tools)
        except InvalidRequest:  # some templates refuse a system message; that is the answer
            return False


def _with_system_part(messages: list[Message], part: str) -> list[Message]:
    if not part:
        return messages
    if messages[0]["role"] == "system":
        first = {**messages[0], "content": f"{messages[0]['content']}\n\n{part}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": part}, *messages]


def _without_system(messages: list[Message]) -> list[Message]:
    """Put the system message at the head of the first user message."""
    if messages[0]["role"] != "system":
        return messages
    system, rest = messages[0]["content"], messages[1:]
    for place, message in enumerate(rest):
        if message["role"] == "user":
            joined = {**message, "content": f"{system}\n\n{message['content']}"}
            return [*rest[:place], joined, *rest[place + 1 :]]
    return [{"role": "user", "content": system}, *rest]


def _tool_call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(call["function"]["name"], call["function"]["arguments"])
