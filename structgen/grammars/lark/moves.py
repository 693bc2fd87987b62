"""What is read and skipped from where a text may be between two tokens, in as few such places as tell texts apart.

A *spot* is a context (what the lexer may take) and what is owed. Spots of one context that the same tokens lead on from
in the same ways are one: after a number that nothing could lengthen, the digits that it must not be followed by are
forgotten. Then contexts are joined in which all that both may take is read in the same ways: what only one of them
takes never comes in the other, since each takes whatever may come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.lark.classes import alike
from structgen.grammars.lark.lexing import Lexer, Lexing
from structgen.grammars.lark.scanning import NOTHING_OWED, Owed
from structgen.grammars.limits import checkpoint

__all__ = ["IGNORED", "Classes", "Context", "Move", "Spot", "Table", "classes_of", "explored", "joined", "settled"]

Context = tuple[Lexer, ...]
"""Lexers any of which may take the next token."""

Spot = tuple[int, Owed]
"""A context, or a group of them, by its number, and what is owed."""

IGNORED = -1


class Move(NamedTuple):
    """One token."""

    terminal: int
    """`IGNORED` where it is skipped."""
    texts: CharDfa
    after: Spot


Table = dict[Spot, dict[Move, None]]
"""The moves from each spot, in order and once; texts begin in the first spot."""


def explored(lexing: Lexing, contexts: Sequence[Context], following: Mapping[int, Sequence[int]]) -> Table:
    """The spots that texts may come to, and those of all contexts where nothing is owed.

    Parameters
    ----------
    lexing : Lexing
        Finds tokens.
    contexts : sequence of Context
        By number; texts begin in the first.
    following : mapping
        Of each terminal of the grammar the contexts that it may lead to.

    Raises
    ------
    UnsupportedGrammar
        As `Lexing.tokens`.
    """
    table: Table = {}
    pending: list[Spot] = [(context, NOTHING_OWED) for context in range(len(contexts))]
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
        pending += (move.after for move in moves)
    return table


class Classes(NamedTuple):
    """Spots that are alike, by class."""

    before: dict[Spot, int]
    """Where something may be skipped yet."""
    behind: dict[Spot, int]
    """Where the next token begins."""


def classes_of(table: Table) -> Classes:
    """Spots from which the same is read in the same ways, whatever it is called between."""
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
        return not spots[thing - count][1].ever, found

    classes = alike(2 * count, signature)
    return Classes(dict(zip(spots, classes, strict=False)), dict(zip(spots, classes[count:], strict=True)))


def settled(table: Table) -> Table:
    """The table with one spot for those of a context that are alike, nothing owed where that is one of them."""
    classes = classes_of(table).before
    first: dict[tuple[int, int], Spot] = {}
    for spot in table:
        first.setdefault((spot[0], classes[spot]), spot)
    return _renamed(table, {spot: first[spot[0], classes[spot]] for spot in table})


def joined(table: Table, contexts: Sequence[Context]) -> tuple[list[int], Table]:
    """The group of each context, and the table of the groups."""
    groups = _grouped(table, contexts)
    return groups, _renamed(table, {spot: (groups[spot[0]], spot[1]) for spot in table})


def _renamed(table: Table, names: Mapping[Spot, Spot]) -> Table:
    found: Table = {}
    for spot, moves in table.items():
        renamed = found.setdefault(names[spot], {})
        renamed.update((move._replace(after=names[move.after]), None) for move in moves)
    return found


_Ways = dict[tuple[Owed, int], set[tuple[CharDfa, int, Owed]]]
"""By what is owed and the terminal: its texts, the context after it, and what is owed there."""


def _grouped(table: Table, contexts: Sequence[Context]) -> list[int]:
    """Each context joins the first group that agrees with it wherever both say something."""
    ways: list[_Ways] = [{} for _ in contexts]
    for (context, owed), moves in table.items():
        its = ways[context]
        for lexer in contexts[context]:
            its.update(((owed, terminal), set()) for terminal in (IGNORED, *lexer.taken))
        for terminal, texts, (after, owes) in moves:
            its[owed, terminal].add((texts, IGNORED if terminal == IGNORED else after, owes))
    groups: list[int] = []
    known: list[_Ways] = []
    for its in ways:
        checkpoint()
        group = next((number for number, other in enumerate(known) if _agree(its, other)), len(known))
        if group == len(known):
            known.append({})
        known[group].update(its)
        groups.append(group)
    return groups


def _agree(one: _Ways, other: _Ways) -> bool:
    return all(its == other.get(key, its) for key, its in one.items())
