"""What goes into the engine and what comes out of it: plain, frozen, checked data.

Nothing here imports torch, so that a caller can build requests without the engine.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from structgen.engine.sampling_params import SamplingParams, check_number, check_whole
from structgen.errors import InvalidRequest, StructgenError

__all__ = ["Delta", "FinishReason", "GrammarSpec", "Request", "SamplingParams", "TokenLogprobs", "Usage"]

FinishReason = Literal["stop", "length", "abort"]
"""Why an answer ended: the model or its grammar was done (or a stop string came), the budget was, or the caller was."""


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
    """An answer to generate, or ``sampling_params.n`` of them.

    Parameters
    ----------
    prompt_token_ids : tuple of int
        The whole prompt, at least one token.
    sampling_params : SamplingParams
        How to choose and when to stop.
    grammar : GrammarSpec or None
        What the answer may be; None leaves it free.
    choice : int
        The number of this draw among draws of one question: with one seed, another number is another draw. Of several
        answers it is the first one's; the others' follow.
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
        check_whole(self, "priority", -(2**31), 2**31 - 1)
        if self.timeout is not None:
            check_number(self, "timeout", 0, 2**31, above=True)
        if not isinstance(self.cache_salt, str):
            raise InvalidRequest(f"cache_salt: expected a text, not {self.cache_salt!r}")
        if not self.prompt_token_ids:
            raise InvalidRequest("prompt_token_ids: the prompt is empty; give at least one token")
        if self.choice < 0:
            raise InvalidRequest(f"choice: must be at least 0, not {self.choice}")

    def choices(self) -> tuple[Request, ...]:
        """Return a request for each of the ``n`` answers.

        The first has the id of this one; behind the others' stand a slash and their place, from 1 on.
        """
        params = replace(self.sampling_params, n=1)
        return tuple(
            replace(
                self,
                sampling_params=params,
                choice=self.choice + place,
                request_id=f"{self.request_id}/{place}" if place else self.request_id,
            )
            for place in range(self.sampling_params.n)
        )


@dataclass(frozen=True)
class TokenLogprobs:
    """Log-probabilities at one token, under the model's own distribution.

    Parameters
    ----------
    token_id : int
        The token.
    logprob : float
        Its natural logarithm of probability.
    top : tuple of (int, float)
        The most likely tokens there with theirs, most likely first.
    allowed_mass : float or None
        Probability of all tokens that were allowed there; with ``SamplingParams.allowed_mass``.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()
    allowed_mass: float | None = None


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
    prompt_logprobs : tuple of TokenLogprobs or None
        On the first delta after the prompt was computed, when asked for: one a token of the prompt, None for its first,
        which nothing predicts.
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
    prompt_logprobs: tuple[TokenLogprobs | None, ...] = ()
    finish_reason: FinishReason | None = None
    complete: bool = False
    usage: Usage | None = None
    error: StructgenError | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing more comes for this request."""
        return self.finish_reason is not None or self.error is not None
