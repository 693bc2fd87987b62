"""Nonterminals as finite automata over what their productions are made of, most nonterminals written out in others.

What a grammar has seventeen levels of operators for is, as a language, operands between operators. So only some
nonterminals are called, the *leaders*: the start, blocks, those that several leaders use, and those that would be
written out in themselves without end. Every other is written out where it stands (a recursive transition network, Woods
1970, with its calls inlined); one that stands last in itself becomes a loop. What may be left to come in a leader is a
state; states where the same may come are one.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from structgen.grammars.limits import checkpoint
from structgen.grammars.partitions import alike

__all__ = ["BARRIER", "END", "Machines", "Part", "TokenGrammar"]

BARRIER, END = -2, -3
"""In the place of a terminal's number: what keeps some terminals from coming next, and the end of the text."""

_MOST_STATES = 40_000
"""Before they are minimised. Where there would be more, less is written out."""
_SMALL = 8
"""A nonterminal of at most so many terminals and nothing else is written out wherever it stands."""
_MANY = (4, 3, 2, 1)
"""Any other is not, where so many different things may be left after it: the first number that is not too much."""


class Part(NamedTuple):
    """One symbol of a production."""

    is_terminal: bool
    number: int
    """Of the terminal, or of the nonterminal among those of the grammar; or `BARRIER`."""
    context: int = 0
    """Of a terminal: what its token leads to; of a barrier: which one it is; of a block: what its indentation does."""
    closing: int = -1
    """Of a block, a nonterminal whose lines are indented: what its end leads to; -1: it is none."""


class TokenGrammar(NamedTuple):
    """A context-free grammar over tokens."""

    start: int
    names: list[str]
    """Of the nonterminals, for people; several may have one name."""
    productions: list[list[tuple[Part, ...]]]
    """Of each nonterminal."""
    barriers: list[frozenset[int]]
    """The terminals that each of them keeps from coming next, or the end."""
    lines: tuple[int, int, int] = (-1, -1, -1)
    """The terminals that end a line, and stand before and behind a block; -1: there are none."""


_Stack = tuple[int, ...]
"""What is left of a leader: of the nonterminals that are being read, the innermost first, a state of `_Productions`."""


class _Productions:
    """The productions of nonterminals as minimal acyclic automata (Daciuk et al. 2000, from tails up).

    Attributes
    ----------
    starts : list of int
        Of each nonterminal the first state.
    steps : list of dict of Part to int
        Of each state what may come next, and the state after it.
    accepting : list of bool
        Whether the nonterminal may end in a state.
    names : list of str
        Of each state the nonterminal, for people.
    """

    def __init__(self, grammar: TokenGrammar) -> None:
        self.steps: list[dict[Part, int]] = []
        self.accepting: list[bool] = []
        self.names: list[str] = []
        self._numbers: dict[tuple[str, bool, tuple[tuple[Part, int], ...]], int] = {}
        self.starts = [
            self._state(name, sorted(set(productions)), 0)
            for name, productions in zip(grammar.names, grammar.productions, strict=True)
        ]

    def _state(self, name: str, productions: list[tuple[Part, ...]], place: int) -> int:
        """The state of what is left of ``productions`` from ``place`` on; they are sorted, and agree before it."""
        groups: dict[Part, list[tuple[Part, ...]]] = {}
        accepts = False
        for parts in productions:
            if len(parts) == place:
                accepts = True
            else:
                groups.setdefault(parts[place], []).append(parts)
        steps = {part: self._state(name, its, place + 1) for part, its in groups.items()}
        key = (name, accepts, tuple(steps.items()))
        number = self._numbers.setdefault(key, len(self.steps))
        if number == len(self.steps):
            self.steps.append(steps)
            self.accepting.append(accepts)
            self.names.append(name)
        return number

    def pushed(self, state: int, stack: _Stack) -> _Stack:
        """``state`` on top of ``stack``, unless it has nothing to read and there is something below."""
        return stack if stack and self.accepting[state] and not self.steps[state] else (state, *stack)


