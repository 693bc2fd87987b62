"""Whether the automaton can tell, while it counts an array's elements, that all counts can still be reached.

It looks at each counter for itself: whether as many of the elements to come can move it as it still lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structgen.grammars.json_schema.array_plans import ArrayPlan
    from structgen.grammars.json_schema.conjunctions import Conjunction

__all__ = ["why_not_counted"]


def why_not_counted(plan: ArrayPlan, known: Callable[[Conjunction], bool]) -> str | None:
    """Why looking at each counter for itself is not exact, if it is not."""
    places = [frozenset(item.counts for item in place if known(item.value)) for place in (*plan.prefix, plan.rest)]
    if not plan.counters or _are_values(plan):
        return None
    if len(plan.counters) == 1:
        needed = range(min(plan.low, len(places)))
        if plan.counters[0].high is None or all(frozenset() in places[place] for place in needed):
            return None
        return "elements that must be there count in any case; bound their number by maxItems instead"
    if plan.high is None and all(
        one.high is None and (not one.low or any(number in counts for counts in places[-1]))
        for number, one in enumerate(plan.counters)
    ):
        return None
    return "several counts of elements are held only where the array has no end and none of them has a maximum"


def _are_values(plan: ArrayPlan) -> bool:
    """Whether each counter is of one value of all, which may come once: any of those left may then be next."""
    return (
        not plan.prefix
        and all((one.low, one.high) == (0, 1) for one in plan.counters)
        and all(len(item.counts) == 1 for item in plan.rest)
        and plan.low <= len(plan.counters)
    )
