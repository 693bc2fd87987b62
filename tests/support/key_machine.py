"""The keys' part of string machines for Python: what object frames call in compiled code."""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, compiled
from structgen.grammars.automaton.determinize import next_state, rehash_states
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.string_keys import key_interval, key_label, key_others, key_rest, other_rest
from structgen.grammars.automaton.string_records import rehash_strings
from structgen.grammars.automaton.string_tables import StringTables
from structgen.grammars.automaton.strings import key_start
from structgen.grammars.automaton.tables import (
    C_WANTED_TABLE,
    F_LABEL,
    NO_STATE,
    RECORDS,
    S_DISTANCE,
    S_FLAGS,
    STATES,
    OutOfRoom,
    cell,
)


@compiled
def _start(m: int, keys: int) -> int:
    return key_start(m, keys)


@compiled
def _step(m: int, state: int, byte: int) -> int:
    return next_state(m, state, byte)


@compiled
def _look(m: int, state: int, found: Int32Array) -> None:
    found[0], found[1] = key_interval(m, state)
    found[2], found[6] = key_others(m, state) & 0x7FFFFFFF, key_others(m, state) >> 31
    found[3] = cell(m, STATES, state, S_FLAGS)
    found[4] = key_label(m, state) if found[3] == F_LABEL else -1
    found[5] = cell(m, STATES, state, S_DISTANCE)


@compiled
def _other_rest(m: int, state: int, ways: int) -> int:
    return other_rest(m, state, ways)


@compiled
def _name_rest(m: int, state: int, place: int) -> int:
    return key_rest(m, state, place)


class KeyMachine:
    """One object's keys."""

    def __init__(self, names, others, first=None, single=(1 << 256) - 1) -> None:
        """``first``: so many of the names are written at once, the others one by one."""
        first = len(names) if first is None else first
        self._tables = Tables()
        strings = StringTables(self._tables, self._make_room, single)
        self._keys = strings.keys(names[:first], others, 0)
        for name in names[first:]:
            self._keys = strings.with_name(self._keys, name)
        self.start = self._run(_start, self._keys)

    def step(self, state: int, byte: int) -> int | None:
        target = self._run(_step, state, byte)
        return None if target == NO_STATE else target

    def look(self, state: int) -> tuple[range, set[int], bool, int, int]:
        """The sorted names and the others that may come, whether the key is whole, its label, the distance."""
        found = np.zeros(7, np.int32)
        self._run(_look, state, found)
        low, high, mask, flags, label, distance, rest = map(int, found)
        others = {entry for entry in range(62) if (mask | rest << 31) >> entry & 1}
        return range(low, high), others, flags == F_LABEL, label, distance

    def other_rest(self, state: int, ways: set[int]) -> int:
        """The bytes that make the key an undeclared one in one of ``ways``."""
        return self._run(_other_rest, state, sum(1 << way for way in ways))

    def name_rest(self, state: int, place: int) -> int:
        """The bytes that make it the declared name at ``place``."""
        return self._run(_name_rest, state, place)

    def _run(self, function, *arguments):
        while True:
            try:
                return function(self._tables.address, *arguments)
            except OutOfRoom:
                self._grow(self._tables.count(C_WANTED_TABLE), 0)

    def _make_room(self, table: int, rows: int) -> None:
        if rows > len(self._tables[table]):
            self._grow(table, rows)

    def _grow(self, table: int, rows: int) -> None:
        self._tables.grow(table, rows)
        if table == STATES:
            rehash_states(self._tables.address)
        elif table == RECORDS:
            rehash_strings(self._tables.address)
