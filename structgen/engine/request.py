"""What goes into the engine and what comes out of it: plain, frozen, checked data.

Nothing here imports torch, so that a caller can build requests without the engine.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from structgen.errors import InvalidRequest, StructgenError

__all__ = ["Delta", "FinishReason", "GrammarSpec", "Request", "SamplingParams", "TokenLogprobs", "Usage"]

FinishReason = Literal["stop", "length", "abort"]
"""Why an answer ended: the model or its grammar was done (or a stop string came), the budget was, or the caller was."""

MAX_LOGPROBS = 20


@dataclass(frozen=True)
class SamplingParams:
    """How the next token is chosen, and when to stop.

    The steps are taken in this order: logits, ``logit_bias``, penalties, the grammar's mask, ``temperature``,
    ``min_p``, ``top_k``, ``top_p``, and a draw that depends on nothing but the seed, the draw's number, the position
    and these probabilities.

    Parameters
    ----------
    temperature : float
        0 takes the most likely token, so that the same question gets the same answer; 1 draws from the model's own
        distribution. The default is 0: programs that read answers want them stable.
    top_p : float
        Keep the most likely tokens until their probabilities reach ``top_p``; 1 keeps all.
    top_k : int
        Keep the ``top_k`` most likely tokens (equals of the last one too); 0 keeps all.
    min_p : float
        Drop tokens less likely than ``min_p`` times the most likely one; 0 drops none.
    seed : int or None
        Makes a draw repeatable. None takes a fresh one for each request.
    max_tokens : int or None
        Tokens of the answer at most, an end token not counted; None allows what the model's context has left.
    min_tokens : int
        End tokens are not chosen before the answer has so many; a grammar that allows nothing else ends it earlier.
    stop : str or sequence of str
        The answer ends before the first of these; they count with a grammar too, and may cut its text.
    presence_penalty, frequency_penalty : float
        Subtracted from the logits of tokens in the answer so far: once, and for each occurrence. In [-2, 2].
    repetition_penalty : float
        Divides positive and multiplies negative logits of tokens in the prompt or the answer; 1 does nothing.
    logit_bias : mapping of int to float
        Added to the logits of these token ids. In [-100, 100].
    logprobs : int or None
        Return the log-probability of each answer token, and of this many most likely ones beside it, under the
        model's own distribution (no mask, bias or temperature). At most 20; None returns none.
    ignore_eos : bool
        End tokens are never chosen, so that the answer runs to ``max_tokens``. A grammar's end still ends it.

    Raises
    ------
    InvalidRequest
        A value is outside its range; the message names the field and the range.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    max_tokens: int | None = 512
    min_tokens: int = 0
    stop: str | Sequence[str] = ()
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    logprobs: int | None = None
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        _number(self, "temperature", 0, 100)
        _number(self, "top_p", 0, 1, above=True)
        _number(self, "min_p", 0, 1)
        _number(self, "presence_penalty", -2, 2)
        _number(self, "frequency_penalty", -2, 2)
        _number(self, "repetition_penalty", 0, 100, above=True)
        _whole(self, "top_k", 0, 2**31 - 1)
        _whole(self, "seed", 0, 2**64 - 1, optional=True)
        _whole(self, "max_tokens", 1, 2**31 - 1, optional=True)
        _whole(self, "min_tokens", 0, 2**31 - 1)
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise InvalidRequest(f"min_tokens: {self.min_tokens} is more than max_tokens={self.max_tokens}")
        _whole(self, "logprobs", 0, MAX_LOGPROBS, optional=True)
        if not isinstance(self.ignore_eos, bool):
            raise InvalidRequest(f"ignore_eos: expected true or false, not {self.ignore_eos!r}")
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        object.__setattr__(self, "logit_bias", _biases(self.logit_bias))

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """``stop`` as a tuple, whatever form it was given in."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


@dataclass(frozen=True)
class GrammarSpec:
    """A grammar in plain data; the engine compiles it against its own vocabulary.

    Parameters
    ----------
    kind : str
        A plugin of the group ``structgen.grammars``, such as ``"json_schema"``, ``"regex"`` or ``"choice"``.
    source : object
        What that plugin takes: a JSON Schema, a pattern, a list of texts.
    options : mapping of str to object
        Its keyword arguments.
    """

    kind: str
    source: object
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One answer to generate.

    Parameters
    ----------
    prompt_token_ids : tuple of int
        The whole prompt, at least one token.
    sampling_params : SamplingParams
        How to choose and when to stop.
    grammar : GrammarSpec or None
        What the answer may be; None leaves it free.
    choice : int
        The number of this draw among draws of one question: with one seed, another number is another draw.
    request_id : str
        Names the request in deltas and in ``abort``; made up when not given.
    priority : int
        Who goes first when not all can: the smaller, and of equals who came first.
    timeout : float or None
        Seconds from submission after which the request ends with :class:`~structgen.errors.DeadlineExceeded`.
    cache_salt : str
        Requests share computed prefixes only with those of the same salt. Give each user another one where nobody may
        learn, by how fast an answer begins, what others have asked.

    Raises
    ------
    InvalidRequest
        A value is not what it must be; the message names the field.
    """

    prompt_token_ids: tuple[int, ...]
    sampling_params: SamplingParams = field(default_factory=SamplingParams)
    grammar: GrammarSpec | None = None
    choice: int = 0
    request_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    priority: int = 0
    timeout: float | None = None
    cache_salt: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt_token_ids", tuple(self.prompt_token_ids))
        _whole(self, "priority", -(2**31), 2**31 - 1)
        if self.timeout is not None:
            _number(self, "timeout", 0, 2**31, above=True)
        if not isinstance(self.cache_salt, str):
            raise InvalidRequest(f"cache_salt: expected a text, not {self.cache_salt!r}")
        if not self.prompt_token_ids:
            raise InvalidRequest("prompt_token_ids: the prompt is empty; give at least one token")
        if self.choice < 0:
            raise InvalidRequest(f"choice: must be at least 0, not {self.choice}")


