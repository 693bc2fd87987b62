"""One answer: how it is drawn, drawn again, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from structgen.engine.request import Delta
from structgen.engine.sampling_params import SamplingParams
from structgen.errors import AnswerCut, AnswerRefused, InvalidRequest
from structgen.llm.answers import Answer

__all__ = [
    "check_retries",
    "collect_answer",
    "cut_answer",
    "params_of_draw",
    "read_sampling_params",
    "refused_for_good",
]

_RETRY_TEMPERATURE = 0.7


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


def collect_answer(deltas: Iterable[Delta]) -> Answer:
    """Return the whole answer of one request; its value is its text, not yet read.

    Raises
    ------
    AnswerCut
        It is not whole.
    """
    deltas = list(deltas)
    text = "".join(delta.text for delta in deltas)
    token_ids = tuple(token_id for delta in deltas for token_id in delta.token_ids)
    last = deltas[-1]
    if not last.complete or last.finish_reason is None or last.usage is None:
        raise cut_answer(last, text, len(token_ids))
    logprobs = tuple(entry for delta in deltas for entry in delta.logprobs)
    prompt_logprobs = tuple(entry for delta in deltas for entry in delta.prompt_logprobs)
    return Answer(text, token_ids, text, last.finish_reason, last.usage, logprobs, prompt_logprobs)


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
