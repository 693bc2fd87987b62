"""TokenAutomaton: a grammar over a vocabulary, shared by all its requests."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from typing import NamedTuple, cast

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.automaton.facts import Called, Facts
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Rule
from structgen.grammars.limits import open_max_bytes, open_max_states, too_many_states
from structgen.grammars.matcher import Counters, Matcher
from structgen.grammars.recipe import Recipe
from structgen.grammars.relaxation import Refusal, Relaxation, Validate
from structgen.grammars.sampling import byte_vocabulary, draw_text, has_special_tokens, shortest_ending
from structgen.grammars.saving import read_recipe, write_recipe
from structgen.grammars.verdict import Verdict, judge, refused
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Stats", "TokenAutomaton"]

_DEFAULT_MAX_BYTES = 256 << 20
_DRAWS = 256
"""So many random texts are looked at for one that a validator takes."""
_SHARE = 4
"""A generation that has used more than this part of what an automaton may use takes no new matchers."""
_identities = itertools.count()


class Stats(NamedTuple):
    """What an automaton holds, in its newest generation, and what its masks have cost, in all of them."""

    states: int
    """Places in a text that were told apart: stacks of rule states."""
    rules: int
    """Rules and values that were met."""
    registers: int
    """Contents of objects and arrays that were told apart."""
    bytes: int
    """Memory of the tables."""
    masks: int
    """Masks that were asked for, one by one, in batches or by slot. May miss a few where threads count at once."""
    cache_hits: int
    """Those of them whose slot in `TokenVocabulary.masks` held them already."""
    generations: int
    """How often the tables were begun anew, the first time included."""


class _Generation(NamedTuple):
    """The tables that some of an automaton's matchers share."""

    stacks: StackAutomaton
    identity: int
    """Names its states in caches that outlive it."""
    full_bytes: int
    full_states: int
    """With more it takes no new matchers."""


