"""The texts that a DFA accepts within bounds on the length: which and how many."""

from __future__ import annotations

from structgen.grammars.char_dfa import FIRST_SURROGATE, LAST_SURROGATE, MAX_CODE_POINT, CharDfa

__all__ = ["SATURATED", "members", "size"]

SATURATED = 2**31 - 1
"""So many or more, infinitely many among them."""

_CHARACTERS = MAX_CODE_POINT + 1 - (LAST_SURROGATE + 1 - FIRST_SURROGATE)


def members(dfa: CharDfa, low: int, high: int | None, limit: int) -> tuple[str, ...] | None:
    """The members of a finite language, ``None`` where there are more than ``limit``.

    Every prefix that is kept leads to a member, so there are never more of one length than there are members.
    """
    prefixes: list[tuple[str, int]] = [("", 0)]
    found: list[str] = []
    length = 0
    while prefixes:
        if length >= low:
            found += [text for text, state in prefixes if dfa.accepting[state]]
        if len(found) > limit or length == high:
            break
        length += 1
        following = _longer(dfa, prefixes, limit, low - length, None if high is None else high - length)
        if following is None:
            return None
        prefixes = following
    return tuple(sorted(found)) if len(found) <= limit else None


def _longer(
    dfa: CharDfa, prefixes: list[tuple[str, int]], limit: int, low: int, high: int | None
) -> list[tuple[str, int]] | None:
    """The prefixes with one more character that can end within the bounds, ``None`` for more than ``limit``."""
    following: list[tuple[str, int]] = []
    for text, state in prefixes:
        for place in range(dfa.starts[state], dfa.starts[state + 1]):
            target = dfa.targets[place]
            if dfa.queries.can_end(target, low, high):
                if len(following) + dfa.highs[place] - dfa.lows[place] >= limit:
                    return None
                points = range(dfa.lows[place], dfa.highs[place] + 1)
                following += [(text + chr(point), target) for point in points]
    return following


def size(dfa: CharDfa | None, low: int, high: int | None) -> int:
    """How many texts there are, saturated."""
    if dfa is None:
        return sum(_CHARACTERS**length for length in range(low, 2)) if high == 1 else SATURATED
    if high is None and dfa.longest is None:
        return SATURATED
    counts = {0: 1}
    total = length = 0
    while counts and (high is None or length <= high) and total < SATURATED:
        if length >= low:
            total += sum(count for state, count in counts.items() if dfa.accepting[state])
        counts = _counts_after(dfa, counts)
        length += 1
    return min(total, SATURATED)


def _counts_after(dfa: CharDfa, counts: dict[int, int]) -> dict[int, int]:
    following: dict[int, int] = {}
    for state, count in counts.items():
        for place in range(dfa.starts[state], dfa.starts[state + 1]):
            target = dfa.targets[place]
            more = count * (dfa.highs[place] + 1 - dfa.lows[place])
            following[target] = min(following.get(target, 0) + more, SATURATED)
    return following
