"""Asking an engine: requests out, answers in, refused answers asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from structgen.engine.client import DeltaStream, EngineClient
from structgen.engine.request import Delta, Request, SamplingParams
from structgen.errors import AnswerCut, AnswerRefused, InvalidRequest
from structgen.llm.answers import Answer
from structgen.llm.forms import AnswerForm
from structgen.llm.prompting import PromptWriter, Question

__all__ = ["Asker", "check_retries", "cut_answer", "params_of_draw", "read_sampling_params", "refused_for_good"]

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
        InvalidRequest
            ``retries`` is no whole number from 0 on.
        AnswerRefused
            An answer was refused ``retries`` + 1 times.
        AnswerCut
            The budget, a stop string or an abort ended inside an answer.
        RequestError, GrammarError, GenerationError
            A request cannot be served, or failed. The other requests are aborted then.
        """
        check_retries(retries)
        answers: dict[int, Answer] = {}
        unanswered = dict(enumerate(questions))
        for attempt in range(retries + 1):
            refusals = self._try(unanswered, params, attempt, answers)
            if not refusals:
                return [answers[place] for place in range(len(questions))]
            unanswered = {
                place: unanswered[place].after_refusal(refusal.text, str(refusal))
                for place, refusal in refusals.items()
            }
        raise refused_for_good(next(iter(refusals.values())), retries + 1)

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

    def _try(
        self, questions: dict[int, Question], params: SamplingParams, attempt: int, answers: dict[int, Answer]
    ) -> dict[int, AnswerRefused]:
        """Ask the questions once; put what is acceptable into ``answers`` and return the refusals."""
        refusals: dict[int, AnswerRefused] = {}
        params = params_of_draw(params, attempt)
        with ExitStack() as stack:  # leaves, and so aborts, all of them when one fails
            streams = [stack.enter_context(self._submit(question, params, attempt)) for question in questions.values()]
            texts = [_collect(stream) for stream in streams]
        for (place, question), answer in zip(questions.items(), texts, strict=True):
            try:
                answers[place] = replace(answer, value=question.form.read(answer.text))
            except AnswerRefused as refusal:
                refusals[place] = refusal
        return refusals

    def _submit(self, question: Question, params: SamplingParams, choice: int) -> DeltaStream:
        return self._client.submit(Request(self.writer.write(question), params, question.form.grammar, choice))


def check_retries(retries: object) -> None:
    """Refuse what is no number of retries.

    Raises
    ------
    InvalidRequest
        It is not a whole number, or negative.
    """
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise InvalidRequest(f"retries: must be a whole number of at least 0, not {retries!r}")


def read_sampling_params(params: object) -> SamplingParams:
    """Return how tokens are chosen; the defaults for None.

    Raises
    ------
    InvalidRequest
        These are no ``SamplingParams``.
    """
    if params is None:
        return SamplingParams()
    if not isinstance(params, SamplingParams):
        raise InvalidRequest(
            f"sampling_params: expected SamplingParams(temperature=..., ...), not {type(params).__name__}"
        )
    return params


def params_of_draw(params: SamplingParams, attempt: int) -> SamplingParams:
    """How tokens of a further draw are chosen.

    A model that was sure of a refused answer would give it again, so that further draws leave temperature 0.
    """
    if attempt == 0 or params.temperature > 0:
        return params
    # With temperature 0 the caller asked for the same answer every time, so the noise is the same every time too.
    return replace(params, temperature=_RETRY_TEMPERATURE, seed=params.seed or 0)


def _collect(stream: DeltaStream) -> Answer:
    """Return the whole answer of one request; its value is its text, not yet read."""
    deltas = list(stream.checked())
    text = "".join(delta.text for delta in deltas)
    token_ids = tuple(token_id for delta in deltas for token_id in delta.token_ids)
    last = deltas[-1]
    if not last.complete or last.finish_reason is None or last.usage is None:
        raise cut_answer(last, text, len(token_ids))
    logprobs = tuple(entry for delta in deltas for entry in delta.logprobs)
    return Answer(text, token_ids, text, last.finish_reason, last.usage, logprobs)


def cut_answer(last: Delta, text: str, tokens: int) -> AnswerCut:
    """Return the error of an answer that is not whole."""
    why = {
        "length": f"max_tokens ({tokens}) ended inside an answer; raise it",
        "stop": "a stop string ended inside an answer; choose one that no answer contains",
        "abort": "the answer was aborted",
    }[last.finish_reason or "abort"]
    return AnswerCut(f"{why}: {text[-60:]!r}", text)


def refused_for_good(refusal: AnswerRefused, draws: int) -> AnswerRefused:
    """Return the error of an answer that was refused in all draws; the last one's refusal is given."""
    error = AnswerRefused(f"{draws} answers were refused; the last, {refusal.text!r}, because: {refusal}", refusal.text)
    error.__cause__ = refusal.__cause__
    return error
