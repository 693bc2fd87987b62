"""Tokens by what is owed before and after them, and what may be skipped between them.

A *lexer* takes some terminals, in its order, and skips those that are ignored. Where a token begins only what is still
owed matters, of which there are few kinds: equal demands on the text to come are one `Owed`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from structgen.errors import GrammarLimitExceeded, UnsupportedGrammar
from structgen.grammars._minimal import Rows, minimal
from structgen.grammars.char_dfa import MAX_STATES, CharDfa
from structgen.grammars.charset import CharSet
from structgen.grammars.lark.scanning import NOTHING_OWED, Owed, Position, Scanner
from structgen.grammars.limits import checkpoint

__all__ = ["Lexer", "Lexing", "Token"]


class Lexer(NamedTuple):
    """What may come where a token begins."""

    terminals: tuple[int, ...]
    """Numbers of the terminals in the order in which they are tried."""
    spellings: tuple[tuple[int, tuple[int, ...]], ...]
    """Terminals, each with those that it becomes, the first that fits, where the token is just their text."""
    ignored: frozenset[int]
    """Which of the terminals are skipped."""
    is_final: bool = False
    """Whether a token ends where its terminal matches, whatever else might match in place of it."""

    @property
    def taken(self) -> set[int]:
        """The terminals that a token may be."""
        return {*self.terminals, *(one for _, its in self.spellings for one in its)} - self.ignored

    def part(self, terminals: tuple[int, ...]) -> Lexer:
        """The lexer that takes some of the terminals only."""
        spellings = tuple(one for one in self.spellings if one[0] in terminals)
        return Lexer(terminals, spellings, self.ignored.intersection(terminals), self.is_final)


class Token(NamedTuple):
    """One way of a token."""

    terminal: int
    is_ignored: bool
    owed: Owed
    """After it."""


@dataclass
class _Walk:
    """What is reached from where a token begins."""

    rows: Rows
    starts: list[int]
    ends: defaultdict[Token, set[int]]


class Lexing:
    """Finds tokens.

    Parameters
    ----------
    scanner : Scanner
        Of the terminals.
    entries : list of int
        Of each terminal its first step.
    names : list of str
        Of the terminals.
    """

    def __init__(self, scanner: Scanner, entries: list[int], names: list[str]) -> None:
        self._scanner, self._entries, self.names = scanner, entries, names
        self._firsts = [scanner.first_characters(entry) for entry in entries]
        self._parts: dict[Lexer, list[tuple[Lexer, int]]] = {}
        self._known: dict[tuple[Lexer, Owed], dict[Token, CharDfa]] = {}
        self._alike: dict[frozenset[int], frozenset[int]] = {frozenset(): frozenset()}
        self._first_alike: dict[CharDfa, frozenset[int]] = {}

    def tokens(self, lexer: Lexer, owed: Owed) -> dict[Token, CharDfa]:
        """The tokens that may come where ``owed`` is owed, each with its texts.

        Raises
        ------
        UnsupportedGrammar
            A terminal looks further than can be held.
        GrammarLimitExceeded
            There are too many states.
        """
        found: dict[Token, CharDfa] = {}
        for part, firsts in self._parts_of(lexer):
            never = frozenset(step for step in owed.never if self._scanner.masks[step] & firsts)
            found.update(self._tokens_of(part, owed._replace(never=never)))  # the others end with the first character
        return found

    def may_read(self, never: Iterable[int], characters: CharSet) -> bool:
        """Whether any of the threads may read one of the characters."""
        alphabet, masks = self._scanner.alphabet, self._scanner.masks
        return any(CharSet.of(alphabet.ranges(masks[step])) & characters for step in never)

    def _parts_of(self, lexer: Lexer) -> list[tuple[Lexer, int]]:
        """Lexers no two of which begin alike, so that each decides for itself, with the characters that begin them."""
        if lexer not in self._parts:
            groups: list[tuple[list[int], int]] = []
            for terminal in lexer.terminals:
                group, firsts = [terminal], self._firsts[terminal]
                for other in [one for one in groups if one[1] & firsts]:
                    groups.remove(other)
                    group, firsts = other[0] + group, other[1] | firsts
                groups.append((group, firsts))
            place = {terminal: number for number, terminal in enumerate(lexer.terminals)}
            self._parts[lexer] = [
                (lexer.part(tuple(sorted(group, key=place.__getitem__))), firsts) for group, firsts in groups
            ]
        return self._parts[lexer]

    def _tokens_of(self, lexer: Lexer, owed: Owed) -> dict[Token, CharDfa]:
        found = self._known.get((lexer, owed))
        if found is None:
            walk = self._walk(lexer, owed)
            found = self._known[lexer, owed] = {}
            for token, ends in walk.ends.items():
                dfa = self._dfa(walk, ends)
                if dfa is not None:
                    found[token] = dfa
        return found

    def _walk(self, lexer: Lexer, owed: Owed) -> _Walk:
        walk, scanner = _Walk([], [], defaultdict(set)), self._scanner
        numbers: dict[Position, int] = {}
        positions: list[Position] = []

        def number_of(position: Position) -> int:
            number = numbers.setdefault(position, len(positions))
            if number == len(positions):
                positions.append(position)
            return number

        spellings = {self._entries[one] for _, its in lexer.spellings for one in its}
        entries = [self._entries[terminal] for terminal in lexer.terminals]
        walk.starts += map(number_of, scanner.starts(entries, sorted(spellings), owed))
        for number, position in enumerate(positions):  # grows as it goes
            checkpoint(len(positions))
            if len(positions) > MAX_STATES:
                raise _too_large()
            if position.match >= 0:
                walk.ends[self._token(lexer, position)].add(number)
            row: list[tuple[int, int]] = []
            for piece in scanner.pieces(position):
                row += ((piece, number_of(target)) for target in scanner.after(position, piece))
            walk.rows.append(row)
        return walk

    def _token(self, lexer: Lexer, position: Position) -> Token:
        terminal = position.match
        is_ignored = terminal in lexer.ignored
        never, ever = position.owed
        if not lexer.is_final or is_ignored:
            never = never.union(position.threads)
        elif ever:
            raise UnsupportedGrammar(
                f"the terminal {self.names[terminal]} looks at what comes after it, which is not held where the "
                "grammar is parsed by Earley's algorithm; write it without that lookahead"
            )
        for spelling in () if is_ignored else dict(lexer.spellings).get(terminal, ()):
            if spelling in position.spelled:
                terminal = spelling
                break
        return Token(terminal, is_ignored, self._owed(never, ever))

    def _owed(self, never: frozenset[int], ever: frozenset[frozenset[int]]) -> Owed:
        if not never and not ever:
            return NOTHING_OWED
        return Owed(self._canonical(never), ever)

    def _canonical(self, never: frozenset[int]) -> frozenset[int]:
        """The first set of threads met that asks the same of the text to come."""
        if self._scanner.looks_ahead:
            return never
        if never not in self._alike:
            dfa = self._refused(never)
            self._alike[never] = frozenset() if dfa is None else self._first_alike.setdefault(dfa, never)
        return self._alike[never]

    def _refused(self, never: frozenset[int]) -> CharDfa | None:
        """The texts that begin with a match of one of the threads, up to the end of the shortest."""
        states, numbers = [never, None], {never: 0, None: 1}
        rows: Rows = []
        for state in states:
            row: list[tuple[int, int]] = []
            for piece in self._scanner.pieces_of(state) if state else ():
                target = self._scanner.after_owed(state or frozenset(), piece)
                number = numbers.setdefault(target, len(states))
                if number == len(states):
                    states.append(target)
                row.append((piece, number))
            rows.append(row)
            checkpoint(len(states))
        return minimal(self._scanner.alphabet, rows, [state is None for state in states])

    def _dfa(self, walk: _Walk, ends: set[int]) -> CharDfa | None:
        """The texts from a start to an end: by subsets, of positions that lead there alone."""
        before: defaultdict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(walk.rows):
            for _, target in row:
                before[target].append(number)
        useful, pending = set(ends), list(ends)
        while pending:
            for number in before[pending.pop()]:
                if number not in useful:
                    useful.add(number)
                    pending.append(number)
        start = frozenset(useful.intersection(walk.starts))
        numbers, states = {start: 0}, [start]
        rows: Rows = []
        for state in states:
            row: list[tuple[int, int]] = []
            for targets, piece in _united(walk.rows, state, useful).items():
                number = numbers.setdefault(targets, len(states))
                if number == len(states):
                    states.append(targets)
                row.append((piece, number))
            rows.append(row)
            checkpoint(len(states))
            if len(states) > MAX_STATES:
                raise _too_large()
        return minimal(self._scanner.alphabet, rows, [not state.isdisjoint(ends) for state in states])


def _too_large() -> GrammarLimitExceeded:
    return GrammarLimitExceeded(f"the terminals need more than {MAX_STATES:,} states; simplify them")


def _united(rows: Rows, state: Iterable[int], useful: set[int]) -> dict[frozenset[int], int]:
    """By the set of positions that comes next, the characters that lead there."""
    moves = [(piece, target) for number in state for piece, target in rows[number] if target in useful]
    found: dict[frozenset[int], int] = defaultdict(int)
    pieces: list[tuple[int, frozenset[int]]] = []
    for mask, target in moves:
        rest, refined = mask, list[tuple[int, frozenset[int]]]()
        for piece, targets in pieces:
            if piece & mask:
                refined.append((piece & mask, targets | {target}))
            if piece & ~mask:
                refined.append((piece & ~mask, targets))
            rest &= ~piece
        if rest:
            refined.append((rest, frozenset({target})))
        pieces = refined
    for piece, targets in pieces:
        found[targets] |= piece
    return found
