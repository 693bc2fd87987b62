"""Growing the tables of an automaton, their hash tables filled anew, under its limit on memory."""

from __future__ import annotations

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton.determinize import rehash_states
from structgen.grammars.automaton.frames import rehash_frames
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.registers import rehash_registers
from structgen.grammars.automaton.spellings import rehash_extensions, rehash_spellings
from structgen.grammars.automaton.stack_sets import rehash_sets
from structgen.grammars.automaton.string_records import rehash_strings
from structgen.grammars.automaton.tables import (
    EXTENSIONS,
    LINKS,
    MEMO,
    N_LINKS,
    N_MEMO,
    RECORDS,
    REGISTERS,
    SETS,
    SPELLINGS,
    STATES,
)

__all__ = ["Growth"]

_REHASH = {
    STATES: (rehash_states, rehash_frames),
    REGISTERS: (rehash_registers,),
    SPELLINGS: (rehash_spellings,),
    EXTENSIONS: (rehash_extensions,),
    SETS: (rehash_sets,),
    RECORDS: (rehash_strings,),
}
_CACHES = {MEMO: N_MEMO, LINKS: N_LINKS}
"""What is only a cache and fills again, and what counts it."""


class Growth:
    """Grows tables.

    Parameters
    ----------
    tables : Tables
        Which.
    max_bytes : int
        Tables of more do not grow.
    """

    def __init__(self, tables: Tables, max_bytes: int) -> None:
        self._tables, self._max_bytes = tables, max_bytes

    def grow(self, table: int, rows: int = 0) -> None:
        """At least double ``table``, until it has ``rows`` rows.

        Raises
        ------
        GrammarLimitExceeded
            The tables are as large as they may be.
        """
        if self._tables.nbytes > self._max_bytes:
            raise GrammarLimitExceeded(
                f"the automaton needs more than max_bytes={self._max_bytes:,}; simplify the grammar"
            )
        self._tables.grow(table, rows)
        for rehash in _REHASH.get(table, ()):
            rehash(self._tables.address)
        if table in _CACHES:
            self._tables.set_count(_CACHES[table], 0)

    def make_room(self, table: int, rows: int) -> None:
        """Grow ``table`` unless it has ``rows`` rows."""
        if rows > self._tables.rows(table):
            self.grow(table, rows)
