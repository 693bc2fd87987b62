"""A grammar for `llama_cpp.Llama` of the llama-cpp-python library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from structgen.adapters.rows import Rows
from structgen.grammars import TokenAutomaton

__all__ = ["LlamaLogitsProcessor"]


class LlamaLogitsProcessor:
    """Leaves only tokens that the grammar allows.

    ::

        with open_checkpoint("model.gguf") as checkpoint:  # structgen.engine.weights
            tokenizer, ends = checkpoint.tokenizer(), checkpoint.eos_token_ids
        automaton = compile_json_schema(schema, TokenVocabulary.from_tokenizer(tokenizer, eos_token_ids=ends))
        llama.create_completion(prompt, logits_processor=LogitsProcessorList([LlamaLogitsProcessor(automaton)]))

    The prompt may be anything. Take a new one for each completion; see
    `structgen.adapters.transformers.GrammarLogitsProcessor` for what happens otherwise. Not for a `Llama` with a draft
    model: it hands its drafts over as if they had been chosen.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar, compiled against the model's vocabulary.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._rows = Rows(automaton)

    def __call__(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        """The logits of the next token, with minus infinity for what is not allowed.

        Parameters
        ----------
        input_ids : intc[tokens]
            Prompt and answer so far.
        scores : single[width]
            Logits; not changed. It need not be contiguous.

        Returns
        -------
        single[width]
        """
        (mask,) = self._rows.masks(np.atleast_2d(input_ids))
        allowed = np.zeros(len(scores), np.bool_)
        known = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(scores)]
        allowed[: len(known)] = known
        return np.where(allowed, scores, np.float32(-np.inf))
