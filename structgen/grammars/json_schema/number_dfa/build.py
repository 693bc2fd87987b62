"""From the states of a spelling to an automaton."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.decimals import Exact, digits_of
from structgen.grammars.json_schema.number_dfa.canonical import MAX_DIGITS, CanonicalFloats, CanonicalIntegers
from structgen.grammars.json_schema.number_dfa.every import EverySpelling
from structgen.grammars.json_schema.number_dfa.side import coprime_part
from structgen.grammars.json_schema.number_dfa.spelling import AFTER_MINUS, COLUMNS, START, E, Spelling, State
from structgen.grammars.json_schema.number_dfa.words import canonical_words, words_dfa
from structgen.grammars.json_schema.number_parts import MARKED, Parts, few

__all__ = ["number_dfa"]

MAX_STATES = 50_000

ROOM, LITTLE_ROOM = 16, 8
"""Of `EverySpelling`; the little one where the other takes more states than these."""
ROOMY_STATES = 2_000

_FEW, _SOME = 64, 1_000
"""So many members of a set are listed rather than computed with; the second where there are many remainders."""

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
    reach: list[int]
    """What can be reached from each, itself included, as bits."""


_NO_BASE = _Base({}, _Table(np.zeros((0, COLUMNS), np.int32), np.zeros(0, np.bool_)), [])


def number_dfa(parts: Parts, spelling: str) -> ByteDfa:
    """The automaton of the numbers of a set, which is not empty; the last few are kept.

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


@functools.lru_cache(16)
def _every(parts: Parts) -> ByteDfa:
    if parts == Parts():
        return _all_spellings()
    values = _listed(parts, _FEW)
    if values is not None:
        parts = Parts(only=frozenset(values), writing=parts.writing)
    try:
        return _build(EverySpelling(parts, ROOM), _NO_BASE, ROOMY_STATES)
    except GrammarLimitExceeded:
        return _build(EverySpelling(parts, LITTLE_ROOM), _NO_BASE, MAX_STATES)


def _listed(parts: Parts, limit: int) -> tuple[Exact, ...] | None:
    """The members where they are listed rather.

    Raises
    ------
    GrammarLimitExceeded
        They are too many, and digits that are a multiple cannot be told from others by few enough states.
    """
    remainders = max((coprime_part(one) for one in (parts.step or 1, *parts.misses)), default=1)
    if parts.only is not None or remainders == 1:
        return None
    values = few(parts, limit if remainders <= limit else _SOME)
    if values is None and remainders > MAX_STATES:
        raise GrammarLimitExceeded(f"multipleOf has {remainders:,} remainders; more than {MAX_STATES:,} are too many")
    return values


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


@functools.lru_cache(64)
def _canonical(parts: Parts) -> ByteDfa:
    is_whole = isinstance(parts.step, int) and parts.writing != MARKED
    values = parts.only if parts.only is not None else _listed(parts, _FEW) if is_whole else None
    if values is not None:
        words = (canonical_words(value, value in parts.floats, parts.writing) for value in values)
        return words_dfa(word for some in words for word in some)
    reader = CanonicalIntegers(parts, _max_digits(parts)) if is_whole else CanonicalFloats(parts)
    return _build(reader, _base(is_whole) if parts.writing != MARKED else _NO_BASE, MAX_STATES)


def _max_digits(parts: Parts) -> int:
    """Digits of integers: more than usual where none of the set has as few."""
    least = [1 if parts.step is None else parts.step]
    if parts.low is not None and parts.low > 0:
        least.append(parts.low)
    if parts.high is not None and parts.high < 0:
        least.append(-parts.high)
    return max(MAX_DIGITS, *(digits_of(value).exponent + 2 for value in least))


@functools.cache
def _base(is_whole: bool) -> _Base:
    reader = CanonicalIntegers(Parts(), MAX_DIGITS) if is_whole else CanonicalFloats(Parts())
    graph = _explore(reader, _NO_BASE, MAX_STATES)
    alive = _alive(graph)
    table = _assemble(graph, alive, _NO_BASE)
    new_numbers = _numbers_of(np.array(alive, np.bool_), 0)
    numbers = {state: int(new_numbers[number]) for state, number in graph.numbers.items()}
    del numbers[START], numbers[AFTER_MINUS,]  # they say nothing of the set, and what follows them does
    return _Base(numbers, table, _reach(table.rows.tolist()))


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


def _assemble(graph: _Graph, alive: list[bool], base: _Base) -> _Table:
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


def _used(graph: _Graph, base: _Base) -> npt.NDArray[Any]:
    bits, count = 0, len(base.reach)
    for number in set(graph.numbers.values()):
        if number < -1:
            bits |= base.reach[-2 - number]
    as_bytes = np.frombuffer(bits.to_bytes(count // 8 + 1, "little"), np.uint8)
    return np.unpackbits(as_bytes, bitorder="little")[:count].astype(np.bool_)
