"""The choices that a scheduler leaves open: who comes first, how a step is shared out, who gives way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from structgen.engine.task import Task

__all__ = ["FairShare", "FirstComeOrder", "LatestVictim", "Policies"]


class FirstComeOrder:
    """The order of admission: the smaller priority first, then who came first."""

    def key(self, task: Task) -> tuple[int, int]:
        """Return what tasks are sorted by."""
        return task.priority, task.arrival


class FairShare:
    """Shares out the tokens of a step among the running tasks.

    Who is generating comes first: a token each costs little, and somebody waits for each. Of what is left, half is for
    the prompt that is first in order, so that a long one gets on whatever comes after it; the rest is for the shortest
    first within a priority, so that a short one does not wait behind it.

    Parameters
    ----------
    order : FirstComeOrder
        Which prompt is first.
    """

    def __init__(self, order: FirstComeOrder) -> None:
        self._order = order

    def split(self, tasks: Iterable[Task], budget: int) -> dict[Task, int]:
        """Return how many tokens each task computes; tasks that get none are left out.

        Parameters
        ----------
        tasks : iterable of Task
            Running ones, at most ``budget`` of them.
        budget : int
            Tokens that all of them compute together at most.
        """
        in_order = sorted(tasks, key=self._order.key)
        counts: dict[Task, int] = {}
        generating = [task for task in in_order if task.caught_up]
        for behind, task in zip(reversed(range(len(generating))), generating, strict=True):
            counts[task] = min(task.remaining, budget - behind)  # a token at least for each behind it
            budget -= counts[task]
        prompts = [task for task in in_order if not task.caught_up]
        if prompts:
            self._split_prompts(prompts, budget, counts)
        return {task: count for task, count in counts.items() if count}

    def _split_prompts(self, prompts: list[Task], budget: int, counts: dict[Task, int]) -> None:
        first, *others = prompts
        counts[first] = min(first.remaining, -(-budget // 2))
        budget -= counts[first]
        for task in sorted(others, key=lambda task: (task.priority, task.remaining, task.arrival)):
            counts[task] = min(task.remaining, budget)
            budget -= counts[task]
        counts[first] += min(first.remaining - counts[first], budget)


class LatestVictim:
    """Who gives its pages up when there are too few: the largest priority, then who came last.

    A task that has given way ``limit`` times does so again only when all others have too, so that nobody is computed
    anew for ever.

    Parameters
    ----------
    limit : int
        So often a task gives way before the others.
    """

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit

    def choose(self, tasks: Sequence[Task]) -> Task:
        """Return the one of these, at least one, that gives way."""
        return max(tasks, key=lambda task: (task.preemptions < self._limit, task.priority, task.arrival))

    def below(self, task: Task, tasks: Iterable[Task]) -> list[Task]:
        """Return those of ``tasks`` that may be made to give way for ``task`` to start."""
        return [other for other in tasks if other.priority > task.priority and other.preemptions < self._limit]


class Policies(NamedTuple):
    """One of each."""

    order: FirstComeOrder = FirstComeOrder()
    share: FairShare = FairShare(FirstComeOrder())
    victim: LatestVictim = LatestVictim()
