"""What a lexer that stands somewhere in a token knows: ordered threads, and what it owes to choices that it has made.

Python's `re` takes the first match in its order of trying. So a token may end where a thread matches, if none of the
threads before it in the order comes to match later: this is *owed*, and goes along through the tokens that follow until
those threads have died. What looks ahead is guessed to be there or not, and the guess is owed as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from structgen.errors import UnsupportedGrammar
from structgen.grammars._minimal import Alphabet
from structgen.grammars.lark.patterns import AHEAD, BACK, CHARACTERS, LOOP, MATCH, Steps
from structgen.grammars.limits import checkpoint

__all__ = ["NOTHING_OWED", "Owed", "Position", "Scanner"]


class Owed(NamedTuple):
    """What the text to come must be like."""

    never: frozenset[int]
    """None of these threads may match."""
    ever: frozenset[frozenset[int]]
    """Of each of these sets a thread must match."""


NOTHING_OWED = Owed(frozenset(), frozenset())


class Position(NamedTuple):
    """Inside of a token."""

    threads: tuple[int, ...]
    """Steps that read a character, the preferred ones first."""
    match: int
    """The terminal that may end here, preferred to what is not in ``threads`` any more; -1 where none may."""
    spellings: frozenset[int]
    """Steps of the texts that are terminals of their own where they are the whole token."""
    spelled: frozenset[int]
    """Those terminals that the token is now."""
    owed: Owed


class _Unknown(Exception):
    """Something is looked for in the text to come that has not been guessed about."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


_Guesses = dict[int, bool]
_Closed = tuple[tuple[int, ...], int]
"""Steps that read, in order, and the terminal that matches after them, or `_NO_MATCH`."""
_NO_MATCH = -2


