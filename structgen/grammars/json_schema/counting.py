"""What the automaton can count: how far, and whether it can tell that all counts of elements can still be reached.

For the latter it looks at each counter for itself: whether as many of the elements to come can move it as it still
lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from structgen.errors import GrammarLimitExceeded

if TYPE_CHECKING:
    from structgen.grammars.json_schema.array_plans import ArrayPlan
    from structgen.grammars.json_schema.conjunctions import Conjunction

__all__ = ["MOST", "counted_bounds", "why_not_counted"]

MOST = 1 << 30
"""No text has more elements or members than this."""


def counted_bounds(low: int, high: int | None, pointer: str) -> tuple[int, int | None]:
    """Bounds on a count as the automaton holds them: ``high`` is ``None`` where no text comes to it.

    Raises
    ------
    GrammarLimitExceeded
        No text comes to ``low``.
    """
    if low > MOST:
        raise GrammarLimitExceeded(f"{pointer or 'the root'}: a minimum of {low:,} is more than any text has")
    return low, None if high is not None and high > MOST else high


def why_not_counted(plan: ArrayPlan, known: Callable[[Conjunction], bool]) -> str | None:
    """Why looking at each counter for itself is not exact, if it is not."""
    if not plan.counters or _are_values(plan):
        return None
    places = [[item.counts for item in place if known(item.value)] for place in (*plan.prefix, plan.rest)]
    if _are_independent(plan, places):
        return None
    return "what it counts depends on what else is counted; bound the number of elements otherwise, or not at all"


def _are_independent(plan: ArrayPlan, places: list[list[frozenset[int]]]) -> bool:
    """Whether no counter stands in the way of another, nor of the elements that must be there."""
    lows = frozenset(number for number, one in enumerate(plan.counters) if one.low)
    highs = frozenset(number for number, one in enumerate(plan.counters) if one.high is not None)
    moving = [place for place, ways in enumerate(places) if any(lows & counts for counts in ways)]
    passed = places[: max(min(plan.low, len(places)), moving[-1] if moving else 0)]
    if highs and not all(any(highs.isdisjoint(counts) for counts in ways) for ways in passed):
        return False
    for number in lows:
        ways_to_move = [[counts for counts in ways if number in counts] for ways in places]
        if not all(any(highs & counts <= {number} for counts in ways) for ways in ways_to_move if ways):
            return False
    if len(lows) < 2:
        return True
    if plan.high is None and lows <= frozenset[int]().union(*places[-1]):
        return True
    return not lows & highs and all(any(lows <= counts for counts in places[place]) for place in moving)


def _are_values(plan: ArrayPlan) -> bool:
    """Whether each counter is of one value of all, which may come once: any of those left may then be next."""
    return (
        not plan.prefix
        and all((one.low, one.high) == (0, 1) for one in plan.counters)
        and all(len(item.counts) == 1 for item in plan.rest)
        and plan.low <= len(plan.counters)
    )