class TokenAutomaton:
    """A grammar over one vocabulary. Shared by all its requests; thread-safe.

    Made by `compile_json_schema`, `compile_regex` and the like. Its tables grow with use. When they have grown to a
    quarter of what they may, the next matcher begins with empty ones, while those that are open keep theirs: however
    many answers go through one automaton, its memory stays flat.

    Parameters
    ----------
    start : Rule
        What a text must match.
    vocabulary : TokenVocabulary
        The tokens.
    max_bytes : int, optional
        Limit on the tables of the automaton; by default what the limits allow that are open, or 256 MiB.
    max_states : int, optional
        Limit on its states; by default what the limits allow that are open, or none.
    validate : callable, optional
        What a whole text that the grammar accepts must pass besides: gives a `Refusal`, or ``None``.
    relaxed : tuple of Relaxation
        What the grammar leaves to ``validate``.
    facts : dict, optional
        What another automaton of the same rules knew of them over the same vocabulary; see `facts`.

    Attributes
    ----------
    vocabulary : TokenVocabulary
        The tokens.
    recipe : Recipe or None
        What it was compiled from, where a front end has compiled it.
    relaxed : tuple of Relaxation
        What it leaves out, with (pointer, keyword, why); empty where the grammar is exact. Masks and matchers go by the
        grammar alone; `accepts`, `check` and `sample` look at the whole text too.

    Raises
    ------
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        The grammar is nested too deeply, or needs more states or bytes than it may have.
    GrammarError
        A rule is left-recursive.
    """

    def __init__(
        self,
        start: Rule,
        vocabulary: TokenVocabulary,
        max_bytes: int | None = None,
        max_states: int | None = None,
        *,
        validate: Validate | None = None,
        relaxed: tuple[Relaxation, ...] = (),
        facts: dict[Called, Facts] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.relaxed = relaxed
        self._validate = validate
        self.recipe: Recipe | None = None
        self._start = start
        self._max_bytes = _first(max_bytes, open_max_bytes(), _DEFAULT_MAX_BYTES)
        self._max_states = _first(max_states, open_max_states(), sys.maxsize)
        self._counters = Counters()
        self._lock = threading.Lock()
        self._min_tokens: int | None = None
        self._bytewise: TokenAutomaton | None = None
        try:
            stacks = StackAutomaton(start, vocabulary.lengths, vocabulary.interiors, self._max_bytes, facts)
        except RecursionError as error:
            raise GrammarLimitExceeded(f"{start.name} is nested too deeply; flatten it") from error
        self._generation = self._begin(stacks)
        self._check_size(stacks)

    def __repr__(self) -> str:
        stacks = self._generation.stacks
        return f"TokenAutomaton({stacks.states:,} states, {stacks.nbytes:,} bytes)"

    @property
    def start(self) -> Rule:
        """What a text must match: a rule that may stand in a larger grammar."""
        return self._start

    @property
    def facts(self) -> dict[Called, Facts]:
        """What had to be found out about the rules before the first mask."""
        return self._generation.stacks.facts

    @property
    def nbytes(self) -> int:
        """Bytes that the automaton's tables take; those of older generations go with their last matcher."""
        return self._generation.stacks.nbytes

    def stats(self) -> Stats:
        """Counts of what is there and what it has cost."""
        generation, counters = self._generation, self._counters
        size = generation.stacks.size()
        return Stats(
            size.states,
            size.rules,
            size.registers,
            size.bytes,
            counters.asked,
            counters.found,
            counters.generations,
        )

    def matcher(self) -> Matcher:
        """The states of one request; close it, or use it as a context manager."""
        generation = self._current()
        return Matcher(generation.stacks, self.vocabulary, generation.identity, self._counters, self._max_states)

    def accepts(self, text: str | bytes) -> bool:
        """Whether ``text`` is whole and valid, whatever its tokens; `check` says why not."""
        stacks = self._current().stacks
        state = stacks.advance_bytes(stacks.start, _bytes_of(text))
        self._check_size(stacks)
        return stacks.is_accepting(state) and self._refusal(text) is None

    def check(self, text: str | bytes) -> Verdict:
        """Whether ``text`` is whole and valid, whatever its tokens; if not, where and what could have come there."""
        stacks = self._current().stacks
        verdict = judge(stacks, _bytes_of(text))
        self._check_size(stacks)
        refusal = self._refusal(text) if verdict.accepted else None
        return verdict if refusal is None else refused(_bytes_of(text), refusal)

    def _refusal(self, text: str | bytes) -> Refusal | None:
        """What the validator has against a text that the grammar accepts."""
        return None if self._validate is None else self._validate(_bytes_of(text))

    def sample(self, seed: int = 0, max_bytes: int = 4096) -> str:
        """A random text that is accepted, whatever its tokens. Most are short, some come near ``max_bytes``.

        Parameters
        ----------
        seed : int
            Another number is another text; equal grammars give the same text for the same number.
        max_bytes : int
            Length of its UTF-8 at most.

        Raises
        ------
        GrammarLimitExceeded
            The shortest text that is known is longer than ``max_bytes``; or the grammar is relaxed, and none of 256
            draws was valid.
        InvalidGrammar
            The grammar's texts are no UTF-8, or hold special tokens.
        """
        bytewise = self._over_bytes()
        for draw in range(_DRAWS):
            text = draw_text(bytewise, seed if draw == 0 else f"{seed}, draw {draw}", max_bytes)
            if self._refusal(text) is None:
                return text
        raise GrammarLimitExceeded(
            f"none of {_DRAWS} random texts is valid under what the grammar leaves out: {self.relaxed[0]}"
        )

    def ending(self, prefix: str | bytes) -> str | None:
        """A short way from ``prefix`` to the end of an accepted text; ``None`` where none begins with it.

        Raises
        ------
        InvalidGrammar
            The grammar's texts hold special tokens.
        """
        found = shortest_ending(self._over_bytes(), _bytes_of(prefix))
        return None if found is None else found.decode(errors="replace")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what this was compiled from to a file, which `load` compiles again; it is there whole or not at all.

        Raises
        ------
        InvalidGrammar
            No front end has compiled this, or from something that is no plain data.
        OSError
            The file cannot be written.
        """
        if self.recipe is None:
            raise InvalidGrammar("this automaton was made from rules; what a front end such as compile_regex gives can")
        write_recipe(path, self.recipe, self.vocabulary)

    @staticmethod
    def load(path: str | os.PathLike[str], vocabulary: TokenVocabulary) -> TokenAutomaton:
        """Compile again what `save` has written.

        Raises
        ------
        InvalidGrammar
            The file cannot be read, is cut, changed or something else, or was saved with another vocabulary.
        GrammarError
            This version of the front end does not take it.
        PluginError
            The front end is not installed.
        """
        return read_recipe(path, vocabulary).compile(vocabulary)

    @property
    def distance(self) -> int:
        """So many tokens suffice for some accepted text, end token not counted; see `Matcher.distance`."""
        stacks = self._generation.stacks
        return stacks.distance(stacks.start)

    @property
    def min_tokens(self) -> int:
        """No accepted text has fewer tokens, end token not counted; exact for grammars of moderate size."""
        if self._min_tokens is None:
            self._min_tokens = self._shortest()
        return self._min_tokens

    def _shortest(self, max_states: int = 256) -> int:
        """Breadth-first search over tokens; beyond ``max_states`` what has been ruled out by then."""
        stacks = self._current().stacks
        frontier, seen, tokens = [stacks.start], {stacks.start}, 0
        while not any(stacks.is_accepting(state) for state in frontier):
            reached: dict[int, None] = {}
            for state in frontier:
                nearby = stacks.successors(state, max_states)
                if nearby is None or len(seen) > max_states:
                    return tokens + 1
                reached.update((new, None) for new in nearby if new not in seen)
                seen.update(nearby)
            if not reached:
                return FAR  # the vocabulary cannot spell any text of the language
            frontier, tokens = list(reached), tokens + 1
        return tokens

    def _begin(self, stacks: StackAutomaton) -> _Generation:
        self._counters.generations += 1
        full_bytes = max(self._max_bytes // _SHARE, stacks.nbytes)
        full_states = max(self._max_states // _SHARE, stacks.states)
        return _Generation(stacks, next(_identities), full_bytes, full_states)

    def _current(self) -> _Generation:
        """The newest generation, begun now if the last one is full."""
        if _has_room(self._generation):
            return self._generation
        with self._lock:
            if not _has_room(self._generation):  # no other thread was first
                self._generation = self._begin(self._generation.stacks.renewed())
            return self._generation

    def _over_bytes(self) -> TokenAutomaton:
        """The same grammar with bytes for tokens."""
        if self.vocabulary is byte_vocabulary():
            return self
        if self._bytewise is None:  # two threads may both make it, and either will do
            if has_special_tokens(self._start):
                raise InvalidGrammar("texts of this grammar may hold special tokens, which have no bytes")
            self._bytewise = TokenAutomaton(self._start, byte_vocabulary(), self._max_bytes, self._max_states)
        return self._bytewise

    def _check_size(self, stacks: StackAutomaton) -> None:
        if stacks.states > self._max_states:
            raise too_many_states(self._max_states)
        if stacks.nbytes > self._max_bytes:
            raise GrammarLimitExceeded(
                f"the automaton needs {stacks.nbytes:,} bytes, more than max_bytes={self._max_bytes:,}; "
                "simplify the grammar or allow more"
            )


def _has_room(generation: _Generation) -> bool:
    stacks = generation.stacks
    return stacks.nbytes <= generation.full_bytes and stacks.states <= generation.full_states


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _bytes_of(text: str | bytes) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(cast("object", text), (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"a text is a str or bytes, not {type(text).__name__}")
