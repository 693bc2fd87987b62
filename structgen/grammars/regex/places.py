"""What may lie beside a position, seen through the part of a pattern that lies between.

An anchor looks at one side of its position. What is there is known from the parts of the pattern on that side: each
of them relates what lies beyond it to what lies on this side of it.
"""

from __future__ import annotations

from functools import reduce

from structgen.grammars.charset import NEWLINE
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Look, Node, Place, Repeat

__all__ = ["Crossings", "Places"]

Places = frozenset[Place]
_Crossing = frozenset[tuple[Place, Place]]
"""Pairs of what lies beyond a part and what may then lie on this side of it."""

_SAME: _Crossing = frozenset((place, place) for place in Place)


class Crossings:
    """The crossings of the nodes of one pattern, each computed once.

    Parameters
    ----------
    looks_back : bool
        Whether the parts are before the position, or else after it.
    """

    def __init__(self, looks_back: bool) -> None:
        self._looks_back = looks_back
        self._known: dict[Node, _Crossing] = {}

    def through(self, node: Node, beyond: Places) -> Places:
        """What may lie on this side of ``node`` where any of ``beyond`` lies on the other."""
        return frozenset(near for far, near in self._of(node) if far in beyond)

    def through_repeated(self, node: Node, beyond: Places) -> Places:
        """The same through ``node`` once or more often."""
        return self.through(node, frozenset(near for far, near in _up_to(self._of(node), None) if far in beyond))

    def _of(self, node: Node) -> _Crossing:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._compute(node)
        return found

    def _compute(self, node: Node) -> _Crossing:
        if isinstance(node, Characters):
            return self._characters(node)
        if isinstance(node, Anchor):
            passable = node.places if node.looks_back == self._looks_back else frozenset(Place)
            return frozenset((place, place) for place in passable)
        if isinstance(node, Look):
            return _SAME  # never asked of a pattern that can be lowered
        if isinstance(node, Repeat):
            inner = self._of(node.part)
            more = None if node.high is None else node.high - node.low
            return _compose(_power(inner, node.low), _up_to(inner, more))
        inner_ones = [self._of(part) for part in node.inside]
        if isinstance(node, Alternatives):
            return frozenset[tuple[Place, Place]]().union(*inner_ones)
        return reduce(_compose, inner_ones if self._looks_back else reversed(inner_ones), _SAME)

    def _characters(self, node: Characters) -> _Crossing:
        crossing: set[tuple[Place, Place]] = set()
        for far in Place:
            if node.members - NEWLINE:
                crossing.add((far, Place.OTHER))
            if node.members & NEWLINE:
                is_final = far is Place.EDGE and not self._looks_back
                crossing.add((far, Place.FINAL_NEWLINE if is_final else Place.NEWLINE))
        return frozenset(crossing)


def _compose(far: _Crossing, near: _Crossing) -> _Crossing:
    return frozenset((first, last) for first, middle in far for other, last in near if middle is other)


def _power(crossing: _Crossing, times: int) -> _Crossing:
    """Through the same part ``times`` times, by repeated squaring."""
    result = _SAME
    while times:
        if times & 1:
            result = _compose(result, crossing)
        crossing, times = _compose(crossing, crossing), times >> 1
    return result


def _up_to(crossing: _Crossing, times: int | None) -> _Crossing:
    """Through the same part at most ``times`` times; as many places as there are say all."""
    return _power(_SAME | crossing, len(Place) if times is None else min(times, len(Place)))