class Machines:
    """The automata of the leaders.

    Parameters
    ----------
    grammar : TokenGrammar
        The grammar.

    Attributes
    ----------
    starts : dict of int to int
        Of each leader its first state.
    steps : list of dict of Part to int
        Of each state what may come next, a terminal, a barrier or a leader, and the state after it.
    accepting : list of bool
        Whether a leader may end in a state.
    names : list of str
        Of each state the nonterminal that is being read.
    """

    def __init__(self, grammar: TokenGrammar) -> None:
        self._productions = _Productions(grammar)
        for many in _MANY:
            self._leaders = _leaders_of(grammar, self._productions, many)
            if self._is_written(_MOST_STATES if many > _MANY[-1] else sys.maxsize):
                break
        self._minimize()

    def _is_written(self, most: int) -> bool:
        """Write the automata; whether they have at most so many states."""
        self.steps: list[dict[Part, int]] = []
        self.accepting: list[bool] = []
        self.names: list[str] = []
        self._numbers: dict[frozenset[_Stack], int] = {}
        self._kernels: list[frozenset[_Stack]] = []
        self.starts = {
            leader: self._number(frozenset({(self._productions.starts[leader],)})) for leader in sorted(self._leaders)
        }
        for state, kernel in enumerate(self._kernels):  # grows as it goes
            checkpoint(state)
            if state >= most:
                return False
            self._add_state(kernel)
        return True

    def _minimize(self) -> None:
        """Make states one that allow the same."""

        def signature(state: int, classes: Sequence[int]) -> object:
            steps = self.steps[state]
            return self.accepting[state], frozenset((part, classes[after]) for part, after in steps.items())

        before: list[list[int]] = [[] for _ in self.steps]
        for state, steps in enumerate(self.steps):
            for after in steps.values():
                before[after].append(state)
        classes = alike(len(self.steps), signature, before)
        first = {one: state for state, one in reversed(list(enumerate(classes)))}
        kept = [first[one] for one in range(len(first))]
        self.steps = [{part: classes[after] for part, after in self.steps[state].items()} for state in kept]
        self.accepting = [self.accepting[state] for state in kept]
        self.names = [self.names[state] for state in kept]
        self.starts = {leader: classes[state] for leader, state in self.starts.items()}

    def _number(self, stacks: frozenset[_Stack]) -> int:
        number = self._numbers.setdefault(stacks, len(self._kernels))
        if number == len(self._kernels):
            self._kernels.append(stacks)
        return number

    def _add_state(self, kernel: frozenset[_Stack]) -> None:
        its, found = self._productions, defaultdict[Part, set[_Stack]](set)
        accepts, seen = False, set(kernel)
        pending = sorted(kernel)
        for stack in pending:  # grows as it goes
            top, rest = stack[0], stack[1:]
            new: list[_Stack] = []
            if its.accepting[top]:
                accepts |= not rest
                new += [rest] if rest else []
            for part, after in its.steps[top].items():
                if part.is_terminal or part.closing >= 0 or part.number in self._leaders:
                    found[part].add(its.pushed(after, rest))
                else:
                    new.append((its.starts[part.number], *its.pushed(after, rest)))
            pending += [one for one in new if one not in seen]
            seen.update(new)
        self.steps.append({part: self._number(frozenset(stacks)) for part, stacks in found.items()})
        self.accepting.append(accepts)
        self.names.append(its.names[max(pending, key=len)[0]])


def _leaders_of(grammar: TokenGrammar, productions: _Productions, many: int) -> set[int]:
    leaders = {grammar.start}
    afters: defaultdict[int, set[int]] = defaultdict(set)
    called: list[set[int]] = [set() for _ in productions.starts]
    for number, its in enumerate(grammar.productions):
        parts = [part for parts in its for part in parts if not part.is_terminal]
        leaders.update(part.number for part in parts if part.closing >= 0)
        called[number] = {part.number for part in parts if part.closing < 0}
    for steps in productions.steps:
        for part, after in steps.items():
            if not part.is_terminal:
                afters[part.number].add(after if productions.steps[after] else -1)
    leaders |= {one for one, its in afters.items() if len(its) >= many and not _is_small(grammar.productions[one])}
    while (new := _first_endless(grammar, called, leaders)) is not None:
        checkpoint()
        leaders.add(new)
    return leaders


def _is_small(productions: list[tuple[Part, ...]]) -> bool:
    parts = [part for parts in productions for part in parts]
    return len(parts) <= _SMALL and all(part.is_terminal for part in parts)


def _first_endless(grammar: TokenGrammar, called: list[set[int]], leaders: set[int]) -> int | None:
    """A nonterminal that would be written out in itself, with something after it."""
    reached: dict[int, set[int]] = {}

    def reach(one: int) -> set[int]:
        if one not in reached:
            found = reached[one] = {one}
            pending = [one]
            while pending:
                new = called[pending.pop()] - leaders - found
                found |= new
                pending += new
        return reached[one]

    for one, productions in enumerate(grammar.productions):
        for parts in productions:
            for part in parts[:-1]:
                inside = not part.is_terminal and part.closing < 0 and part.number not in leaders
                if inside and one not in leaders and one in reach(part.number):
                    return part.number
    return None
