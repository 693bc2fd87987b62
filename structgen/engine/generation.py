"""One answer on its way: what is known, and what comes next."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.constraint import Constraint, Mask
from structgen.engine.cpu.drawing.drawer import DrawRow
from structgen.engine.detokenizer import Detokenizer
from structgen.engine.logprobs import allowed_mass, token_logprobs
from structgen.engine.request import Delta, FinishReason, Request, TokenLogprobs, Usage
from structgen.engine.sampler import Sampler
from structgen.errors import GenerationError
from structgen.grammars import TokenVocabulary

__all__ = ["Generation"]

Logits = npt.NDArray[np.float32]


class _Drawn(NamedTuple):
    token_id: int | None
    """None: the model chose to end."""
    logprobs: TokenLogprobs | None


class Generation:
    """One request's known tokens and place in its grammar.

    Given the logits after the known tokens it draws one more; tokens that a grammar leaves no choice about join the
    known ones without a draw of their own.

    Parameters
    ----------
    request : Request
        Checked against the model already.
    vocabulary : TokenVocabulary
        Bytes and end tokens.
    constraint : Constraint
        What the answer may be; closed by :meth:`close`.
    budget : int
        Tokens of the answer at most.

    Attributes
    ----------
    tokens : list of int
        The known tokens, prompt and answer; it only grows.
    cached_tokens : int
        Tokens of the prompt that need not be computed; whoever knows sets it.
    prompt_logprobs : list of (TokenLogprobs or None)
        One a token of the prompt when asked for, once :meth:`score` was called with all of it; None for the first.
    mask_seconds : float
        How long the grammar took for the mask of the last draw; 0 without a grammar.
    """

    def __init__(
        self,
        request: Request,
        vocabulary: TokenVocabulary,
        constraint: Constraint,
        budget: int,
    ) -> None:
        params = request.sampling_params
        self.request = request
        self._constraint = constraint
        self._end_token_ids = frozenset(vocabulary.eos_token_ids)
        self._end_row = vocabulary.end_row
        self._budget = budget
        self.tokens = list(request.prompt_token_ids)
        self.cached_tokens = 0
        self.mask_seconds = 0.0
        self._answer: list[int] = []
        self._shortened = False
        wanted = params.prompt_logprobs is not None
        self.prompt_logprobs: list[TokenLogprobs | None] = [None] * (len(self.tokens) if wanted else 0)
        self._told_prompt_logprobs = not wanted
        self._token_bytes = vocabulary.token_bytes
        self._detokenizer = Detokenizer(vocabulary.token_bytes, params.stop_strings)
        # Under a grammar, end tokens are its own matter: its mask has them exactly where the text may end.
        banned = vocabulary.eos_token_ids if params.ignore_eos and request.grammar is None else ()
        self._sampler = Sampler(
            params,
            seed=secrets.randbits(63) if params.seed is None else params.seed,
            choice=request.choice,
            prompt_token_ids=request.prompt_token_ids,
            banned=banned,
        )

    def echo(self) -> Delta:
        """Return the prompt as if it were answer."""
        spelt = b"".join(map(self._token_bytes, self.request.prompt_token_ids))
        return Delta(self.request.request_id, self.request.prompt_token_ids, spelt.decode("utf-8", "replace"))

    def start(self) -> Delta:
        """Take what the grammar begins with whatever the model says; a grammar of one text ends here."""
        return self._delta(*self._append_forced([], ""))

    def score(self, start: int, logits: Logits) -> None:
        """Take the log-probabilities of the prompt's tokens.

        Parameters
        ----------
        start : int
            Place of the token after which the first logits are.
        logits : np.ndarray
            float32 ``[tokens, vocabulary]``; what is behind the prompt's last but one token is left.
        """
        scored = self.request.prompt_token_ids[start + 1 : start + 1 + len(logits)]
        entries = token_logprobs(logits[: len(scored)], scored, self.request.sampling_params.prompt_logprobs or 0)
        self.prompt_logprobs[start + 1 : start + 1 + len(scored)] = entries

    def row(self, logits: Logits) -> DrawRow:
        """What the next token is drawn from, so that many answers' draws are made together.

        Parameters
        ----------
        logits : np.ndarray
            float32 ``[vocabulary]``, those after all known tokens.
        """
        before, position = time.perf_counter(), len(self._answer)
        # Where an answer has been shortened once, most tokens that would be drawn no longer fit: draw once, not twice.
        is_near = self._shortened and position >= self.request.sampling_params.min_tokens
        within = self._constraint.mask_within(self._left()) if is_near else None
        mask = self._mask() if within is None else within
        self.mask_seconds = 0.0 if mask is None else time.perf_counter() - before
        return self._sampler.row(logits, mask, position)

    def advance(self, logits: Logits, row: DrawRow, token: int | GenerationError) -> Delta:
        """Take the next token.

        Parameters
        ----------
        logits : np.ndarray
            As for :meth:`row`.
        row : DrawRow
            What that gave.
        token : int or GenerationError
            What was drawn from that.

        Raises
        ------
        GenerationError
            No allowed token has a finite logit.
        """
        if isinstance(token, GenerationError):
            raise token
        delta = self._next(logits, row.mask, token)
        if self._told_prompt_logprobs:
            return delta
        self._told_prompt_logprobs = True
        return replace(delta, prompt_logprobs=tuple(self.prompt_logprobs))

    def abort(self) -> Delta:
        """End the answer as it is."""
        return self._delta([], "", "abort")

    def close(self) -> None:
        """Let go of the grammar's states."""
        self._constraint.close()

    def usage(self) -> Usage:
        """Count the tokens so far."""
        return Usage(len(self.request.prompt_token_ids), len(self._answer), self.cached_tokens)

    def _next(self, logits: Logits, mask: Mask | None, token_id: int) -> Delta:
        drawn = self._drawn(logits, mask, token_id)
        logprobs = () if drawn.logprobs is None else (drawn.logprobs,)
        if drawn.token_id is None:
            return self._delta([], "", "length" if self._shortened else "stop")
        text = self._append(drawn.token_id)
        return self._delta(*self._append_forced([drawn.token_id], text), logprobs=logprobs)

    def _drawn(self, logits: Logits, mask: Mask | None, token_id: int) -> _Drawn:
        if not self._constraint.fits(token_id, self._left()):
            shorter = self._constraint.mask_within(self._left())
            if shorter is None:
                mask = self._mask()  # that was written over
            else:
                mask, self._shortened = shorter, True
                token_id = self._sampler.draw(logits, mask, len(self._answer))
        if token_id in self._end_token_ids:
            return _Drawn(None, None)
        return _Drawn(token_id, self._logprobs(logits, token_id, mask))

    def _left(self) -> int:
        """How many tokens may follow the next one."""
        return self._budget - len(self._answer) - 1

    def _logprobs(self, logits: Logits, token_id: int, mask: Mask | None) -> TokenLogprobs | None:
        params = self.request.sampling_params
        if params.logprobs is None:
            return None
        entry = self._sampler.logprobs(logits, token_id)
        return replace(entry, allowed_mass=allowed_mass(logits, mask)) if params.allowed_mass else entry

    def _mask(self) -> Mask | None:
        """What may come: no end before ``min_tokens``, unless nothing else is allowed."""
        mask = self._constraint.mask()
        if len(self._answer) >= self.request.sampling_params.min_tokens:
            return mask
        longer = ~self._end_row if mask is None else mask & ~self._end_row
        return longer if longer.any() else mask

    def _append(self, token_id: int) -> str:
        self._constraint.advance(token_id)
        self._sampler.observe(token_id)
        self._answer.append(token_id)
        self.tokens.append(token_id)
        return self._detokenizer.add(token_id)

    def _append_forced(self, token_ids: list[int], text: str) -> tuple[list[int], str, FinishReason | None]:
        """Append forced tokens to what a delta has already, and say why the answer ends there if it does."""
        reason = self._finish_reason()
        for token_id in () if reason or self._needs_logits() else self._constraint.forced_tokens():
            text += self._append(token_id)
            token_ids.append(token_id)
            reason = self._finish_reason()
            if reason:
                break
        return token_ids, text, reason

    def _needs_logits(self) -> bool:
        """Whether the next token is drawn although it may be forced."""
        params = self.request.sampling_params
        return params.logprobs is not None or not self._told_prompt_logprobs

    def _finish_reason(self) -> FinishReason | None:
        if self._detokenizer.stopped:
            return "stop"
        if self._constraint.must_end():
            return "length" if self._shortened else "stop"
        return "length" if len(self._answer) >= self._budget else None

    def _is_complete(self) -> bool:
        cut = self._detokenizer.stopped and self.request.grammar is not None
        return self._constraint.is_complete() and not cut

    def _delta(
        self,
        token_ids: list[int],
        text: str,
        finish_reason: FinishReason | None = None,
        logprobs: tuple[TokenLogprobs, ...] = (),
    ) -> Delta:
        request_id = self.request.request_id
        if finish_reason is None:
            return Delta(request_id, tuple(token_ids), text, logprobs)
        return Delta(
            request_id,
            tuple(token_ids),
            text + self._detokenizer.flush(),
            logprobs,
            finish_reason=finish_reason,
            complete=finish_reason != "abort" and self._is_complete(),
            usage=self.usage(),
        )
