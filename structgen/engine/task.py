"""A request as the scheduler sees it."""

from __future__ import annotations

from enum import Enum

from structgen.engine.kv import CachedSequence

__all__ = ["Task", "TaskState"]


class TaskState(Enum):
    """Where a task is on its way."""

    NEW = "new"
    """The scheduler does not know it yet."""
    WAITING = "waiting"
    """For a place, or for pages."""
    JOINING = "joining"
    """For a prefix that another task is computing."""
    RUNNING = "running"
    ENDED = "ended"


class Task:
    """Known tokens that are to be computed, and what decides about when.

    Parameters
    ----------
    sequence : CachedSequence
        The tokens; whoever generates appends to them.
    arrival : int
        Numbers tasks in the order they came.
    priority : int
        The smaller goes first.
    deadline : float or None
        When the task ends at the latest, on the caller's clock.
    scores_prompt : bool
        Whether the logits after all of its tokens are wanted, and not only after the last.

    Attributes
    ----------
    state : TaskState
    caught_up : bool
        Whether all tokens that were known at some time since the task last started are computed: it generates.
    cached_tokens : int
        Tokens of the prompt whose keys and values were there when the task first started.
    preemptions : int
        How often it gave its pages up.
    scores_prompt : bool
        Whether the logits after all its prompt's tokens are still wanted, so that each of them is computed.
    awaited : int or None
        The page that a joining task waits for.
    """

    def __init__(
        self,
        sequence: CachedSequence,
        *,
        arrival: int,
        priority: int = 0,
        deadline: float | None = None,
        scores_prompt: bool = False,
    ) -> None:
        self.sequence = sequence
        self.arrival = arrival
        self.priority = priority
        self.deadline = deadline
        self.prompt_tokens = len(sequence.tokens)
        self.state = TaskState.NEW
        self.caught_up = False
        self.cached_tokens = 0
        self.preemptions = 0
        self.scores_prompt = scores_prompt
        self.awaited: int | None = None

    @property
    def remaining(self) -> int:
        """Known tokens that are not computed."""
        return len(self.sequence.tokens) - self.sequence.computed
