"""Circles of what leads to each other: the strongly connected components of a graph (Tarjan 1972)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

__all__ = ["circles_of"]

_Thing = TypeVar("_Thing", bound=Hashable)


def circles_of(following: Mapping[_Thing, Collection[_Thing]]) -> dict[_Thing, frozenset[_Thing]]:
    """The things from which a way leads back to them, each with all others on such ways."""
    found: dict[_Thing, frozenset[_Thing]] = {}
    index: dict[_Thing, int] = {}
    low: dict[_Thing, int] = {}
    path: dict[_Thing, None] = {}
    for root in following:
        pending = [] if root in index else [(root, iter(following[root]))]
        while pending:
            thing, others = pending[-1]
            if thing not in index:
                index[thing] = low[thing] = len(index)
                path[thing] = None
            for other in others:
                if other not in index:
                    pending.append((other, iter(following[other])))
                    break
                if other in path:
                    low[thing] = min(low[thing], index[other])
            else:
                pending.pop()
                if pending:
                    low[pending[-1][0]] = min(low[pending[-1][0]], low[thing])
                if low[thing] == index[thing]:
                    circle = frozenset(_cut(path, thing))
                    if len(circle) > 1 or thing in following[thing]:
                        found.update(dict.fromkeys(circle, circle))
    return found


def _cut(path: dict[_Thing, None], first: _Thing) -> list[_Thing]:
    """Take ``first`` and what is after it away from a path."""
    taken: list[_Thing] = []
    while not taken or taken[-1] != first:
        taken.append(path.popitem()[0])
    return taken
