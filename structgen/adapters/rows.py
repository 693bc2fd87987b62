"""Rows: the grammar's state of each sequence of a batch, found again by the sequence's own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from structgen.grammars import DEAD, FINISHED, TokenAutomaton

__all__ = ["Rows"]


class Rows:
    """States by token ids: rows may change places, be copied and be dropped between calls, as beam search does.

    A row that is one token longer than one that was seen before goes on from its state. Any other row is a prompt,
    which the grammar does not look at. When a batch holds nothing but prompts, a new generation has begun, and what
    was known of the last one is forgotten.

    Parameters
    ----------
    automaton : TokenAutomaton
        What follows a prompt.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._automaton = automaton
        self._matcher = automaton.matcher()
        self._seen: dict[bytes, int] = {}  # the state behind a row, by the row's digest

    def masks(self, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """The tokens that may follow each row.

        Only end tokens may follow an end, and a row that the grammar does not allow: beam search keeps those whose
        score is minus infinity where too few others are left.

        Parameters
        ----------
        rows : int[rows, tokens]
            Token ids, prompts included.

        Returns
        -------
        int32[rows, ceil(V/32)]
            Bit ``i % 32`` of word ``i // 32`` set = token ``i`` allowed.
        """
        states = [FINISHED if state == DEAD else state for state in self._states(rows)]
        found = np.empty((len(states), len(self._automaton.vocabulary.end_row)), np.int32)
        self._matcher.fill_masks(states, found)
        return found

    def _states(self, rows: npt.NDArray[np.integer]) -> Sequence[int]:
        digests = [_digests(np.ascontiguousarray(row, np.int64)) for row in rows]
        if not any(before in self._seen for before, _ in digests):
            self._matcher.close()
            self._matcher = self._automaton.matcher()
            self._seen.clear()
        states = [self._after(before, int(row[-1])) for row, (before, _) in zip(rows, digests, strict=True)]
        self._seen.update((whole, state) for state, (_, whole) in zip(states, digests, strict=True))
        return states

    def _after(self, before: bytes, token_id: int) -> int:
        state = self._seen.get(before)
        if state is None:
            return self._matcher.start
        if state <= FINISHED:  # behind an end comes padding
            return state
        return self._matcher.advance(state, token_id) if 0 <= token_id < len(self._automaton.vocabulary) else DEAD


def _digests(row: npt.NDArray[np.int64]) -> tuple[bytes, bytes]:
    """Digests of all tokens but the last one, and of all."""
    digest = blake2b(row[:-1].data, digest_size=16)
    before = digest.digest()
    digest.update(row[-1:].data)
    return before, digest.digest()
