"""How long the texts are that lead from each state of an automaton to an end, as string machines ask for it."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.tables import ENDLESS
from structgen.grammars.char_dfa import CharDfa, Lengths

__all__ = ["StateLengths", "lengths_of"]

_MAX_WORDS = 1 << 22


class StateLengths(NamedTuple):
    """By state: the least length and the greatest, and where not all between are possible, all of them."""

    shortest: tuple[int, ...]
    longest: tuple[int, ...]
    """`ENDLESS` where there is none."""
    gaps: Lengths | None
    """`None` where there are none."""

    def least(self, state: int, length: int) -> int:
        """The least possible length from ``state`` that is ``length`` or more; there is one."""
        length = max(length, self.shortest[state])
        while self.gaps is not None and not self.gaps.of(length) >> state & 1:
            length += 1
        return length

    @property
    def words_a_set(self) -> int:
        """Words that hold a bit for each state."""
        return (len(self.shortest) + 31) // 32

    def words(self) -> Int32Array:
        """int32[sets * words a set]: the lengths with gaps, by length and state.

        Raises
        ------
        GrammarLimitExceeded
            It would take more than 16 MB.
        """
        sets = self.gaps.sets if self.gaps is not None else ()
        if self.words_a_set * len(sets) > _MAX_WORDS:
            raise GrammarLimitExceeded("a pattern with bounds on the length has too many states; simplify the pattern")
        return np.frombuffer(b"".join(one.to_bytes(4 * self.words_a_set, "little") for one in sets), np.int32)


_known: WeakKeyDictionary[CharDfa, StateLengths] = WeakKeyDictionary()


def lengths_of(dfa: CharDfa) -> StateLengths:
    """The lengths of ``dfa``, computed once.

    Raises
    ------
    GrammarLimitExceeded
        See `CharDfa.lengths`.
    """
    found = _known.get(dfa)
    if found is None:
        found = _known[dfa] = _compute(dfa)
    return found


def _compute(dfa: CharDfa) -> StateLengths:
    lengths = dfa.lengths
    longest = [ENDLESS] * len(dfa)
    begun = ended = 0
    has_gaps = False
    for length in range(len(lengths.sets) + 1):
        now = lengths.of(length)
        has_gaps |= now & ended != 0
        ending = begun & ~now & ~ended
        ended |= ending
        begun |= now
        while ending:
            bit = ending & -ending
            longest[bit.bit_length() - 1] = length - 1
            ending ^= bit
    return StateLengths(dfa.shortest, tuple(longest), lengths if has_gaps else None)
