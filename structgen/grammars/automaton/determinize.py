"""Rule automata, built lazily: subset construction over the nodes of a rule's NFA, one transition at a time.

A state is the set of nodes that a text may have reached inside its rule. Bytes that no node tells apart get their
transition together. What a call returns to is a state of the calling rule; the called rule is stepped by `stacks`.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Memory, compiled, inner, rare
from structgen.grammars.automaton.hashing import FNV_BASIS, folded, mixed
from structgen.grammars.automaton.strings import fill_string_transition, string_start, string_step
from structgen.grammars.automaton.tables import (
    BYTES,
    BYTESETS,
    C_NODE_EPOCH,
    C_WANTED_RULE,
    CALL,
    CALLS,
    CLOSED,
    F_BYTES,
    F_CALLS,
    F_FINAL,
    F_TOKENS,
    FAR,
    FINAL,
    HOLE,
    K_ARGUMENT,
    K_DISTANCE,
    K_KIND,
    K_NEXT,
    K_OTHER,
    K_RULE,
    L_BACK,
    L_RULE,
    N_CALLS,
    N_ROWS,
    N_STATE_NODES,
    N_STATES,
    NO_ROW,
    NO_STATE,
    NODE_WORK,
    NODES,
    RULES,
    S_CALL_COUNT,
    S_CALLS,
    S_COUNT,
    S_DISTANCE,
    S_FLAGS,
    S_NODES,
    S_ROW,
    S_RULE,
    SPLIT,
    STATE_HASH,
    STATE_NODES,
    STATES,
    STRING,
    STRING_RULE,
    TOKEN,
    TRANSITIONS,
    U_KIND,
    U_NODE,
    U_STATE,
    V_EPOCH,
    V_NODE,
    RuleWanted,
    cell,
    get_count,
    need,
    put,
    rows_of,
    set_count,
)

__all__ = ["after_call", "next_state", "rehash_states", "start_state", "state_after_token"]


@inner
def _has_byte(m: Memory, bits: int, byte: int) -> bool:
    return (cell(m, BYTESETS, bits, byte >> 5) >> (byte & 31)) & 1 == 1


@inner
def _open_list(m: Memory) -> int:
    """Begin an empty list of nodes; returns its length."""
    set_count(m, C_NODE_EPOCH, get_count(m, C_NODE_EPOCH) + 1)
    return 0


@inner
def _reach(m: Memory, node: int, found: int) -> int:
    """Add ``node``, or what its splits lead to, to the list; returns the list's length."""
    epoch = get_count(m, C_NODE_EPOCH)
    pending = np.empty(64, np.int64)
    pending[0] = node
    waiting = 1
    while waiting:
        waiting -= 1
        node = pending[waiting]
        if cell(m, NODE_WORK, node, V_EPOCH) == epoch:
            continue
        put(m, NODE_WORK, node, V_EPOCH, epoch)
        if cell(m, NODES, node, K_KIND) != SPLIT:
            put(m, NODE_WORK, found, V_NODE, node)
            found += 1
            continue
        if waiting + 2 > len(pending):
            larger = np.empty(2 * len(pending), np.int64)
            for place in range(waiting):
                larger[place] = pending[place]
            pending = larger
        pending[waiting] = cell(m, NODES, node, K_OTHER)
        pending[waiting + 1] = cell(m, NODES, node, K_NEXT)
        waiting += 2
    return found


@inner
def _after_nodes(m: Memory, state: int, kind: int, argument: int) -> int:
    """List what follows the nodes of ``state`` with this kind and argument; returns the list's length."""
    found = _open_list(m)
    first = cell(m, STATES, state, S_NODES)
    for place in range(first, first + cell(m, STATES, state, S_COUNT)):
        node = cell(m, STATE_NODES, place, 0)
        if cell(m, NODES, node, K_KIND) == kind and cell(m, NODES, node, K_ARGUMENT) == argument:
            found = _reach(m, cell(m, NODES, node, K_NEXT), found)
    return found


@inner
def _sort_list(m: Memory, found: int) -> None:
    """Shell sort: short lists are the rule, and it compiles in no time."""
    gap = found // 2
    while gap:
        for place in range(gap, found):
            node, hole = cell(m, NODE_WORK, place, V_NODE), place
            while hole >= gap and cell(m, NODE_WORK, hole - gap, V_NODE) > node:
                put(m, NODE_WORK, hole, V_NODE, cell(m, NODE_WORK, hole - gap, V_NODE))
                hole -= gap
            put(m, NODE_WORK, hole, V_NODE, node)
        gap //= 2


@inner
def _hash(m: Memory, table: int, first: int, count: int) -> int:
    """Of the first column of ``count`` rows; FNV-1a over whole numbers, folded."""
    value = FNV_BASIS
    for place in range(first, first + count):
        value = mixed(value, cell(m, table, place, 0))
    return folded(value)


@inner
def _is_list(m: Memory, state: int, found: int) -> bool:
    if cell(m, STATES, state, S_COUNT) != found:
        return False
    first = cell(m, STATES, state, S_NODES)
    same = True
    for place in range(found):
        same &= cell(m, STATE_NODES, first + place, 0) == cell(m, NODE_WORK, place, V_NODE)
    return same


@inner
def _add_call(m: Memory, first: int, end: int, rule: int) -> int:
    for place in range(first, end):
        if cell(m, CALLS, place, L_RULE) == rule:
            return end
    put(m, CALLS, end, L_RULE, rule)
    put(m, CALLS, end, L_BACK, HOLE)
    return end + 1


