"""Written once and from Python: what string machines read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import LAST_RANK
from structgen.grammars.automaton.string_values import Texts, spelling_costs
from structgen.grammars.automaton.tables import (
    INTERVALS,
    MACHINES,
    N_INTERVALS,
    N_MACHINES,
    N_POOL,
    N_TEXTS,
    N_VALUES,
    POOL,
    T_COST,
    T_FIRST,
    T_LABEL,
    T_LENGTH,
    TEXTS,
    VALUES,
    Tables,
)
from structgen.grammars.language import ALL, Language

__all__ = ["StringTables"]

ANY = 0
"""The state of VALUES in which a string of any kind is."""


class StringTables:
    """Writes string machines.

    Parameters
    ----------
    tables : Tables
        Where to.
    make_room : Callable[[int, int], None]
        Grows a table to so many rows.
    single : int
        The bytes that are tokens by themselves, as a 256-bit integer.
    """

    def __init__(self, tables: Tables, make_room: Callable[[int, int], None], single: int) -> None:
        self._tables, self._make_room, self._single = tables, make_room, single
        self._machines: dict[Language, int] = {}
        self._append(POOL, N_POOL, spelling_costs(single)[:, None])
        self._append(VALUES, N_VALUES, [(0, 1, 0, 1, 0, 1, 0)])
        self._append(INTERVALS, N_INTERVALS, [(0, LAST_RANK, ANY)])

    def string(self, language: Language, rule: int) -> int:
        """The machine of the strings in ``language``, to which the rule number ``rule`` is given if it is new."""
        machine = self._machines.get(language)
        if machine is None:
            first, end, value = 0, 0, -1
            if language.texts is not None:
                first, end = self._texts(Texts.of(language.texts, self._single))
            elif language is ALL:
                value = ANY
            else:
                raise NotImplementedError("patterns and lengths")
            machine = self._machines[language] = self._machine(rule, 0, first, end, value)
        return machine

    def keys(self, names: Sequence[str], others: Sequence[Language], rule: int) -> int:
        """The machine of an object's keys; see the contract of `strings.key_start` and what follows it."""
        first, end, value = 0, 0, -1
        if names:
            numbers = {name: number for number, name in enumerate(names)}
            texts = Texts.of(tuple(sorted(numbers)), self._single)
            first, end = self._texts(texts)
            self._tables[TEXTS][first:end, T_LABEL] = [numbers[text] for text in texts.texts]
        if others:
            if len(others) > 1 or others[0] is not ALL:
                raise NotImplementedError("patterns and lengths")
            value = ANY
        return self._machine(rule, 1, first, end, value)

    def _machine(self, rule: int, is_keys: int, first: int, end: int, value: int) -> int:
        return self._append(
            MACHINES, N_MACHINES, [(rule, is_keys, first, end, value, 0, -1, 1, -1, 0, 0, 0, 0, 0, -1, -1, 0)]
        )

    def _texts(self, texts: Texts) -> tuple[int, int]:
        pool = self._append(POOL, N_POOL, texts.ranks[:, None])
        rows = np.zeros((len(texts.lengths), 6), np.int32)
        rows[:, T_LENGTH] = texts.lengths
        rows[:, T_FIRST] = pool + np.cumsum(texts.lengths) - texts.lengths
        rows[:, T_COST] = texts.costs
        first = self._append(TEXTS, N_TEXTS, rows)
        return first, first + len(rows)

    def _append(self, table: int, count: int, rows: Int32Array | Sequence[Sequence[int]]) -> int:
        """Add rows behind those in use; returns the number of the first."""
        first = self._tables.count(count)
        self._make_room(table, first + len(rows))
        self._tables[table][first : first + len(rows)] = rows
        self._tables.set_count(count, first + len(rows))
        return first
