"""``uniqueItems``: how many different elements there can be, and how the automaton holds that they differ.

Strings are the keys of an object without values. Where elements have few scalar values, each value has a counter that
may move once. All else is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan
from structgen.grammars.json_schema.few_values import Scalar, few_scalars, few_values
from structgen.grammars.json_schema.value_ways import Counter

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["counted_by_value", "limited_by_distinct", "why_not_strings"]

_FEW = 1_000
"""Of so many values at most, how many are left is reckoned with."""
_MAX_COUNTED = 24
"""Values of elements that are told apart by counters."""

Domain = frozenset[Scalar] | None


def limited_by_distinct(algebra: Algebra, plan: ArrayPlan) -> ArrayPlan | None:
    """``plan``, whose elements all differ, no longer than there are values for; ``None``: that is too short."""
    prefix = [_domain(algebra, place) for place in plan.prefix]
    most = _most_distinct(prefix, _domain(algebra, plan.rest))
    if most is None or (plan.high is not None and most >= plan.high):
        return plan
    return None if most < plan.low else plan._replace(high=most)


def _domain(algebra: Algebra, items: Iterable[ItemPlan]) -> Domain:
    """The values that an element can have; ``None``: more than a few."""
    found: set[Scalar] = set()
    for item in items:
        scalars = few_scalars(algebra.expand(item.value), _FEW)
        if scalars is None or len(found) > _FEW:
            return None
        found |= scalars
    return frozenset(found)


def _most_distinct(prefix: Sequence[Domain], rest: Domain) -> int | None:
    """How long an array of different elements can be; ``None``: without end."""
    if all(domain is None for domain in prefix):
        return None if rest is None else len(prefix) + len(rest)
    taken: dict[Scalar, frozenset[Scalar]] = {}
    for length, domain in enumerate(prefix):
        if domain is not None and not _place(domain, taken, set()):
            return length
    if rest is None:
        return None
    length = len(prefix)
    while _place(rest, taken, set()):
        length += 1
    return length


def _place(domain: frozenset[Scalar], taken: dict[Scalar, frozenset[Scalar]], tried: set[Scalar]) -> bool:
    """Give one more place a value of its own, moving others if need be: an augmenting path."""
    for value in domain - tried:
        tried.add(value)
        if value not in taken or _place(taken[value], taken, tried):
            taken[value] = domain
            return True
    return False


def counted_by_value(algebra: Algebra, plan: ArrayPlan) -> ArrayPlan | None:
    """``plan`` with a counter for each value, if all places have the same few scalar values."""
    places = (*plan.prefix, plan.rest) if plan.high is None or plan.high > len(plan.prefix) else plan.prefix
    domains = {_domain(algebra, place) for place in places}
    values = few_values(algebra, (item.value for place in places for item in place), _MAX_COUNTED)
    if plan.counters or len(domains) != 1 or values is None:
        return None
    constants = [algebra.constant(value, plan.pointer) for value in values]
    items = tuple(ItemPlan(algebra.conjunction(atom), frozenset((number,))) for number, atom in enumerate(constants))
    return plan._replace(
        prefix=(), rest=items, counters=tuple(Counter((atom,), 0, 1) for atom in constants), unique=False
    )


def why_not_strings(plan: ArrayPlan, *, has_inside: bool, has_others: bool) -> str | None:
    """Why ``plan`` cannot be held as a set of strings, if it cannot.

    Parameters
    ----------
    plan : ArrayPlan
        An array of several different elements.
    has_inside, has_others : bool
        Whether an element can be an array or an object, or another value that is no string.
    """
    if has_inside:
        return "its elements can be arrays or objects, which are not compared yet; give items the type string"
    if has_others:
        return f"its elements can be numbers or the like, of over {_MAX_COUNTED} values; give items the type string"
    if plan.prefix or plan.counters:
        return "elements are compared only where all are under one schema and nothing is counted; leave it out"
    return None
