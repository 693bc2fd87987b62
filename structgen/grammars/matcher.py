"""Matcher: one request's states, and everything that can be asked of a state."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple

import numpy as np

from structgen.errors import MatcherClosed
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.fill import NO_TOKEN, only_token
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.automaton.walk import NO_BUDGET
from structgen.grammars.limits import too_many_states
from structgen.grammars.mask_pool import NO_TOKENS
from structgen.grammars.verdict import places_of
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["DEAD", "FINISHED", "Counters", "Explanation", "Matcher"]

DEAD = -1
"""The state after a token that was not allowed."""
FINISHED = 0
"""The state after an end token; only end tokens may follow."""


class Counters:
    """What all matchers of an automaton have done, counted without a lock: threads at once may lose a few.

    Attributes
    ----------
    asked, found : int
        Masks that were asked for, and those of them that were in `TokenVocabulary.masks`.
    generations : int
        How often the automaton's tables were begun.
    """

    __slots__ = ("asked", "found", "generations")

    def __init__(self) -> None:
        self.asked = self.found = self.generations = 0


class Explanation(NamedTuple):
    """Where a state is in its grammar and what may come next."""

    places: list[tuple[str, str]]
    """Rules that the text may be in: (name, JSON pointer or ``""``)."""
    next_bytes: bytes
    """Every byte that may come next, in order."""
    may_end: bool
    """Whether the text may end here."""


class Matcher:
    """One request's states and all their forks. A state is an integer; nothing that is done with it changes it.

    Made by `TokenAutomaton.matcher`. After `close`, or the end of a ``with`` block, its states are gone and using
    them raises `MatcherClosed`. A number that is no state of the automaton raises ``ValueError``.

    Attributes
    ----------
    start : int
        The state before the first token.
    """

    def __init__(
        self,
        stacks: StackAutomaton,
        vocabulary: TokenVocabulary,
        identity: int,
        counters: Counters,
        max_states: int = sys.maxsize,
    ) -> None:
        self.start = stacks.start
        self._stacks, self._vocabulary, self._identity = stacks, vocabulary, identity
        self._counters, self._max_states = counters, max_states
        self._words = vocabulary.masks.rows.shape[1]
        self._closed = False

    def advance(self, state: int, token_id: int) -> int:
        """The state after ``token_id``: `DEAD` if it is not allowed, `FINISHED` after an allowed end token.

        Raises
        ------
        ValueError
            The vocabulary has no such token.
        GrammarLimitExceeded
            The automaton needs more states or bytes than it may have.
        """
        if self._closed:
            self._check(state)
        try:
            after = self._stacks.advance(state, token_id)
        except OverflowError:  # a number of over 64 bits
            after = NO_TOKEN
        if after < DEAD:
            self._check(state)
            raise ValueError(f"token id {token_id} is not in a vocabulary of {len(self._vocabulary)} tokens")
        if after >= self._max_states:  # as in `_within_limit`, without a call: this is done for every token
            raise too_many_states(self._max_states)
        return after

    def advance_bytes(self, state: int, text: bytes) -> int:
        """The state after ``text``, whatever its tokens; `DEAD` where it cannot come.

        Raises
        ------
        GrammarLimitExceeded
            The automaton needs more states or bytes than it may have.
        """
        self._check(state)
        return self._within_limit(self._stacks.advance_bytes(state, text) or DEAD) if state > FINISHED else DEAD

    def fill_mask(self, state: int, row: Int32Array) -> None:
        """Write the mask of ``state`` to ``row``.

        Parameters
        ----------
        row : int32[ceil(V/32)]
            Bit ``i % 32`` of word ``i // 32`` set = token ``i`` allowed.

        Raises
        ------
        ValueError
            ``row`` has another shape or dtype, or is read-only.
        """
        if self._closed:
            self._check(state)
        self._counters.asked += 1
        try:
            wrong = self._stacks.fill_mask(state, row)
        except OverflowError:  # a number of over 64 bits
            self._check(state)
            raise
        except TypeError:  # no contiguous int32 array that may be written
            self._check_row(row)
            row[:] = self._mask(state)
            return
        if wrong:
            self._check(state)
            self._check_row(row)

    def fill_masks(self, states: Sequence[int], rows: Int32Array) -> None:
        """Write the mask of ``states[i]`` to ``rows[i]``, int32[states, ceil(V/32)].

        Raises
        ------
        ValueError
            As `fill_mask` does, or there are not as many rows as states.
        """
        if len(states) != len(rows):
            raise ValueError(f"{len(states)} states need as many rows, not {len(rows)}")
        if self._closed or rows.dtype != np.int32 or not rows.flags.carray:
            for state, row in zip(states, rows, strict=True):
                self.fill_mask(state, row)
            return
        try:
            numbers = np.array(states, np.int64)
        except OverflowError:  # a number of over 64 bits
            for state in states:
                self._check(state)
            raise
        self._counters.asked += len(states)
        if self._stacks.fill_masks(numbers, rows):
            for state, row in zip(states, rows, strict=True):
                self._check(state)
                self._check_row(row)

    def fill_mask_within(self, state: int, row: Int32Array, budget: int) -> bool:
        """Like `fill_mask`, but only tokens after which `distance` is at most ``budget``.

        Returns
        -------
        bool
            Whether any token is left; where ``budget`` is at least ``distance(state) - 1`` there is one.
        """
        if self._closed:
            self._check(state)
        self._counters.asked += 1
        budget = max(-1, min(budget, NO_BUDGET))
        try:
            held = self._stacks.fill_mask_within(state, row, budget)
        except OverflowError:  # a number of over 64 bits
            self._check(state)
            raise
        except TypeError:  # no contiguous int32 array that may be written
            self._check(state)
            self._check_row(row)
            bits = np.empty(self._words, np.int32)
            held = self._stacks.fill_mask_within(state, bits, budget)
            row[:] = bits
        if held < 0:
            self._check(state)
            self._check_row(row)
        return held > 0

    def mask_row(self, state: int) -> int:
        """The slot of this state's mask in ``vocabulary.masks.rows``."""
        self._check(state)
        self._counters.asked += 1
        self._counters.found += 1
        if state == DEAD:
            return NO_TOKENS
        return self._vocabulary.masks.slot((self._identity, state), lambda row: self._compute(state, row))

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end here; end tokens are allowed exactly then."""
        self._check(state)
        return self._may_end(state)

    def forced_tokens(self, state: int) -> list[int]:
        """The tokens that must come next, while exactly one is allowed; end tokens are not among them."""
        row: Int32Array = np.empty(self._words, np.int32)
        return self.forced_path(state, row)[0]

    def forced_path(self, state: int, row: Int32Array) -> tuple[list[int], int]:
        """As `forced_tokens`, and the state after them; ``row``, int32[words], has its mask, unless it may end."""
        forced: list[int] = []
        while state > FINISHED and not self.is_accepting(state):
            self.fill_mask(state, row)
            allowed = only_token(row)
            if allowed < 0:
                break
            forced.append(allowed)
            state = self.advance(state, allowed)
        return forced, state

    def forced_bytes(self, state: int) -> bytes:
        """The bytes that must come next, across token borders."""
        self._check(state)
        forced = bytearray()
        while (byte := self._forced_byte(state)) is not None:
            forced.append(byte)
            state = self._stacks.advance_bytes(state, bytes([byte]))
        return bytes(forced)

    def distance(self, state: int) -> int:
        """So many tokens suffice to reach an end, the end token not counted.

        An upper bound that can be kept: unless the text may end, some allowed token lowers it by at least one. It is
        2**28 where the vocabulary's single-byte tokens and literals give no bound, and for `DEAD`.
        """
        self._check(state)
        if state <= FINISHED:
            return 0 if state == FINISHED else FAR
        return self._stacks.distance(state)

    def explain(self, state: int) -> Explanation:
        """Where in the schema or grammar this state is, and what may come."""
        self._check(state)
        if state <= FINISHED:
            return Explanation([], b"", state == FINISHED)
        return Explanation(list(places_of(self._stacks, state)), self._stacks.next_bytes(state), self._may_end(state))

    def close(self) -> None:
        """Let the states go; calling it again does nothing."""
        self._closed = True

    def __enter__(self) -> Matcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self, state: int) -> None:
        if self._closed:
            raise MatcherClosed("this matcher is closed and its states are gone; ask the automaton for a new one")
        if not DEAD <= state < self._stacks.states:
            raise ValueError(f"{state} is not a state of this matcher")

    def _check_row(self, row: Int32Array) -> None:
        if row.shape != (self._words,) or row.dtype != np.int32:
            raise ValueError(f"a mask row is int32[{self._words}], not {row.dtype}{list(row.shape)}")

    def _within_limit(self, after: int) -> int:
        """A state just reached, unless there are too many; states are numbered as they come."""
        if after >= self._max_states:
            raise too_many_states(self._max_states)
        return after

    def _may_end(self, state: int) -> bool:
        return state == FINISHED or (state > FINISHED and self._stacks.is_accepting(state))

    def _mask(self, state: int) -> Int32Array:
        self._check(state)
        row = np.empty(self._words, np.int32)
        self._stacks.fill_mask(state, row)
        return row

    def _compute(self, state: int, row: Int32Array) -> None:
        self._counters.found -= 1
        self._stacks.fill_mask(state, row)

    def _forced_byte(self, state: int) -> int | None:
        """The one byte that may come next, where nothing else may."""
        if state <= FINISHED or self._may_end(state) or self._stacks.has_special_tokens(state):
            return None
        following = self._stacks.next_bytes(state)
        return following[0] if len(following) == 1 else None
