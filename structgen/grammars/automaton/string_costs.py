"""What it takes to spell strings with the single-byte tokens of a vocabulary."""

from __future__ import annotations

import heapq
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    COST_ASCII,
    COST_BYTE,
    COST_HEX,
    COST_TAIL,
    COST_UTF8,
    SUPPLEMENTARY,
)
from structgen.grammars.automaton.string_values import RankedDfa, ranked
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.char_dfa import CharDfa

__all__ = ["DfaCosts", "costs_of", "nearest_ends", "spelling_costs", "weight_of"]

_SHORT = {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_LEADS = {1: bytes(range(0xC2, 0xE0)), 2: bytes(range(0xE0, 0xF0)), 3: bytes(range(0xF0, 0xF5))}
"""The bytes that begin characters in UTF-8, by how many come behind them."""


@lru_cache(maxsize=8)
def spelling_costs(single: int) -> Int32Array:
    """What `spelling` keeps at the start of POOL, for the bytes that are tokens by themselves: a 256-bit integer."""

    def cost(*spellings: bytes) -> int:
        """Of the cheapest of some spellings."""
        return min((len(one) for one in spellings if all(single >> byte & 1 for byte in one)), default=FAR)

    escapes = cost(b"\\u0123456789abcdef") < FAR
    tails = bytes(range(0x80, 0xC0))
    costs = np.full(COST_HEX + 1, FAR, np.int32)
    costs[COST_HEX], costs[COST_TAIL] = 1 if escapes else FAR, 1 if cost(tails) < FAR else FAR
    for byte in range(256):
        costs[COST_BYTE + byte] = cost(bytes([byte]))
    for point in range(128):
        raw = [bytes([point])] if point >= 0x20 and point not in (0x22, 0x5C) else []
        short = [f"\\{_SHORT[point]}".encode()] if point in _SHORT else []
        costs[COST_ASCII + point] = min(cost(*raw, *short), 6 if escapes else FAR)
    for tail, leads in _LEADS.items():  # each character of a length must cost no more than that, whatever its lead
        raw_cost = tail + 1 if cost(leads + tails) < FAR else FAR
        costs[COST_UTF8 + tail] = min(raw_cost, (12 if tail == 3 else 6) if escapes else FAR)
    costs.flags.writeable = False
    return costs


class DfaCosts(NamedTuple):
    """Of a RankedDfa."""

    distances: tuple[int, ...]
    """By state: the bytes that spell the cheapest text that leads from it to an end."""
    weight: int
    """No step from a state to another takes more bytes than this, in its cheapest spelling."""


_known: WeakKeyDictionary[CharDfa, dict[int, DfaCosts]] = WeakKeyDictionary()


def costs_of(dfa: CharDfa, single: int) -> DfaCosts:
    """The costs of ``dfa``, computed once."""
    known = _known.setdefault(dfa, {})
    found = known.get(single)
    if found is None:
        automaton = ranked(dfa)
        edges = _edges(automaton, single)
        weight = max((cost for _, _, cost in edges), default=0)
        found = known[single] = DfaCosts(_nearest(edges, automaton.labels), weight)
    return found


def nearest_ends(automaton: RankedDfa, entries: int, single: int) -> list[tuple[int, ...]]:
    """For each of several languages: by state, the bytes to the nearest end in it."""
    edges = _edges(automaton, single)
    return [_nearest(edges, tuple(label >> entry & 1 for label in automaton.labels)) for entry in range(entries)]


def _edges(automaton: RankedDfa, single: int) -> list[tuple[int, int, int]]:
    """(state, target, bytes of the cheapest character that leads there), each pair once."""
    costs = _interval_costs(automaton.firsts, automaton.lasts, single).tolist()
    starts, targets = automaton.starts.tolist(), automaton.targets.tolist()
    edges: list[tuple[int, int, int]] = []
    for state in range(len(starts) - 1):
        best: dict[int, int] = {}
        for place in range(starts[state], starts[state + 1]):
            target, cost = targets[place], costs[place]
            if cost < best.get(target, FAR + 1):
                best[target] = cost
        edges += [(state, target, cost) for target, cost in best.items()]
    return edges


def _nearest(edges: list[tuple[int, int, int]], labels: tuple[int, ...]) -> tuple[int, ...]:
    """Dijkstra's algorithm, from the ends."""
    before: list[list[tuple[int, int]]] = [[] for _ in labels]
    for state, target, cost in edges:
        before[target].append((state, cost))
    distances = [0 if label else FAR for label in labels]
    heap = [(0, state) for state, label in enumerate(labels) if label]
    while heap:
        distance, state = heapq.heappop(heap)
        if distance > distances[state]:
            continue
        for earlier, cost in before[state]:
            if distance + cost < distances[earlier]:
                distances[earlier] = distance + cost
                heapq.heappush(heap, (distance + cost, earlier))
    return tuple(distances)


@lru_cache(maxsize=8)
def _ascii_costs(single: int) -> Int32Array:
    """int32[128, 128]: of the cheapest character from one to another."""
    costs = spelling_costs(single)[COST_ASCII : COST_ASCII + 128]
    return np.stack([np.append(np.full(first, FAR), np.minimum.accumulate(costs[first:])) for first in range(128)])


def _interval_costs(firsts: Int32Array, lasts: Int32Array, single: int) -> Int32Array:
    """As `spelling.rank_cost`, of many intervals."""
    costs = spelling_costs(single)
    best = np.where(firsts < 128, _ascii_costs(single)[np.minimum(firsts, 127), np.minimum(lasts, 127)], FAR)
    for tail, first, last in (
        (1, 0x80, 0x7FF),
        (2, 0x800, SUPPLEMENTARY - 1),
        (2, AFTER_SUPPLEMENTARY, FAR),
        (3, SUPPLEMENTARY, AFTER_SUPPLEMENTARY - 1),
    ):
        best = np.where((firsts <= last) & (lasts >= first), np.minimum(best, costs[COST_UTF8 + tail]), best)
    return best


def weight_of(dfa: CharDfa | None, single: int) -> int:
    """See `DfaCosts.weight`; ``None``: every string."""
    if dfa is not None:
        return costs_of(dfa, single).weight
    return int(spelling_costs(single)[COST_ASCII : COST_ASCII + 128].min())
