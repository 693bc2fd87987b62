"""Asking an engine: requests out, answers in, refused answers asked again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from structgen.engine.client import DeltaStream, EngineClient
from structgen.engine.request import Delta, Request
from structgen.engine.sampling_params import SamplingParams
from structgen.errors import AnswerRefused, InvalidRequest, StructgenError
from structgen.llm.answers import Outcome
from structgen.llm.drawing import check_retries, collect_answer, params_of_draw, refused_for_good
from structgen.llm.forms import AnswerForm
from structgen.llm.prompting import PromptWriter, Question

__all__ = ["Asker"]

_AHEAD = 256
"""So many answers are asked for before the first of them is there: more than engines compute at once, and a million
prompts are not written out at once."""


@dataclass(frozen=True)
class _Draw:
    """An answer on its way."""

    place: int
    """Among the answers to all questions."""
    question: Question
    choice: int
    attempt: int
    stream: DeltaStream


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
        self.client = client
        self.writer = writer

    def ask(
        self,
        questions: Sequence[Question],
        params: SamplingParams,
        retries: int,
        note: Callable[[Outcome], None] = lambda outcome: None,
    ) -> list[Outcome]:
        """Ask questions of one form, many at a time, and return the outcomes in order, ``params.n`` of each question.

        Answers that their form refuses are asked for again, with the reason shown to the model. In the place of an
        answer that cannot be had is its error: `AnswerRefused` where it was refused ``retries`` + 1 times, `AnswerCut`
        where the budget, a stop string or an abort ended inside it, or whatever else went wrong with its request.

        Parameters
        ----------
        note : callable
            Told each outcome once it is there, about in order.

        Raises
        ------
        InvalidRequest
            ``retries`` is no whole number from 0 on, or an answer that has a form is to begin with its prompt.
        GrammarError, PluginError
            The form's grammar cannot be compiled; nothing was generated.
        """
        check_retries(retries)
        if questions:
            _check_echo(questions[0].form, params)
            self.prepare(questions[0].form)
        return _Batch(self, params, retries, note).run(questions)

    def stream(self, question: Question, params: SamplingParams) -> Iterator[Delta]:
        """Ask now, and return what the answer grows by as an iterator; leaving it early aborts the request.

        Raises
        ------
        RequestError, GrammarError
            The request cannot be served, or is for several answers. What fails later is raised by the iterator, except
            that a cut answer only shows in its last delta.
        """
        if params.n > 1:
            raise InvalidRequest(f"n: a stream is of one answer, not of {params.n}; give each a stream of its own")
        _check_echo(question.form, params)
        return self.client.submit(self.request(question, params)).checked()

    def prepare(self, form: AnswerForm) -> None:
        """Compile the form's grammar now.

        Raises
        ------
        GrammarError
            It cannot be compiled.
        """
        if form.grammar is not None:
            self.client.prepare(form.grammar)

    def request(self, question: Question, params: SamplingParams, choice: int = 0) -> Request:
        """Write a question as a request.

        Raises
        ------
        InvalidRequest
            The prompt cannot be written.
        """
        return Request(self.writer.write(question), params, question.form.grammar, choice)


def _check_echo(form: AnswerForm, params: SamplingParams) -> None:
    if params.echo and form.grammar is not None:
        raise InvalidRequest("echo: an answer of a form is read whole, without its prompt; leave one of them out")


class _Batch:
    """Questions that are asked together."""

    def __init__(self, asker: Asker, params: SamplingParams, retries: int, note: Callable[[Outcome], None]) -> None:
        self._asker = asker
        self._params = params
        self._retries = retries
        self._note = note
        self._outcomes: dict[int, Outcome] = {}
        self._pending: deque[_Draw] = deque()

    def run(self, questions: Sequence[Question]) -> list[Outcome]:
        upcoming = iter(enumerate(questions))
        try:
            while len(self._outcomes) < self._params.n * len(questions):
                while len(self._pending) < _AHEAD and (following := next(upcoming, None)) is not None:
                    self._begin(*following)
                if self._pending:
                    self._finish(self._pending.popleft())
        finally:  # when something ended this early, an interrupt say
            for draw in self._pending:
                draw.stream.close()
        return [self._outcomes[place] for place in range(len(self._outcomes))]

    def _begin(self, number: int, question: Question) -> None:
        first = number * self._params.n
        try:
            streams = self._asker.client.submit_choices(self._asker.request(question, self._params))
        except StructgenError as error:
            for choice in range(self._params.n):
                self._settle(first + choice, error)
            return
        for choice, stream in enumerate(streams):
            self._pending.append(_Draw(first + choice, question, choice, 0, stream))

    def _finish(self, draw: _Draw) -> None:
        """Wait for an answer, and settle it or ask again."""
        try:
            answer = collect_answer(draw.stream.checked())
            self._settle(draw.place, replace(answer, value=draw.question.form.read(answer.text)))
        except AnswerRefused as refusal:
            if draw.attempt < self._retries:
                self._ask_again(draw, refusal)
            else:
                self._settle(draw.place, refused_for_good(refusal, self._retries + 1))
        except StructgenError as error:
            self._settle(draw.place, error)

    def _ask_again(self, draw: _Draw, refusal: AnswerRefused) -> None:
        attempt = draw.attempt + 1
        params = params_of_draw(replace(self._params, n=1), attempt)
        question = draw.question.after_refusal(refusal.text, str(refusal))
        try:
            # Two draws of one number are of different attempts, and so of different prompts.
            stream = self._asker.client.submit(self._asker.request(question, params, draw.choice + attempt))
        except StructgenError as error:
            self._settle(draw.place, error)
            return
        self._pending.append(_Draw(draw.place, question, draw.choice, attempt, stream))

    def _settle(self, place: int, outcome: Outcome) -> None:
        self._outcomes[place] = outcome
        self._note(outcome)
