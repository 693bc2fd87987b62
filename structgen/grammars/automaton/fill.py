"""Masks and steps: what compiled code does for one call."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64, load
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILD,
    CHILDREN,
    FIRSTS,
    H_ELEMENT_COUNT,
    H_END_COUNT,
    H_ENDS,
    H_FIRST_NODES,
    H_GENERATION,
    H_LONGEST,
    H_MEMBER_COUNT,
    H_SPAN_COUNT,
    H_SPANS,
    H_STARTS,
    H_TEXT,
    H_TOKEN_COUNT,
    H_WORDS,
    LARGE,
    ROOT,
    TOKENS,
    address,
    byte_of,
    first_child,
    forget_links,
    part_of,
)
from structgen.grammars.automaton.kept_masks import forget_masks, keep_mask, read_mask
from structgen.grammars.automaton.leaves import first_bytes
from structgen.grammars.automaton.rows import begin_row, clear_bit, has_bit, set_bit, set_bits
from structgen.grammars.automaton.stack_sets import pack, unpack
from structgen.grammars.automaton.stacks import after_token, step
from structgen.grammars.automaton.tables import (
    ACCEPT,
    C_BASE_MASK,
    C_BLANK,
    C_DONE,
    C_END_EXCEPTION,
    C_FILLED,
    C_FIRST_EXCEPTION,
    C_GENERATION,
    C_HAS_SETS,
    C_KEEPS_SPELLING,
    C_LONGEST,
    EXCEPTIONS,
    F_FRAME,
    F_TOKENS,
    FAR,
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
    N_OTHERS,
    N_SETS,
    NO_ROW,
    NO_STATE,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    S_DISTANCE,
    S_FLAGS,
    S_ROW,
    SETS,
    STATES,
    TRANSITIONS,
    cell,
    get_count,
    set_count,
)
from structgen.grammars.automaton.takes import MOST_TAKEN, add_job, take_known
from structgen.grammars.automaton.walk import NO_BUDGET, add_special_tokens

__all__ = [
    "NO_ROW_THERE",
    "NO_STATE_THERE",
    "NO_TOKEN",
    "advance_token",
    "fill_mask",
    "fill_mask_within",
    "fill_masks",
    "only_token",
]

NO_STATE_THERE, NO_ROW_THERE, NO_TOKEN = -2, -3, -4
"""What is returned for an argument that is wrong."""

# A level of a walk: the travelling form, the next node and the end of its siblings; the row of TRANSITIONS that all
# steps from here read, or -1; whether only some bytes may come, and these.
_STATE, _BELOW, _NEXT, _END, _ROW, _IS_NARROW, _LIVE, _LEVEL = 0, 1, 2, 3, 4, 5, 6, 14

_FEW = 4
"""Siblings that are so few are not held against the bytes that may come."""


@inner
def _distance(m: Memory, state: int, below: int) -> int:
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
def _walk(m: Memory, s: Memory, trie: int, budget: int, levels: Int64Array, path: Int64Array, row: Memory) -> None:
    """Walk what the first of ``levels`` says, and all below."""
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    base = 0
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
        state, below = step(m, levels[base + _STATE], levels[base + _BELOW], byte)
        if state == 0:
            continue
        if budget == NO_BUDGET or _distance(m, state, below) <= budget:
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
                _walk(m, s, 0, budget, levels, path, row)
            bits >>= 1
            place += 1


@inner
def _run_job(m: Memory, s: Memory, job: int, budget: int, levels: Int64Array, path: Int64Array, row: Memory) -> None:
    trie, node, closed = cell(m, JOBS, job, J_TRIE), cell(m, JOBS, job, J_NODE), cell(m, JOBS, job, J_SET)
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
    _walk(m, s, trie, budget, levels, path, row)


@inner
def _is_accepting(m: Memory, closed: int) -> bool:
    return closed == NOTHING or cell(m, ITEMS, cell(m, SETS, closed, Q_FIRST), I_STATE) == ACCEPT


@inner
def _fits(m: Memory, s: Memory, closed: int, token: int, budget: int) -> bool:
    """Whether ``token`` may come within the budget, told with the spelling of the keys in it."""
    starts, text = address(s, H_STARTS), address(s, H_TEXT)
    top, below = unpack(m, closed)
    place, end = load(starts, token), load(starts, token + 1)
    while place < end and top != 0:
        top, below = step(m, top, below, byte_of(text, place))
        place += 1
    return top != 0 and (budget == NO_BUDGET or _distance(m, top, below) <= budget)


@inner
def _clear_repeated(m: Memory, s: Memory, closed: int, budget: int, row: Memory) -> None:
    """Clear the tokens in which a key comes twice: a walk does not know the undeclared keys that it passes.

    Nor how far from an end it is behind a comma, where the next key may not be one of them.
    """
    count = load(s, H_SPAN_COUNT)
    if budget != NO_BUDGET:
        count += load(s, H_MEMBER_COUNT) + (load(s, H_ELEMENT_COUNT) if get_count(m, C_HAS_SETS) else 0)
    set_count(m, C_KEEPS_SPELLING, 1)
    for place in range(load(s, H_SPANS), load(s, H_SPANS) + count):
        if has_bit(row, load(s, place)) and not _fits(m, s, closed, load(s, place), budget):
            clear_bit(row, load(s, place))


@inner
def _fill(m: Memory, s: Memory, closed: int, budget: int, row: Memory) -> None:
    longest = load(s, H_LONGEST) + 2
    levels, path = np.empty(_LEVEL * longest, np.int64), np.empty(4 * longest + 2 * MOST_TAKEN, np.int64)
    set_count(m, C_KEEPS_SPELLING, 0)
    set_count(m, C_LONGEST, load(s, H_LONGEST))
    set_count(m, C_BLANK, 1)
    set_count(m, C_BASE_MASK, 0)
    set_count(m, N_JOBS, 0)
    set_count(m, N_CLOSERS, 0)
    set_count(m, N_EXCEPTIONS, 0)
    if closed != NOTHING:
        add_job(m, 0, ROOT, closed, 0, 0)
    job = 0
    while job < get_count(m, N_JOBS):
        _run_job(m, s, job, budget, levels, path, row)
        job += 1
    begin_row(m, load(s, H_WORDS), row)
    if get_count(m, N_OTHERS) and closed != NOTHING:
        _clear_repeated(m, s, closed, budget, row)
    first, has_tokens = cell(m, SETS, closed, Q_FIRST), False
    for item in range(first, first + cell(m, SETS, closed, Q_COUNT)):
        has_tokens |= cell(m, STATES, cell(m, ITEMS, item, I_STATE), S_FLAGS) & F_TOKENS != 0
    if has_tokens:
        add_special_tokens(m, closed, budget, row)
    if _is_accepting(m, closed):
        for place in range(load(s, H_ENDS), load(s, H_ENDS) + load(s, H_END_COUNT)):
            set_bit(row, load(s, place))


@inner
def _forget_old(m: Memory, s: Memory) -> None:
    """Forget what refers to the store, where it has begun anew."""
    if get_count(m, C_GENERATION) != load(s, H_GENERATION):
        forget_links(m)
        forget_masks(m)
        set_count(m, C_GENERATION, load(s, H_GENERATION))


@inner
def _write(m: Memory, s: Memory, state: int, budget: int, row: Int32Array) -> int:
    words = load(s, H_WORDS)
    if len(row) != words:
        return NO_ROW_THERE
    if not -1 <= state < get_count(m, N_SETS):
        return NO_STATE_THERE
    if state < 0:
        row[:] = 0
        return 0
    _forget_old(m, s)
    if budget == NO_BUDGET and read_mask(m, s, words, state, row.ctypes.data):
        return 0
    _fill(m, s, state, budget, row.ctypes.data)
    set_count(m, C_FILLED, (get_count(m, C_FILLED) + 1) & 0x7FFFFFFF)
    if budget == NO_BUDGET:
        keep_mask(m, s, words, state, row.ctypes.data)
    return 0


@compiled
def fill_mask(m: Memory, s: Memory, state: int, row: Int32Array) -> int:
    """Write the mask of ``state``, which is a closed set, or 0 after an end token; returns 0 where all is well.

    Raises `InteriorWanted`, besides what asks for room and rules.
    """
    return _write(m, s, state, NO_BUDGET, row)


@compiled
def fill_mask_within(m: Memory, s: Memory, state: int, budget: int, row: Int32Array) -> int:
    """Like `fill_mask`, but only tokens after which an end is at most ``budget`` tokens away, and end tokens.

    Returns how many of the row's words are not empty where all is well.
    """
    wrong = _write(m, s, state, budget if budget < FAR else NO_BUDGET, row)
    if wrong:
        return wrong
    held = 0
    for word in range(len(row)):
        held += row[word] != 0
    return held


@compiled
def fill_masks(m: Memory, s: Memory, states: Int64Array, rows: Int32Table, begin: int) -> int:
    """Like `fill_mask` for many, from number ``begin`` on; what is raised finds how many are done in `C_DONE`."""
    for place in range(begin, len(states)):
        set_count(m, C_DONE, place)
        wrong = _write(m, s, states[place], NO_BUDGET, rows[place])
        if wrong:
            return wrong
    return 0


@compiled
def only_token(row: Int32Array) -> int:
    """The only token of a mask, -1 where it has several or none."""
    found = -1
    for word in range(len(row)):
        bits = int64(row[word]) & 0xFFFFFFFF
        if bits:
            if found >= 0 or bits & (bits - 1):
                return -1
            found = 32 * word
            while bits > 1:
                bits >>= 1
                found += 1
    return found


@inner
def _is_end(s: Memory, token: int) -> bool:
    first, count = load(s, H_ENDS), load(s, H_END_COUNT)
    place = first
    while place < first + count and load(s, place) != token:
        place += 1
    return place < first + count


@compiled
def advance_token(m: Memory, s: Memory, state: int, token: int) -> int:
    """The closed set after ``token``, 0 after an end token, -1 where it cannot come."""
    if not -1 <= state < get_count(m, N_SETS):
        return NO_STATE_THERE
    if not 0 <= token < load(s, H_TOKEN_COUNT):
        return NO_TOKEN
    if state < 0:
        return -1
    set_count(m, C_KEEPS_SPELLING, 1)
    starts, text = address(s, H_STARTS), address(s, H_TEXT)
    first, end = load(starts, token), load(starts, token + 1)
    if first == end and _is_end(s, token) and _is_accepting(m, state):
        return 0
    if state == NOTHING:
        return -1
    if first == end:
        return after_token(m, state, token) or -1
    top, below = unpack(m, state)
    for place in range(first, end):
        top, below = step(m, top, below, byte_of(text, place))
        if top == 0:
            return -1
    return pack(m, top, below)
