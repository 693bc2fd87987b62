"""Things that behave alike, in classes: the coarsest partition that a signature respects (Moore 1956)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from structgen.grammars.limits import checkpoint

__all__ = ["alike"]


def alike(things: int, signature: Callable[[int, Sequence[int]], Hashable]) -> list[int]:
    """The class of each of so many things, numbered by first members.

    ``signature`` says what a thing does, given the classes of all; things that do the same are in one class.
    """
    classes, count = [0] * things, 0
    while True:
        numbers: dict[Hashable, int] = {}
        found: list[int] = []
        for thing in range(things):
            checkpoint()
            found.append(numbers.setdefault((classes[thing], signature(thing, classes)), len(numbers)))
        classes = found
        if len(numbers) == count:
            return classes
        count = len(numbers)
