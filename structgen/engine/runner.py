"""Runners compute logits. The protocol, and the plain torch one that the faster ones are tested against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch

from structgen.engine.models.cache import KVCache
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.torch_weights import DTYPES, read_weights
from structgen.engine.models.transformer import Transformer
from structgen.errors import GenerationError, InvalidRequest, PromptTooLong

__all__ = ["Runner", "TorchRunner"]


class Runner(Protocol):
    """Computes the logits of what comes after a sequence. This docstring is the contract.

    A sequence lives in its cache and nowhere else: a runner keeps nothing between calls, so that any number of caches
    may be interleaved. ``forward(cache, tokens)`` appends the tokens to the cache's sequence, one or many, and how
    a sequence is cut into calls changes its logits by rounding only. A call that raises leaves the cache as it was.
    Logits belong to the caller, who may change them in place. One cache is for one thread at a time; calls on
    different caches may run at once.
    """

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        ...

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have, prompt and answer together."""
        ...

    def new_cache(self) -> KVCache:
        """Return the cache of an empty sequence."""
        ...

    def forward(self, cache: KVCache, token_ids: Sequence[int]) -> torch.Tensor:
        """Append tokens and compute the logits after the last of them.

        Parameters
        ----------
        cache : KVCache
            From :meth:`new_cache` of this runner; ``cache.length`` grows by the number of tokens.
        token_ids : sequence of int
            At least one.

        Returns
        -------
        torch.Tensor
            float32 ``[vocab_size]``, all finite.

        Raises
        ------
        InvalidRequest
            No tokens, or one that is not below ``vocab_size``.
        PromptTooLong
            The sequence would exceed ``max_model_len``.
        GenerationError
            The model computed NaN or infinity.
        """
        ...

    def forward_all(self, cache: KVCache, token_ids: Sequence[int]) -> torch.Tensor:
        """As :meth:`forward`, with the logits after each of the tokens: float32 ``[tokens, vocab_size]``."""
        ...


class TorchRunner:
    """The :class:`Runner` in plain torch, on the CPU, with torch's own number of threads.

    Parameters
    ----------
    loaded : LoadedModel
        The model; it computes in its dtype.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._description = loaded.description
        self._dtype = DTYPES[loaded.dtype]
        weights = read_weights(loaded.description, loaded.weights, self._dtype)
        self._transformer = Transformer(loaded.description, weights)

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._description.vocab_size

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have."""
        return self._description.max_position_embeddings

    def new_cache(self) -> KVCache:
        """Return the cache of an empty sequence."""
        return KVCache(self._description, self._dtype)

    def forward(self, cache: KVCache, token_ids: Sequence[int]) -> torch.Tensor:
        """Append tokens and compute the logits after the last of them. See :class:`Runner`."""
        return self._run(cache, token_ids, slice(-1, None))[0]

    def forward_all(self, cache: KVCache, token_ids: Sequence[int]) -> torch.Tensor:
        """Append tokens and compute the logits after each of them. See :class:`Runner`."""
        return self._run(cache, token_ids, slice(None))

    def _run(self, cache: KVCache, token_ids: Sequence[int], wanted: slice) -> torch.Tensor:
        self._check(cache, token_ids)
        # no_grad and not inference_mode: logits born in the latter could not be changed in place outside it.
        with torch.no_grad():
            hidden = self._transformer.hidden_states(cache, torch.tensor(token_ids, dtype=torch.int64))
            logits = self._transformer.logits(hidden[wanted]).float()
        # One sum sees every NaN and infinity, and costs a tenth of looking at each logit.
        if not math.isfinite(float(logits.sum())):
            raise GenerationError(
                f"the model's logits after token {cache.length + len(token_ids)} are not finite; "
                f"its weights are broken or overflow in {self._dtype}"
            )
        cache.commit(len(token_ids))
        return logits

    def _check(self, cache: KVCache, token_ids: Sequence[int]) -> None:
        if not token_ids:
            raise InvalidRequest("there are no tokens to run; a prompt needs at least one")
        outside = next((token for token in token_ids if not 0 <= token < self.vocab_size), None)
        if outside is not None:
            raise InvalidRequest(f"the token id {outside} is not in the model's vocabulary of {self.vocab_size}")
        length = cache.length + len(token_ids)
        if length > self.max_model_len:
            raise PromptTooLong(f"the sequence has {length} tokens; the model takes {self.max_model_len}")
