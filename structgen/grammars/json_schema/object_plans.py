"""Objects, one way worked out: each declared key with what its value must meet, and the classes of all other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.horn import Clauses
from structgen.grammars.language import Language

__all__ = ["ObjectPlan", "OtherKeys"]


class OtherKeys(NamedTuple):
    """Keys that are not declared, and what their values must meet."""

    keys: Language
    value: Conjunction
    meets: frozenset[int]


class ObjectPlan(NamedTuple):
    """An object with its members' conditions; keys by name. See `values.ObjectSpec`."""

    values: dict[str, Conjunction]
    others: tuple[OtherKeys, ...]
    required: tuple[str, ...]
    low: int
    high: int | None
    implications: tuple[tuple[frozenset[str], str | None], ...]
    obligations: int
    pointer: str

    @property
    def is_plainly_satisfiable(self) -> bool:
        """Whether it can be empty."""
        return not self.required and not self.low and not self.obligations

    def children(self) -> Iterator[Conjunction]:
        """What decides whether there is such an object."""
        if self.low <= len(self.required) and not self.obligations and not self.implications:
            yield from (self.values[name] for name in self.required)
        else:
            yield from self.values.values()
            yield from (other.value for other in self.others)

    def is_satisfiable(self, known: Callable[[Conjunction], bool]) -> bool:
        """Whether there is such an object, if just the conjunctions that are ``known`` have values."""
        if not self.low and not self.implications and not self.obligations and self.high is None:
            return all(known(self.values[name]) for name in self.required)
        possible = {name for name, value in self.values.items() if known(value)}
        others = [other for other in self.others if known(other.value)]
        extra = _fewest_covering([other.meets for other in others], self.obligations)
        if extra is None:
            return False
        clauses = Clauses(self.implications, possible, frozenset(self.required))
        return clauses.has_size(self.low, self.high, extra, is_open=bool(others))


def _fewest_covering(choices: Sequence[frozenset[int]], count: int) -> int | None:
    """So many of ``choices``, at least, hold all numbers below ``count``; ``None``: not even all of them do."""
    whole = frozenset(range(count))
    if not whole <= frozenset[int]().union(*choices):
        return None
    reached, steps = {frozenset[int]()}, 0
    while whole not in reached:
        reached = {one | choice for one in reached for choice in choices}
        steps += 1
    return steps
