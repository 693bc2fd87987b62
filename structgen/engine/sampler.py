r"""Choosing the next token: one operation, and a draw that can be repeated.

From one row of logits, in this order: bias, penalties, the grammar's mask, temperature, min-p, top-k, top-p; then

.. math:: \arg\max_i \; \ell_i + g_i, \qquad g_i = -\log(-\log u_i),

which draws from :math:`\mathrm{softmax}(\ell)` (the Gumbel-max trick; Maddison et al., "A* Sampling", 2014). The
:math:`u_i` are no stream of random numbers but a hash of (seed, choice, position, token id), so drawing again at the
same position gives the same token, whatever was drawn before or elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from structgen.engine.logprobs import token_logprobs
from structgen.engine.noise import keyed_uniforms, score_bounds
from structgen.engine.request import SamplingParams, TokenLogprobs
from structgen.errors import GenerationError

__all__ = ["Sampler"]


def _argmax(logits: torch.Tensor) -> int:
    """The first of equals, so the lowest id; and NaN where there is any."""
    return int(logits.numpy().argmax())  # 5 us where torch takes 57, over 49,152 logits


class Sampler:
    """Chooses the tokens of one answer.

    Parameters
    ----------
    params : SamplingParams
        How.
    seed : int
        Used for ``params.seed``, which may have been left to the engine.
    choice : int
        The number of this draw among draws of one question.
    prompt_token_ids : sequence of int
        For the repetition penalty.
    banned : sequence of int
        Tokens that are never chosen.
    """

    def __init__(
        self,
        params: SamplingParams,
        *,
        seed: int,
        choice: int = 0,
        prompt_token_ids: Sequence[int] = (),
        banned: Sequence[int] = (),
    ) -> None:
        self._params = params
        self._seed = seed
        self._choice = choice
        self._seen = set(prompt_token_ids)
        self._counts: Counter[int] = Counter()
        bias = {**params.logit_bias, **dict.fromkeys(banned, -math.inf)}
        self._biased_ids = torch.tensor(list(bias), dtype=torch.int64)
        self._bias = torch.tensor(list(bias.values()), dtype=torch.float32)

    def observe(self, token_id: int) -> None:
        """Count a token of the answer for the penalties."""
        self._seen.add(token_id)
        self._counts[token_id] += 1

    def draw(self, logits: torch.Tensor, mask: npt.NDArray[np.int32] | None, position: int) -> int:
        """Choose a token; changes nothing, so drawing again gives the same.

        Parameters
        ----------
        logits : float32[vocabulary]
            The model's own; left as they are.
        mask : int32[ceil(vocabulary / 32)] or None
            Bit ``i % 32`` of word ``i // 32`` set: token ``i`` is allowed. None allows every token.
        position : int
            The token's place in the answer.

        Raises
        ------
        GenerationError
            There is no finite logit among the allowed tokens, or one is not a number.
        """
        logits = self._penalized(self._biased(logits))
        best = _argmax(logits)
        # Greedy and at one with the grammar, as most draws are: there is no need to mask 49,152 logits.
        if mask is not None and (self._params.temperature > 0 or not mask[best // 32] >> best % 32 & 1):
            logits = self._masked(logits, mask)
            best = _argmax(logits)
        if not math.isfinite(float(logits[best])):
            raise GenerationError(f"no allowed token has a finite logit (the best is {float(logits[best])})")
        if self._params.temperature == 0:
            return best
        return self._draw_keyed(logits / self._params.temperature, best, position)

    def logprobs(self, logits: torch.Tensor, token_id: int) -> TokenLogprobs:
        """Log-probabilities of a token and of the most likely ones, under the model's own distribution.

        Parameters
        ----------
        logits : float32[vocabulary]
        token_id : int
        """
        return token_logprobs(logits.unsqueeze(0), [token_id], self._params.logprobs or 0)[0]

    def _biased(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.index_add(0, self._biased_ids, self._bias.to(logits.dtype)) if len(self._bias) else logits

    def _penalized(self, logits: torch.Tensor) -> torch.Tensor:
        params = self._params
        if params.repetition_penalty != 1 and self._seen:
            token_ids = torch.tensor(sorted(self._seen))
            values, penalty = logits[token_ids], params.repetition_penalty
            logits = logits.index_copy(0, token_ids, torch.where(values > 0, values / penalty, values * penalty))
        if (params.presence_penalty or params.frequency_penalty) and self._counts:
            token_ids = torch.tensor(list(self._counts))
            counts = torch.tensor(list(self._counts.values()), dtype=logits.dtype)
            logits = logits.index_add(0, token_ids, -params.presence_penalty - params.frequency_penalty * counts)
        return logits

    @staticmethod
    def _masked(logits: torch.Tensor, mask: npt.NDArray[np.int32]) -> torch.Tensor:
        bits = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little")
        return torch.from_numpy(np.where(bits.view(np.bool_), logits.numpy(), np.float32(-math.inf)))

    def _draw_keyed(self, logits: torch.Tensor, best: int, position: int) -> int:
        params = self._params
        if params.top_k or params.top_p < 1 or params.min_p:
            token_ids = self._kept(logits)
        else:
            token_ids = self._contenders(logits, best, position)
        return int(token_ids[torch.argmax(self._scores(logits, token_ids, position))])

    def _scores(self, logits: torch.Tensor, token_ids: torch.Tensor, position: int) -> torch.Tensor:
        """Logits and noise of some tokens, float64; the largest wins."""
        uniforms = keyed_uniforms(self._seed, self._choice, position, token_ids.numpy())
        return logits[token_ids].double() - torch.log(-torch.log(torch.from_numpy(uniforms)))

    def _contenders(self, logits: torch.Tensor, best: int, position: int) -> torch.Tensor:
        """Return the ids, ascending, of all tokens that may have the largest score; the likeliest may."""
        reached = float(self._scores(logits, torch.tensor([best]), position))
        bounds = score_bounds(logits.numpy(), self._seed, self._choice, position)
        return torch.from_numpy(np.flatnonzero(bounds >= reached))

    def _kept(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the ids, ascending, that min-p, top-k and top-p leave of those with a finite logit."""
        params = self._params
        least = logits.max() + (math.log(params.min_p) if params.min_p else -math.inf)
        token_ids = torch.nonzero((logits >= least) & (logits > -math.inf)).squeeze(1)
        if params.top_k and params.top_k < len(token_ids):
            values = logits[token_ids]
            token_ids = token_ids[values >= torch.topk(values, params.top_k).values[-1]]
        return self._nucleus(logits, token_ids) if params.top_p < 1 else token_ids

    def _nucleus(self, logits: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """Return the ids, ascending, of the most likely tokens that together reach top-p; equals by lower id."""
        values, top_p = logits[token_ids].double(), self._params.top_p
        total = torch.logsumexp(values, dim=-1)
        # Tokens below (1 - top_p) / n have less than 1 - top_p together, so none is in. Sorting the rest is cheap.
        likely = values >= total + math.log((1 - top_p) / len(values)) - 1e-6
        token_ids, values = token_ids[likely], values[likely]
        values, order = torch.sort(values, descending=True, stable=True)
        probabilities = torch.exp(values - total)
        before = torch.cumsum(probabilities, dim=-1) - probabilities
        return token_ids[order[before < top_p].sort().values]
