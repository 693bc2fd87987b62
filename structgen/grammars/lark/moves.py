"""What is read and skipped from where a text may be between two tokens, in as few such places as tell texts apart.

A *spot* is a context (what the lexer may take) and what is owed. Contexts are joined in which all that both may take is
read in the same ways: what only one of them takes never comes in the other, since each takes whatever may come. And so
are spots: after a number that nothing could lengthen, the digits that it must not be followed by are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import Expr
from structgen.grammars.lark.embedded import Foreign
from structgen.grammars.lark.lexing import Lexer, Lexing
from structgen.grammars.lark.scanning import NOTHING_OWED, Owed
from structgen.grammars.limits import checkpoint
from structgen.grammars.partitions import alike

__all__ = ["IGNORED", "Context", "Joined", "Move", "Spot", "Table", "explored", "joined"]

Context = tuple[Lexer, ...]
"""Lexers any of which may take the next token."""

Spot = tuple[int, Owed]
"""A context, by its number, and what is owed."""

IGNORED = -1


class Move(NamedTuple):
    """One token."""

    terminal: int
    """`IGNORED` where it is skipped."""
    texts: CharDfa | Expr
    after: Spot


Table = dict[Spot, dict[Move, None]]
"""The moves from each spot, in order and once; texts begin in the first spot."""


def explored(
    lexing: Lexing,
    contexts: Sequence[Context],
    following: Mapping[int, Sequence[int]],
    foreign: Mapping[int, Foreign],
) -> Table:
    """The spots that texts may come to.

    Parameters
    ----------
    lexing : Lexing
        Finds tokens.
    contexts : sequence of Context
        By number; texts begin in the first.
    following : mapping
        Of each terminal of the grammar the contexts that it may lead to.
    foreign : mapping
        Terminals without a pattern. One follows a token that none of its first characters could go on with.

    Raises
    ------
    UnsupportedGrammar
        As `Lexing.tokens`.
    """
    table: Table = {}
    pending: list[Spot] = [(0, NOTHING_OWED)]
    for spot in pending:  # grows as it goes
        if spot in table:
            continue
        checkpoint(len(table))
        moves = table[spot] = {}
        context, owed = spot
        for lexer in contexts[context]:
            for token, texts in lexing.tokens(lexer, owed).items():
                for after in (context,) if token.is_ignored else following.get(token.terminal, ()):
                    terminal = IGNORED if token.is_ignored else token.terminal
                    moves[Move(terminal, texts, (after, token.owed))] = None
        for terminal, (expr, firsts) in foreign.items():
            if not owed.ever and not lexing.may_read(owed.never, firsts):
                moves.update(
                    (Move(terminal, expr, (after, NOTHING_OWED)), None) for after in following.get(terminal, ())
                )
        pending += (move.after for move in moves)
    return table


class Joined(NamedTuple):
    """Contexts and spots that need not be told apart, by number."""

    groups: list[int]
    """Of the contexts."""
    gaps: dict[Spot, int]
    """Spots as where something may be skipped; those of one gap are of one place."""
    places: dict[Spot, int]
    """Spots as where the next token begins."""


def joined(table: Table, contexts: Sequence[Context], foreign: Iterable[int]) -> Joined:
    """Join what agrees, one after the other with the first that it agrees with; ``foreign`` may come in any context."""
    ways = _ways(table, contexts, set(foreign))
    groups = _grouped(ways, len(contexts))
    of_groups: dict[Spot, _Ways] = {}
    for (context, owed), its in ways.items():
        of_groups.setdefault((groups[context], owed), {}).update(its)
    gaps, places = _Numbers(), _Numbers()
    gap_of: dict[Spot, int] = {}
    place_of: dict[Spot, int] = {}
    for spot, its in of_groups.items():
        checkpoint()
        reads = {terminal: found for terminal, found in its.items() if terminal != IGNORED}
        place_of[spot] = places.number((spot[0], spot[1].ever != frozenset()), reads)
        gap_of[spot] = gaps.number(place_of[spot], its)
    named = {spot: (groups[spot[0]], spot[1]) for spot in table}
    return Joined(
        groups,
        {spot: gap_of[name] for spot, name in named.items()},
        {spot: place_of[name] for spot, name in named.items()},
    )


_Ways = dict[int, frozenset[tuple[object, object]]]
"""Of each terminal that may be taken its texts, and what they lead to."""


def _ways(table: Table, contexts: Sequence[Context], foreign: set[int]) -> dict[Spot, _Ways]:
    """What comes in each spot, by what it leads to within one context."""
    classes = _alike(table)
    ways: dict[Spot, _Ways] = {}
    for spot, moves in table.items():
        taken = {IGNORED} | foreign | {terminal for lexer in contexts[spot[0]] for terminal in lexer.taken}
        found: dict[int, set[tuple[object, object]]] = {terminal: set() for terminal in taken}
        for terminal, texts, after in moves:
            found.setdefault(terminal, set()).add(
                (texts, after[1] if terminal == IGNORED else (after[0], classes[after]))
            )
        ways[spot] = {terminal: frozenset(its) for terminal, its in found.items()}
    return ways


def _alike(table: Table) -> dict[Spot, int]:
    """The classes of spots from which the same is read in the same ways, whatever is owed between."""
    numbers = {spot: number for number, spot in enumerate(table)}
    spots, count = list(table), len(table)
    moves = [
        [(move.terminal, move.texts, move.after[0], numbers[move.after]) for move in its] for its in table.values()
    ]

    def signature(thing: int, classes: Sequence[int]) -> object:
        """The spots come first among the things, as what is skipped there, and then again, as what is read there."""
        if thing < count:
            skips = (one for one in moves[thing] if one[0] == IGNORED)
            return classes[count + thing], frozenset((texts, classes[to]) for _, texts, _, to in skips)
        reads = (one for one in moves[thing - count] if one[0] != IGNORED)
        found = frozenset((terminal, texts, context, classes[to]) for terminal, texts, context, to in reads)
        return spots[thing - count][1].ever, found

    users: list[list[int]] = [[] for _ in range(2 * count)]
    for number, its in enumerate(moves):
        users[count + number].append(number)
        for terminal, _, _, to in its:
            users[to].append(number if terminal == IGNORED else count + number)
    return dict(zip(spots, alike(2 * count, signature, users), strict=False))


def _grouped(ways: Mapping[Spot, _Ways], count: int) -> list[int]:
    """The group of each of so many contexts: they agree wherever the same is owed."""
    spots: list[dict[tuple[Owed, int], frozenset[tuple[object, object]]]] = [{} for _ in range(count)]
    for (context, owed), its in ways.items():
        spots[context].update(((owed, terminal), found) for terminal, found in its.items())
    numbers = _Numbers()
    return [numbers.number(None, its) for its in spots]


class _Numbers:
    """Gives one number to what agrees: wherever two say something of the same, they say the same."""

    def __init__(self) -> None:
        self._known: list[tuple[object, dict[Any, object]]] = []

    def number(self, kind: object, said: Mapping[Any, object]) -> int:
        """The number of the first of this kind that agrees, and will from now on have said this too."""
        for number, (its_kind, known) in enumerate(self._known):
            if its_kind == kind and all(known.get(key, one) == one for key, one in said.items()):
                known.update(said)
                return number
        self._known.append((kind, dict(said)))
        return len(self._known) - 1
