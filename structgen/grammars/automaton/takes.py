"""What a mask takes whole below a node of a trie, in place of a walk from a state."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Int64Array, Memory, inner, load
from structgen.grammars.automaton.frame_places import SPACES
from structgen.grammars.automaton.frames import NEW_LINE, after_undeclared, beyond_space, undeclared_ways
from structgen.grammars.automaton.interiors import (
    CHILDREN,
    E_COUNT,
    E_EXITS,
    E_LABEL,
    E_LIST,
    E_MASK,
    E_NEXT,
    FIRSTS,
    H_WORDS,
    ROOT,
    TOKENS,
    find_interior,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import ANY_STRING, SPACE, UNCLOSED, WHITE_SPACE, leaf_of
from structgen.grammars.automaton.rows import add_mask, begin_row, clear_bit, has_bit, set_bits
from structgen.grammars.automaton.spelling import NONE
from structgen.grammars.automaton.stacks import SEVERAL, entered, exchanged, leave, unpack
from structgen.grammars.automaton.string_keys import is_ample
from structgen.grammars.automaton.string_rests import START
from structgen.grammars.automaton.string_tables import ANY_VALUE
from structgen.grammars.automaton.strings import undeclared
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    C_BASE_MASK,
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
    Q_FIRST,
    RECORDS,
    RULES,
    S_COUNT,
    S_FLAGS,
    S_NODES,
    S_PLACE,
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
def _add_tokens(m: Memory, s: Memory, interior: int, row: Memory) -> None:
    """Add the tokens of ``interior``."""
    if load(s, interior + E_MASK):
        if get_count(m, C_BASE_MASK) == 0:
            set_count(m, C_BASE_MASK, load(s, interior + E_MASK))
        add_mask(m, load(s, H_WORDS), s + 4 * load(s, interior + E_MASK), row)
    else:
        begin_row(m, load(s, H_WORDS), row)
        first = load(s, interior + E_LIST)
        set_bits(row, s, first, first + load(s, interior + E_COUNT))


@inner
def _take_leaf(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> int:
    leaf = leaf_of(m, state)
    if leaf == 0:
        return NOT_TAKEN
    if cell(m, STATES, state, S_COUNT) == STRING:
        record = cell(m, STATES, state, S_NODES)
        if cell(m, RECORDS, record, X_PHASE) == START:
            return NOT_TAKEN
        if cell(m, RECORDS, record, X_VALUE) < 0:
            return _take_texts(m, s, trie, node, state, 0, below, row)
    interior = find_interior(m, s, leaf, 0, trie, node, state, path)
    if interior == 0:
        return NOT_TAKEN
    _add_tokens(m, s, interior, row)
    if load(s, interior + E_EXITS):
        after = leave(m, below)
        if after != BOTTOM:
            add_job(m, interior, ROOT, after, 0, 0)
    return 0


# White space: what follows it does not depend on how much of it there is


@inner
def _take_space(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> int:
    space, beyond = cell(m, STATES, state, S_PLACE) % SPACES, beyond_space(m, state)
    interior = find_interior(m, s, SPACE, 0, trie, node, WHITE_SPACE - space, path)
    _add_tokens(m, s, interior, row)
    if load(s, interior + E_EXITS):
        add_job(m, interior, ROOT, entered(m, beyond, below), 0, 0)
    return beyond


# Texts out of a list, and keys


@inner
def _add_closers(m: Memory, s: Memory, trie: int, first: int, frame: int, below: int, row: Memory) -> None:
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
        set_bits(row, tokens, load(firsts, node), load(firsts, node + 1))
        if closed != BOTTOM:
            add_job(m, trie, node, closed, 0, 0)


@inner
def _take_texts(m: Memory, s: Memory, trie: int, node: int, state: int, frame: int, below: int, row: Memory) -> int:
    """Walk a string machine of which only texts are left."""
    begin_row(m, load(s, H_WORDS), row)
    first = get_count(m, N_CLOSERS)
    walk_texts(m, s, trie, node, state, frame, row)
    _add_closers(m, s, trie, first, frame, below, row)
    return 0


@inner
def _except_subtree(m: Memory, s: Memory, trie: int, node: int) -> None:
    """Add the tokens at and below ``node`` to `EXCEPTIONS`."""
    children, firsts, tokens = part_of(s, trie, CHILDREN), part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    first, end = node, node + 1
    while first < end:  # the nodes of one level below it lie together
        for place in range(load(firsts, first), load(firsts, end)):
            row = get_count(m, N_EXCEPTIONS)
            need(m, EXCEPTIONS, row + 1)
            put(m, EXCEPTIONS, row, 0, load(tokens, place))
            set_count(m, N_EXCEPTIONS, row + 1)
        first, end = first_child(children, first), first_child(children, end)


@inner
def _except_closers(m: Memory, s: Memory, trie: int, node: int, closer: int) -> None:
    """Add the tokens in which a declared key comes whole to `EXCEPTIONS`; those of an interior left out already."""
    children = part_of(s, trie, CHILDREN)
    for one in range(closer, get_count(m, N_CLOSERS)):
        at = cell(m, CLOSERS, one, CLOSER_NODE)
        if not first_child(children, node) <= at < first_child(children, node + 1):
            _except_subtree(m, s, trie, at)


@inner
def _take_key(m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory) -> int:
    """A key: the texts in it are declared, and any other string may be an undeclared one, or none may."""
    key = -cell(m, STATES, state, S_PLACE)
    record, ways = cell(m, STATES, key, S_NODES), undeclared_ways(m, state, key)
    if ways == 0:
        return _take_texts(m, s, trie, node, key, state, below, row)
    text, end = cell(m, RECORDS, record, X_TEXT), cell(m, RECORDS, record, X_TEXT_END)
    if cell(m, RECORDS, record, X_PHASE) != NONE or not is_ample(m, key, ways):
        return NOT_TAKEN
    leaf, variant = ANY_STRING, 0
    if cell(m, RECORDS, record, X_VALUE) != ANY_VALUE:
        leaf, variant = cell(m, RULES, cell(m, STATES, state, S_RULE), U_LEAF), ways << 1
    first, closer = get_count(m, N_EXCEPTIONS), get_count(m, N_CLOSERS)
    if end:
        if variant:  # else a token inside a declared key is one inside an undeclared one
            begin_row(m, load(s, H_WORDS), row)
        walk_texts(m, s, trie, node, key, state, row if variant else 0)
        _except_closers(m, s, trie, node, closer)
        if cell(m, TEXTS, text, T_LENGTH) == cell(m, RECORDS, record, X_DEPTH):
            variant |= UNCLOSED
        key = undeclared(m, key)
    last = get_count(m, N_EXCEPTIONS)
    interior = find_interior(m, s, leaf, variant, trie, node, key, path)
    _add_but(m, s, interior, first, last, row)
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
        _add_closers(m, s, trie, closer, state, below, row)
    return 0


@inner
def _add_but(m: Memory, s: Memory, interior: int, first: int, last: int, row: Memory) -> None:
    """Add the tokens of ``interior`` but for some exceptions."""
    if first < last:
        begin_row(m, load(s, H_WORDS), row)
    for one in range(first, last):
        put(m, EXCEPTIONS, one, 1, has_bit(row, cell(m, EXCEPTIONS, one, 0)))
    _add_tokens(m, s, interior, row)
    for one in range(first, last):
        if not cell(m, EXCEPTIONS, one, 1):
            clear_bit(row, cell(m, EXCEPTIONS, one, 0))


@inner
def _take(m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory) -> int:
    """Take what is known below ``node`` of an item; returns `NOT_TAKEN`, or the state to walk on from, 0 for none."""
    if not cell(m, STATES, state, S_FLAGS) & F_FRAME:
        return _take_leaf(m, s, trie, node, state, below, path, row)
    place = cell(m, STATES, state, S_PLACE)
    if place < 0:
        return _take_key(m, s, trie, node, state, below, path, row)
    if place % SPACES >= NEW_LINE:
        return _take_space(m, s, trie, node, state, below, path, row)
    return NOT_TAKEN


@inner
def take_known(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> tuple[int, int]:
    """Take what is known below ``node`` of each item; returns the others, to be walked."""
    if state != SEVERAL:
        left = _take(m, s, trie, node, state, below, path, row)
        if left == NOT_TAKEN:
            return state, below
        return unpack(m, entered(m, left, below)) if left else (0, 0)
    first, taken = cell(m, SETS, below, Q_FIRST), 0
    for place in range(cell(m, SETS, below, Q_COUNT)):
        one = cell(m, ITEMS, first + place, I_STATE)
        if one != ACCEPT and taken < 2 * MOST_TAKEN:
            left = _take(m, s, trie, node, one, cell(m, ITEMS, first + place, I_BELOW), path[taken:], row)
            if left != NOT_TAKEN:
                path[taken], path[taken + 1] = place, left
                taken += 2
    return exchanged(m, below, path, taken // 2) if taken else (state, below)
