"""Things that behave alike, in classes: the coarsest partition that a signature respects.

Hopcroft's refinement (1971) in the form of Valmari (2012): of a class that falls apart the largest part keeps its name,
and only what depends on a renamed part is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from structgen.grammars.limits import checkpoint

__all__ = ["alike", "refined"]

_Signature = Callable[[int, Sequence[int]], Hashable]


def alike(things: int, signature: _Signature, users: Sequence[Iterable[int]]) -> list[int]:
    """The class of each of so many things, numbered by first members; `refined` says the rest."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(one, len(numbers)) for one in refined([0] * things, signature, users)]


def refined(classes: list[int], signature: _Signature, users: Sequence[Iterable[int]]) -> list[int]:
    """Split classes until the things of each do the same; ``classes`` is changed and returned.

    Parameters
    ----------
    classes : list of int
        Of each thing the class to begin with, -1 for those that are left as they are.
    signature : callable
        Says what a thing does, given the classes of all; things that do the same are in one class.
    users : sequence of iterable of int
        Of each thing those whose signatures look at its class.
    """
    members: list[set[int]] = [set() for _ in range(max(classes, default=-1) + 1)]
    for thing, its in enumerate(classes):
        if its >= 0:
            members[its].add(thing)
    touched: Iterable[int] = range(len(classes))
    while touched:
        checkpoint()
        looked_at: dict[int, list[int]] = {}
        for thing in touched:
            its = classes[thing]
            if its >= 0 and len(members[its]) > 1:
                looked_at.setdefault(its, []).append(thing)
        splits = [(its, _parts(members[its], those, signature, classes)) for its, those in looked_at.items()]
        renamed: list[int] = []
        for its, parts in splits:
            for part in parts:
                members[its] -= part
                for thing in part:
                    classes[thing] = len(members)
                members.append(part)
                renamed += part
        touched = {user for thing in renamed for user in users[thing]}
    return classes


def _parts(members: set[int], touched: list[int], signature: _Signature, classes: Sequence[int]) -> list[set[int]]:
    """The parts of a class that get a new name: all but the largest. Those not touched are alike."""
    groups: dict[Hashable, set[int]] = {}
    for thing in touched:
        groups.setdefault(signature(thing, classes), set()).add(thing)
    if len(touched) < len(members):
        others = members.difference(touched)
        groups.setdefault(signature(next(iter(others)), classes), set()).update(others)
    parts = list(groups.values())
    parts.remove(max(parts, key=len))
    return parts
