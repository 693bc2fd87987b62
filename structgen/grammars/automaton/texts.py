"""Strings and keys out of a list, in a walk: what leads on to one of the texts that are left, and which of them end.

Such a walk is narrow, and makes no state for what it passes: an interval of the texts and a partial character are all
that it carries (see `strings`).
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int64Array, Memory, inner, load
from structgen.grammars.automaton.frames import after_declared
from structgen.grammars.automaton.interiors import (
    BYTES_OF,
    CHILDREN,
    FIRSTS,
    H_LONGEST,
    TOKENS,
    byte_of,
    first_child,
    part_of,
)
from structgen.grammars.automaton.leaves import mark_texts
from structgen.grammars.automaton.object_following import may_come
from structgen.grammars.automaton.rows import set_bits
from structgen.grammars.automaton.spelling import MISSPELT, NONE, QUOTE, after_byte, first_rank, last_rank
from structgen.grammars.automaton.string_rests import text_place
from structgen.grammars.automaton.tables import (
    CLOSER_NODE,
    CLOSER_TEXT,
    CLOSERS,
    N_CLOSERS,
    RECORDS,
    S_NODES,
    S_REGISTER,
    STATES,
    T_LABEL,
    T_LENGTH,
    TEXTS,
    X_DEPTH,
    X_PHASE,
    X_POINT,
    X_TEXT,
    X_TEXT_END,
    cell,
    get_count,
    need,
    put,
    set_count,
)

__all__ = ["after_closer", "walk_texts"]

# A level of the walk.
_NEXT, _END, _TEXT, _TEXT_END, _DEPTH, _PHASE, _POINT, _LIVE = range(8)
_LEVEL = 16


@inner
def _open_level(
    m: Memory, levels: Int64Array, base: int, text: int, end: int, depth: int, phase: int, point: int
) -> None:
    levels[base + _TEXT], levels[base + _TEXT_END], levels[base + _DEPTH] = text, end, depth
    levels[base + _PHASE], levels[base + _POINT] = phase, point
    if phase == NONE and levels[base + _NEXT] < levels[base + _END]:
        live = levels[base + _LIVE : base + _LEVEL]
        for word in range(8):
            live[word] = 0
        mark_texts(m, text, end, depth, live)


@inner
def _add_closer(m: Memory, node: int, text: int) -> None:
    closer = get_count(m, N_CLOSERS)
    need(m, CLOSERS, closer + 1)
    put(m, CLOSERS, closer, CLOSER_NODE, node)
    put(m, CLOSERS, closer, CLOSER_TEXT, text)
    set_count(m, N_CLOSERS, closer + 1)


@inner
def _leads_on(m: Memory, frame: int, text: int, end: int) -> bool:
    """Whether one of the texts may come."""
    if frame == 0:
        return True
    for one in range(text, end):
        if may_come(m, cell(m, STATES, frame, S_REGISTER), cell(m, TEXTS, one, T_LABEL)):
            return True
    return False


@inner
def walk_texts(m: Memory, s: Memory, trie: int, node: int, state: int, frame: int, row: Memory) -> None:
    """Walk below ``node`` where only the texts of the string machine's ``state`` are left.

    Sets the tokens that stay inside, unless ``row`` is 0, and writes to `CLOSERS` the nodes at which a text has come
    whole, closing quote included. ``frame``: the state of the object whose key this is, 0 where it is none.
    """
    nodes, children = part_of(s, trie, BYTES_OF), part_of(s, trie, CHILDREN)
    firsts, tokens = part_of(s, trie, FIRSTS), part_of(s, trie, TOKENS)
    record, base = cell(m, STATES, state, S_NODES), 0
    levels = np.empty((load(s, H_LONGEST) + 2) * _LEVEL, np.int64)
    text, end, at = (
        cell(m, RECORDS, record, X_TEXT),
        cell(m, RECORDS, record, X_TEXT_END),
        cell(m, RECORDS, record, X_DEPTH),
    )
    levels[_NEXT], levels[_END] = first_child(children, node), first_child(children, node + 1)
    _open_level(m, levels, 0, text, end, at, cell(m, RECORDS, record, X_PHASE), cell(m, RECORDS, record, X_POINT))
    while base >= 0:
        node = levels[base + _NEXT]
        if node == levels[base + _END]:
            base -= _LEVEL
            continue
        levels[base + _NEXT] = node + 1
        byte, phase = byte_of(nodes, node), levels[base + _PHASE]
        if phase == NONE and not (levels[base + _LIVE + (byte >> 5)] >> (byte & 31)) & 1:
            continue
        text, end, at = levels[base + _TEXT], levels[base + _TEXT_END], levels[base + _DEPTH]
        if phase == NONE and byte == QUOTE:
            if cell(m, TEXTS, text, T_LENGTH) == at:
                _add_closer(m, node, text)
            continue
        phase, point = after_byte(phase, levels[base + _POINT], byte)
        if phase == MISSPELT:
            continue
        text = text_place(m, text, end, at, first_rank(phase, point))
        end = text_place(m, text, end, at, last_rank(phase, point) + 1)
        if text == end:
            continue
        if row and _leads_on(m, frame, text, end):
            set_bits(row, tokens, load(firsts, node), load(firsts, node + 1))
        base += _LEVEL
        if phase == NONE:
            at, point = at + 1, 0
        levels[base + _NEXT], levels[base + _END] = first_child(children, node), first_child(children, node + 1)
        _open_level(m, levels, base, text, end, at, phase, point)


@inner
def after_closer(m: Memory, closer: int, frame: int) -> int:
    """The state of ``frame`` behind the key that came whole, `NO_STATE` where it may not come."""
    return after_declared(m, frame, cell(m, TEXTS, cell(m, CLOSERS, closer, CLOSER_TEXT), T_LABEL))
