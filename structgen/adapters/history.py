"""History: the states that one answer has gone through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from structgen.grammars import DEAD, FINISHED, TokenAutomaton

__all__ = ["History"]


class History:
    """An answer's states, one before each token and one behind the last. States are numbers, so going back is free.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self.automaton = automaton
        self._matcher = automaton.matcher()
        self._states = [self._matcher.start]

    def __len__(self) -> int:
        """Tokens that were taken."""
        return len(self._states) - 1

    @property
    def is_finished(self) -> bool:
        """Whether an end token was taken."""
        return self._states[-1] == FINISHED

    def following(self, token_ids: Iterable[int]) -> list[int]:
        """The states behind each of these tokens, as far as they are allowed; takes none. Nothing follows an end."""
        state, found = self._states[-1], list[int]()
        for token_id in token_ids:
            in_range = 0 <= token_id < len(self.automaton.vocabulary)  # models have more ids than tokenizers
            state = self._matcher.advance(state, token_id) if in_range and state != FINISHED else DEAD
            if state == DEAD:
                break
            found.append(state)
        return found

    def take(self, token_ids: Sequence[int]) -> bool:
        """Take all of these tokens, or none where one is not allowed; returns whether they were taken."""
        states = self.following(token_ids)
        if len(states) < len(token_ids):
            return False
        self._states += states
        return True

    def take_back(self, count: int) -> None:
        """Forget the last ``count`` tokens.

        Raises
        ------
        ValueError
            Fewer were taken, or ``count`` is negative.
        """
        if not 0 <= count <= len(self):
            raise ValueError(f"{count} tokens cannot be taken back: {len(self)} were taken")
        del self._states[len(self._states) - count :]

    def fill(self, masks: torch.Tensor, row: int) -> None:
        """Write which tokens may come next into a row of ``masks``, int32[rows, words] on the CPU.

        Raises
        ------
        ValueError
            It has another dtype, is elsewhere, or is too narrow for the vocabulary.
        """
        words = len(self.automaton.vocabulary.end_row)
        if masks.dtype != torch.int32 or masks.device.type != "cpu" or masks.shape[-1] < words:
            shape = f"{masks.dtype}{list(masks.shape)} on {masks.device}"
            raise ValueError(f"a bit mask is int32[rows, {words} or more] on the CPU, not {shape}")
        masks[row, words:] = 0
        self._matcher.fill_mask(self._states[-1], masks[row, :words].numpy())

    def forced_text(self) -> str:
        """The text that must come next, as far as it is whole characters."""
        forced = self._matcher.forced_bytes(self._states[-1])
        try:
            return forced.decode()
        except UnicodeDecodeError as error:
            return forced[: error.start].decode()

    def clear(self) -> None:
        """Begin again."""
        self._matcher.close()
        self._matcher = self.automaton.matcher()
        self._states = [self._matcher.start]
