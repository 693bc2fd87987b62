"""Blocks of lines in the tables: the states of what `indentation` has.

The start states of a `Landing` are one for each column, in order. From a state of an `Indented` that has read some
columns the block of so many is called; the state that this call returns to holds the column (`S_COLUMN`), and lies on
the stack as long as the block lasts. `stacks` calls no block that is not deeper than the one around it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

import numpy as np

from structgen.grammars.automaton.facts import Called, Facts, Lengths
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.tables import (
    CALLS,
    F_BYTES,
    F_CALLS,
    F_COLUMN,
    F_FINAL,
    FAR,
    L_BACK,
    L_RULE,
    N_CALLS,
    N_ROWS,
    N_STATES,
    NO_STATE,
    S_CALL_COUNT,
    S_CALLS,
    S_COLUMN,
    S_DISTANCE,
    S_FLAGS,
    S_ROW,
    S_RULE,
    STATES,
    TRANSITIONS,
)
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.expr import Rule
from structgen.grammars.indentation import MAX_COLUMN, Grid, Indented, Landing, grid_of

__all__ = ["indented_facts", "landing_facts", "write_indented", "write_landing"]

_MakeRoom = Callable[[int, int], None]


def landing_facts(value: Landing, lengths: Lengths) -> Facts:
    """What holds of a landing, whatever the column."""
    grid = grid_of(value.indentation)
    tokens = max(grid.landing.distances[: MAX_COLUMN + 1])
    return Facts(True, False, tokens if _is_spellable(grid.landing, lengths) else FAR)


def indented_facts(value: Indented, facts: Mapping[Called, Facts], lengths: Lengths) -> Facts:
    """What holds of a block and the white space before it, whatever the columns."""
    grid = grid_of(value.indentation)
    bodies = [facts[body] for body in value.bodies]
    tokens = _dearest(bodies) + int(grid.nearest[MAX_COLUMN])
    is_spellable = _is_spellable(grid.opening, lengths)
    return Facts(bool(grid.columns) and bodies[-1].productive, False, min(FAR, tokens) if is_spellable else FAR)


def write_landing(tables: Tables, make_room: _MakeRoom, number: int, value: Landing, lengths: Lengths) -> int:
    """Write the states of a landing; returns the start state of column 0."""
    dfa = grid_of(value.indentation).landing
    distances = dfa.distances if _is_spellable(dfa, lengths) else [FAR] * len(dfa.accepting)
    first = _write_states(tables, make_room, number, dfa, 0)
    states = tables[STATES][first : first + len(dfa.accepting)]
    states[:, S_DISTANCE] = [FAR if one < 0 else one for one in distances]
    return first


def write_indented(
    tables: Tables,
    make_room: _MakeRoom,
    number: int,
    value: Indented,
    number_of: Callable[[Rule], int],
    facts: Mapping[Called, Facts],
    lengths: Lengths,
) -> int:
    """Write the states before a block and the one on the stack for each column; returns the start state."""
    grid = grid_of(value.indentation)
    dfa, bodies = grid.opening, [facts[body] for body in value.bodies]
    size = len(dfa.accepting)
    first = _write_states(tables, make_room, number, dfa, MAX_COLUMN)
    states = tables[STATES][first : first + size]
    states[:, S_FLAGS] = (states[:, S_FLAGS] & ~F_FINAL) | F_COLUMN
    states[:, S_COLUMN] = grid.tops
    spellable = _is_spellable(dfa, lengths)
    states[:, S_DISTANCE] = np.minimum(FAR, grid.nearest + _dearest(bodies)) if spellable else FAR
    held = first + size - 1  # the state of column 1 is the next
    tables[STATES][held + 1 : held + 1 + MAX_COLUMN, S_COLUMN] = np.arange(1, MAX_COLUMN + 1)
    tables[STATES][held + 1 : held + 1 + MAX_COLUMN, S_FLAGS] = F_FINAL | F_COLUMN
    columns = MAX_COLUMN - np.arange(size) % (MAX_COLUMN + 1)
    called = {state: _body(value, grid, int(columns[state]), facts) for state in np.flatnonzero(dfa.accepting).tolist()}
    called = {state: body for state, body in called.items() if body}
    _write_calls(tables, make_room, first, called, columns, held, number_of)
    return first + MAX_COLUMN


def _body(value: Indented, grid: Grid, column: int, facts: Mapping[Called, Facts]) -> Rule | None:
    """What may stand in a block of this column."""
    deeper = len(grid.columns) - bisect_right(grid.columns, column)
    body = value.bodies[min(deeper, len(value.bodies) - 1)]
    return body if facts[body].productive else None


def _write_calls(
    tables: Tables,
    make_room: _MakeRoom,
    first: int,
    called: Mapping[int, Rule],
    columns: np.ndarray,
    held: int,
    number_of: Callable[[Rule], int],
) -> None:
    """Have states call the blocks of their columns and return to what holds these."""
    call = tables.count(N_CALLS)
    make_room(CALLS, call + len(called))
    for place, (state, body) in enumerate(called.items()):
        tables.put(CALLS, call + place, L_RULE, number_of(body))
        tables.put(CALLS, call + place, L_BACK, held + int(columns[state]))
        tables.put(STATES, first + state, S_CALLS, call + place)
        tables.put(STATES, first + state, S_CALL_COUNT, 1)
        tables.put(STATES, first + state, S_FLAGS, tables.get(STATES, first + state, S_FLAGS) | F_CALLS)
    tables.set_count(N_CALLS, call + len(called))


def _write_states(tables: Tables, make_room: _MakeRoom, number: int, dfa: ByteDfa, more: int) -> int:
    """Write the states of ``dfa`` and ``more`` that read nothing; returns the first."""
    size, state, row = len(dfa.accepting), tables.count(N_STATES), tables.count(N_ROWS)
    make_room(STATES, state + size + more)
    make_room(TRANSITIONS, row + size + 1)
    tables.set_count(N_ROWS, row + size + 1)  # first: rows that are written are counted
    targets = np.reshape(tables[TRANSITIONS][row : row + size + 1], -1)
    targets.fill(NO_STATE)
    places, after = dfa.edges
    targets[places] = after + state
    states = tables[STATES][state : state + size + more]
    states[:] = 0
    states[:size, S_FLAGS] = F_BYTES * dfa.reads + F_FINAL * dfa.accepting
    states[:, S_RULE] = number
    states[:, S_ROW] = np.minimum(np.arange(row, row + size + more), row + size)
    tables.set_count(N_STATES, state + size + more)
    return state


def _dearest(bodies: list[Facts]) -> int:
    """Tokens that suffice for a block, however deep it may be."""
    return max((body.tokens for body in bodies if body.productive), default=FAR)


def _is_spellable(dfa: ByteDfa, lengths: Lengths) -> bool:
    return dfa.alphabet & ~lengths.single == 0
