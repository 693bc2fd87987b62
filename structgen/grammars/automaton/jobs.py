"""What a mask has to do, job by job: tries walked from closed sets, and taken from sets that are not closed yet.

A job that is *open* has a set as it lies below a rule that has ended. Each of its items is a state that its rule goes
on from, above a stack that only matters where the rule ends: what the rule allows before is its interior, which is
the same above all stacks (see `rule_interiors`).
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, inner, load
from structgen.grammars.automaton.frames import next_of
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILD,
    CHILDREN,
    E_COUNT,
    E_EXITS,
    E_PARTS,
    E_TRIE,
    FIRSTS,
    H_FIRST_NODES,
    H_LONGEST,
    H_WORDS,
    LARGE,
    ROOT,
    RULE_STATE,
    TOKENS,
    byte_of,
    find_interior,
    first_child,
    known_interior,
    part_of,
)
from structgen.grammars.automaton.leaves import first_bytes, leaf_of
from structgen.grammars.automaton.rings import add_interior
from structgen.grammars.automaton.rows import begin_row, set_bit, set_bits
from structgen.grammars.automaton.stack_sets import SEVERAL, interned, pack, unpack, within
from structgen.grammars.automaton.stacks import entered, step
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    C_BASE_MASK,
    C_BLANK,
    C_END_EXCEPTION,
    C_FIRST_EXCEPTION,
    C_FIRST_LEFTOVER,
    C_INSIDE,
    C_KEEPS_SPELLING,
    C_LONGEST,
    C_NESTED,
    C_OPEN_COLUMN,
    C_RULE_LEAF,
    C_WALKS,
    C_WANTED_STATE,
    EXCEPTIONS,
    F_BYTES,
    F_COLUMN,
    F_FINAL,
    F_FRAME,
    FAR,
    I_BELOW,
    I_STATE,
    ITEMS,
    J_END,
    J_FIRST,
    J_IS_OPEN,
    J_NODE,
    J_SET,
    J_TRIE,
    JOBS,
    LEFT_NODE,
    LEFT_TRIE,
    LEFTOVERS,
    MISSED_COLUMN,
    N_CLOSERS,
    N_EXCEPTIONS,
    N_JOBS,
    N_LEFTOVERS,
    N_WANTED,
    NO_ROW,
    NO_STATE,
    NOTHING,
    OPEN_COLUMN,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    Q_HIGH,
    Q_LOW,
    S_COLUMN,
    S_DISTANCE,
    S_FLAGS,
    S_ROW,
    SETS,
    STATES,
    TRANSITIONS,
    WANTED,
    WANTED_NODE,
    WANTED_STATE,
    WANTED_TRIE,
    WANTED_VARIANT,
    InteriorWanted,
    cell,
    get_count,
    need,
    put,
    set_count,
)
from structgen.grammars.automaton.takes import MOST_TAKEN, add_job, add_open_job, take_known
from structgen.grammars.automaton.walk import NO_BUDGET
from structgen.grammars.indentation import MAX_COLUMN

__all__ = ["ANY_COLUMN", "OF_COLUMN", "UNKNOWN", "begin_jobs", "bottom_of", "distance_of", "run_jobs"]

ANY_COLUMN, OF_COLUMN = 1, 2
"""Variants of a rule interior: for whatever column the block around has; for column 0, and so on."""
UNKNOWN = -1
"""In place of how many tokens an interior has: it depends on that column."""
_SHORT = 64
"""A trie with no more nodes is walked."""
_MOST_NESTED = 24
"""So many interiors are computed one for the other; where that is not enough, what is behind is walked."""

# A level of a walk: the travelling form, the next node and the end of its siblings; the row of TRANSITIONS that all
# steps from here read, or -1; whether only some bytes may come, and these.
_STATE, _BELOW, _NEXT, _END, _ROW, _IS_NARROW, _LIVE, _LEVEL = 0, 1, 2, 3, 4, 5, 6, 14

_FEW = 4
"""Siblings that are so few are not held against the bytes that may come."""


@inner
def distance_of(m: Memory, state: int, below: int) -> int:
    """Tokens that suffice to an end; takes a travelling form."""
    if state > 0:
        return min(FAR, cell(m, STATES, state, S_DISTANCE) + cell(m, SETS, below, Q_DISTANCE))
    return cell(m, SETS, below, Q_DISTANCE)


@inner
def _open_level(m: Memory, levels: Int64Array, base: int, state: int, below: int, first: int, end: int) -> None:
    levels[base + _STATE], levels[base + _BELOW], levels[base + _NEXT], levels[base + _END] = state, below, first, end
    levels[base + _ROW], levels[base + _IS_NARROW] = -1, 0
    if first < end:
        if state > 0 and not cell(m, STATES, state, S_FLAGS) & F_FRAME and cell(m, STATES, state, S_ROW) != NO_ROW:
            levels[base + _ROW] = cell(m, STATES, state, S_ROW)
        elif end - first > _FEW:
            levels[base + _IS_NARROW] = 1
            first_bytes(m, state, below, levels[base + _LIVE : base + _LEVEL])


@inner
def _is_exception(m: Memory, token: int) -> bool:
    for one in range(get_count(m, C_FIRST_EXCEPTION), get_count(m, C_END_EXCEPTION)):
        if cell(m, EXCEPTIONS, one, 0) == token:
            return True
    return False


@inner
def _set_tokens(m: Memory, tokens: Memory, first: int, end: int, row: Memory) -> None:
    if get_count(m, C_FIRST_EXCEPTION) == get_count(m, C_END_EXCEPTION):
        set_bits(row, tokens, first, end)
        return
    for place in range(first, end):
        if not _is_exception(m, load(tokens, place)):
            set_bit(row, load(tokens, place))


@inner
def _is_sure_end(m: Memory, children: Memory, node: int, state: int, below: int, byte: int) -> bool:
    """Whether nothing is below ``node``, and its byte may come next for sure: some state reads another after it."""
    if first_child(children, node) != first_child(children, node + 1):
        return False
    if state != SEVERAL:
        return _may_go_on(m, next_of(m, state, byte))
    first = cell(m, SETS, below, Q_FIRST)
    for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
        one = cell(m, ITEMS, item, I_STATE)
        if one != ACCEPT and _may_go_on(m, next_of(m, one, byte)):
            return True
    return False


@inner
def _may_go_on(m: Memory, state: int) -> bool:
    if state == NO_STATE:
        return False
    flags = cell(m, STATES, state, S_FLAGS)
    return flags & F_BYTES != 0 and flags & F_COLUMN == 0


@inner
def _walk(
    m: Memory,
    s: Memory,
    trie: int,
    budget: int,
    levels: Int64Array,
    path: Int64Array,
    row: Memory,
    is_inside: bool,
) -> None:
    """Walk what the first of ``levels`` says, and all below; ``is_inside``: noting what is left where the rule ends."""
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    base, is_quick = 0, budget == NO_BUDGET and get_count(m, C_RULE_LEAF) != 0
    while base >= 0:
        node = levels[base + _NEXT]
        if node == levels[base + _END]:
            base -= _LEVEL
            continue
        levels[base + _NEXT] = node + 1
        byte = byte_of(nodes, node)
        if levels[base + _ROW] >= 0:
            if cell(m, TRANSITIONS, levels[base + _ROW], byte) == NO_STATE:
                continue
        elif levels[base + _IS_NARROW] and not (levels[base + _LIVE + (byte >> 5)] >> (byte & 31)) & 1:
            continue
        state, below = levels[base + _STATE], levels[base + _BELOW]
        if is_quick and _is_sure_end(m, children, node, state, below, byte):
            set_bits(row, tokens, load(firsts, node), load(firsts, node + 1))
            continue
        state, below = step(m, state, below, byte)
        if state == 0:
            continue
        if is_inside and _note_end(m, trie, node, state, below):
            return
        if budget == NO_BUDGET or distance_of(m, state, below) <= budget:
            _set_tokens(m, tokens, load(firsts, node), load(firsts, node + 1), row)
        child = load(children, node)
        if child >= LARGE:
            state, below = take_known(m, s, trie, node, state, below, budget, path, row)
            if state == 0:
                continue
        base += _LEVEL
        _open_level(m, levels, base, state, below, child & CHILD, first_child(children, node + 1))


@inner
def _walk_roots(
    m: Memory, s: Memory, state: int, below: int, budget: int, levels: Int64Array, path: Int64Array, row: Memory
) -> None:
    """Walk the vocabulary's whole trie."""
    live, roots = np.empty(8, np.int64), load(s, H_FIRST_NODES)
    first_bytes(m, state, below, live)
    for word in range(8):
        bits, place = live[word], roots + 32 * word
        while bits:
            if bits & 1 and load(s, place):
                levels[_STATE], levels[_BELOW], levels[_ROW], levels[_IS_NARROW] = state, below, -1, 0
                levels[_NEXT], levels[_END] = load(s, place), load(s, place) + 1
                _walk(m, s, 0, budget, levels, path, row, get_count(m, C_INSIDE) != NOTHING)
            bits >>= 1
            place += 1