class Scanner:
    """Steps positions by characters.

    Parameters
    ----------
    steps : Steps
        Of all terminals.
    names : list of str
        Of the terminals, for people.

    Attributes
    ----------
    alphabet : Alphabet
        The characters; sets of them are integers.
    masks : list of int
        Of each step the characters that it reads.
    looks_ahead : bool
        Whether any terminal does.
    """

    def __init__(self, steps: Steps, names: list[str]) -> None:
        self._steps, self._names = steps.steps, names
        self.alphabet = Alphabet(cut for one in steps.sets for first, last in one.ranges for cut in (first, last + 1))
        masks = [self.alphabet.set(members.ranges) for members in steps.sets]
        self.masks = [masks[one.argument] if one.kind == CHARACTERS else 0 for one in self._steps]
        self._set_masks = masks
        self._backs = sorted({masks[one.argument] for one in self._steps if one.kind == BACK})
        self.looks_ahead = any(one.kind == AHEAD for one in self._steps)
        self._closed: dict[tuple[tuple[int, ...], int], _Closed] = {}

    def starts(self, entries: Iterable[int], spellings: Iterable[int], owed: Owed) -> list[Position]:
        """The positions before a token that begins with one of ``entries``, in this order."""
        return list(self._positions(tuple(entries), tuple(spellings), owed.never, owed.ever, 0))

    def first_characters(self, entry: int) -> int:
        """Characters among which those are that a text may begin with which matches from ``entry`` on."""
        found, seen, pending = 0, {entry}, [entry]
        while pending:
            number = pending.pop()
            if self._steps[number].kind == CHARACTERS:
                found |= self.masks[number]
                continue
            more = [one for one in self._steps[number].after if one not in seen]
            seen.update(more)
            pending += more
        return found

    def pieces(self, position: Position) -> list[int]:
        """Disjoint sets of the characters that may come next in the token, each of which leads one way."""
        masks = self.masks
        cuts = {masks[step] for step in position.threads}
        pieces = [0]
        for mask in cuts:
            pieces[0] |= mask
        cuts.update(masks[step] for step in (*position.spellings, *position.owed.never))
        cuts.update(masks[step] for ever in position.owed.ever for step in ever)
        for mask in (*cuts, *self._backs):
            pieces = [part for piece in pieces for part in (piece & mask, piece & ~mask) if part]
        return pieces

    def pieces_of(self, threads: Iterable[int]) -> list[int]:
        """Disjoint sets of the characters that some of the threads read, each of which leads one way."""
        masks = {self.masks[step] for step in threads}
        pieces = [0]
        for mask in masks:
            pieces[0] |= mask
        for mask in (*masks, *self._backs):
            pieces = [part for piece in pieces for part in (piece & mask, piece & ~mask) if part]
        return pieces

    def after(self, position: Position, piece: int) -> Iterator[Position]:
        """The positions after a character of ``piece``; several where something ahead is guessed."""
        checkpoint()
        never, ever = position.owed
        threads, spellings = self._read(position.threads, piece), self._read(sorted(position.spellings), piece)
        owed = frozenset(self._read(never, piece)) if never else never
        wanted = frozenset(frozenset(self._read(one, piece)) for one in ever) if ever else ever
        return self._positions(threads, spellings, owed, wanted, piece)

    def after_owed(self, never: frozenset[int], piece: int) -> frozenset[int] | None:
        """The threads one character on, ``None`` where one matches."""
        steps, match = self._close(tuple(sorted(self._read(never, piece))), piece, {})
        return frozenset(steps) if match == _NO_MATCH else None

    def _read(self, steps: Iterable[int], piece: int) -> tuple[int, ...]:
        return tuple(self._steps[step].after[0] for step in steps if self.masks[step] & piece)

    def _positions(
        self,
        threads: tuple[int, ...],
        spellings: tuple[int, ...],
        never: frozenset[int],
        ever: frozenset[frozenset[int]],
        before: int,
    ) -> Iterator[Position]:
        """What these entries lead to where a character of ``before`` was read last (0 at the start of a token)."""
        pending: list[_Guesses] = [{}]
        while pending:
            guesses = pending.pop()
            try:
                owed = self._owed(never, ever, before, guesses)
                closed, match = self._close(threads, before, guesses)
                at_spellings = self._close_all(spellings)
            except _Unknown as unknown:
                pending += [guesses | {unknown.step: True}, guesses | {unknown.step: False}]
                continue
            if owed is not None and (closed or match != _NO_MATCH):
                spelled = frozenset(self._steps[one].argument for one in at_spellings if self._steps[one].kind == MATCH)
                reading = frozenset(one for one in at_spellings if self._steps[one].kind == CHARACTERS)
                yield Position(closed, max(match, -1), reading, spelled, owed)

    def _owed(
        self, never: frozenset[int], ever: frozenset[frozenset[int]], before: int, guesses: _Guesses
    ) -> Owed | None:
        """What is owed now, the guesses among it; ``None`` where it has come to what may not be."""
        unwanted = list(never) if before else []
        ready: set[int] = set() if before else set(never)
        wanted: set[frozenset[int]] = set()
        for one in ever:
            steps, match = self._close(tuple(sorted(one)), before, guesses) if before else (tuple(one), _NO_MATCH)
            if match == _NO_MATCH:
                wanted.add(frozenset(steps))
        unwanted += [step for step, holds in guesses.items() if not holds]
        steps, match = self._close(tuple(sorted(unwanted)), before, guesses)
        if match != _NO_MATCH:
            return None
        ready.update(steps)
        for step in (step for step, holds in guesses.items() if holds):
            steps, match = self._close((step,), before, guesses)
            if match == _NO_MATCH:
                wanted.add(frozenset(steps))
        if frozenset() in wanted:
            return None
        return Owed(frozenset(ready), frozenset(wanted))

    def _close(self, entries: tuple[int, ...], before: int, guesses: _Guesses) -> _Closed:
        """What is reached from ``entries`` without reading, up to the first match."""
        if not entries:
            return (), _NO_MATCH
        if self.looks_ahead:
            return self._closure(entries, before, guesses)
        behind = 0
        for place, mask in enumerate(self._backs):
            behind |= (1 << place) if before & mask else 0
        key = entries, behind if before else -1
        found = self._closed.get(key)
        if found is None:
            found = self._closed[key] = self._closure(entries, before, guesses)
        return found

    def _closure(self, entries: tuple[int, ...], before: int, guesses: _Guesses) -> _Closed:
        """Depth first, so that what is preferred comes first. A way is known by its step and the loops it is in."""
        found: dict[int, None] = {}
        pending: list[tuple[int, frozenset[int]]] = [(entry, frozenset()) for entry in reversed(entries)]
        seen: set[tuple[int, frozenset[int]]] = set()
        while pending:
            way = pending.pop()
            if way in seen:
                continue
            seen.add(way)
            number, loops = way
            step = self._steps[number]
            if step.kind == CHARACTERS:
                found[number] = None
            elif step.kind == MATCH:
                return tuple(found), step.argument
            elif step.kind == LOOP:
                after = (step.after[step.argument],) if number in loops else step.after
                pending += [(one, loops | {number}) for one in reversed(after)]
            elif self._goes_on(number, before, guesses):
                pending += [(one, loops) for one in reversed(step.after)]
        return tuple(found), _NO_MATCH

    def _goes_on(self, number: int, before: int, guesses: _Guesses) -> bool:
        step = self._steps[number]
        if step.kind == BACK:
            if not before:
                raise UnsupportedGrammar(
                    f"the terminal {self._name(number)} looks back beyond its own beginning, which is not held; "
                    "write it without that lookbehind or anchor"
                )
            return (before & self._set_masks[step.argument] != 0) is not step.negated
        if step.kind == AHEAD:
            if step.argument not in guesses:
                raise _Unknown(step.argument)
            return guesses[step.argument] is not step.negated
        return True

    def _close_all(self, entries: tuple[int, ...]) -> set[int]:
        """The steps reached from each of ``entries``, matches among them."""
        found: set[int] = set()
        pending = list(entries)
        while pending:
            number = pending.pop()
            step = self._steps[number]
            if step.kind in (CHARACTERS, MATCH):
                found.add(number)
            else:
                pending += step.after
        return found

    def _name(self, number: int) -> str:
        """The terminal that a step belongs to: those of one lie together, its match first."""
        while self._steps[number].kind != MATCH or self._steps[number].argument < 0:
            number -= 1
        return self._names[self._steps[number].argument]
