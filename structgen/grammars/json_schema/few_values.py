"""The values of a condition, where they are few and have nothing inside."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from structgen.grammars.json_schema.ways import FALSE, NULL, TRUE, Ways

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra
    from structgen.grammars.json_schema.conjunctions import Conjunction

__all__ = ["Scalar", "few_scalars", "few_values"]

Scalar = tuple[str, object]
"""A value with the name of its kind, so that true is not 1."""


def few_scalars(ways: Ways, limit: int) -> frozenset[Scalar] | None:
    """The values of ``ways``, if they are at most ``limit`` of each kind and there are no arrays and objects."""
    if ways.arrays or ways.objects:
        return None
    found: list[Scalar] = [
        ("literal", value) for bit, value in ((NULL, None), (FALSE, False), (TRUE, True)) if ways.literals & bit
    ]
    for numbers in ways.numbers:
        members = numbers.members(limit)
        if members is None:
            return None
        found += [("number", member) for member in members]
    for strings in ways.strings:
        texts = strings.members(limit)
        if texts is None:
            return None
        found += [("string", text) for text in texts]
    return frozenset(found)


def few_values(algebra: Algebra, conjunctions: Iterable[Conjunction], limit: int) -> list[object] | None:
    """The values of all ``conjunctions``, if they are at most ``limit`` scalars."""
    found: dict[Scalar, None] = {}
    for conjunction in conjunctions:
        scalars = few_scalars(algebra.expand(conjunction), limit)
        if scalars is None or len(found) > limit:
            return None
        found.update(dict.fromkeys(sorted(scalars, key=repr)))
    return [float(value) if isinstance(value, Decimal) else value for _, value in found]
