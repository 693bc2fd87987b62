"""From the states of a spelling to an automaton."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.decimals import digits_of
from structgen.grammars.json_schema.number_dfa.canonical import MAX_DIGITS, CanonicalFloats, CanonicalIntegers
from structgen.grammars.json_schema.number_dfa.every import EverySpelling
from structgen.grammars.json_schema.number_dfa.spelling import AFTER_MINUS, COLUMNS, START, E, Spelling, State
from structgen.grammars.json_schema.number_dfa.words import canonical_words, words_dfa
from structgen.grammars.json_schema.number_parts import MARKED, Parts, few

__all__ = ["number_dfa"]

MAX_STATES = 50_000

ROOM, LITTLE_ROOM = 16, 8
"""Of `EverySpelling`; the little one where the other takes more states than these."""
ROOMY_STATES = 2_000

_FEW = 64
"""So many members of a set are listed rather than computed with."""

_BYTES = np.frombuffer(b"0123456789.e+-", np.uint8)


class _Table(NamedTuple):
    """An automaton whose every state is alive, the start first."""

    rows: npt.NDArray[Any]
    """``int32[states, columns]``: the state after each column, -1 where it cannot come."""
    accepting: npt.NDArray[Any]
    """``bool[states]``"""


class _Base(NamedTuple):
    """States from which every number may follow: made once, and taken into each automaton that reaches them."""

    numbers: dict[State, int]
    """-1 for those that are not alive."""
    table: _Table
    reach: npt.NDArray[Any]
    """``bool[states, states]``: what can be reached from each, itself included."""


_NO_BASE = _Base({}, _Table(np.zeros((0, COLUMNS), np.int32), np.zeros(0, np.bool_)), np.zeros((0, 0), np.bool_))


def number_dfa(parts: Parts, spelling: str) -> ByteDfa:
    """The automaton of the numbers of a set, which is not empty.

    Parameters
    ----------
    parts : Parts
        The set.
    spelling : {"canonical", "any"}
        How they are spelled.

    Raises
    ------
    GrammarLimitExceeded
        It would have more than 50,000 states, or no member has a spelling within the documented bounds on digits.
    """
    return _canonical(parts) if spelling == "canonical" else _every(parts)


def _every(parts: Parts) -> ByteDfa:
    if parts == Parts():
        return _all_spellings()
    try:
        return _build(EverySpelling(parts, ROOM), _NO_BASE, ROOMY_STATES)
    except GrammarLimitExceeded:
        return _build(EverySpelling(parts, LITTLE_ROOM), _NO_BASE, MAX_STATES)


@functools.cache
def _all_spellings() -> ByteDfa:
    """The grammar of RFC 8259 for numbers, without any bound."""
    start, minus, zero, digits, point, fraction, e, sign, exponent = range(9)
    transitions = np.full((9, 256), -1, np.int32)
    for state, text, target in (
        (start, "-", minus),
        *((state, "0", zero) for state in (start, minus)),
        *((state, "123456789", digits) for state in (start, minus)),
        (digits, "0123456789", digits),
        *((state, ".", point) for state in (zero, digits)),
        *((state, "0123456789", fraction) for state in (point, fraction)),
        *((state, "eE", e) for state in (zero, digits, fraction)),
        (e, "+-", sign),
        *((state, "0123456789", exponent) for state in (e, sign, exponent)),
    ):
        transitions[state, list(text.encode())] = target
    return ByteDfa(transitions, np.isin(np.arange(9), (zero, digits, fraction, exponent)))


def _canonical(parts: Parts) -> ByteDfa:
    is_whole = isinstance(parts.step, int) and parts.writing != MARKED
    values = parts.only
    if is_whole and parts.step != 1:
        values = few(parts, _FEW)
    if values is not None:
        words = (canonical_words(value, value in parts.floats, parts.writing) for value in values)
        return words_dfa(word for some in words for word in some)
    reader = (CanonicalIntegers if is_whole else CanonicalFloats)(parts, _max_digits(parts))
    return _build(reader, _base(is_whole) if parts.writing != MARKED else _NO_BASE, MAX_STATES)


def _max_digits(parts: Parts) -> int:
    """Digits before the point: more than usual where no number of the set has as few."""
    least = [1 if parts.step is None else parts.step]
    if parts.low is not None and parts.low > 0:
        least.append(parts.low)
    if parts.high is not None and parts.high < 0:
        least.append(-parts.high)
    return max(MAX_DIGITS, *(digits_of(value).exponent + 2 for value in least))


@functools.cache
def _base(is_whole: bool) -> _Base:
    reader = (CanonicalIntegers if is_whole else CanonicalFloats)(Parts(), MAX_DIGITS)
    graph = _explore(reader, _NO_BASE, MAX_STATES)
    alive = _alive(graph)
    table = _assemble(graph, alive, _NO_BASE)
    new_numbers = _numbers_of(alive)
    count = len(table.rows)
    reach = np.eye(count, dtype=np.float32)
    for row, targets in zip(reach, table.rows, strict=True):
        row[targets[targets >= 0]] = 1
    for _ in range(count.bit_length()):
        reach = np.minimum(reach @ reach, 1)
    numbers = {state: int(new_numbers[number]) for state, number in graph.numbers.items()}
    del numbers[START], numbers[AFTER_MINUS,]  # they say nothing of the set, and what follows them does
    return _Base(numbers, table, reach > 0)


class _Graph(NamedTuple):
    """The states of a reader as they were met."""

    numbers: dict[State, int]
    rows: list[list[int]]
    """The numbers after each column; -1: none; -2 - n: state n of the base."""
    accepting: list[bool]


def _build(reader: Spelling, base: _Base, limit: int) -> ByteDfa:
    graph = _explore(reader, base, limit)
    alive = _alive(graph)
    if not alive[0]:
        raise GrammarLimitExceeded("no number that the schema allows has a spelling of few enough digits")
    table = _assemble(graph, alive, base)
    transitions = np.full((len(table.rows), 256), -1, np.int32)
    transitions[:, _BYTES] = table.rows
    if isinstance(reader, EverySpelling):
        transitions[:, ord("E")] = table.rows[:, E]
    return ByteDfa(transitions, table.accepting)


def _explore(reader: Spelling, base: _Base, limit: int) -> _Graph:
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
    changed = True
    while changed:
        changed = False
        for number in range(len(alive) - 1, -1, -1):
            if not alive[number] and any(one < -1 or (one >= 0 and alive[one]) for one in graph.rows[number]):
                alive[number] = changed = True
    return alive


def _numbers_of(kept: npt.ArrayLike) -> npt.NDArray[Any]:
    """The numbers of those that are kept, -1 for the others and for -1."""
    mask = np.append(np.asarray(kept, np.bool_), False)
    return np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)


def _assemble(graph: _Graph, alive: list[bool], base: _Base) -> _Table:
    """The states that are alive, and after them those of the base that they reach."""
    rows = np.array(graph.rows, np.int32)[alive]
    used = base.reach[np.unique(-2 - rows[rows < -1])].any(axis=0)
    own = _numbers_of(alive)
    others = _numbers_of(used)
    # Numbers from -2 down count from the end of this array, and -1 is its last.
    numbers = np.concatenate((own[:-1], np.where(others >= 0, others + np.sum(alive), -1)[-2::-1], [-1]))
    table = base.table
    taken = others[table.rows[used]]
    return _Table(
        np.concatenate((numbers[rows], np.where(taken >= 0, taken + np.sum(alive), -1))).astype(np.int32),
        np.concatenate((np.array(graph.accepting, np.bool_)[alive], table.accepting[used])),
    )
