"""TokenAutomaton, shared by all requests of a grammar, and Matcher, one request's states."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple

import numpy as np

from structgen.errors import MatcherClosed
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Rule
from structgen.grammars.mask_pool import NO_TOKENS
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["DEAD", "FINISHED", "Explanation", "Matcher", "TokenAutomaton"]

DEAD = -1
"""The state after a token that was not allowed."""
FINISHED = 0
"""The state after an end token; only end tokens may follow."""

_DEFAULT_MAX_BYTES = 256 << 20
_identities = itertools.count()


class Explanation(NamedTuple):
    """Where a state is in its grammar and what may come next."""

    places: list[tuple[str, str]]
    """Rules that the text may be in: (name, JSON pointer or ``""``)."""
    next_bytes: bytes
    """Every byte that may come next, in order."""
    may_end: bool
    """Whether the text may end here."""


class TokenAutomaton:
    """A grammar over one vocabulary. Shared by all its requests; thread-safe.

    Made by `compile_json_schema`, `compile_regex` and the like.

    Parameters
    ----------
    start : Rule
        What a text must match.
    vocabulary : TokenVocabulary
        The tokens.
    max_bytes : int
        Limit on the tables of the automaton; beyond it `GrammarLimitExceeded` is raised.

    Raises
    ------
    EmptyLanguage
        No text matches.
    GrammarError
        A rule is left-recursive.
    """

    def __init__(self, start: Rule, vocabulary: TokenVocabulary, max_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self.vocabulary = vocabulary
        self._stacks = StackAutomaton(start, vocabulary.lengths(), vocabulary.trie, max_bytes)
        self._identity = next(_identities)
        self._min_tokens: int | None = None

    def __repr__(self) -> str:
        return f"TokenAutomaton({self._stacks.states:,} states, {self.nbytes:,} bytes)"

    @property
    def nbytes(self) -> int:
        """Bytes that the automaton's tables take."""
        return self._stacks.nbytes

    @property
    def start(self) -> int:
        """The state before the first token."""
        return self._stacks.start

    def matcher(self) -> Matcher:
        """The states of one request; close it, or use it as a context manager."""
        return Matcher(self)

    def accepts(self, text: str | bytes) -> bool:
        """Whether ``text`` is whole and valid, whatever its tokens."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        state = self._stacks.advance_bytes(self._stacks.start, data)
        return self._stacks.is_accepting(state)

    @property
    def min_tokens(self) -> int:
        """No accepted text has fewer tokens, end token not counted; exact for grammars of moderate size."""
        if self._min_tokens is None:
            self._min_tokens = self._shortest()
        return self._min_tokens

    def _shortest(self, max_states: int = 256) -> int:
        """Breadth-first search over tokens; beyond ``max_states`` what has been ruled out by then."""
        frontier, seen, tokens = [self.start], {self.start}, 0
        while not any(self._stacks.is_accepting(state) for state in frontier):
            reached: list[int] = []
            for state in frontier:
                nearby = self._stacks.successors(state, max_states)
                if nearby is None or len(seen) > max_states:
                    return tokens + 1
                reached += (new for new in nearby if new not in seen)
                seen.update(nearby)
            if not reached:
                return FAR  # only special tokens or spellings that the vocabulary lacks lead on
            frontier, tokens = list(dict.fromkeys(reached)), tokens + 1
        return tokens

    # The operations on states; `Matcher` checks its own openness and passes them on.

    def _advance(self, state: int, token_id: int) -> int:
        if not 0 <= token_id < len(self.vocabulary):
            raise ValueError(f"token id {token_id} is not in a vocabulary of {len(self.vocabulary)} tokens")
        if self.vocabulary.is_end(token_id) and self._is_accepting(state):
            return FINISHED
        if state <= FINISHED:
            return DEAD
        return self._stacks.advance(state, token_id) or DEAD

    def _is_accepting(self, state: int) -> bool:
        return state == FINISHED or (state > FINISHED and self._stacks.is_accepting(state))

    def _write_mask(self, state: int, row: Int32Array) -> None:
        self._write_mask_within(state, row, 2 * FAR)

    def _write_mask_within(self, state: int, row: Int32Array, budget: int) -> int:
        if state > FINISHED:
            count = self._stacks.fill_row(state, row, budget)
        else:
            row[:] = 0
            count = 0
        if self._is_accepting(state):
            for token_id in self.vocabulary.eos_token_ids:
                row[token_id >> 5] |= np.int32(1 << (token_id & 31)) if token_id & 31 != 31 else np.int32(-(1 << 31))
                count += 1
        return count

    def _mask_slot(self, state: int) -> int:
        if state == DEAD:
            return NO_TOKENS
        return self.vocabulary.masks.slot((self._identity, state), lambda row: self._write_mask(state, row))

    def _copy_mask(self, state: int, row: Int32Array) -> None:
        if state == DEAD:
            row[:] = 0
        else:
            self.vocabulary.masks.copy((self._identity, state), lambda own: self._write_mask(state, own), row)

    def _distance(self, state: int) -> int:
        return 0 if state == FINISHED else min(FAR, self._stacks.distance(state))

    def _forced_byte(self, state: int) -> int | None:
        """The one byte that may come next, where nothing else may."""
        if state <= FINISHED or self._stacks.is_accepting(state) or self._stacks.has_special_tokens(state):
            return None
        following = self._stacks.next_bytes(state)
        return following[0] if len(following) == 1 else None

    def _forced_bytes(self, state: int) -> bytes:
        forced = bytearray()
        while (byte := self._forced_byte(state)) is not None:
            forced.append(byte)
            state = self._stacks.advance_bytes(state, bytes([byte]))
        return bytes(forced)

    def _explain(self, state: int) -> Explanation:
        if state <= FINISHED:
            return Explanation([], b"", state == FINISHED)
        places = [(rule.name, rule.pointer) for rule in self._stacks.rules(state)]
        return Explanation(places, self._stacks.next_bytes(state), self._stacks.is_accepting(state))

    def _knows(self, state: int) -> bool:
        return DEAD <= state < self._stacks.states


class Matcher:
    """One request's states and all their forks. A state is an integer; nothing that is done with it changes it.

    After `close` (or the end of a ``with`` block) its states are gone and using them raises `MatcherClosed`.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar.

    Attributes
    ----------
    start : int
        The state before the first token.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._automaton: TokenAutomaton | None = automaton
        self._words = automaton.vocabulary.masks.rows.shape[1]
        self.start = automaton.start

    def advance(self, state: int, token_id: int) -> int:
        """The state after ``token_id``: `DEAD` if it is not allowed, `FINISHED` after an allowed end token.

        Raises
        ------
        ValueError
            No such token, or no such state.
        """
        return self._open(state)._advance(state, token_id)

    def fill_mask(self, state: int, row: Int32Array) -> None:
        """Write the mask of ``state`` to ``row``, int32[ceil(V/32)]: bit ``i % 32`` of word ``i // 32`` allows token i."""
        self._check_row(row)
        self._open(state)._copy_mask(state, row)

    def fill_masks(self, states: Sequence[int], rows: Int32Array) -> None:
        """Write the mask of ``states[i]`` to ``rows[i]``, int32[states, ceil(V/32)]."""
        if len(states) != len(rows):
            raise ValueError(f"{len(states)} states need as many rows, not {len(rows)}")
        for state, row in zip(states, rows, strict=True):
            self.fill_mask(state, row)

    def fill_mask_within(self, state: int, row: Int32Array, budget: int) -> bool:
        """Like `fill_mask`, but only tokens after which `distance` is at most ``budget``.

        Returns
        -------
        bool
            Whether any token is left; where ``budget`` is at least ``distance(state) - 1`` there is one.
        """
        self._check_row(row)
        return self._open(state)._write_mask_within(state, row, budget) > 0

    def mask_row(self, state: int) -> int:
        """The slot of this state's mask in ``vocabulary.masks.rows``."""
        return self._open(state)._mask_slot(state)

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end here; end tokens are allowed exactly then."""
        return self._open(state)._is_accepting(state)

    def forced_tokens(self, state: int) -> list[int]:
        """The tokens that must come next, while exactly one is allowed; end tokens are not among them."""
        automaton = self._open(state)
        row = np.empty(self._words, np.int32)
        forced: list[int] = []
        while state > FINISHED and not automaton._is_accepting(state):
            automaton._copy_mask(state, row)
            allowed = _only_bit(row)
            if allowed is None:
                break
            forced.append(allowed)
            state = automaton._advance(state, allowed)
        return forced

    def forced_bytes(self, state: int) -> bytes:
        """The bytes that must come next, across token borders."""
        return self._open(state)._forced_bytes(state)

    def distance(self, state: int) -> int:
        """So many tokens suffice to reach an end, the end token not counted.

        An upper bound that can be kept: unless the text may end, some allowed token lowers it by at least one. It is
        2**28 where the vocabulary's single-byte tokens and literals give no bound, and for `DEAD`.
        """
        return self._open(state)._distance(state) if state != DEAD else FAR

    def explain(self, state: int) -> Explanation:
        """Where in the schema or grammar this state is, and what may come."""
        return self._open(state)._explain(state)

    def close(self) -> None:
        """Let the states go; calling it again does nothing."""
        self._automaton = None

    def __enter__(self) -> Matcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, state: int) -> TokenAutomaton:
        if self._automaton is None:
            raise MatcherClosed("this matcher is closed and its states are gone; ask the automaton for a new one")
        if not self._automaton._knows(state):
            raise ValueError(f"{state} is not a state of this matcher")
        return self._automaton

    def _check_row(self, row: Int32Array) -> None:
        if row.shape != (self._words,) or row.dtype != np.int32:
            raise ValueError(f"a mask row is int32[{self._words}], not {row.dtype}{list(row.shape)}")


def _only_bit(row: Int32Array) -> int | None:
    """The index of the only bit set, ``None`` where there are more or none."""
    words = np.flatnonzero(row)
    if len(words) != 1:
        return None
    word = int(row[words[0]]) & 0xFFFFFFFF
    return int(words[0]) * 32 + word.bit_length() - 1 if word & (word - 1) == 0 else None
