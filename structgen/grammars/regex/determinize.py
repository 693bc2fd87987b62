"""From an NFA over characters to the minimal DFA: the subset construction (Rabin and Scott 1959)."""

from __future__ import annotations

from structgen.errors import GrammarLimitExceeded
from structgen.grammars._minimal import Alphabet, Rows, minimal
from structgen.grammars.char_dfa import MAX_STATES, CharDfa
from structgen.grammars.limits import checkpoint
from structgen.grammars.regex.lookaround import looking_dfa
from structgen.grammars.regex.nfa import ACCEPT, REST, Nfa
from structgen.grammars.regex.syntax import Node

__all__ = ["searching_dfa", "whole_dfa"]

_MAX_WORK = 3_000_000
"""Nodes looked at while it is made deterministic: some seconds."""

_ACCEPTS, _ANYTHING = 1 << ACCEPT, 1 << REST


def searching_dfa(tree: Node) -> CharDfa | None:
    """The texts in which ``tree`` matches somewhere; ``None`` where there are none.

    Raises
    ------
    GrammarLimitExceeded
        It needs too many states.
    """
    nfa = Nfa()
    entry = nfa.build_search(tree)
    if nfa.looks:
        return looking_dfa(nfa, entry)
    return _determinize(nfa, nfa.closure(entry, at_start=True))


def whole_dfa(tree: Node) -> CharDfa | None:
    """The texts that ``tree`` matches as a whole, ``None`` where there are none.

    Raises
    ------
    GrammarLimitExceeded
        It needs too many states.
    """
    nfa = Nfa()
    entry = nfa.build(tree, ACCEPT)
    return looking_dfa(nfa, entry)


def _determinize(nfa: Nfa, start: int) -> CharDfa | None:
    alphabet = Alphabet(cut for ranges in nfa.sets for first, last in ranges for cut in (first, last + 1))
    masks = [alphabet.set(ranges) for ranges in nfa.sets]
    start = nfa.simplified(start)
    numbers = {start: 0}
    states = [start]
    rows: Rows = []
    work = 0
    for state in states:
        checkpoint(len(states))
        if state == _ANYTHING:
            rows.append([(alphabet.all, numbers[state])])
            continue
        row: list[tuple[int, int]] = []
        pieces = _pieces(nfa, masks, state)
        for target, mask in pieces.items():
            number = numbers.setdefault(target, len(states))
            if number == len(states):
                states.append(target)
            row.append((mask, number))
        rows.append(row)
        work += state.bit_count() + len(pieces)
        if len(states) > MAX_STATES or work > _MAX_WORK:
            raise GrammarLimitExceeded(f"the pattern needs more than {MAX_STATES:,} states; simplify it")
    return minimal(alphabet, rows, [state & (_ACCEPTS | _ANYTHING) != 0 for state in states])


def _pieces(nfa: Nfa, masks: list[int], state: int) -> dict[int, int]:
    """By the set of nodes that comes next, the characters that lead there."""
    moves: dict[int, int] = {}
    rest = state & ~_ACCEPTS
    while rest:
        bit = rest & -rest
        rest ^= bit
        node = bit.bit_length() - 1
        mask = masks[nfa.symbols[node]]
        if mask:
            moves[mask] = moves.get(mask, 0) | nfa.closure_after(node)
    pieces: list[tuple[int, int]] = []
    covered = 0
    for mask in moves if len(moves) < 3 else sorted(moves, key=int.bit_count):  # small ones are mostly disjoint
        if mask & covered:
            pieces = _refined(pieces, mask, moves[mask])
        else:
            pieces.append((mask, moves[mask]))
        covered |= mask
    united: dict[int, int] = {}
    for mask, target in pieces:
        state = nfa.simplified(target)
        united[state] = united.get(state, 0) | mask
    return united


def _refined(pieces: list[tuple[int, int]], mask: int, target: int) -> list[tuple[int, int]]:
    """Disjoint pieces with one more set of characters."""
    found: list[tuple[int, int]] = []
    for its_mask, its_target in pieces:
        both = its_mask & mask
        if both:
            found.append((both, its_target | target))
            mask ^= both
        if both != its_mask:
            found.append((its_mask ^ both, its_target))
    if mask:
        found.append((mask, target))
    return found