@inner
def _append_state(m: Memory, found: int) -> int:
    state, first, call = get_count(m, N_STATES), get_count(m, N_STATE_NODES), get_count(m, N_CALLS)
    row = get_count(m, N_ROWS)
    need(m, STATES, state + 1)
    need(m, TRANSITIONS, row + 1)
    need(m, STATE_NODES, first + found)
    need(m, CALLS, call + found)
    flags, distance, end = 0, FAR, call
    for place in range(found):
        node = cell(m, NODE_WORK, place, V_NODE)
        put(m, STATE_NODES, first + place, 0, node)
        distance = min(distance, cell(m, NODES, node, K_DISTANCE))
        kind = cell(m, NODES, node, K_KIND)
        if kind == FINAL:
            flags |= F_FINAL
        elif kind == BYTES:
            flags |= F_BYTES
        elif kind == TOKEN:
            flags |= F_TOKENS
        else:
            flags |= F_CALLS
            end = _add_call(m, call, end, cell(m, NODES, node, K_ARGUMENT))
    put(m, STATES, state, S_NODES, first)
    put(m, STATES, state, S_COUNT, found)
    put(m, STATES, state, S_FLAGS, flags)
    put(m, STATES, state, S_DISTANCE, distance)
    put(m, STATES, state, S_RULE, cell(m, NODES, cell(m, NODE_WORK, 0, V_NODE), K_RULE))
    put(m, STATES, state, S_CALLS, call)
    put(m, STATES, state, S_CALL_COUNT, end - call)
    put(m, STATES, state, S_ROW, row)
    set_count(m, N_STATES, state + 1)
    set_count(m, N_ROWS, row + 1)
    set_count(m, N_STATE_NODES, first + found)
    set_count(m, N_CALLS, end)
    return state


@rare
def _intern_state(m: Memory, found: int) -> int:
    """The state with the nodes of the list, an old one where there is one."""
    _sort_list(m, found)
    last = rows_of(m, STATE_HASH) - 1
    slot = _hash(m, NODE_WORK, 0, found) & last
    while cell(m, STATE_HASH, slot, 0) != 0:
        state = cell(m, STATE_HASH, slot, 0)
        if _is_list(m, state, found):
            return state
        slot = (slot + 1) & last
    state = _append_state(m, found)
    put(m, STATE_HASH, slot, 0, state)
    return state


@rare
def _fill_transition(m: Memory, state: int, byte: int) -> int:
    alike = np.empty(8, np.int64)  # the bytes that every node treats as it does this one
    for word in range(8):
        alike[word] = -1
    found = _open_list(m)
    first = cell(m, STATES, state, S_NODES)
    for place in range(first, first + cell(m, STATES, state, S_COUNT)):
        node = cell(m, STATE_NODES, place, 0)
        if cell(m, NODES, node, K_KIND) != BYTES:
            continue
        bits = cell(m, NODES, node, K_ARGUMENT)
        reads = _has_byte(m, bits, byte)
        if reads:
            found = _reach(m, cell(m, NODES, node, K_NEXT), found)
        for word in range(8):
            word_bits = cell(m, BYTESETS, bits, word)
            alike[word] &= word_bits if reads else ~word_bits
    target, row = _intern_state(m, found) if found else NO_STATE, cell(m, STATES, state, S_ROW)
    for other in range(256):
        if (alike[other >> 5] >> (other & 31)) & 1:
            put(m, TRANSITIONS, row, other, target)
    return target


@inner
def next_state(m: Memory, state: int, byte: int) -> int:
    """The state of the same rule after ``byte``, or `NO_STATE`; built when first asked for."""
    row = cell(m, STATES, state, S_ROW)
    if row == NO_ROW:
        return string_step(m, state, byte)
    target = cell(m, TRANSITIONS, row, byte)
    if target != HOLE:
        return target
    if cell(m, STATES, state, S_COUNT) == STRING:
        return fill_string_transition(m, state, byte)
    return _fill_transition(m, state, byte)


@inner
def state_after_token(m: Memory, state: int, token: int) -> int:
    """The state of the same rule after the special token ``token``, or `NO_STATE`."""
    found = _after_nodes(m, state, TOKEN, token)
    return _intern_state(m, found) if found else NO_STATE


@inner
def after_call(m: Memory, state: int, call: int) -> int:
    """The state to return to after call number ``call`` of ``state``."""
    place = cell(m, STATES, state, S_CALLS) + call
    target = cell(m, CALLS, place, L_BACK)
    if target == HOLE:
        target = _intern_state(m, _after_nodes(m, state, CALL, cell(m, CALLS, place, L_RULE)))
        put(m, CALLS, place, L_BACK, target)
    return target


@inner
def start_state(m: Memory, rule: int) -> int:
    """The start state of ``rule``."""
    state = cell(m, RULES, rule, U_STATE)
    if state == HOLE:
        node = cell(m, RULES, rule, U_NODE)
        if node < 0:
            set_count(m, C_WANTED_RULE, rule)
            raise RuleWanted
        if cell(m, RULES, rule, U_KIND) == STRING_RULE:
            state = string_start(m, node)
        else:
            state = _intern_state(m, _reach(m, node, _open_list(m)))
        put(m, RULES, rule, U_STATE, state)
    return state


@compiled
def rehash_states(m: Memory) -> None:
    """Enter every state into an emptied `STATE_HASH`."""
    last = rows_of(m, STATE_HASH) - 1
    for state in range(CLOSED + 1, get_count(m, N_STATES)):
        if cell(m, STATES, state, S_COUNT) <= 0:  # no set of nodes
            continue
        slot = _hash(m, STATE_NODES, cell(m, STATES, state, S_NODES), cell(m, STATES, state, S_COUNT)) & last
        while cell(m, STATE_HASH, slot, 0) != 0:
            slot = (slot + 1) & last
        put(m, STATE_HASH, slot, 0, state)
