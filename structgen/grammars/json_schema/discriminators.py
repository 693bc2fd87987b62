"""Telling the branches of a union of objects apart by the value of a key that all of them require."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from structgen.grammars.json_schema.few_values import Scalar, few_scalars
from structgen.grammars.json_schema.value_ways import ObjectWay

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["Discriminator"]

_MAX_VALUES = 64
_MAX_KEYS = 8


class Discriminator:
    """Few values, for each way, of a key that all ways require.

    Parameters
    ----------
    algebra : Algebra
        What looks into the members.
    ways : sequence of ObjectWay
        The ways to tell apart.
    """

    def __init__(self, algebra: Algebra, ways: Sequence[ObjectWay]) -> None:
        self._algebra = algebra
        self._values: dict[ObjectWay, frozenset[Scalar]] = {}
        if len(ways) > 2:
            common = [name for name in ways[0].required if all(name in way.required for way in ways)]
            for name in common[:_MAX_KEYS]:
                if self._tell_apart(name, ways):
                    break

    def may_overlap(self, one: ObjectWay, other: ObjectWay) -> bool:
        """Whether the key can have the same value in both."""
        return not self._values or not self._values[one].isdisjoint(self._values[other])

    def _tell_apart(self, name: str, ways: Sequence[ObjectWay]) -> bool:
        """Whether each way leaves the key only few values; they are then kept."""
        found: dict[ObjectWay, frozenset[Scalar]] = {}
        for way in ways:
            scalars = self._algebra.member_scalars(way, name)
            values = None if scalars is None else few_scalars(scalars, _MAX_VALUES)
            if values is None:
                return False
            found[way] = values
        self._values = found
        return True
