"""LALR(1) tables as Lark makes them, with its decisions in conflicts.

Lookaheads are those of DeRemer and Pennello (1982), "Efficient Computation of LALR(1) Look-Ahead Sets". Lark adds some:
it takes what is left of a production in a state for one that begins there, where its nonterminal may begin there too.
Terminals are bits, items nodes of tries; states are numbered as they are reached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lark.grammar import Rule as LarkRule

from structgen.errors import InvalidGrammar
from structgen.grammars.circles import circles_of
from structgen.grammars.lark.tries import Tries
from structgen.grammars.limits import checkpoint

__all__ = ["Conflict", "Tables", "lalr_tables"]


class Conflict(InvalidGrammar):
    """The grammar is not LALR(1), and Lark does not know how to decide."""


class Tables(NamedTuple):
    """What an LALR(1) parser does; texts begin in the first of its states."""

    gotos: list[dict[int, int]]
    """Of each state, by symbol, the state after it."""
    accepts: list[int]
    """Of each state the terminals that may come next, as bits."""
    lost: dict[tuple[int, int], int]
    """Of a state and a node where a production is complete that could end there, the terminals before which it does
    not: Lark reads on, or takes a production of higher priority. Empty where the grammar is LALR(1)."""


def lalr_tables(tries: Tries) -> Tables:
    """The tables of a grammar.

    Raises
    ------
    Conflict
        Two productions of equal priority may end before a terminal; the message names all such.
    """
    states = _States(tries)
    lookaheads = _lookaheads(tries, states)
    accepts, lost = list(states.shifts), dict[tuple[int, int], int]()
    collisions: list[str] = []
    for state, its in enumerate(lookaheads):
        for node, before in its.items():
            accepts[state] |= before
            if before & states.shifts[state]:
                lost[state, node] = before & states.shifts[state]
        for terminal in _bits(_twice(its.values())):
            ends = {node: tries.ends[node] for node, before in its.items() if before >> terminal & 1}
            rules = [rule for rule in ends.values() if rule is not None]
            best = _preferred(rules)
            if best is None:
                collisions.append(_collision(tries.terminals[terminal], rules))
            for node, rule in ends.items():
                if rule is not best:
                    lost[state, node] = lost.get((state, node), 0) | 1 << terminal
    if collisions:
        raise Conflict(" ".join(collisions))
    return Tables(states.gotos, accepts, lost)


class _States:
    """The LR(0) automaton.

    Attributes
    ----------
    kernels : list of tuple of int
        Of each state the nodes that it has been entered at.
    gotos : list of dict
        Of each state, by symbol, the state after it.
    shifts : list of int
        Of each state the terminals among these symbols, as bits.
    """

    def __init__(self, tries: Tries) -> None:
        self._children, self._begun = tries.children, _begun(tries)
        self._closures: dict[int, dict[int, tuple[int, ...]]] = {}
        self.kernels: list[tuple[int, ...]] = []
        self.gotos: list[dict[int, int]] = []
        self.shifts: list[int] = []
        numbers: dict[tuple[int, ...], int] = {}
        self.kernels.append((len(tries.nonterminals) - 1,))
        for kernel in self.kernels:  # grows as it goes
            checkpoint(len(self.kernels))
            row: dict[int, int] = {}
            for symbol, nodes in self._moves(kernel).items():
                number = numbers.setdefault(nodes, len(self.kernels))
                if number == len(self.kernels):
                    self.kernels.append(nodes)
                row[symbol] = number
            self.gotos.append(row)
            self.shifts.append(sum(1 << symbol for symbol in row if symbol >= 0))

    def _moves(self, kernel: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
        """By symbol, the kernel after it."""
        begun, children = 0, self._children
        for node in kernel:
            for symbol in children[node]:
                if symbol < 0:
                    begun |= self._begun[~symbol]
        moves = self._closed(begun).copy()
        for node in kernel:
            for symbol, after in children[node].items():
                known = moves.get(symbol)
                moves[symbol] = (after,) if known is None else tuple(sorted((*known, after)))
        return moves

    def _closed(self, begun: int) -> dict[int, tuple[int, ...]]:
        """The moves of nonterminals, given as bits, that may all begin."""
        found = self._closures.get(begun)
        if found is None:
            united: defaultdict[int, list[int]] = defaultdict(list)
            for nonterminal in _bits(begun):
                for symbol, after in self._children[nonterminal].items():
                    united[symbol].append(after)
            found = self._closures[begun] = {symbol: tuple(sorted(nodes)) for symbol, nodes in united.items()}
        return found


def _begun(tries: Tries) -> list[int]:
    """Of each nonterminal those that may begin where it does, itself among them, as bits."""
    count = len(tries.nonterminals)
    users: list[list[int]] = [[] for _ in range(count)]
    for nonterminal in range(count):
        for symbol in tries.children[nonterminal]:
            if symbol < 0:
                users[~symbol].append(nonterminal)
    return _grown([1 << number for number in range(count)], users)


def _lookaheads(tries: Tries, states: _States) -> list[dict[int, int]]:
    """Of each state, by the node where a production is complete, the terminals before which it may end."""
    gotos, children, ends, nullable = states.gotos, tries.children, tries.ends, tries.nullable
    numbers, transitions = _transitions(states)
    followed: list[list[int]] = [[] for _ in transitions]
    ended: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in gotos]
    for number, (state, symbol) in enumerate(transitions):
        checkpoint()
        left = [(state, node, False) for node in states.kernels[state] if tries.origins[node] == ~symbol]
        pending = [*left, (state, ~symbol, True)]
        while pending:
            place, node, is_whole = pending.pop()
            if is_whole and ends[node] is not None:
                ended[place][node].append(number)
            for one, after in children[node].items():
                if one < 0 and nullable[after]:
                    followed[number].append(numbers[place][one])
                pending.append((gotos[place][one], after, is_whole))
    follows = _grown(_reads(tries, states, numbers, transitions, followed), followed)
    found: list[dict[int, int]] = [{} for _ in gotos]
    for row, its in zip(found, ended, strict=True):
        for node, users in its.items():
            row[node] = _united(follows[number] for number in users)
    return found


def _transitions(states: _States) -> tuple[list[dict[int, int]], list[tuple[int, int]]]:
    """Those by nonterminals: of each state their numbers by symbol, and ``(state, symbol)`` by number."""
    numbers: list[dict[int, int]] = [{} for _ in states.gotos]
    transitions: list[tuple[int, int]] = []
    for state, row in enumerate(states.gotos):
        for symbol in row:
            if symbol < 0:
                numbers[state][symbol] = len(transitions)
                transitions.append((state, symbol))
    return numbers, transitions


def _reads(
    tries: Tries,
    states: _States,
    numbers: list[dict[int, int]],
    transitions: list[tuple[int, int]],
    followed: list[list[int]],
) -> list[int]:
    """Of each transition the terminals that are read next, with nothing but what is empty before them.

    Transitions that read each other have one set in Lark, so that from then on they are followed by the same.
    """
    reads: list[int] = []
    users: list[list[int]] = [[] for _ in transitions]
    for number, (state, symbol) in enumerate(transitions):
        after = states.gotos[state][symbol]
        is_all = state == 0 and symbol == tries.start
        reads.append(states.shifts[after] | is_all << len(tries.terminals) - 1)
        for one, its in numbers[after].items():
            if tries.nullable[~one]:
                users[its].append(number)
    for circle in set(circles_of(dict(enumerate(users))).values()):
        members = sorted(circle)
        for member, other in zip(members, [*members[1:], members[0]], strict=True):
            followed[member].append(other)
    return _grown(reads, users)


def _grown(sets: list[int], users: list[list[int]]) -> list[int]:
    """The least sets of bits that hold these, each of which is in those of its users."""
    pending = list(range(len(sets)))
    while pending:
        checkpoint()
        number = pending.pop()
        for user in users[number]:
            if sets[number] & ~sets[user]:
                sets[user] |= sets[number]
                pending.append(user)
    return sets


def _preferred(rules: list[LarkRule]) -> LarkRule | None:
    """The one of several productions that has a higher priority than all others, where one has."""
    second, best = sorted(rules, key=_priority)[-2:]
    return best if _priority(best) > _priority(second) else None


def _priority(rule: LarkRule) -> int:
    return rule.options.priority or 0


def _collision(terminal: str, rules: list[LarkRule]) -> str:
    """As Lark says it."""
    its = " ".join(f"- {rule}" for rule in rules)
    return f"Reduce/Reduce collision in Terminal({terminal!r}) between the following rules: {its}"


def _united(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _twice(masks: Iterable[int]) -> int:
    """The bits that are in more than one of them."""
    seen, found = 0, 0
    for mask in masks:
        found |= seen & mask
        seen |= mask
    return found