@inner
def _walk_from(
    m: Memory, s: Memory, job: int, closed: int, budget: int, levels: Int64Array, path: Int64Array, row: Memory
) -> None:
    """Walk what a job says from a closed set."""
    trie, node = cell(m, JOBS, job, J_TRIE), cell(m, JOBS, job, J_NODE)
    set_count(m, C_FIRST_EXCEPTION, cell(m, JOBS, job, J_FIRST))
    set_count(m, C_END_EXCEPTION, cell(m, JOBS, job, J_END))
    state, below = unpack(m, closed)
    if cell(m, JOBS, job, J_FIRST) == cell(m, JOBS, job, J_END):
        state, below = take_known(m, s, trie, node, state, below, budget, path, row)
    if state == 0:
        return
    begin_row(m, load(s, H_WORDS), row)
    if trie == 0 and node == ROOT:
        _walk_roots(m, s, state, below, budget, levels, path, row)
        return
    children = part_of(s, trie, CHILDREN)
    _open_level(m, levels, 0, state, below, first_child(children, node), first_child(children, node + 1))
    _walk(m, s, trie, budget, levels, path, row, get_count(m, C_INSIDE) != NOTHING)


# What a rule interior is made of, see `rule_interiors`


@inner
def _note_leftover(m: Memory, trie: int, node: int) -> None:
    """Note, once, that tokens go on behind the rule whose interior is computed: those below ``node``."""
    count = get_count(m, N_LEFTOVERS)
    if count == UNKNOWN:
        return
    for one in range(get_count(m, C_FIRST_LEFTOVER), count):
        if cell(m, LEFTOVERS, one, LEFT_TRIE) == trie and cell(m, LEFTOVERS, one, LEFT_NODE) == node:
            return
    need(m, LEFTOVERS, count + 1)
    put(m, LEFTOVERS, count, LEFT_TRIE, trie)
    put(m, LEFTOVERS, count, LEFT_NODE, node)
    set_count(m, N_LEFTOVERS, count + 1)


