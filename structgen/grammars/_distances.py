"""How far the states of an automaton are from an end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["distances_to_end"]


def distances_to_end(accepting: Iterable[bool], before: Sequence[Iterable[int]]) -> list[int]:
    """The fewest steps from each state to an accepting one, -1 where none can be reached; breadth first, backwards.

    Parameters
    ----------
    accepting : iterable of bool
        Whether a text may end in each state.
    before : sequence of iterable of int
        The states one step before each state.
    """
    distances = [0 if accepts else -1 for accepts in accepting]
    reached = [state for state, distance in enumerate(distances) if distance == 0]
    for state in reached:
        further = distances[state] + 1
        for earlier in before[state]:
            if distances[earlier] < 0:
                distances[earlier] = further
                reached.append(earlier)
    return distances
