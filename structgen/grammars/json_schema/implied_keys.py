"""Objects in which keys imply keys, where the number of members counts: made such that the automaton can count.

It counts the declared keys that may still come, and does not see that some of them exclude others.
"""

from __future__ import annotations

from collections.abc import Collection

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.object_plans import ObjectPlan

__all__ = ["countable"]

_MAX_PLANS = 1_000


def countable(plan: ObjectPlan, possible: Collection[str], nothing: Conjunction, *, is_open: bool) -> list[ObjectPlan]:
    """Plans that together are ``plan``, and in which enough members can follow wherever keys are left.

    Parameters
    ----------
    plan : ObjectPlan
        The object.
    possible : collection of str
        The declared keys that can be there.
    nothing : Conjunction
        What no value meets.
    is_open : bool
        Whether other keys can be there, of which there are always enough.

    Raises
    ------
    GrammarLimitExceeded
        There are too many.
    """
    if not plan.implications or is_open or plan.low <= len(plan.required) or _can_all_come(plan, possible):
        return [plan]
    pending, found = [plan], list[ObjectPlan]()
    while pending:
        one = pending.pop()
        if not one.implications:
            found.append(one)
            continue
        (keys, other), *rest = one.implications
        left = one._replace(implications=tuple(rest))
        pending += [left._replace(values={**one.values, key: nothing}) for key in keys]
        if other is not None:
            pending.append(left._replace(required=tuple(dict.fromkeys((*one.required, other)))))
        if len(pending) + len(found) > _MAX_PLANS:
            raise GrammarLimitExceeded(
                f"{plan.pointer or 'the root'}: too many keys imply each other where the number of members counts"
            )
    return found


def _can_all_come(plan: ObjectPlan, possible: Collection[str]) -> bool:
    """Whether all keys that follow one in order can be there together: what they imply is possible and comes later."""
    places = {name: place for place, name in enumerate(plan.values)}
    return (
        plan.high is None
        and all(
            other in possible and places[other] > max(places[key] for key in keys)
            for keys, other in plan.implications
            if other is not None and all(key in possible for key in keys)
        )
        and all(other is not None for _, other in plan.implications)
    )
