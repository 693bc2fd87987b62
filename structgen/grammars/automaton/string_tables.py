"""Written once and from Python: what string machines read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.string_costs import (
    costs_of,
    nearest_ends,
    spelling_costs,
    text_costs,
    weight_of,
)
from structgen.grammars.automaton.string_lengths import StateLengths, lengths_of
from structgen.grammars.automaton.string_products import product, sizes
from structgen.grammars.automaton.string_values import ANY, RankedDfa, ranked, sorted_by_rank
from structgen.grammars.automaton.tables import (
    D_COUNT,
    D_DISTANCE,
    D_FIRST,
    D_LABEL,
    D_LABEL_2,
    D_LONGEST,
    D_MASK,
    D_MASK_2,
    D_SHORTEST,
    ENDLESS,
    FAR,
    G_ENTRIES,
    G_FIRST_VALUE,
    G_HIGH,
    G_IS_KEYS,
    G_LOW,
    G_NEAREST,
    G_RULE,
    G_SET_COUNT,
    G_SET_LOOP,
    G_SET_WORDS,
    G_SETS,
    G_SIZES,
    G_TEXT,
    G_TEXT_END,
    G_VALUE,
    G_WEIGHT,
    INTERVALS,
    MACHINES,
    N_FROM,
    N_INTERVALS,
    N_MACHINES,
    N_POOL,
    N_TARGET,
    N_TEXTS,
    N_TO,
    N_VALUES,
    POOL,
    T_COST,
    T_FIRST,
    T_LABEL,
    T_LENGTH,
    T_MASK,
    T_MASK_2,
    TEXTS,
    VALUES,
    Tables,
)
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import NOTHING, Language

__all__ = ["StringTables"]

ANY_VALUE = 0
"""The state of VALUES that stands for a string of any kind."""

_LOW_BITS = 0x7FFFFFFF
_LONGEST_TEXT = 0x7FFFFFFE
"""No text has more characters: an upper bound of more is none."""


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
        self._values: dict[CharDfa | None, int] = {}
        self._lengths: dict[CharDfa | None, dict[int, int]] = {}
        self._append(POOL, N_POOL, spelling_costs(single)[:, None])
        self._values[None] = self._automaton(ANY, (0,))
        self._tables[VALUES][ANY_VALUE, D_LONGEST] = ENDLESS

    def string(self, language: Language, rule: int) -> int:
        """The machine of the strings in ``language``, to which the rule number ``rule`` is given if it is new."""
        machine = self._machines.get(language)
        if machine is None:
            fields = {G_RULE: rule, G_VALUE: -1, G_HIGH: ENDLESS}
            if language.texts is not None:
                fields |= self._texts(language.texts)
            else:
                fields[G_VALUE] = self._value(language.dfa)
                if language.low or language.high is not None:
                    fields |= self._bounds(language)
            machine = self._machines[language] = self._machine(fields)
        return machine

    def keys(self, names: Sequence[str], others: Sequence[Language], rule: int) -> int:
        """The machine of an object's keys, for `strings.key_start`; there is some key.

        Parameters
        ----------
        names : sequence of str
            Declared keys, each once; their numbers are their places.
        others : sequence of Language
            Of undeclared keys; their numbers are their places. A declared key is none, whether or not one holds it.
        rule : int
            To which its states belong.

        Raises
        ------
        GrammarLimitExceeded
            The languages of the others take too many states together.
        """
        fields = {G_RULE: rule, G_IS_KEYS: 1, G_VALUE: -1, G_HIGH: ENDLESS, G_ENTRIES: len(others)}
        if names:
            numbers = {name: number for number, name in enumerate(names)}
            fields |= self._texts(tuple(sorted(names)))
            first, end = fields[G_TEXT], fields[G_TEXT_END]
            ordered, _ = sorted_by_rank(tuple(sorted(names)))
            self._tables[TEXTS][first:end, T_LABEL] = [numbers[name] for name in ordered]
        if len(others) == 1 and others[0].texts is None and not others[0].low and others[0].high is None:
            fields[G_VALUE] = self._value(others[0].dfa)
            if others[0].dfa is None:
                return self._machine(fields)
            automaton = ranked(others[0].dfa)
        elif any(one is not NOTHING for one in others):
            automaton = product(others)
            nearest = nearest_ends(automaton, len(others), self._single)
            fields[G_VALUE] = self._automaton(automaton, tuple(map(min, zip(*nearest, strict=True))))
            fields[G_NEAREST] = self._by_state(nearest)
        else:
            return self._machine(fields)
        fields[G_FIRST_VALUE] = fields[G_VALUE]
        few = sizes(automaton, len(others), len(names))
        if few is not None:
            fields[G_SIZES] = self._by_state(few)
            self._mark_names(fields[G_TEXT], fields[G_TEXT_END], automaton)
        return self._machine(fields)

    def _by_state(self, numbers: Sequence[tuple[int, ...]]) -> int:
        """Write a number for each language and state, those of a state together."""
        return self._append(
            POOL, N_POOL, np.array(list(itertools.chain(*zip(*numbers, strict=True))), np.int32)[:, None]
        )

    def _machine(self, fields: dict[int, int]) -> int:
        row = np.zeros((1, self._tables[MACHINES].shape[1]), np.int32)
        row[0, list(fields)] = list(fields.values())
        return self._append(MACHINES, N_MACHINES, row)

    def _texts(self, texts: tuple[str, ...]) -> dict[int, int]:
        texts, ranks = sorted_by_rank(texts)
        lengths = list(map(len, texts))
        pool = self._append(POOL, N_POOL, ranks[:, None])
        rows = np.zeros((len(texts), 6), np.int32)
        rows[:, T_LENGTH] = lengths
        rows[:, T_FIRST] = pool + np.cumsum(lengths) - lengths
        rows[:, T_COST] = text_costs(ranks, lengths, self._single)
        first = self._append(TEXTS, N_TEXTS, rows)
        return {G_TEXT: first, G_TEXT_END: first + len(rows)}

    def _value(self, dfa: CharDfa | None) -> int:
        """The start of ``dfa`` in VALUES."""
        value = self._values.get(dfa)
        if value is None:
            assert dfa is not None
            value = self._values[dfa] = self._automaton(ranked(dfa), costs_of(dfa, self._single).distances)
        return value

    def _automaton(self, automaton: RankedDfa, distances: tuple[int, ...]) -> int:
        first, interval = self._tables.count(N_VALUES), self._tables.count(N_INTERVALS)
        intervals = np.empty((len(automaton.firsts), 3), np.int32)
        intervals[:, N_FROM], intervals[:, N_TO] = automaton.firsts, automaton.lasts
        intervals[:, N_TARGET] = automaton.targets + first
        self._append(INTERVALS, N_INTERVALS, intervals)
        rows = np.zeros((len(distances), self._tables[VALUES].shape[1]), np.int32)
        rows[:, D_FIRST] = automaton.starts[:-1] + interval
        rows[:, D_COUNT] = np.diff(automaton.starts)
        rows[:, D_DISTANCE] = [min(one, FAR) for one in distances]
        rows[:, D_LABEL], rows[:, D_LABEL_2] = _in_words(automaton.labels)
        rows[:, D_MASK], rows[:, D_MASK_2] = _in_words(automaton.masks)
        return self._append(VALUES, N_VALUES, rows)

    def _bounds(self, language: Language) -> dict[int, int]:
        high = ENDLESS if language.high is None or language.high > _LONGEST_TEXT else language.high
        fields = {G_LOW: min(language.low, _LONGEST_TEXT), G_HIGH: high}
        fields[G_WEIGHT] = min(weight_of(language.dfa, self._single), FAR)
        if language.dfa is not None:
            known = self._lengths.get(language.dfa)
            if known is None:
                known = self._lengths[language.dfa] = self._write_lengths(language.dfa, lengths_of(language.dfa))
            fields |= known
        return fields

    def _write_lengths(self, dfa: CharDfa, lengths: StateLengths) -> dict[int, int]:
        value = self._value(dfa)
        rows = self._tables[VALUES][value : value + len(dfa)]
        rows[:, D_SHORTEST], rows[:, D_LONGEST] = lengths.shortest, lengths.longest
        if lengths.gaps is None:
            return {}
        return {
            G_SETS: self._append(POOL, N_POOL, lengths.words()[:, None]),
            G_SET_COUNT: len(lengths.gaps.sets),
            G_SET_LOOP: lengths.gaps.loop,
            G_SET_WORDS: lengths.words_a_set,
            G_FIRST_VALUE: value,
        }

    def _mark_names(self, first: int, end: int, automaton: RankedDfa) -> None:
        """Say of each declared name which languages of others hold it too."""
        texts, ranks = self._tables[TEXTS][first:end], self._tables[POOL][:, 0]
        labels = [_label_of(automaton, ranks[int(row[T_FIRST]) :][: int(row[T_LENGTH])]) for row in texts]
        texts[:, T_MASK], texts[:, T_MASK_2] = _in_words(labels)

    def _append(self, table: int, count: int, rows: Int32Array) -> int:
        """Add rows behind those in use; returns the number of the first."""
        first = self._tables.count(count)
        self._make_room(table, first + len(rows))
        self._tables[table][first : first + len(rows)] = rows
        self._tables.set_count(count, first + len(rows))
        return first


def _in_words(masks: Sequence[int]) -> tuple[list[int], list[int]]:
    return [mask & _LOW_BITS for mask in masks], [mask >> 31 for mask in masks]


def _label_of(automaton: RankedDfa, ranks: Int32Array) -> int:
    """The languages that hold the text with these ranks."""
    state = 0
    for rank in ranks:
        first, end = automaton.starts[state], automaton.starts[state + 1]
        place = first + int(np.searchsorted(automaton.lasts[first:end], rank))
        if place == end or automaton.firsts[place] > rank:
            return 0
        state = int(automaton.targets[place])
    return automaton.labels[state]
