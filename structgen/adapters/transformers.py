"""A grammar for `model.generate` of the `transformers` library."""

from __future__ import annotations

import torch
from transformers import LogitsProcessor
from typing_extensions import override

from structgen.adapters.bits import forbidden
from structgen.adapters.rows import Rows
from structgen.grammars import TokenAutomaton

__all__ = ["GrammarLogitsProcessor"]


class GrammarLogitsProcessor(LogitsProcessor):
    """Leaves only tokens that the grammar allows, in every row of a batch.

    ::

        vocabulary = TokenVocabulary.from_tokenizer(tokenizer)
        automaton = compile_json_schema(schema, vocabulary)
        model.generate(**inputs, logits_processor=[GrammarLogitsProcessor(automaton)])

    Greedy search, sampling, several answers a prompt, beam search and assisted generation all work: a row's state is
    found by its token ids. The prompt may be anything. End tokens are allowed exactly where the text may end; behind
    them `generate` writes padding. Token ids that the tokenizer does not have are never allowed.

    Take a new one for each call of `generate`; it costs nothing. One that is used again starts anew, unless the new
    prompt is a sequence of the last call and one token more: that cannot be told from its continuation.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar, compiled against the tokenizer's vocabulary, whose end tokens should be those of the model's
        generation config.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._rows = Rows(automaton)

    @override
    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, float[rows, width], with minus infinity for what is not allowed behind ``input_ids``."""
        masks = torch.as_tensor(self._rows.masks(input_ids.cpu().numpy()), device=scores.device)
        return scores.masked_fill(forbidden(masks, scores.shape[-1]), -torch.inf)
