"""Which members can meet the obligations of an object (see `values.ObjectSpec`), where there are only so many keys.

Entries of others with the same keys, of which there are finitely many, share a *cell*: no more members can be of these
entries together than the cell has keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from structgen.grammars.language import SATURATED, Language

__all__ = ["ENDLESS_CELL", "Cells", "key_cells", "key_covers", "room_of"]

ENDLESS_CELL = -1
"""The cell of all entries whose keys no text comes to the end of."""


class Cells(NamedTuple):
    """The cell of each entry, and how many keys each cell has that are not declared."""

    cells: tuple[int, ...]
    rooms: tuple[int, ...]

    @property
    def total(self) -> int | None:
        """How many undeclared members an object can have; ``None``: without end."""
        return None if ENDLESS_CELL in self.cells else sum(self.rooms)


def room_of(keys: Language, declared: Collection[str]) -> int | None:
    """How many of ``keys`` are not ``declared``; ``None``: more than any text has."""
    if keys.size >= SATURATED:
        return None
    return keys.size - sum(map(keys.contains, declared))


def key_cells(languages: Sequence[Language], declared: Collection[str]) -> Cells:
    """The cells of entries with these keys, no two of which overlap unless they are the same or endless."""
    rooms = {keys: room_of(keys, declared) for keys in languages}
    finite = [keys for keys, room in rooms.items() if room is not None]
    places = {keys: place for place, keys in enumerate(finite)}
    return Cells(
        tuple(places.get(keys, ENDLESS_CELL) for keys in languages),
        tuple(rooms[keys] or 0 for keys in finite),
    )


def key_covers(
    meets: Sequence[frozenset[int]], cells: Cells, owed: frozenset[int], members: int
) -> Iterator[tuple[int, ...]]:
    """Every way in which exactly so many members, each meeting something more, meet all that is owed.

    Parameters
    ----------
    meets : sequence of frozenset of int
        For each entry the obligations that a member of it meets.
    cells : Cells
        Of the entries.
    owed : frozenset of int
        Obligations.
    members : int
        How many.

    Yields
    ------
    tuple of int
        The entry of each member.
    """
    if not owed or not members:
        if not owed and not members:
            yield ()
        return
    first = min(owed)
    for entry, met in enumerate(meets):
        cell = cells.cells[entry]
        if first in met and (cell == ENDLESS_CELL or cells.rooms[cell]):
            rooms = tuple(room - (place == cell) for place, room in enumerate(cells.rooms))
            for others in key_covers(meets, cells._replace(rooms=rooms), owed - met, members - 1):
                yield (entry, *others)
