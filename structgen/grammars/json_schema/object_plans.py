"""Objects, one way worked out: each declared key with what its value must meet, and the classes of all other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from structgen.grammars.covering import Cells, key_cells, key_covers
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
        cells = self._cells(others)
        extra = self._fewest_owed(others, cells)
        if extra is None or (cells.total is not None and self.low > len(possible) + cells.total):
            return False
        clauses = Clauses(self.implications, possible, frozenset(self.required))
        return clauses.has_size(self.low, self.high, extra, is_open=bool(others))

    def room(self, known: Callable[[Conjunction], bool]) -> int | None:
        """How many undeclared members there can be, if just what is ``known`` has values; ``None``: without end."""
        return self._cells([other for other in self.others if known(other.value)]).total

    def _cells(self, others: Sequence[OtherKeys]) -> Cells:
        return key_cells([other.keys for other in others], self.values)

    def _fewest_owed(self, others: Sequence[OtherKeys], cells: Cells) -> int | None:
        """How few of ``others`` meet all obligations; ``None``: none do."""
        meets, owed = [other.meets for other in others], frozenset(range(self.obligations))
        for members in range(self.obligations + 1):
            if any(True for _ in key_covers(meets, cells, owed, members)):
                return members
        return None