@inner
def _note_end(m: Memory, trie: int, node: int, state: int, below: int) -> bool:
    """Note what is left where the rule may end; whether the column of the block around was looked at."""
    if state == SEVERAL:
        if cell(m, ITEMS, cell(m, SETS, below, Q_FIRST), I_STATE) == ACCEPT:
            _note_leftover(m, trie, node)
        is_missed = cell(m, SETS, below, Q_HIGH) == MISSED_COLUMN
    else:
        is_missed = cell(m, STATES, state, S_COLUMN) == MISSED_COLUMN
    if is_missed:
        set_count(m, N_LEFTOVERS, UNKNOWN)
    return is_missed


# Open jobs


@inner
def _take_items(
    m: Memory, s: Memory, trie: int, node: int, below: int, levels: Int64Array, path: Int64Array, row: Memory
) -> None:
    """Take what each item of a set that is not closed allows below ``node``."""
    first = cell(m, SETS, below, Q_FIRST)
    for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
        state = cell(m, ITEMS, item, I_STATE)
        if state != ACCEPT:
            _take_item(m, s, trie, node, state, cell(m, ITEMS, item, I_BELOW), levels, path, row)
        elif get_count(m, C_INSIDE) != NOTHING:
            _note_leftover(m, trie, node)


@inner
def _take_item(
    m: Memory,
    s: Memory,
    trie: int,
    node: int,
    state: int,
    below: int,
    levels: Int64Array,
    path: Int64Array,
    row: Memory,
) -> None:
    flags, leaf = cell(m, STATES, state, S_FLAGS), leaf_of(m, state)
    if leaf or flags == F_FINAL:
        if flags & F_FINAL:
            add_open_job(m, trie, node, below)
        if not flags & F_BYTES:
            return
    interior = find_interior(m, s, leaf, 0, trie, node, state, path) if leaf else 0
    if interior:
        add_interior(m, s, interior, row)
        if load(s, interior + E_EXITS):
            add_open_job(m, load(s, interior + E_TRIE), ROOT, below)
    elif trie and load(s, trie + E_EXITS) <= _SHORT:
        _walk_rule(m, s, trie, node, state, below, levels, path, row)
    elif get_count(m, C_WALKS) < (1 if trie else 2) and get_count(m, C_NESTED) < _MOST_NESTED:
        _take_rule(m, s, trie, node, state, below, path, row)
    else:
        add_job(m, trie, node, entered(m, state, below), 0, 0)


