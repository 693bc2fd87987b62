"""Masks: the trie walked from a closed set, interiors taken whole where they are known (see `interiors`)."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, load, store
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILD,
    CHILDREN,
    E_COUNT,
    E_EXITS,
    E_LIST,
    E_MASK,
    FIRSTS,
    H_END_COUNT,
    H_ENDS,
    H_FIRST_NODES,
    H_LONGEST,
    H_STARTS,
    H_TEXT,
    H_TOKEN_COUNT,
    H_WORDS,
    LARGE,
    ROOT,
    TOKENS,
    address,
    byte_of,
    find_interior,
    first_child,
    forget_old_links,
    leaf_of,
    part_of,
)
from structgen.grammars.automaton.stacks import SEVERAL, after_token, leave, pack, step, unpack, without
from structgen.grammars.automaton.tables import (
    ACCEPT,
    BOTTOM,
    BYTES,
    BYTESETS,
    C_BLANK,
    C_DONE,
    C_KEEPS_SPELLING,
    F_FRAME,
    F_TOKENS,
    FAR,
    I_BELOW,
    I_STATE,
    ITEMS,
    J_SET,
    J_TRIE,
    JOBS,
    K_ARGUMENT,
    K_KIND,
    N_JOBS,
    N_SETS,
    NODES,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    S_PLACE,
    SETS,
    STATE_NODES,
    STATES,
    cell,
    get_count,
    need,
    put,
    set_count,
)
from structgen.grammars.automaton.walk import NO_BUDGET, add_special_tokens, set_bit

__all__ = ["NO_ROW", "NO_STATE_THERE", "NO_TOKEN", "advance_token", "fill_mask", "fill_masks"]

NO_STATE_THERE, NO_ROW, NO_TOKEN = -2, -3, -4
"""What is returned for an argument that is wrong."""

_MOST_TAKEN = 64
"""Of one set, so many items are taken by interiors; any more are walked."""


@inner
def _begin(m: Memory, words: int, row: Memory) -> None:
    """Empty the row, unless something is in it."""
    if get_count(m, C_BLANK):
        for word in range(words):
            store(row, word, 0)
        set_count(m, C_BLANK, 0)


@inner
def _add_mask(m: Memory, words: int, mask: Memory, row: Memory) -> None:
    if get_count(m, C_BLANK):
        for word in range(words):
            store(row, word, load(mask, word))
        set_count(m, C_BLANK, 0)
        return
    for word in range(words):
        store(row, word, load(row, word) | load(mask, word))


@inner
def _add_job(m: Memory, trie: int, closed: int) -> None:
    """Have ``trie`` walked from ``closed``, once."""
    count = get_count(m, N_JOBS)
    for job in range(count):
        if cell(m, JOBS, job, J_TRIE) == trie and cell(m, JOBS, job, J_SET) == closed:
            return
    need(m, JOBS, count + 1)
    put(m, JOBS, count, J_TRIE, trie)
    put(m, JOBS, count, J_SET, closed)
    set_count(m, N_JOBS, count + 1)


@inner
def _take(m: Memory, s: Memory, interior: int, below: int, row: Memory) -> None:
    """Add the tokens of ``interior``; those that go on after the leaf are walked later."""
    if load(s, interior + E_MASK):
        _add_mask(m, load(s, H_WORDS), s + 4 * load(s, interior + E_MASK), row)
    else:
        _begin(m, load(s, H_WORDS), row)
        first = load(s, interior + E_LIST)
        for place in range(first, first + load(s, interior + E_COUNT)):
            set_bit(row, load(s, place))
    if load(s, interior + E_EXITS):
        after = leave(m, below)
        if after != BOTTOM:
            _add_job(m, interior, after)


@inner
def _take_known(
    m: Memory, s: Memory, trie: int, node: int, state: int, below: int, path: Int64Array, row: Memory
) -> tuple[int, int]:
    """Take the interiors of the leaves among the items below ``node``; returns the others, to be walked."""
    if state != SEVERAL:
        if leaf_of(m, state):
            interior = find_interior(m, s, trie, node, state, path)
            if interior:
                _take(m, s, interior, below, row)
                return 0, 0
        return state, below
    first, count, taken = cell(m, SETS, below, Q_FIRST), cell(m, SETS, below, Q_COUNT), 0
    for place in range(count):
        one = cell(m, ITEMS, first + place, I_STATE)
        if one != ACCEPT and leaf_of(m, one) and taken < _MOST_TAKEN:
            interior = find_interior(m, s, trie, node, one, path[taken:])
            if interior:
                _take(m, s, interior, cell(m, ITEMS, first + place, I_BELOW), row)
                path[taken] = place
                taken += 1
    return without(m, below, path, taken) if taken else (state, below)


@inner
def _walk(m: Memory, s: Memory, trie: int, first: int, end: int, budget: int, work: Int64Array, row: Memory) -> None:
    """Walk the siblings ``first`` to ``end`` and all below them; the travelling form is the first of those in ``work``."""
    longest = load(s, H_LONGEST) + 2
    states, belows, next_nodes = work[:longest], work[longest : 2 * longest], work[2 * longest : 3 * longest]
    ends, spare = work[3 * longest : 4 * longest], work[4 * longest :]
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    next_nodes[0], ends[0] = first, end
    depth = 0
    while depth >= 0:
        node = next_nodes[depth]
        if node == ends[depth]:
            depth -= 1
            continue
        next_nodes[depth] = node + 1
        state, below = step(m, states[depth], belows[depth], byte_of(nodes, node))
        if state == 0:
            continue
        place, last = load(firsts, node), load(firsts, node + 1)
        if place < last and (budget == NO_BUDGET or _distance(m, state, below) <= budget):
            while place < last:
                set_bit(row, load(tokens, place))
                place += 1
        child = load(children, node)
        if child >= LARGE and budget == NO_BUDGET:
            state, below = _take_known(m, s, trie, node, state, below, spare, row)
            if state == 0:
                continue
        depth += 1
        states[depth], belows[depth] = state, below
        next_nodes[depth], ends[depth] = child & CHILD, first_child(children, node + 1)


@inner
def _distance(m: Memory, state: int, below: int) -> int:
    if state > 0:
        return min(FAR, cell(m, STATES, state, S_DISTANCE) + cell(m, SETS, below, Q_DISTANCE))
    return cell(m, SETS, below, Q_DISTANCE)


@inner
def _add_first_bytes(m: Memory, state: int, live: Int64Array) -> None:
    if cell(m, STATES, state, S_FLAGS) & F_FRAME:
        if cell(m, STATES, state, S_PLACE) >= 0:
            live[0] |= 1 << 0x0A
            live[1] |= 1 | 1 << (0x22 - 32) | 1 << (0x2C - 32) | 1 << (0x3A - 32)  # space, quote, comma, colon
            live[2] |= 1 << (0x5B - 64) | 1 << (0x5D - 64)  # brackets
            live[3] |= 1 << (0x7B - 96) | 1 << (0x7D - 96)
            return
    if cell(m, STATES, state, S_COUNT) <= 0:  # no nodes to look at
        for word in range(8):
            live[word] = -1
        return
    first = cell(m, STATES, state, S_NODES)
    for place in range(first, first + cell(m, STATES, state, S_COUNT)):
        node = cell(m, STATE_NODES, place, 0)
        if cell(m, NODES, node, K_KIND) == BYTES:
            for word in range(8):
                live[word] |= cell(m, BYTESETS, cell(m, NODES, node, K_ARGUMENT), word)


@inner
def _first_bytes(m: Memory, state: int, below: int, live: Int64Array) -> None:
    """Bytes beside which none can come next, as a set of 8 words."""
    for word in range(8):
        live[word] = 0
    if state != SEVERAL:
        _add_first_bytes(m, state, live)
        return
    first = cell(m, SETS, below, Q_FIRST)
    for item in range(first, first + cell(m, SETS, below, Q_COUNT)):
        if cell(m, ITEMS, item, I_STATE) != ACCEPT:
            _add_first_bytes(m, cell(m, ITEMS, item, I_STATE), live)


@inner
def _run_job(m: Memory, s: Memory, trie: int, closed: int, budget: int, work: Int64Array, row: Memory) -> None:
    longest = load(s, H_LONGEST) + 2
    state, below = unpack(m, closed)
    if budget == NO_BUDGET:
        state, below = _take_known(m, s, trie, ROOT, state, below, work[4 * longest :], row)
    if state == 0:
        return
    _begin(m, load(s, H_WORDS), row)
    work[0], work[longest] = state, below
    if trie:
        _walk(m, s, trie, 1, first_child(part_of(s, trie, CHILDREN), 1), budget, work, row)
        return
    live = np.empty(8, np.int64)
    _first_bytes(m, state, below, live)
    for word in range(8):
        bits, place = live[word] & 0xFFFFFFFF, load(s, H_FIRST_NODES) + 32 * word
        while bits:
            if bits & 1 and load(s, place):
                _walk(m, s, trie, load(s, place), load(s, place) + 1, budget, work, row)
            bits >>= 1
            place += 1


@inner
def _is_accepting(m: Memory, closed: int) -> bool:
    return closed == NOTHING or cell(m, ITEMS, cell(m, SETS, closed, Q_FIRST), I_STATE) == ACCEPT


@inner
def _fill(m: Memory, s: Memory, closed: int, budget: int, row: Memory) -> None:
    work = np.empty(7 * (load(s, H_LONGEST) + 2) + _MOST_TAKEN, np.int64)
    set_count(m, C_KEEPS_SPELLING, 0)
    set_count(m, C_BLANK, 1)
    set_count(m, N_JOBS, 0)
    if closed != NOTHING:
        _add_job(m, 0, closed)
    job = 0
    while job < get_count(m, N_JOBS):
        _run_job(m, s, cell(m, JOBS, job, J_TRIE), cell(m, JOBS, job, J_SET), budget, work, row)
        job += 1
    _begin(m, load(s, H_WORDS), row)
    first, has_tokens = cell(m, SETS, closed, Q_FIRST), False
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        has_tokens |= cell(m, STATES, cell(m, ITEMS, item, I_STATE), S_FLAGS) & F_TOKENS != 0
    if has_tokens:
        add_special_tokens(m, closed, budget, row)
    if _is_accepting(m, closed):
        for place in range(load(s, H_ENDS), load(s, H_ENDS) + load(s, H_END_COUNT)):
            set_bit(row, load(s, place))


@compiled
def fill_mask(m: Memory, s: Memory, state: int, budget: int, row: Int32Array) -> int:
    """Write the mask of ``state``, which is a closed set, or 0 after an end token; returns 0 where all is well.

    Only tokens after which an end is at most ``budget`` tokens away.

    Raises `InteriorWanted`, besides what asks for room and rules.
    """
    words = load(s, H_WORDS)
    if len(row) != words:
        return NO_ROW
    if not -1 <= state < get_count(m, N_SETS):
        return NO_STATE_THERE
    if state < 0:
        row[:] = 0
        return 0
    forget_old_links(m, s)
    _fill(m, s, state, budget, row.ctypes.data)
    return 0


@compiled
def fill_masks(m: Memory, s: Memory, states: Int64Array, rows: Int32Table, begin: int) -> int:
    """Like `fill_mask` for many, from number ``begin`` on; what is raised finds how many are done in `C_DONE`."""
    for place in range(begin, len(states)):
        set_count(m, C_DONE, place)
        wrong = fill_mask(m, s, states[place], NO_BUDGET, rows[place])
        if wrong:
            return wrong
    return 0


@inner
def _is_end(s: Memory, token: int) -> bool:
    for place in range(load(s, H_ENDS), load(s, H_ENDS) + load(s, H_END_COUNT)):
        if load(s, place) == token:
            return True
    return False


@compiled
def advance_token(m: Memory, s: Memory, state: int, token: int) -> int:
    """The closed set after ``token``, 0 after an end token, -1 where it cannot come."""
    if not -1 <= state < get_count(m, N_SETS):
        return NO_STATE_THERE
    if not 0 <= token < load(s, H_TOKEN_COUNT):
        return NO_TOKEN
    if state < 0:
        return -1
    starts, text = address(s, H_STARTS), address(s, H_TEXT)
    first, end = load(starts, token), load(starts, token + 1)
    if first == end and _is_end(s, token) and _is_accepting(m, state):
        return 0
    if state == NOTHING:
        return -1
    if first == end:
        return after_token(m, state, token) or -1
    set_count(m, C_KEEPS_SPELLING, 1)
    top, below = unpack(m, state)
    for place in range(first, end):
        top, below = step(m, top, below, byte_of(text, place))
        if top == 0:
            return -1
    return pack(m, top, below)
