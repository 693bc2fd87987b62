"""What a mask takes whole below a node of a trie, in place of a walk from a state."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, inner, load
from structgen.grammars.automaton.frame_distances import cost_behind
from structgen.grammars.automaton.frame_places import SPACES
from structgen.grammars.automaton.frames import NEW_LINE, after_undeclared, beyond_space, next_of, undeclared_ways
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    E_EXITS,
    E_LABEL,
    E_NEXT,
    FIRSTS,
    H_LONGEST,
    H_WORDS,
    ROOT,
    TOKENS,
    byte_of,
    find_interior,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import ANY_STRING, SPACE, UNCLOSED, WHITE_SPACE, leaf_of
from structgen.grammars.automaton.rings import add_interior, add_rings
from structgen.grammars.automaton.rows import begin_row, clear_bit, has_bit, set_bits
from structgen.grammars.automaton.spelling import NONE
from structgen.grammars.automaton.stack_sets import SEVERAL, unpack
from structgen.grammars.automaton.stacks import entered, exchanged, leave
from structgen.grammars.automaton.string_keys import is_ample
from structgen.grammars.automaton.string_rests import START
from structgen.grammars.automaton.string_tables import ANY_VALUE
from structgen.grammars.automaton.strings import undeclared
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    CLOSER_NODE,
    CLOSERS,
    EXCEPTIONS,
    F_FRAME,
    I_BELOW,
    I_STATE,
    ITEMS,
    J_END,
    J_FIRST,
    J_NODE,
    J_SET,
    J_TRIE,
    JOBS,
    N_CLOSERS,
    N_EXCEPTIONS,
    N_JOBS,
    NO_STATE,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    RECORDS,
    RULES,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    S_PLACE,
    S_REGISTER,
    S_RULE,
    SETS,
    STATES,
    STRING,
    T_LENGTH,
    TEXTS,
    U_LEAF,
    X_DEPTH,
    X_PHASE,
    X_TEXT,
    X_TEXT_END,
    X_VALUE,
    cell,
    get_count,
    need,
    put,
    set_count,
)
from structgen.grammars.automaton.texts import after_closer, walk_texts
from structgen.grammars.automaton.walk import NO_BUDGET

__all__ = ["MOST_TAKEN", "add_job", "take_known"]

NOT_TAKEN = -1
MOST_TAKEN = 1024
"""Of one set, so many items are taken; any more are walked."""


@inner
def add_job(m: Memory, trie: int, node: int, closed: int, first: int, end: int) -> None:
    """Have what is below ``node`` walked from ``closed``, once, but for the `EXCEPTIONS` ``first`` to ``end``."""
    count = get_count(m, N_JOBS)
    for job in range(count):
        if (
            cell(m, JOBS, job, J_SET) == closed
            and cell(m, JOBS, job, J_TRIE) == trie
            and cell(m, JOBS, job, J_NODE) == node
            and cell(m, JOBS, job, J_FIRST) == cell(m, JOBS, job, J_END)
        ):
            return
    need(m, JOBS, count + 1)
    put(m, JOBS, count, J_TRIE, trie)
    put(m, JOBS, count, J_NODE, node)
    put(m, JOBS, count, J_SET, closed)
    put(m, JOBS, count, J_FIRST, first)
    put(m, JOBS, count, J_END, end)
    set_count(m, N_JOBS, count + 1)


@inner
def _take_leaf(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, budget: int, path: Int64Array, row: Memory
) -> int:
    leaf = leaf_of(m, state)
    if leaf == 0:
        return NOT_TAKEN
    if cell(m, STATES, state, S_COUNT) == STRING:
        record = cell(m, STATES, state, S_NODES)
        if cell(m, RECORDS, record, X_PHASE) == START:
            return NOT_TAKEN
        if cell(m, RECORDS, record, X_VALUE) < 0:
            return _take_texts(m, s, trie, node, state, 0, below, row) if budget == NO_BUDGET else NOT_TAKEN
    interior = find_interior(m, s, leaf, 0, trie, node, state, path)
    if interior == 0:
        return NOT_TAKEN
    after = leave(m, below)
    if budget == NO_BUDGET:
        add_interior(m, s, interior, row)
    else:
        spare, may_end = budget - cell(m, SETS, below, Q_DISTANCE), cell(m, SETS, after, Q_DISTANCE) <= budget
        add_rings(m, s, leaf, 0, trie, node, state, spare, may_end, path, row)
    if load(s, interior + E_EXITS) and after != BOTTOM:
        add_job(m, interior, ROOT, after, 0, 0)
    return 0


# White space: what follows it does not depend on how much of it there is


@inner
def _take_space(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> int:
    space, beyond = cell(m, STATES, state, S_PLACE) % SPACES, beyond_space(m, state)
    interior = find_interior(m, s, SPACE, 0, trie, node, WHITE_SPACE - space, path)
    add_interior(m, s, interior, row)
    if load(s, interior + E_EXITS):
        add_job(m, interior, ROOT, entered(m, beyond, below), 0, 0)
    return beyond


# Texts out of a list, and keys


@inner
def _add_closers(m: Memory, s: Memory, trie: int, first: int, frame: int, below: int, budget: int, row: Memory) -> None:
    """Have what follows the texts that came whole walked: the `CLOSERS` from number ``first`` on."""
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    for closer in range(first, get_count(m, N_CLOSERS)):
        node = cell(m, CLOSERS, closer, CLOSER_NODE)
        if frame:
            after = after_closer(m, closer, frame)
            if after == NO_STATE:
                continue
            closed = entered(m, after, below)
        else:
            closed = leave(m, below)
        if cell(m, SETS, closed, Q_DISTANCE) <= budget:
            set_bits(row, tokens, load(firsts, node), load(firsts, node + 1))
        if closed != BOTTOM:
            add_job(m, trie, node, closed, 0, 0)


@inner
def _take_texts(m: Memory, s: Memory, trie: int, node: int, state: int, frame: int, below: int, row: Memory) -> int:
    """Walk a string machine of which only texts are left."""
    begin_row(m, load(s, H_WORDS), row)
    first = get_count(m, N_CLOSERS)
    walk_texts(m, s, trie, node, state, frame, row)
    _add_closers(m, s, trie, first, frame, below, NO_BUDGET, row)
    return 0


@inner
def _except_tokens(m: Memory, tokens: Memory, first: int, end: int) -> None:
    """Add ``tokens[first:end]`` to `EXCEPTIONS`."""
    row = get_count(m, N_EXCEPTIONS)
    need(m, EXCEPTIONS, row + end - first)
    for place in range(first, end):
        put(m, EXCEPTIONS, row + place - first, 0, load(tokens, place))
    set_count(m, N_EXCEPTIONS, row + end - first)


@inner
def _except_subtree(m: Memory, s: Memory, trie: int, node: int) -> None:
    """Add the tokens at and below ``node`` to `EXCEPTIONS`."""
    children, firsts, tokens = part_of(s, trie, CHILDREN), part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    first, end = node, node + 1
    while first < end:  # the nodes of one level below it lie together
        _except_tokens(m, tokens, load(firsts, first), load(firsts, end))
        first, end = first_child(children, first), first_child(children, end)


@inner
def _walk_declared(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, budget: int, row: Memory
) -> None:
    """Set the tokens that stay inside a declared key and keep the budget, and add all that do to `EXCEPTIONS`."""
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    levels, depth = np.empty((load(s, H_LONGEST) + 2, 3), np.int64), 0
    levels[0, 0], levels[0, 1], levels[0, 2] = first_child(children, node), first_child(children, node + 1), state
    begin_row(m, load(s, H_WORDS), row)
    while depth >= 0:
        node = levels[depth, 0]
        if node == levels[depth, 1]:
            depth -= 1
            continue
        levels[depth, 0] = node + 1
        target = next_of(m, levels[depth, 2], byte_of(nodes, node))
        if target == NO_STATE or not _is_declared(m, target):
            continue
        first, end = load(firsts, node), load(firsts, node + 1)
        if cell(m, STATES, target, S_DISTANCE) + cell(m, SETS, below, Q_DISTANCE) <= budget:
            set_bits(row, tokens, first, end)
        _except_tokens(m, tokens, first, end)
        depth += 1
        levels[depth, 0], levels[depth, 1] = first_child(children, node), first_child(children, node + 1)
        levels[depth, 2] = target


@inner
def _is_declared(m: Memory, state: int) -> bool:
    """Whether ``state`` is inside a key that may become a declared one."""
    key = -cell(m, STATES, state, S_PLACE) if cell(m, STATES, state, S_FLAGS) & F_FRAME else 0
    return key > 0 and cell(m, RECORDS, cell(m, STATES, key, S_NODES), X_TEXT_END) > 0


@inner
def _except_closers(m: Memory, s: Memory, trie: int, node: int, closer: int) -> None:
    """Add the tokens in which a declared key comes whole to `EXCEPTIONS`; those of an interior left out already."""
    children = part_of(s, trie, CHILDREN)
    for one in range(closer, get_count(m, N_CLOSERS)):
        at = cell(m, CLOSERS, one, CLOSER_NODE)
        if not first_child(children, node) <= at < first_child(children, node + 1):
            _except_subtree(m, s, trie, at)


@inner
def _take_key(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, budget: int, path: Int64Array, row: Memory
) -> int:
    """A key: the texts in it are declared, and any other string may be an undeclared one, or none may."""
    key = -cell(m, STATES, state, S_PLACE)
    record, ways = cell(m, STATES, key, S_NODES), undeclared_ways(m, state, key)
    if ways == 0:
        return _take_texts(m, s, trie, node, key, state, below, row) if budget == NO_BUDGET else NOT_TAKEN
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    if cell(m, RECORDS, record, X_PHASE) != NONE or not is_ample(m, key, ways):
        return NOT_TAKEN
    leaf, variant = ANY_STRING, 0
    if cell(m, RECORDS, record, X_VALUE) != ANY_VALUE:
        leaf, variant = cell(m, RULES, cell(m, STATES, state, S_RULE), U_LEAF), ways << 1
    first, closer = get_count(m, N_EXCEPTIONS), get_count(m, N_CLOSERS)
    last = first
    if end:
        if variant and budget == NO_BUDGET:  # else a token inside a declared key is one inside an undeclared one
            begin_row(m, load(s, H_WORDS), row)
        walk_texts(m, s, trie, node, key, state, row if variant and budget == NO_BUDGET else 0)
        _except_closers(m, s, trie, node, closer)
        if cell(m, TEXTS, text, T_LENGTH) == cell(m, RECORDS, record, X_DEPTH):
            variant |= UNCLOSED
        key, last = undeclared(m, key), get_count(m, N_EXCEPTIONS)
        if budget != NO_BUDGET:
            _walk_declared(m, s, trie, node, state, below, budget, row)
    interior = find_interior(m, s, leaf, variant, trie, node, key, path)
    _remember_exceptions(m, s, first, row)
    if budget == NO_BUDGET:
        add_interior(m, s, interior, row)
    else:
        _add_keys(m, s, leaf, variant, trie, node, key, state, below, ways, budget, path, row)
    _restore_exceptions(m, first, row)
    while interior:
        if load(s, interior + E_EXITS):
            label = (
                load(s, interior + E_LABEL)
                | load(s, interior + E_LABEL + 1) << 31
                | load(s, interior + E_LABEL + 2) << 62
            )
            after = after_undeclared(m, state, label if label else ways)
            add_job(m, interior, ROOT, entered(m, after, below), first, last)
        interior = load(s, interior + E_NEXT)
    if end:
        _add_closers(m, s, trie, closer, state, below, budget, row)
    return 0


@inner
def _remember_exceptions(m: Memory, s: Memory, first: int, row: Memory) -> None:
    """Remember the bits of the `EXCEPTIONS` from number ``first`` on."""
    if first < get_count(m, N_EXCEPTIONS):
        begin_row(m, load(s, H_WORDS), row)
    for one in range(first, get_count(m, N_EXCEPTIONS)):
        put(m, EXCEPTIONS, one, 1, has_bit(row, cell(m, EXCEPTIONS, one, 0)))


@inner
def _restore_exceptions(m: Memory, first: int, row: Memory) -> None:
    """Make their bits again what they were."""
    for one in range(first, get_count(m, N_EXCEPTIONS)):
        if not cell(m, EXCEPTIONS, one, 1):
            clear_bit(row, cell(m, EXCEPTIONS, one, 0))


@inner
def _add_keys(
    m: Memory,
    s: Memory,
    leaf: int,
    variant: int,
    trie: int,
    node: int,
    key: int,
    state: int,
    below: int,
    ways: int,
    budget: int,
    path: Int64Array,
    row: Memory,
) -> None:
    """Add the tokens inside an undeclared key that keep the budget in one of ``ways``."""
    register = cell(m, STATES, state, S_REGISTER)
    while ways:
        way = ways if leaf == ANY_STRING else ways & -ways
        after = entered(m, after_undeclared(m, state, way), below)
        spare = budget - cell(m, SETS, below, Q_DISTANCE) - cost_behind(m, register, way)
        one = (variant & UNCLOSED) | (0 if leaf == ANY_STRING else way << 1)
        may_end = cell(m, SETS, after, Q_DISTANCE) <= budget
        add_rings(m, s, leaf, one, trie, node, key, spare, may_end, path, row)
        ways ^= way


@inner
def _take(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, budget: int, path: Int64Array, row: Memory
) -> int:
    """Take what is known below ``node`` of an item; returns `NOT_TAKEN`, or the state to walk on from, 0 for none."""
    if not cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return _take_leaf(m, s, trie, node, state, below, budget, path, row)
    place = cell(m, STATES, state, S_PLACE)
    if place < 0:
        return _take_key(m, s, trie, node, state, below, budget, path, row)
    if place % SPACES >= NEW_LINE and budget == NO_BUDGET:
        return _take_space(m, s, trie, node, state, below, path, row)
    return NOT_TAKEN


@inner
def take_known(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, budget: int, path: Int64Array, row: Memory
) -> tuple[int, int]:
    """Take what is known below ``node`` of each item; returns the others, to be walked."""
    if state != SEVERAL:
        left = _take(m, s, trie, node, state, below, budget, path, row)
        if left == NOT_TAKEN:
            return state, below
        return unpack(m, entered(m, left, below)) if left else (0, 0)
    first, taken = cell(m, SETS, below, Q_FIRST), 0
    for place in range(cell(m, SETS, below, Q_COUNT)):
        one = cell(m, ITEMS, first + place, I_STATE)
        if one != ACCEPT and taken < 2 * MOST_TAKEN:
            left = _take(m, s, trie, node, one, cell(m, ITEMS, first + place, I_BELOW), budget, path[taken:], row)
            if left != NOT_TAKEN:
                path[taken], path[taken + 1] = place, left
                taken += 2
    return exchanged(m, below, path, taken // 2) if taken else (state, below)