@inner
def _walk_rule(
    m: Memory,
    s: Memory,
    trie: int,
    node: int,
    state: int,
    below: int,
    levels: Int64Array,
    path: Int64Array,
    row: Memory,
) -> None:
    """Do as the interior of a state says, below a node where that would hardly be less than the walk."""
    children = part_of(s, trie, CHILDREN)
    begin_row(m, load(s, H_WORDS), row)
    while below != NOTHING and get_count(m, N_LEFTOVERS) != UNKNOWN:
        column, first = cell(m, SETS, below, Q_LOW), get_count(m, N_LEFTOVERS)
        one = within(m, below, column, column)
        set_count(m, C_FIRST_LEFTOVER, first)
        top, under = unpack(m, entered(m, state, bottom_of(m, column)))
        if top != 0 and not _note_end(m, trie, node, top, under):
            _open_level(m, levels, 0, top, under, first_child(children, node), first_child(children, node + 1))
            _walk(m, s, trie, NO_BUDGET, levels, path, row, True)
        for left in range(first, get_count(m, N_LEFTOVERS)):
            add_open_job(m, cell(m, LEFTOVERS, left, LEFT_TRIE), cell(m, LEFTOVERS, left, LEFT_NODE), one)
        if get_count(m, N_LEFTOVERS) != UNKNOWN:
            set_count(m, N_LEFTOVERS, first)
        set_count(m, C_FIRST_LEFTOVER, 0)
        below = within(m, below, column + 1, FAR)


@inner
def bottom_of(m: Memory, column: int) -> int:
    """What stands for any stack whose innermost block has this column."""
    held = get_count(m, C_OPEN_COLUMN)
    if held == 0 or column == 0:
        return BOTTOM
    if column != OPEN_COLUMN:
        held += column - MAX_COLUMN - 1
    items = np.empty((1, 2), np.int64)
    items[0, I_STATE], items[0, I_BELOW] = ACCEPT, pack(m, held, NOTHING)
    return interned(m, items, 1)


