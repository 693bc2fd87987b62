"""From the states of a spelling to an automaton: explore them, keep those that are alive, write the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.number_dfa.spelling import AFTER_MINUS, COLUMNS, START, E, Spelling, State

__all__ = ["NO_BASE", "Base", "base_of", "build"]

_BYTES = np.frombuffer(b"0123456789.e+-", np.uint8)


class _Table(NamedTuple):
    """An automaton whose every state is alive, the start first."""

    rows: npt.NDArray[Any]
    """``int32[states, columns]``: the state after each column, -1 where it cannot come."""
    accepting: npt.NDArray[Any]
    """``bool[states]``"""


class Base(NamedTuple):
    """States from which every number may follow: made once, and taken into each automaton that reaches them."""

    numbers: dict[State, int]
    """-1 for those that are not alive."""
    table: _Table
    reach: list[int]
    """What can be reached from each, itself included, as bits."""


NO_BASE = Base({}, _Table(np.zeros((0, COLUMNS), np.int32), np.zeros(0, np.bool_)), [])


def base_of(reader: Spelling, limit: int) -> Base:
    """The states of ``reader``, which has all numbers."""
    graph = _explore(reader, NO_BASE, limit)
    alive = _alive(graph)
    table = _assemble(graph, alive, NO_BASE)
    new_numbers = _numbers_of(np.array(alive, np.bool_), 0)
    numbers = {state: int(new_numbers[number]) for state, number in graph.numbers.items()}
    for state in (START, (AFTER_MINUS,)):  # they say nothing of the set, and what follows them does
        del numbers[state]
    return Base(numbers, table, _reach(table.rows.tolist()))


def _reach(rows: list[list[int]]) -> list[int]:
    found = [1 << state for state in range(len(rows))]
    changed = True
    while changed:
        changed = False
        for state in range(len(rows) - 1, -1, -1):
            before = found[state]
            for target in set(rows[state]):
                if target >= 0:
                    found[state] |= found[target]
            changed = changed or found[state] != before
    return found


class _Graph(NamedTuple):
    """The states of a reader as they were met."""

    numbers: dict[State, int]
    rows: list[list[int]]
    """The numbers after each column; -1: none; -2 - n: state n of the base."""
    accepting: list[bool]


def build(reader: Spelling, base: Base, limit: int) -> ByteDfa:
    """The automaton of what ``reader`` reads.

    Parameters
    ----------
    reader : Spelling
        Gives the states.
    base : Base
        States that need not be explored.
    limit : int
        States beyond the base, at most.

    Raises
    ------
    GrammarLimitExceeded
        It has more states, or reads nothing at all.
    """
    graph = _explore(reader, base, limit)
    alive = _alive(graph)
    if not alive[0]:
        raise GrammarLimitExceeded("no number that the schema allows has a spelling of few enough digits")
    table = _assemble(graph, alive, base)
    transitions = np.full((len(table.rows), 256), -1, np.int32)
    transitions[:, _BYTES] = table.rows
    if reader.any_case:
        transitions[:, ord("E")] = table.rows[:, E]
    return ByteDfa(transitions, table.accepting)


def _explore(reader: Spelling, base: Base, limit: int) -> _Graph:
    numbers: dict[State, int] = {START: 0}
    graph = _Graph(numbers, [], [])
    pending = [START]
    for state in pending:  # grows
        accepts, following = reader.expand(state)
        row: list[int] = []
        before, number = None, -1
        for one in following:
            if one is not before:
                before, number = one, -1
                if one is not None:
                    found = numbers.get(one)
                    if found is None:
                        known = base.numbers.get(one)
                        if known is None:
                            found = len(pending)
                            pending.append(one)
                        else:
                            found = -2 - known if known >= 0 else -1
                        numbers[one] = found
                    number = found
            row.append(number)
        graph.rows.append(row)
        graph.accepting.append(accepts)
        if len(pending) > limit:
            raise GrammarLimitExceeded(
                f"its numbers need more than {limit:,} states; simplify multipleOf or the bounds"
            )
    return graph


def _alive(graph: _Graph) -> list[bool]:
    """Which states reach an end; those of a base do."""
    alive = graph.accepting.copy()
    waiting = [number for number in range(len(alive) - 1, -1, -1) if not alive[number]]
    while True:
        left = [number for number in waiting if not _revive(alive, number, graph.rows[number])]
        if len(left) == len(waiting):
            return alive
        waiting = left


def _revive(alive: list[bool], number: int, row: list[int]) -> bool:
    for one in row:
        if one < -1 or (one >= 0 and alive[one]):
            alive[number] = True
            return True
    return False


def _numbers_of(kept: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
    """The numbers from ``first`` on of those that are kept, -1 for the others and in one place more."""
    found = np.full(len(kept) + 1, -1, np.int32)
    found[:-1][kept] = np.arange(first, first + int(np.count_nonzero(kept)))
    return found


def _assemble(graph: _Graph, alive: list[bool], base: Base) -> _Table:
    """The states that are alive, and after them those of the base that they reach."""
    mine, used = np.array(alive, np.bool_), _used(graph, base)
    own = _numbers_of(mine, 0)
    others = _numbers_of(used, sum(alive))
    # Numbers from -2 down count from the end of this array, and -1 is its last.
    numbers = np.concatenate((own[:-1], others[-2::-1], others[-1:]))
    return _Table(
        np.concatenate((numbers[np.array(graph.rows, np.int32)[mine]], others[base.table.rows[used]])),
        np.concatenate((np.array(graph.accepting, np.bool_)[mine], base.table.accepting[used])),
    )


def _used(graph: _Graph, base: Base) -> npt.NDArray[Any]:
    bits, count = 0, len(base.reach)
    for number in set(graph.numbers.values()):
        if number < -1:
            bits |= base.reach[-2 - number]
    as_bytes = np.frombuffer(bits.to_bytes(count // 8 + 1, "little"), np.uint8)
    return np.unpackbits(as_bytes, bitorder="little")[:count].astype(np.bool_)
