"""A grammar with the surface that SGLang's scheduler asks for (``sglang.srt.constrained.base_grammar_backend``)."""

from __future__ import annotations

import torch

from structgen.adapters.bits import WORD, forbid
from structgen.adapters.history import History
from structgen.grammars import TokenAutomaton

__all__ = ["SglangGrammar"]


class SglangGrammar:
    """What SGLang asks of a ``BaseGrammarObject``: one request's place in its grammar.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar, compiled against the model's vocabulary.

    Attributes
    ----------
    finished : bool
        Kept for the scheduler, which sets it.
    current_token : int or None
        The last token taken.
    grammar_stats : object
        Kept for the scheduler, which may set it.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._history = History(automaton)
        self.finished = False
        self.current_token: int | None = None
        self.grammar_stats: object = None

    def accept_token(self, token: int) -> None:
        """Take a token; behind an end token all are dropped.

        Raises
        ------
        ValueError
            It is not allowed here.
        """
        if self.is_terminated():
            return
        if not self._history.take([token]):
            raise ValueError(f"token {token} is not allowed behind {len(self._history)} tokens of this answer")
        self.current_token = token

    def rollback(self, k: int) -> None:
        """Take back the last ``k`` tokens.

        Raises
        ------
        ValueError
            Fewer were taken.
        """
        self._history.take_back(k)

    def is_terminated(self) -> bool:
        """Whether an end token was taken."""
        return self._history.is_finished

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: object) -> torch.Tensor:
        """Masks that allow everything, int32[batch_size, ceil(vocab_size/32)], on the CPU whatever ``device`` is."""
        return torch.full((batch_size, -(-vocab_size // WORD)), -1, dtype=torch.int32)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write which tokens may come next into a row of ``vocab_mask``."""
        self._history.fill(vocab_mask, idx)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: torch.device | str) -> torch.Tensor:
        """The masks on ``device``."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Set ``logits``, float[rows, width], of tokens that are not allowed to minus infinity, in place."""
        forbid(logits, vocab_mask)

    def copy(self) -> SglangGrammar:
        """The same grammar for another request, at its beginning."""
        return SglangGrammar(self._history.automaton)

    def try_jump_forward(self, tokenizer: object) -> tuple[list[int], str] | None:
        """The text that must come next, if there is any, as `jump_forward_str_state` takes it."""
        text = self._history.forced_text()
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """The text, and -1: the state behind it depends on how it is written in tokens."""
        return helper[1], -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """Put ``new_output_ids`` in the place of ``old_output_ids``, the answer so far.

        Raises
        ------
        ValueError
            They are not allowed; the answer is then as it was.
        """
        pairs = zip(old_output_ids, new_output_ids, strict=False)
        common = next((place for place, (old, new) in enumerate(pairs) if old != new), len(old_output_ids))
        common = min(common, len(new_output_ids))
        self._history.take_back(len(old_output_ids) - common)
        if not self._history.take(new_output_ids[common:]):
            self._history.take(old_output_ids[common:])
            raise ValueError(f"the answer cannot be {new_output_ids}")