@inner
def _take_rule(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> None:
    leaf = get_count(m, C_RULE_LEAF)
    interior = known_interior(m, s, leaf, ANY_COLUMN, trie, node, RULE_STATE - state)
    if interior == 0:
        _want(m, ANY_COLUMN, trie, node, state)
        return
    if load(s, interior + E_COUNT) != UNKNOWN:
        _add_rule(m, s, interior, below, row)
        return
    while below != NOTHING:
        column = cell(m, SETS, below, Q_LOW)
        if column == OPEN_COLUMN:
            set_count(m, N_LEFTOVERS, UNKNOWN)
            return
        interior = known_interior(m, s, leaf, OF_COLUMN + column, trie, node, RULE_STATE - state)
        if interior:
            _add_rule(m, s, interior, within(m, below, column, column), row)
        else:
            _want(m, OF_COLUMN + column, trie, node, state)
        below = within(m, below, column + 1, FAR)


@inner
def _want(m: Memory, variant: int, trie: int, node: int, state: int) -> None:
    count = get_count(m, N_WANTED)
    need(m, WANTED, count + 1)
    put(m, WANTED, count, WANTED_VARIANT, variant)
    put(m, WANTED, count, WANTED_TRIE, trie)
    put(m, WANTED, count, WANTED_NODE, node)
    put(m, WANTED, count, WANTED_STATE, RULE_STATE - state)
    set_count(m, N_WANTED, count + 1)


@inner
def _add_rule(m: Memory, s: Memory, interior: int, below: int, row: Memory) -> None:
    add_interior(m, s, interior, row)
    first = load(s, interior + E_PARTS)
    for place in range(first, first + 2 * load(s, interior + E_EXITS), 2):
        add_open_job(m, load(s, place), load(s, place + 1), below)


# All jobs


@inner
def begin_jobs(m: Memory, s: Memory) -> None:
    """Begin a mask, or the interior of a rule."""
    set_count(m, C_KEEPS_SPELLING, 0)
    set_count(m, C_LONGEST, load(s, H_LONGEST))
    set_count(m, C_BLANK, 1)
    set_count(m, C_BASE_MASK, 0)
    set_count(m, C_INSIDE, NOTHING)
    set_count(m, N_JOBS, 0)
    set_count(m, N_CLOSERS, 0)
    set_count(m, N_EXCEPTIONS, 0)
    set_count(m, N_LEFTOVERS, 0)
    set_count(m, C_FIRST_LEFTOVER, 0)
    set_count(m, N_WANTED, 0)


@inner
def run_jobs(m: Memory, s: Memory, budget: int, row: Memory) -> None:
    """Do all jobs, and those that come of them."""
    longest, job = load(s, H_LONGEST) + 2, 0
    levels, path = np.empty(_LEVEL * longest, np.int64), np.empty(4 * longest + 2 * MOST_TAKEN, np.int64)
    is_inside = get_count(m, C_INSIDE) != NOTHING
    while job < get_count(m, N_JOBS) and get_count(m, N_LEFTOVERS) != UNKNOWN:
        trie, node, closed = cell(m, JOBS, job, J_TRIE), cell(m, JOBS, job, J_NODE), cell(m, JOBS, job, J_SET)
        if cell(m, JOBS, job, J_IS_OPEN):
            _take_items(m, s, trie, node, closed, levels, path, row)
        elif not is_inside or not _note_begin(m, trie, node, closed):
            _walk_from(m, s, job, closed, budget, levels, path, row)
        job += 1
    if get_count(m, N_WANTED) and get_count(m, N_LEFTOVERS) != UNKNOWN:
        set_count(m, C_WANTED_STATE, 0)
        raise InteriorWanted
    begin_row(m, load(s, H_WORDS), row)


@inner
def _note_begin(m: Memory, trie: int, node: int, closed: int) -> bool:
    state, below = unpack(m, closed)
    return state == 0 or _note_end(m, trie, node, state, below)
