"""Things that behave alike, in classes: the coarsest partition that a signature respects.

As `structgen.grammars._minimal` does it for automata: of a class that falls apart the largest part keeps its name, and
only what depends on a renamed part is looked at again (Valmari 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from structgen.grammars.limits import checkpoint

__all__ = ["alike"]


def alike(
    things: int, signature: Callable[[int, Sequence[int]], Hashable], users: Sequence[Iterable[int]]
) -> list[int]:
    """The class of each of so many things, numbered by first members.

    Parameters
    ----------
    things : int
        So many.
    signature : callable
        Says what a thing does, given the classes of all; things that do the same are in one class.
    users : sequence of iterable of int
        Of each thing those whose signatures look at its class.
    """
    classes, members = [0] * things, [set(range(things))]
    touched: Iterable[int] = range(things)
    while touched:
        checkpoint()
        looked_at: dict[int, list[int]] = {}
        for thing in touched:
            if len(members[classes[thing]]) > 1:
                looked_at.setdefault(classes[thing], []).append(thing)
        splits = [
            (its, _parts(members[its], those, lambda thing: signature(thing, classes)))
            for its, those in looked_at.items()
        ]
        renamed: list[int] = []
        for its, parts in splits:
            for part in parts:
                members[its] -= part
                for thing in part:
                    classes[thing] = len(members)
                members.append(part)
                renamed += part
        touched = {user for thing in renamed for user in users[thing]}
    numbers: dict[int, int] = {}
    return [numbers.setdefault(one, len(numbers)) for one in classes]


def _parts(members: set[int], touched: list[int], signature: Callable[[int], Hashable]) -> list[set[int]]:
    """The parts of a class that get a new name: all but the largest. Those not touched are alike."""
    groups: dict[Hashable, set[int]] = {}
    for thing in touched:
        groups.setdefault(signature(thing), set()).add(thing)
    if len(touched) < len(members):
        others = members.difference(touched)
        groups.setdefault(signature(next(iter(others))), set()).update(others)
    parts = list(groups.values())
    parts.remove(max(parts, key=len))
    return parts
