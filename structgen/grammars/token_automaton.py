"""TokenAutomaton: a grammar over a vocabulary, shared by all its requests."""

from __future__ import annotations

import itertools

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Rule
from structgen.grammars.matcher import Matcher
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["TokenAutomaton"]

_DEFAULT_MAX_BYTES = 256 << 20
_identities = itertools.count()


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
    GrammarLimitExceeded
        The grammar is nested too deeply.
    GrammarError
        A rule is left-recursive.
    """

    def __init__(self, start: Rule, vocabulary: TokenVocabulary, max_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self.vocabulary = vocabulary
        try:
            self._stacks = StackAutomaton(start, vocabulary.lengths, vocabulary.interiors, max_bytes)
        except RecursionError as error:
            raise GrammarLimitExceeded(f"{start.name} is nested too deeply; flatten it") from error
        self._identity = next(_identities)
        self._min_tokens: int | None = None

    def __repr__(self) -> str:
        return f"TokenAutomaton({self._stacks.states:,} states, {self.nbytes:,} bytes)"

    @property
    def nbytes(self) -> int:
        """Bytes that the automaton's tables take."""
        return self._stacks.nbytes

    def matcher(self) -> Matcher:
        """The states of one request; close it, or use it as a context manager."""
        return Matcher(self._stacks, self.vocabulary, self._identity)

    def accepts(self, text: str | bytes) -> bool:
        """Whether ``text`` is whole and valid, whatever its tokens."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return self._stacks.is_accepting(self._stacks.advance_bytes(self._stacks.start, data))

    @property
    def distance(self) -> int:
        """So many tokens suffice for some accepted text, end token not counted; see `Matcher.distance`."""
        return self._stacks.distance(self._stacks.start)

    @property
    def min_tokens(self) -> int:
        """No accepted text has fewer tokens, end token not counted; exact for grammars of moderate size."""
        if self._min_tokens is None:
            self._min_tokens = self._shortest()
        return self._min_tokens

    def _shortest(self, max_states: int = 256) -> int:
        """Breadth-first search over tokens; beyond ``max_states`` what has been ruled out by then."""
        frontier, seen, tokens = [self._stacks.start], {self._stacks.start}, 0
        while not any(self._stacks.is_accepting(state) for state in frontier):
            reached: dict[int, None] = {}
            for state in frontier:
                nearby = self._stacks.successors(state, max_states)
                if nearby is None or len(seen) > max_states:
                    return tokens + 1
                reached.update((new, None) for new in nearby if new not in seen)
                seen.update(nearby)
            if not reached:
                return FAR  # the vocabulary cannot spell any text of the language
            frontier, tokens = list(reached), tokens + 1
        return tokens
