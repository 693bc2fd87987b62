"""The tables of one automaton, which grow."""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Callable, Sequence

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton._jit import Int32Array, Int64Table, Memory
from structgen.grammars.automaton.table_memory import Template, give_back, reserve, spans_of
from structgen.grammars.automaton.tables import (
    BOTTOM,
    CLOSED,
    EXTENSION_HASH,
    EXTENSIONS,
    F_FINAL,
    FAR,
    FRAME_HASH,
    ITEMS,
    MASKS,
    MEMO,
    N_EXTENSIONS,
    N_ITEMS,
    N_REGISTERS,
    N_ROWS,
    N_SETS,
    N_SPELLINGS,
    N_STATES,
    N_WORDS,
    NODE_WORK,
    NODES,
    NOTHING,
    RECORD_HASH,
    RECORDS,
    REGISTER_HASH,
    REGISTERS,
    S_FLAGS,
    SET_HASH,
    SETS,
    SPELLING_HASH,
    SPELLINGS,
    STATE_HASH,
    STATE_WORK,
    STATES,
    TABLES,
    TRANSITIONS,
)
from structgen.grammars.limits import checkpoint

__all__ = ["Tables"]

_ROOM, _MUCH_ROOM = 64, 512
"""A table has room for so many times its rows; those of sets, of which a long text makes the most, for more."""
_COUNTED = {table: its.used for table, its in TABLES.items() if its.used is not None}
_ROWS_PLACE = list(_COUNTED).index(TRANSITIONS)
_FIRST_ROWS = {table: its.rows for table, its in TABLES.items()}
_FIRST_ROOM = {
    table: its.rows * (_MUCH_ROOM if table in (SETS, ITEMS, SET_HASH, MEMO) else _ROOM) for table, its in TABLES.items()
}
_MOST_WORDS = (1 << 31) - (1 << 16)
_STRIDE = 1 << 15
"""So many rows are written between two looks at the limits."""

_GROW_TOGETHER = {
    one: group
    for group in (
        (NODES, NODE_WORK),
        (STATES, STATE_HASH, STATE_WORK, FRAME_HASH),
        (RECORDS, RECORD_HASH),
        (SETS, SET_HASH),
        (REGISTERS, REGISTER_HASH),
        (SPELLINGS, SPELLING_HASH),
        (EXTENSIONS, EXTENSION_HASH),
    )
    for one in group
}


