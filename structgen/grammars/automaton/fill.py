"""Masks and steps: what compiled code does for one call."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, int64, load
from structgen.grammars.automaton.interiors import (
    H_ELEMENT_COUNT,
    H_END_COUNT,
    H_ENDS,
    H_MEMBER_COUNT,
    H_SPAN_COUNT,
    H_SPANS,
    H_STARTS,
    H_TEXT,
    H_TOKEN_COUNT,
    H_WORDS,
    ROOT,
    address,
    byte_of,
)
from structgen.grammars.automaton.jobs import begin_jobs, distance_of, run_jobs
from structgen.grammars.automaton.kept_masks import keep_mask, read_mask
from structgen.grammars.automaton.rows import clear_bit, has_bit, set_bit
from structgen.grammars.automaton.rule_interiors import forget_old
from structgen.grammars.automaton.stack_sets import pack, unpack
from structgen.grammars.automaton.stacks import after_token, note_origin, origin_of, step
from structgen.grammars.automaton.tables import (
    ACCEPT,
    C_DONE,
    C_FILLED,
    C_HAS_SETS,
    C_KEEPS_SPELLING,
    C_RULE_LEAF,
    F_TOKENS,
    FAR,
    I_STATE,
    ITEMS,
    N_OTHERS,
    N_SETS,
    NOTHING,
    Q_COUNT,
    Q_FIRST,
    S_FLAGS,
    SETS,
    STATES,
    cell,
    get_count,
    set_count,
)
from structgen.grammars.automaton.takes import add_job, add_open_job
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
    return top != 0 and (budget == NO_BUDGET or distance_of(m, top, below) <= budget)


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
    begin_jobs(m, s)
    if closed != NOTHING:
        if budget == NO_BUDGET and get_count(m, C_RULE_LEAF):
            add_open_job(m, 0, ROOT, origin_of(m, closed))
        else:
            add_job(m, 0, ROOT, closed, 0, 0)
    run_jobs(m, s, budget, row)
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
def _write(m: Memory, s: Memory, state: int, budget: int, row: Int32Array) -> int:
    words = load(s, H_WORDS)
    if len(row) != words:
        return NO_ROW_THERE
    if not -1 <= state < get_count(m, N_SETS):
        return NO_STATE_THERE
    if state < 0:
        row[:] = 0
        return 0
    forget_old(m, s)
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
    for place in range(first, end - 1):
        top, below = step(m, top, below, byte_of(text, place))
        if top == 0:
            return -1
    byte = byte_of(text, end - 1)
    after, under = step(m, top, below, byte)
    if after == 0:
        return -1
    closed = pack(m, after, under)
    if get_count(m, C_RULE_LEAF):
        note_origin(m, closed, top, below, byte)
    return closed
