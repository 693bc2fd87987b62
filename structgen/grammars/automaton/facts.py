"""What is known of a rule before it is lowered, and of a vocabulary where lengths are counted in tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Call, Rule
from structgen.grammars.limits import checkpoint
from structgen.grammars.values import Value

__all__ = ["Called", "Facts", "Lengths", "literal_distances", "literal_tokens", "meant"]

Called = Rule | Value
"""What an automaton enters and leaves: rules, and values, which are rules without an expression."""


def meant(called: Called) -> Called:
    """What is called in the end by calling a rule that does nothing but call it."""
    while isinstance(called, Rule):
        body = called.body
        if isinstance(body, Call):
            called = body.rule
        elif isinstance(body, Value):
            called = body
        else:
            break
    return called


class Facts(NamedTuple):
    """What holds of a rule or an expression."""

    productive: bool
    """Some string matches."""
    nullable: bool
    """The empty string matches."""
    tokens: int
    """So many tokens suffice for the shortest match that was found; `FAR` where single tokens cannot spell it."""
    growth: int = 0
    """So many more where that match stands one level deeper in a text that is indented."""
    is_indented: bool = False
    """Some match is written in another way where it stands deeper."""

    def at(self, depth: int) -> int:
        """Tokens that suffice for a match inside so many objects and arrays."""
        return min(FAR, self.tokens + self.growth * depth)


class Lengths(NamedTuple):
    """What a vocabulary says about lengths."""

    longest: int
    """Bytes of the longest token."""
    has: Callable[[bytes], bool]
    """Whether these bytes are one token."""
    single: int
    """The bytes that are tokens, as a 256-bit integer."""
    reach: Callable[[bytes, int], int]
    """Bytes of the longest token that begins with these two bytes; the second argument where none does."""
    spelled: dict[bytes, list[int]]
    """Of short texts met so far the fewest tokens from each place to the end: most stand in many grammars."""


_SHORT = 64
"""Bytes of a text whose fewest tokens are looked for before it is lowered, and kept."""
_MOST_SPELLED = 1 << 14
_STRIDE = 0x3FF
"""Limits are looked at once in so many places of a text, and one."""


def literal_tokens(text: bytes, lengths: Lengths) -> int:
    """So many tokens suffice for ``text``: the fewest for a short one, else always the longest that comes next."""
    if len(text) <= _SHORT:
        return literal_distances(text, 0, lengths)[0]
    place, tokens = 0, 0
    while place < len(text):
        if not tokens & _STRIDE:
            checkpoint()
        longest = min(len(text) - place, lengths.reach(text[place : place + 2], 1))
        length = next((one for one in range(longest, 0, -1) if lengths.has(text[place : place + one])), 0)
        if not length:  # a shorter token before it might have helped
            return literal_distances(text, 0, lengths)[0]
        place, tokens = place + length, tokens + 1
    return tokens


def literal_distances(text: bytes, after: int, lengths: Lengths) -> list[int]:
    """For each place of ``text``, its end included, the fewest tokens that spell the rest, plus ``after``."""
    if len(text) > _SHORT:
        return _distances(text, after, lengths)
    kept = lengths.spelled
    found = kept.get(text)
    if found is None:
        if len(kept) >= _MOST_SPELLED:
            kept.clear()
        found = kept[text] = _distances(text, 0, lengths)  # two threads may both work it out, and get the same
    return [min(one + after, FAR) for one in found]


def _distances(text: bytes, after: int, lengths: Lengths) -> list[int]:
    distances, has, reach = [FAR] * len(text) + [min(after, FAR)], lengths.has, lengths.reach
    for place in range(len(text) - 1, -1, -1):
        if not place & _STRIDE:
            checkpoint()
        least = FAR
        for end in range(place + 1, min(len(text), place + reach(text[place : place + 2], 1)) + 1):
            if distances[end] + 1 < least and has(text[place:end]):
                least = distances[end] + 1
        distances[place] = least
    return distances