class Tables:
    """The tables of one automaton.

    Each lies in room of its own for many times its rows, which the system gives memory where it is written: growing
    moves nothing until that is used up. Views are good as long as the tables are held.

    Parameters
    ----------
    base : Tables, optional
        What to begin with: the rows are copied.

    Attributes
    ----------
    memory : int32 array
        All of them. Replaced where a table outgrows its room, by one that holds all that the old one held, so rows that
        a thread knows of may be read at any time.
    """

    def __init__(self, base: Tables | None = None) -> None:
        self._template: Template | None = None
        if base is None:
            self._rows, self._room = dict(_FIRST_ROWS), dict(_FIRST_ROOM)
            self._use(*self._lay_out())
            self._begin()
        else:
            self._rows, self._room, self._template = dict(base._rows), dict(base._room), base.as_template()
            self._use(reserve(len(base.memory), self._template), base._layout[1], base._nbytes)
            self._whole = base._whole_spans()

    def as_template(self) -> Template:
        """What others begin with; nothing may be written here any more."""
        known = self._as_template
        if known is None:
            fixed, rows = self._used(TRANSITIONS, N_ROWS), list[slice]()
            for table, its in TABLES.items():
                offset = self._layout[1][table]
                used = np.flatnonzero(self.memory[offset : offset + its.columns * self._rows[table]])
                if len(used) and table != TRANSITIONS:
                    rows.append(slice(offset, offset + int(used[-1]) + 1))
            known = self._as_template = Template(self.memory, fixed, spans_of((slice(0, 3 * len(TABLES)), *rows)))
        return known

    def _begin(self) -> None:
        self.set_count(N_STATES, CLOSED + 1)
        self.set_count(N_REGISTERS, 1)
        self.set_count(N_WORDS, 1)
        self.set_count(N_SPELLINGS, 1)
        self.set_count(N_EXTENSIONS, 1)
        self[STATES][CLOSED, S_FLAGS] = F_FINAL
        self.set_count(N_SETS, BOTTOM + 1)
        self.set_count(N_ITEMS, 1)
        self[SETS][NOTHING] = (0, 0, FAR, 0, 0, 0)
        self[SETS][BOTTOM] = (0, 1, 0, 0, 0, 0)

    def __getitem__(self, table: int) -> Int32Array:
        """The rows of ``table``, int32[rows, columns], a view."""
        _, offsets, views, numbers = self._layout
        view = views.get(table)
        if view is None:
            shape = numbers[3 * table + 2], TABLES[table].columns
            view = views[table] = np.ndarray(shape, np.int32, numbers, 4 * offsets[table])
        return view

    def _use(self, memory: Int32Array, offsets: list[int], nbytes: int | None = None) -> None:
        self.memory = memory
        self.address: Memory = int(memory.ctypes.data)
        """What compiled functions take; good until the tables grow."""
        self._numbers = memory.data  # numpy takes ten times as long for a few numbers
        # One object: another thread may put another there between two reads.
        self._layout: tuple[Int32Array, list[int], dict[int, Int32Array], memoryview] = (
            memory,
            offsets,
            {},
            self._numbers,
        )
        self._whole: Int64Table | None = None
        self._nbytes = self._count_bytes() if nbytes is None else nbytes
        self._as_template: Template | None = None

    def count(self, place: int) -> int:
        """One of the counts."""
        number: int = self._numbers[3 * len(TABLES) + place]
        return number

    def set_count(self, place: int, value: int) -> None:
        """Set one of the counts."""
        self._numbers[3 * len(TABLES) + place] = value

    def get(self, table: int, row: int, column: int) -> int:
        """One value."""
        _, offsets, _, numbers = self._layout
        number: int = numbers[offsets[table] + row * TABLES[table].columns + column]
        return number

    def put(self, table: int, row: int, column: int, value: int) -> None:
        """Write one value."""
        self._numbers[self._layout[1][table] + row * TABLES[table].columns + column] = value

    def row(self, table: int, row: int) -> list[int]:
        """All values of a row."""
        columns = TABLES[table].columns
        place = self._layout[1][table] + row * columns
        return self._numbers[place : place + columns].tolist()

    def repeat(self, table: int, count: int, first: int, end: int) -> None:
        """Write the rows from ``first`` to ``end`` once more, behind those that ``count`` counts; there is room."""
        columns, numbers, begin = TABLES[table].columns, self._numbers, self._layout[1][table]
        place, rows = begin + self.count(count) * columns, end - first
        numbers[place : place + rows * columns] = numbers[begin + first * columns : begin + end * columns]
        self.set_count(count, self.count(count) + rows)

    def append(self, table: int, count: int, rows: Sequence[Sequence[int]]) -> int:
        """Write ``rows`` behind those of ``table`` that ``count`` counts; returns the number of the first."""
        first = self.count(count)
        if len(rows) == 1:  # as are most
            return self.extend(table, count, array("i", rows[0]))
        for begin in range(0, len(rows), _STRIDE):
            checkpoint()
            self.extend(table, count, array("i", itertools.chain.from_iterable(rows[begin : begin + _STRIDE])))
        return first

    def extend(self, table: int, count: int, numbers: array[int]) -> int:
        """As `append`, of rows that lie one behind the other."""
        first, columns = self.count(count), TABLES[table].columns
        rows = first + len(numbers) // columns
        self.make_room(table, rows)
        place = self._layout[1][table] + first * columns
        self._numbers[place : place + len(numbers)] = numbers
        self.set_count(count, rows)
        return first

    def rows(self, table: int) -> int:
        """So many rows ``table`` has, in use or not."""
        return self._rows[table]

    def make_room(self, table: int, rows: int) -> None:
        """Grow ``table`` until it has room for ``rows`` rows; for tables without a hash."""
        if rows > self._rows[table]:
            self.grow(table, rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that there are, but for the cache `MASKS`, which takes 128 KiB at most."""
        return self._nbytes

    def _count_bytes(self) -> int:
        return 4 * sum(its.columns * self._rows[table] for table, its in TABLES.items() if table != MASKS)

    def grow(self, table: int, rows: int = 0) -> None:
        """Double ``table`` and what grows with it until it has ``rows``; the hash tables among them are empty then."""
        growing = _GROW_TOGETHER.get(table, (table,))
        doublings = max(1, (-(-rows // self._rows[table]) - 1).bit_length())
        for one in growing:
            self._nbytes += 4 * TABLES[one].columns * ((self._rows[one] << doublings) - self._rows[one])
            self._rows[one] <<= doublings
        if all(self._rows[one] <= self._room[one] for one in growing):
            for one in growing:
                if not TABLES[one].kept:
                    self[one][:] = 0
                self.memory[3 * one + 2] = self._rows[one]
            self._layout, self._whole = (self.memory, self._layout[1], {}, self._numbers), None
            return
        self._room = self._room_with(growing)
        memory, offsets = self._lay_out()
        self._template = None
        for one, its in TABLES.items():
            if its.kept or one not in growing:
                old = np.reshape(self[one], -1)
                memory[offsets[one] : offsets[one] + len(old)] = old
        self._use(memory, offsets)  # last: other threads read without the lock

    def _room_with(self, growing: tuple[int, ...]) -> dict[int, int]:
        """Room for the rows of those that grow and for as many times these as addresses of 31 bits allow."""
        for times in (_ROOM, _ROOM // 8, 1):
            room = self._room | {one: self._rows[one] * times for one in growing}
            if sum(its.columns * room[table] for table, its in TABLES.items()) < _MOST_WORDS:
                return room
        raise GrammarLimitExceeded("the automaton's tables are as large as they may be; simplify the grammar")

    def _spans(self) -> Int64Table:
        """What may have been written: of counted rows one more, which may have been begun."""
        spans: Int64Table = np.array(self._whole_spans())
        stops = [self._used(table, count).stop + TABLES[table].columns for table, count in _COUNTED.items()]
        spans[-len(_COUNTED) :, 1] = stops
        if self._template is not None:  # which is where the transitions begin
            spans[len(spans) - len(_COUNTED) + _ROWS_PLACE, 0] = self._template.fixed.stop
        return spans

    def _whole_spans(self) -> Int64Table:
        """As `_spans`, the tables that are counted last, and of these what was counted when it was asked for first."""
        if self._whole is None:
            places = zip(TABLES.items(), self._layout[1], strict=True)
            whole = [
                slice(offset, offset + its.columns * self._rows[table])
                for (table, its), offset in places
                if its.used is None
            ]
            counted = (self._used(table, count) for table, count in _COUNTED.items())
            self._whole = spans_of((slice(0, 3 * len(TABLES)), *whole, *counted))
        return self._whole

    def _used(self, table: int, count: int) -> slice:
        offset = self._layout[1][table]
        return slice(offset, offset + TABLES[table].columns * self.count(count))

    def _lay_out(self) -> tuple[Int32Array, list[int]]:
        """Memory with its header, and where each table begins."""
        header, offset = [0] * (3 * len(TABLES)), 3 * len(TABLES)
        for table, its in TABLES.items():
            header[3 * table : 3 * table + 3] = offset, its.columns, self._rows[table]
            offset += its.columns * self._room[table]
        memory = reserve(offset)
        memory[: len(header)] = header
        return memory, header[::3]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        memory = getattr(self, "memory", None)
        if memory is None or is_finalizing():  # there was none to be had; or this module is gone already
            return
        if self._as_template is not None:  # who began so holds on to it
            return
        spans = self._spans()
        del self.memory, self._layout, self._numbers
        give_back(memory, spans, self._template)