@dataclass(frozen=True)
class TokenLogprobs:
    """Log-probabilities at one answer token, under the model's own distribution.

    Parameters
    ----------
    token_id : int
        The answer's token.
    logprob : float
        Its natural logarithm of probability.
    top : tuple of (int, float)
        The most likely tokens there with theirs, most likely first.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens that a request took; an end token is not counted.

    Parameters
    ----------
    prompt_tokens, completion_tokens : int
        Tokens of the prompt and of the answer.
    cached_tokens : int
        Those of the prompt that need not be computed: another request's keys and values were there.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and answer together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Delta:
    """What an answer grew by. The last one of a request has a ``finish_reason`` or an ``error``, and its ``usage``.

    Parameters
    ----------
    request_id : str
        Whose answer.
    token_ids : tuple of int
        New tokens.
    text : str
        New text: whole characters, none that may still turn out to belong to a stop string.
    logprobs : tuple of TokenLogprobs
        One a new token when asked for, else empty.
    finish_reason : {"stop", "length", "abort"} or None
        Why the answer ended, once it has. ``"length"`` also when a grammar had to bring it to an end because the
        budget came near.
    complete : bool
        On the last delta: whether the answer may stand as it is. Under a grammar, whether the whole text is one of
        its texts, cut neither by the budget nor by a stop string. Not so after an abort.
    usage : Usage or None
        On the last delta.
    error : StructgenError or None
        What ended the request, when it could not be finished.
    """

    request_id: str
    token_ids: tuple[int, ...] = ()
    text: str = ""
    logprobs: tuple[TokenLogprobs, ...] = ()
    finish_reason: FinishReason | None = None
    complete: bool = False
    usage: Usage | None = None
    error: StructgenError | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing more comes for this request."""
        return self.finish_reason is not None or self.error is not None


def _number(params: object, name: str, low: float, high: float, *, above: bool = False) -> None:
    value = getattr(params, name)
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or not low <= value <= high or (above and value == low):
        raise InvalidRequest(f"{name}: must be a number in {'(' if above else '['}{low}, {high}], not {value!r}")


def _whole(params: object, name: str, low: int, high: int, *, optional: bool = False) -> None:
    value = getattr(params, name)
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidRequest(f"{name}: must be a whole number in [{low}, {high}], not {value!r}")


def _stop_strings(stop: object) -> tuple[str, ...]:
    texts = (stop,) if isinstance(stop, str) else stop
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) and text for text in texts):
        raise InvalidRequest(f"stop: must be a non-empty string or a list of them, not {stop!r}")
    return tuple(texts)


def _biases(biases: object) -> dict[int, float]:
    if not isinstance(biases, Mapping):
        raise InvalidRequest(f"logit_bias: must map token ids to numbers, not {biases!r}")
    for token_id, bias in biases.items():
        if not isinstance(token_id, int) or isinstance(token_id, bool) or token_id < 0:
            raise InvalidRequest(f"logit_bias: keys must be token ids, not {token_id!r}")
        if not isinstance(bias, (int, float)) or isinstance(bias, bool) or not -100 <= bias <= 100:
            raise InvalidRequest(f"logit_bias[{token_id}]: must be a number in [-100, 100], not {bias!r}")
    return {token_id: float(bias) for token_id, bias in biases.items()}
