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

from structgen.engine.cpu.drawing.drawer import Drawer, DrawRow
from structgen.engine.logprobs import token_logprobs
from structgen.engine.request import SamplingParams, TokenLogprobs
from structgen.errors import GenerationError

__all__ = ["Sampler"]

Logits = npt.NDArray[np.float32]


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
        self._biased_ids = np.array(list(bias), np.int32)
        self._bias = np.array(list(bias.values()), np.float32)
        self._drawer: Drawer | None = None

    def observe(self, token_id: int) -> None:
        """Count a token of the answer for the penalties."""
        self._seen.add(token_id)
        self._counts[token_id] += 1

    def row(self, logits: Logits, mask: npt.NDArray[np.int32] | None, position: int) -> DrawRow:
        """What to draw from, for a :class:`~structgen.engine.cpu.drawing.drawer.Drawer`; see :meth:`draw`."""
        values = np.ascontiguousarray(logits, np.float32)  # as they are, where they are that
        return DrawRow(values, self._params, (self._seed, self._choice, position), mask, *self._edits(values))

    def draw(self, logits: Logits, mask: npt.NDArray[np.int32] | None, position: int) -> int:
        """Choose a token; changes nothing, so drawing again gives the same.

        Parameters
        ----------
        logits : float32[vocabulary]
            The model's own, contiguous; left as they are.
        mask : int32[ceil(vocabulary / 32)] or None
            Bit ``i % 32`` of word ``i // 32`` set: token ``i`` is allowed. None allows every token.
        position : int
            The token's place in the answer.

        Raises
        ------
        GenerationError
            There is no finite logit among the allowed tokens, or one is not a number.
        """
        self._drawer = self._drawer or Drawer(1)
        (token,) = self._drawer.draw([self.row(logits, mask, position)])
        if isinstance(token, GenerationError):
            raise token
        return token

    def logprobs(self, logits: Logits, token_id: int) -> TokenLogprobs:
        """Log-probabilities of a token and of the most likely ones, under the model's own distribution.

        Parameters
        ----------
        logits : float32[vocabulary]
        token_id : int
        """
        return token_logprobs(logits[None], [token_id], self._params.logprobs or 0)[0]

    def _edits(self, logits: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The tokens whose logits bias and penalties change, and what they become."""
        params = self._params
        counts = self._counts if params.presence_penalty or params.frequency_penalty else Counter[int]()
        if params.repetition_penalty == 1 and not counts:
            return self._biased_ids, logits[self._biased_ids] + self._bias
        repeated = np.array(sorted(self._seen) if params.repetition_penalty != 1 else (), np.int32)
        counted = np.array(list(counts), np.int32)
        token_ids = np.unique(np.concatenate((self._biased_ids, repeated, counted)))
        values = logits[token_ids]
        values[np.searchsorted(token_ids, self._biased_ids)] += self._bias
        places = np.searchsorted(token_ids, repeated)
        before, penalty = values[places], np.float32(params.repetition_penalty)
        values[places] = np.where(before > 0, before / penalty, before * penalty)
        penalties = np.float32(params.frequency_penalty) * np.array(list(counts.values()), np.float32)
        values[np.searchsorted(token_ids, counted)] -= np.float32(params.presence_penalty) + penalties
        return token_ids, values
