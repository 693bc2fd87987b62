"""``uniqueItems``: how many different elements there can be, and where the keyword cannot be held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from structgen.grammars.json_schema.few_values import Scalar, few_scalars

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra
    from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan

__all__ = ["limited_by_distinct", "why_not_unique"]

_FEW = 1_000
"""Of so many values at most, how many are left is reckoned with."""

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
    if not prefix or all(domain is None for domain in prefix):
        return None if rest is None else len(prefix) + len(rest)
    taken: dict[Scalar, frozenset[Scalar]] = {}
    length = 0
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


def why_not_unique(algebra: Algebra, plan: ArrayPlan, has_inside: Sequence[bool]) -> str | None:
    """Why the automaton cannot hold that all elements of ``plan`` differ, if it cannot.

    Parameters
    ----------
    algebra : Algebra
        For the elements' values.
    plan : ArrayPlan
        An array of several elements.
    has_inside : sequence of bool
        For each place of the prefix and for the rest, whether an element there can be an array or an object.
    """
    if any(has_inside):
        return "its elements can be arrays or objects, which are not compared yet; give items a scalar type"
    domains = [_domain(algebra, place) for place in (*plan.prefix, plan.rest)]
    if plan.counters and any(domain is not None for domain in domains):
        return "together with contains, elements of few values are not reckoned with yet"
    if plan.prefix and any(domain is not None for domain in domains[:-1]):
        return "elements of few values at single places are not reckoned with yet"
    return None
