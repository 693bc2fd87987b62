"""Arrays, one way worked out: for each place how its element may be read, and which counters that moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.value_ways import Counter
from structgen.grammars.limits import checkpoint

__all__ = ["ArrayPlan", "ItemPlan", "Known", "without_last_counter"]

_MAX_COUNTS = 100_000

Known = Callable[[Conjunction], bool]


class ItemPlan(NamedTuple):
    """One way in which an element may be read, and the counters that it moves."""

    value: Conjunction
    counts: frozenset[int] = frozenset()


class ArrayPlan(NamedTuple):
    """An array with its elements' conditions. See `values.ArraySpec`."""

    prefix: tuple[tuple[ItemPlan, ...], ...]
    rest: tuple[ItemPlan, ...]
    low: int
    high: int | None
    counters: tuple[Counter, ...]
    unique: bool
    pointer: str

    @property
    def is_plainly_satisfiable(self) -> bool:
        """Whether it can be empty."""
        return not self.low and not any(one.low for one in self.counters)

    def children(self) -> Iterator[Conjunction]:
        """What decides whether there is such an array."""
        for place in (*self.prefix, self.rest):
            yield from (item.value for item in place)

    def is_satisfiable(self, known: Known) -> bool:
        """Whether there is such an array, if just the conjunctions that are ``known`` have values."""
        states = frozenset(((0,) * len(self.counters),))
        for length, place in enumerate(self._places()):
            checkpoint()
            if length >= len(self.prefix) and len(self.counters) == 1:
                moves = self._moves(place, known)
                return any(self._goes_on_to_an_end(count, length, moves) for (count,) in states)
            if length >= self.low and self._may_end(states):
                return True
            following = self._after(states, place, known) if length != self.high else frozenset[tuple[int, ...]]()
            if not following:
                return False
            if length >= len(self.prefix) and following == states:
                # From here on each length is like the last one.
                return self._may_end(states) and (self.high is None or self.low <= self.high)
            states = following
        raise AssertionError("the places have no end")

    def _goes_on_to_an_end(self, count: int, length: int, moves: Collection[frozenset[int]]) -> bool:
        """Whether ``length`` elements, ``count`` of them counted, can go on to an end, from where places are alike."""
        (counter,) = self.counters
        lacking = max(0, counter.low - count)
        more = max(lacking, self.low - length, 0)
        if (more and not moves) or (lacking and frozenset((0,)) not in moves):
            return False
        counted = count + (lacking if frozenset[int]() in moves else more)
        return _is_within(length + more, self.high) and _is_within(counted, counter.high)

    def _places(self) -> Iterator[tuple[ItemPlan, ...]]:
        yield from self.prefix
        while True:
            yield self.rest

    def _after(
        self, states: frozenset[tuple[int, ...]], place: tuple[ItemPlan, ...], known: Known
    ) -> frozenset[tuple[int, ...]]:
        """The counts after one more element, each only as far as it matters."""
        moves = self._moves(place, known)
        limits = [one.low if one.high is None else max(one.low, one.high + 1) for one in self.counters]
        found = frozenset(
            tuple(
                min(count + (number in counts), limit)
                for number, (count, limit) in enumerate(zip(state, limits, strict=True))
            )
            for state in states
            for counts in moves
        )
        if len(found) > _MAX_COUNTS:
            raise GrammarLimitExceeded(f"{self.pointer or 'the root'}: too many combinations of counts of elements")
        return found

    def _moves(self, place: tuple[ItemPlan, ...], known: Known) -> set[frozenset[int]]:
        """The counters that an element may move, without what is never better than another."""
        moves = {item.counts for item in place if known(item.value)}
        if any(one.high is not None for one in self.counters):
            return moves
        return {one for one in moves if not any(one < other for other in moves)}

    def _may_end(self, states: Iterable[tuple[int, ...]]) -> bool:
        return any(
            all(
                one.low <= count and _is_within(count, one.high)
                for count, one in zip(state, self.counters, strict=True)
            )
            for state in states
        )


def _is_within(count: int, high: int | None) -> bool:
    return high is None or count <= high


def without_last_counter(plan: ArrayPlan) -> ArrayPlan:
    """``plan`` with one counter less."""
    gone = frozenset((len(plan.counters) - 1,))

    def counting_less(place: tuple[ItemPlan, ...]) -> tuple[ItemPlan, ...]:
        return tuple(dict.fromkeys(item._replace(counts=item.counts - gone) for item in place))

    prefix, rest = tuple(map(counting_less, plan.prefix)), counting_less(plan.rest)
    return plan._replace(prefix=prefix, rest=rest, counters=plan.counters[:-1])
