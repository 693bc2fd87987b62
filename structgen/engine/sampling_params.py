"""How tokens are chosen: plain, frozen, checked data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from structgen.errors import InvalidRequest

__all__ = ["MAX_CHOICES", "SamplingParams", "check_number", "check_whole"]

MAX_LOGPROBS = 20
MAX_CHOICES = 1024
"""A multiple of this one added to their numbers makes further draws of all choices different from those before."""


@dataclass(frozen=True)
class SamplingParams:
    """How the next token is chosen, how many answers there are, and when to stop.

    The steps are taken in this order: logits, ``logit_bias``, penalties, the grammar's mask, ``temperature``,
    ``min_p``, ``top_k``, ``top_p``, and a draw that depends on nothing but the seed, the draw's number, the position
    and these probabilities.

    Parameters
    ----------
    n : int
        Answers to draw of one prompt, which is computed once for all of them. Each is drawn with the number of its
        choice, so that with a ``seed`` the third of five is also the third of three.
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
    allowed_mass : bool
        Return with each of these the probability, under the same distribution, of all tokens that were allowed there:
        how much of what the model would have said its grammar, ``min_tokens`` and budget left.
    prompt_logprobs : int or None
        The same as ``logprobs`` for the tokens of the prompt, all of which are computed for it: nothing is taken from
        the cache.
    echo : bool
        The answer's text and tokens begin with the prompt's. Only where no form is asked for.
    ignore_eos : bool
        End tokens are never chosen, so that the answer runs to ``max_tokens``. A grammar's end still ends it.

    Raises
    ------
    InvalidRequest
        A value is outside its range; the message names the field and the range.
    """

    n: int = 1
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
    allowed_mass: bool = False
    prompt_logprobs: int | None = None
    echo: bool = False
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "n", 1, MAX_CHOICES)
        check_number(self, "temperature", 0, 100)
        check_number(self, "top_p", 0, 1, above=True)
        check_number(self, "min_p", 0, 1)
        check_number(self, "presence_penalty", -2, 2)
        check_number(self, "frequency_penalty", -2, 2)
        check_number(self, "repetition_penalty", 0, 100, above=True)
        check_whole(self, "top_k", 0, 2**31 - 1)
        check_whole(self, "seed", 0, 2**64 - 1, optional=True)
        check_whole(self, "max_tokens", 1, 2**31 - 1, optional=True)
        check_whole(self, "min_tokens", 0, 2**31 - 1)
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise InvalidRequest(f"min_tokens: {self.min_tokens} is more than max_tokens={self.max_tokens}")
        check_whole(self, "logprobs", 0, MAX_LOGPROBS, optional=True)
        check_whole(self, "prompt_logprobs", 0, MAX_LOGPROBS, optional=True)
        for name in ("allowed_mass", "echo", "ignore_eos"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidRequest(f"{name}: expected true or false, not {getattr(self, name)!r}")
        if self.allowed_mass and self.logprobs is None:
            raise InvalidRequest("allowed_mass: comes with the log-probabilities; set logprobs too, to 0 at least")
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        object.__setattr__(self, "logit_bias", _biases(self.logit_bias))

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """``stop`` as a tuple, whatever form it was given in."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


def check_number(params: object, name: str, low: float, high: float, *, above: bool = False) -> None:
    """Refuse what is no number from ``low`` to ``high``, or equals ``low`` where it must be above."""
    value = getattr(params, name)
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or not low <= value <= high or (above and value == low):
        raise InvalidRequest(f"{name}: must be a number in {'(' if above else '['}{low}, {high}], not {value!r}")


def check_whole(params: object, name: str, low: int, high: int, *, optional: bool = False) -> None:
    """Refuse what is no whole number from ``low`` to ``high``, nor None where it is optional."""
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
