"""Written once and from Python: what string machines read."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.string_costs import nearest_ends, spelling_costs, weight_of
from structgen.grammars.automaton.string_lengths import StateLengths, lengths_of
from structgen.grammars.automaton.string_products import product, sizes
from structgen.grammars.automaton.string_rows import ValueRows, in_words, rows_of, value_rows
from structgen.grammars.automaton.string_texts import Texts, lists_of, one_text, plain_ranks, texts_of
from structgen.grammars.automaton.string_values import ANY, RankedDfa, ranked
from structgen.grammars.automaton.tables import (
    D_FIRST,
    D_LONGEST,
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
    G_START,
    G_TEXT,
    G_TEXT_END,
    G_VALUE,
    G_WEIGHT,
    HOLE,
    INTERVAL_TARGET,
    INTERVALS,
    MACHINES,
    N_INTERVALS,
    N_MACHINES,
    N_POOL,
    N_TEXTS,
    N_VALUES,
    POOL,
    T_FIRST,
    T_LABEL,
    T_LENGTH,
    T_MASK,
    T_MASK_2,
    TEXTS,
    VALUES,
)
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import NOTHING, Language

__all__ = ["StringTables"]

ANY_VALUE = 0
"""The state of VALUES that stands for a string of any kind."""

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
        self._products: dict[tuple[Language, ...], tuple[RankedDfa, int, int]] = {}
        self._lengths: dict[tuple[CharDfa, bool], dict[int, int]] = {}  # fields of machines
        self._marking: dict[int, RankedDfa | None] = {}  # of keys: what says which languages hold a name
        self._append(POOL, N_POOL, spelling_costs(single)[:, None])
        self._value(None)

    def copied(self, tables: Tables, make_room: Callable[[int, int], None]) -> StringTables:
        """The same for other tables, which begin with what has been written here."""
        other = object.__new__(StringTables)
        other._tables, other._make_room, other._single = tables, make_room, self._single
        other._machines, other._values, other._products = dict(self._machines), dict(self._values), dict(self._products)
        other._lengths, other._marking = dict(self._lengths), dict(self._marking)
        return other

    def string(self, language: Language, rule: int) -> int:
        """The machine of the strings in ``language``, to which the rule number ``rule`` is given if it is new."""
        if language.texts is not None:
            return self.lists({language: rule})[0]
        machine = self._machines.get(language)
        if machine is None:
            fields = {G_RULE: rule, G_VALUE: self._value(language.dfa), G_HIGH: ENDLESS}
            if language.low or language.high is not None:
                fields |= self._bounds(language)
            machine = self._machines[language] = self._machine(fields)
        return machine

    def lists(self, rules: Mapping[Language, int]) -> list[int]:
        """The machines of lists of texts, each given a rule's number if it is new; written together in little time."""
        new = {one: one.texts for one in rules if one not in self._machines and one.texts is not None}
        if new:
            fields = self._texts(lists_of(new.values(), self._single))
            sizes = np.fromiter(map(len, new.values()), np.int32, len(new))
            rows = np.zeros((len(new), self._tables[MACHINES].shape[1]), np.int32)
            rows[:, G_RULE], rows[:, G_VALUE], rows[:, G_HIGH] = [rules[one] for one in new], -1, ENDLESS
            rows[:, G_TEXT_END] = fields[G_TEXT] + sizes.cumsum()
            rows[:, G_TEXT] = rows[:, G_TEXT_END] - sizes
            self._machines.update(zip(new, itertools.count(self._append(MACHINES, N_MACHINES, rows)), strict=False))
        return [self._machines[one] for one in rules]

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
        automaton = self._others(others, fields)
        if names:
            fields |= self._names({name: number for number, name in enumerate(names)}, automaton)
        machine = self._machine(fields)
        self._marking[machine] = automaton
        return machine

    def _names(self, numbers: dict[str, int], automaton: RankedDfa | None) -> dict[int, int]:
        """Write the texts of declared keys, by number, marked with the labels of ``automaton`` if there is one."""
        names, tables = sorted(numbers), self._tables
        ranks = plain_ranks(names, self._single) if automaton is None else None
        if ranks is None:
            return self._marked_names(tuple(names), numbers, automaton)
        self._make_room(POOL, tables.count(N_POOL) + len(ranks))
        self._make_room(TEXTS, tables.count(N_TEXTS) + len(names))
        place, rows = tables.extend(POOL, N_POOL, array("i", ranks)), array("i")
        for name in names:
            rows.extend((place, len(name), len(name), numbers[name], 0, 0))
            place += len(name)
        first = tables.extend(TEXTS, N_TEXTS, rows)
        return {G_TEXT: first, G_TEXT_END: first + len(names)}

    def _marked_names(
        self, names: tuple[str, ...], numbers: dict[str, int], automaton: RankedDfa | None
    ) -> dict[int, int]:
        """As `_names`, of any characters."""
        texts = texts_of(names, self._single)
        fields = self._texts(texts)
        rows = self._tables[TEXTS][fields[G_TEXT] : fields[G_TEXT_END]]
        rows[:, T_LABEL] = [numbers[text] for text in texts.texts]
        if automaton is not None:
            _mark(rows, texts, automaton)
        return fields

    def with_name(self, keys: int, name: str) -> int:
        """The machine ``keys`` with one more declared key, whose number is that of the names so far."""
        tables, automaton, machine = self._tables, self._marking[keys], self._tables.row(MACHINES, keys)
        first, end = machine[G_TEXT], machine[G_TEXT_END]
        ranks, cost = one_text(name, self._single)
        masks = (0, 0) if automaton is None else (int(word[0]) for word in in_words([_label_of(automaton, ranks)]))
        place = first + self._place_of(ranks, first, end)
        self._make_room(POOL, tables.count(N_POOL) + len(ranks))
        self._make_room(TEXTS, tables.count(N_TEXTS) + end - first + 1)
        self._make_room(MACHINES, tables.count(N_MACHINES) + 1)
        text = [tables.extend(POOL, N_POOL, array("i", ranks)), len(ranks), cost, end - first, *masks]
        machine[G_TEXT] = tables.count(N_TEXTS)
        tables.repeat(TEXTS, N_TEXTS, first, place)
        tables.append(TEXTS, N_TEXTS, [text])
        tables.repeat(TEXTS, N_TEXTS, place, end)
        machine[G_TEXT_END], machine[G_START] = tables.count(N_TEXTS), HOLE
        extended = tables.append(MACHINES, N_MACHINES, [machine])
        self._marking[extended] = automaton
        return extended

    def _place_of(self, wanted: list[int], first: int, end: int) -> int:
        """How many of the texts from ``first`` to ``end`` come before the one with these ranks."""
        texts, pool = self._tables[TEXTS], self._tables[POOL]

        def ranks_of(place: int) -> list[int]:
            start, length = texts[place, : T_LENGTH + 1].tolist()
            return pool[start : start + length, 0].tolist()

        return bisect_left(range(first, end), wanted, key=ranks_of)

    def _others(self, others: Sequence[Language], fields: dict[int, int]) -> RankedDfa | None:
        """Write the automaton of ``others``; returns it where names are to be marked with its labels."""
        if all(one is NOTHING for one in others):
            return None
        if len(others) == 1 and others[0].texts is None and not others[0].low and others[0].high is None:
            fields[G_VALUE] = self._value(others[0].dfa)
            automaton = ranked(others[0].dfa)
        else:
            automaton, fields[G_VALUE], fields[G_NEAREST] = self._product(tuple(others))
        fields[G_FIRST_VALUE] = fields[G_VALUE]
        few = sizes(automaton, len(others)) if automaton is not ANY else None
        if few is None:
            return None
        fields[G_SIZES] = self._by_state(few)
        return automaton

    def _product(self, others: tuple[Language, ...]) -> tuple[RankedDfa, int, int]:
        """The automaton of all languages at once, its start in VALUES, and how near which end is from each state."""
        known = self._products.get(others)
        if known is None:
            automaton = product(others)
            nearest = nearest_ends(automaton, len(others), self._single)
            value = self._automaton(value_rows(automaton, list(map(min, zip(*nearest, strict=True)))))
            known = self._products[others] = automaton, value, self._by_state(nearest)
        return known

    def _by_state(self, numbers: Sequence[tuple[int, ...]]) -> int:
        """Write a number for each language and state, those of a state together."""
        return self._append(
            POOL, N_POOL, np.array(list(itertools.chain(*zip(*numbers, strict=True))), np.int32)[:, None]
        )

    def _machine(self, fields: dict[int, int]) -> int:
        row = [fields.get(column, 0) for column in range(self._tables[MACHINES].shape[1])]
        self._make_room(MACHINES, self._tables.count(N_MACHINES) + 1)
        return self._tables.append(MACHINES, N_MACHINES, [row])

    def _texts(self, texts: Texts) -> dict[int, int]:
        rows = np.array(texts.rows)
        rows[:, T_FIRST] += self._append(POOL, N_POOL, texts.ranks[:, None])
        first = self._append(TEXTS, N_TEXTS, rows)
        return {G_TEXT: first, G_TEXT_END: first + len(rows)}

    def _value(self, dfa: CharDfa | None) -> int:
        """The start of ``dfa`` in VALUES."""
        value = self._values.get(dfa)
        if value is None:
            value = self._values[dfa] = self._automaton(rows_of(dfa, self._single))
        return value

    def _automaton(self, rows: ValueRows) -> int:
        values, intervals = np.array(rows.values), np.array(rows.intervals)
        intervals[:, INTERVAL_TARGET] += self._tables.count(N_VALUES)
        values[:, D_FIRST] += self._append(INTERVALS, N_INTERVALS, intervals)
        return self._append(VALUES, N_VALUES, values)

    def _bounds(self, language: Language) -> dict[int, int]:
        high = ENDLESS if language.high is None or language.high > _LONGEST_TEXT else language.high
        fields = {G_LOW: min(language.low, _LONGEST_TEXT), G_HIGH: high}
        fields[G_WEIGHT] = min(weight_of(language.dfa, self._single), FAR)
        if language.dfa is not None:
            fields |= self._lengths_of(language.dfa, language.low > 0)
        return fields

    def _lengths_of(self, dfa: CharDfa, has_least: bool) -> dict[int, int]:
        """Write the lengths to an end; where no number of them is wanted, the shortest are all that matters."""
        known = self._lengths.get((dfa, has_least))
        if known is None:
            value = self._value(dfa)
            rows = self._tables[VALUES][value : value + len(dfa)]
            if has_least:
                known = self._write_lengths(value, rows, lengths_of(dfa))
            else:
                known = {}
                if (dfa, True) not in self._lengths:
                    rows[:, D_SHORTEST], rows[:, D_LONGEST] = dfa.shortest, ENDLESS
            self._lengths[dfa, has_least] = known
        return known

    def _write_lengths(self, value: int, rows: Int32Array, lengths: StateLengths) -> dict[int, int]:
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

    def _append(self, table: int, count: int, rows: Int32Array) -> int:
        """Add rows behind those in use; returns the number of the first."""
        first = self._tables.count(count)
        self._make_room(table, first + len(rows))
        self._tables[table][first : first + len(rows)] = rows
        self._tables.set_count(count, first + len(rows))
        return first


def _mark(rows: Int32Array, texts: Texts, automaton: RankedDfa) -> None:
    """Say of each text which languages of others hold it too."""
    ends = [int(end) for end in texts.rows[:, T_LENGTH].cumsum()]
    ranks = texts.ranks.tolist()
    labels = [_label_of(automaton, ranks[start:end]) for start, end in itertools.pairwise([0, *ends])]
    rows[:, T_MASK], rows[:, T_MASK_2] = in_words(labels)


def _label_of(automaton: RankedDfa, ranks: Sequence[int]) -> int:
    """The languages that hold the text with these ranks."""
    state = 0
    for rank in ranks:
        first, end = int(automaton.starts[state]), int(automaton.starts[state + 1])
        place = bisect_left(automaton.lasts, rank, first, end)
        if place == end or automaton.firsts[place] > rank:
            return 0
        state = int(automaton.targets[place])
    return automaton.labels[state]
