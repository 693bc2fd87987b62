"""Asking an engine: requests out, answers in, refused answers asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from structgen.engine.client import DeltaStream, EngineClient
from structgen.engine.request import Delta, Request, SamplingParams
from structgen.errors import AnswerCut, AnswerRefused
from structgen.llm.answers import Answer, Draw
from structgen.llm.forms import AnswerForm
from structgen.llm.prompting import PromptWriter, Question

__all__ = ["Asker", "cut_answer"]

_RETRY_TEMPERATURE = 0.7


class Asker:
    """Asks questions of one engine.

    Parameters
    ----------
    client : EngineClient
        The engine.
    writer : PromptWriter
        Writes the prompts of its model.
    """

    def __init__(self, client: EngineClient, writer: PromptWriter) -> None:
        self._client = client
        self.writer = writer

    def ask(self, questions: Sequence[Question], params: SamplingParams, retries: int) -> list[Answer]:
        """Ask all at once and return the answers in order.

        Answers that their form refuses are asked for again, all of them at once, with the reason shown to the model.

        Raises
        ------
        AnswerRefused
            An answer was refused ``retries`` + 1 times.
        AnswerCut
            The budget or a stop string ended inside an answer.
        RequestError, GrammarError, GenerationError
            A request cannot be served, or failed. The other requests are aborted then.
        """
        answers: dict[int, Answer] = {}
        open_questions = dict(enumerate(questions))
        for attempt in range(retries + 1):
            refused: dict[int, AnswerRefused] = {}
            drawn = self._draw(list(open_questions.values()), _params_of(params, attempt), attempt)
            for (place, question), draw in zip(open_questions.items(), drawn, strict=True):
                try:
                    answers[place] = draw.as_answer(question.form.read(draw.text))
                except AnswerRefused as refusal:
                    refused[place] = refusal
            if not refused:
                break
            if attempt == retries:
                raise _refused_for_good(next(iter(refused.values())), attempt + 1)
            open_questions = {
                place: open_questions[place].after_refusal(refusal.text, str(refusal))
                for place, refusal in refused.items()
            }
        return [answers[place] for place in range(len(questions))]

    def stream(self, question: Question, params: SamplingParams) -> Iterator[Delta]:
        """Ask now, and return what the answer grows by as an iterator; leaving it early aborts the request.

        Raises
        ------
        RequestError, GrammarError
            The request cannot be served. What fails later is raised by the iterator, except that a cut answer only
            shows in its last delta.
        """
        return self._submit(question, params, 0).checked()

    def prepare(self, form: AnswerForm) -> None:
        """Compile the form's grammar now.

        Raises
        ------
        GrammarError
            It cannot be compiled.
        """
        if form.grammar is not None:
            self._client.prepare(form.grammar)

    def _draw(self, questions: Sequence[Question], params: SamplingParams, choice: int) -> list[Draw]:
        with ExitStack() as stack:
            streams = [stack.enter_context(self._submit(question, params, choice)) for question in questions]
            return [_collect(stream) for stream in streams]

    def _submit(self, question: Question, params: SamplingParams, choice: int) -> DeltaStream:
        return self._client.submit(Request(self.writer.write(question), params, question.form.grammar, choice))


def _params_of(params: SamplingParams, attempt: int) -> SamplingParams:
    """A model that was sure of a refused answer would give it again: further draws leave temperature 0."""
    if attempt == 0 or params.temperature > 0:
        return params
    # With temperature 0 the caller asked for the same answer every time, so the noise is the same every time too.
    return replace(params, temperature=_RETRY_TEMPERATURE, seed=params.seed or 0)


def _collect(stream: DeltaStream) -> Draw:
    deltas = list(stream.checked())
    text = "".join(delta.text for delta in deltas)
    token_ids = tuple(token_id for delta in deltas for token_id in delta.token_ids)
    last = deltas[-1]
    if not last.complete:
        raise cut_answer(last, text, len(token_ids))
    return Draw(text, token_ids, tuple(entry for delta in deltas for entry in delta.logprobs), last)


def cut_answer(last: Delta, text: str, tokens: int) -> AnswerCut:
    """Return the error of an answer that is not whole."""
    what = f"max_tokens ({tokens})" if last.finish_reason == "length" else "a stop string"
    remedy = "raise it" if last.finish_reason == "length" else "choose one that no answer contains"
    return AnswerCut(f"{what} ended inside an answer: {text[-60:]!r}; {remedy}", text)


def _refused_for_good(refusal: AnswerRefused, draws: int) -> AnswerRefused:
    error = AnswerRefused(f"{draws} answers were refused; the last, {refusal.text!r}, because: {refusal}", refusal.text)
    error.__cause__ = refusal.__cause__
    return error
