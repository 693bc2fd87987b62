"""What may come next in one answer: anything, or what a grammar allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from structgen.grammars import TokenAutomaton

__all__ = ["Constraint", "GrammarConstraint", "Mask"]

Mask = npt.NDArray[np.int32]
"""int32[ceil(vocabulary / 32)]: bit ``i % 32`` of word ``i // 32`` set = token ``i`` allowed."""


class Constraint:
    """The rule for one answer and the place in it; this one, the base of others, allows everything.

    Only ``advance`` and ``close`` change anything; masks are valid until the next call.
    """

    def mask(self) -> Mask | None:
        """Return the tokens that may come, or None for all."""
        return None

    def fits(self, token_id: int, budget: int) -> bool:
        """Say whether the answer can surely be ended within ``budget`` tokens after this one."""
        return True

    def mask_within(self, budget: int) -> Mask | None:
        """Return the allowed tokens that fit, or None when none surely does."""
        return None

    def advance(self, token_id: int) -> None:
        """Append an allowed token to the answer."""

    def forced_tokens(self) -> Sequence[int]:
        """Return the tokens that must come next, one after the other."""
        return ()

    def is_complete(self) -> bool:
        """Say whether the answer so far may stand."""
        return True

    def must_end(self) -> bool:
        """Say whether nothing but an end may follow."""
        return False

    def close(self) -> None:
        """Let go of what the rule holds for this answer."""


class GrammarConstraint(Constraint):
    """A grammar's rule.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar.
    end_mask : int32[ceil(vocabulary / 32)]
        The end tokens.
    """

    def __init__(self, automaton: TokenAutomaton, end_mask: Mask) -> None:
        self._matcher = automaton.matcher()
        self._state = self._matcher.start
        self._looked_at, self._after = -1, self._state  # the token that `fits` was last asked for, and the state behind
        self._end_mask = end_mask
        self._row = np.zeros_like(end_mask)
        self._row_of: int | None = None  # the state whose mask it is

    @override
    def mask(self) -> Mask | None:
        if self._row_of != self._state:
            self._matcher.fill_mask(self._state, self._row)
            self._row_of = self._state
        return self._row

    @override
    def fits(self, token_id: int, budget: int) -> bool:
        self._looked_at, self._after = token_id, self._matcher.advance(self._state, token_id)
        return self._matcher.distance(self._after) <= budget

    @override
    def mask_within(self, budget: int) -> Mask | None:
        self._row_of = None
        return self._row if self._matcher.fill_mask_within(self._state, self._row, budget) else None

    @override
    def advance(self, token_id: int) -> None:
        if token_id != self._looked_at:
            self._after = self._matcher.advance(self._state, token_id)
        self._state, self._looked_at = self._after, -1

    @override
    def forced_tokens(self) -> Sequence[int]:
        forced, after = self._matcher.forced_path(self._state, self._row)
        self._row_of = None if self._matcher.is_accepting(after) else after
        return forced

    @override
    def is_complete(self) -> bool:
        return self._matcher.is_accepting(self._state)

    @override
    def must_end(self) -> bool:
        if not self._matcher.is_accepting(self._state):
            return False
        self.mask()
        return not np.any(self._row & ~self._end_mask)

    @override
    def close(self) -> None:
        self._matcher.close()
