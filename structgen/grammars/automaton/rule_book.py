"""Writing rules into the tables of an automaton: each when it is reached, the first ones ahead of that."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton.blocks import write_indented, write_landing
from structgen.grammars.automaton.facts import Called, Facts, Lengths, meant
from structgen.grammars.automaton.frame_tables import write_array, write_object
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.growth import Growth
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.layouts import FLEXIBLE, write_layout
from structgen.grammars.automaton.lowering import Lowering
from structgen.grammars.automaton.string_tables import StringTables
from structgen.grammars.automaton.tables import (
    ARRAY_RULE,
    BYTESETS,
    CALL,
    F_BYTES,
    F_FINAL,
    FAR,
    LANDING_RULE,
    N_BYTESETS,
    N_NODES,
    N_ROWS,
    N_RULES,
    N_STATES,
    NO_STATE,
    NODE_RULE,
    NODES,
    OBJECT_RULE,
    RULES,
    S_DISTANCE,
    S_FLAGS,
    S_ROW,
    S_RULE,
    SPLIT,
    STATES,
    STRING_RULE,
    TOKEN,
    TRANSITIONS,
    U_FIRST,
    U_KIND,
    U_LEAF,
    U_NODE,
    U_STATE,
)
from structgen.grammars.automaton.value_facts import can_spell, is_array_spellable, is_spellable
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.expr import Rule
from structgen.grammars.indentation import Indented, Landing
from structgen.grammars.json_layout import Layout
from structgen.grammars.language import Language
from structgen.grammars.values import ArraySpec, ArrayValue, ObjectSpec, ObjectValue, Regular, StringValue

__all__ = ["RuleBook"]

_AHEAD, _AHEAD_DEPTH = 64, 4
"""So many rules are lowered when an automaton is made, those inside fewer objects and arrays where that matters."""
_AT_ONCE = 64
"""So many more are lowered when one is wanted."""

_SHORT = 32
"""Lists of so many texts at most are written together."""


class _KeySet(NamedTuple):
    """Keys of objects: those declared, the languages of the others, and which of these there have been."""

    names: tuple[str, ...]
    others: tuple[Language, ...]
    seen: frozenset[str] = frozenset()


class RuleBook:
    """The rules of an automaton by number, the start rule first, and what has been written of them.

    Parameters
    ----------
    start : Rule
        What a text must match.
    facts : dict
        Of all rules.
    tables : Tables
        Where to write; as `base` has them, where there is one.
    growth : Growth
        Makes room in them.
    lengths, interiors
        Of the vocabulary.
    base : RuleBook, optional
        What has been written already; its start rule gives way to ``start``.

    Attributes
    ----------
    rules : list of (Called, int)
        By number; with how many objects and arrays hold it, 0 where it is written alike in all of them.
    """

    def __init__(
        self,
        start: Rule,
        facts: dict[Called, Facts],
        tables: Tables,
        growth: Growth,
        lengths: Lengths,
        interiors: InteriorStore,
        base: RuleBook | None = None,
    ) -> None:
        self._facts, self._tables, self._make_room = facts, tables, growth.make_room
        self._lengths, self._interiors = lengths, interiors
        self._numbers: dict[tuple[Called, int], int] = {(start, 0): 0}
        self.rules: list[tuple[Called, int]] = [(start, 0)]
        self._layouts: dict[tuple[Layout, int], int] = {}
        self._byteset_numbers: dict[int, int] = {}
        self._keys: dict[_KeySet, int] = {}
        self._key_sets: dict[int, _KeySet] = {}
        self._lists: dict[int, Language] = {}  # short ones that have a number and are not written yet
        if base is None:
            self._strings = StringTables(tables, self._make_room, lengths.single)
            self._publish_rules()
        else:
            self.rules += base.rules[1:]
            self._numbers.update((one, number) for one, number in base._numbers.items() if number)
            self._byteset_numbers.update(base._byteset_numbers)
            self._layouts.update(base._layouts)
            self._keys.update(base._keys)
            self._key_sets.update(base._key_sets)
            self._lists.update(base._lists)
            self._strings = base._strings.copied(tables, self._make_room)

    def lower(self, number: int) -> None:
        """Write the rule of this number."""
        called, depth = self.rules[number]
        one = meant(called)
        if isinstance(one, Rule):
            self._lower_rule(number, one, depth)
        elif isinstance(one, ObjectValue):
            self._write(number, OBJECT_RULE, self._write_object(number, one.spec, depth))
            self._put(number, U_LEAF, self._interiors.key_leaf(tuple(other.keys for other in one.spec.others)))
        elif isinstance(one, ArrayValue):
            self._write(number, ARRAY_RULE, self._write_array(number, one.spec, depth))
        elif isinstance(one, StringValue):
            self._write_strings(number, one.language)
        elif isinstance(one, Regular):
            self._write_regular(number, one.dfa)
        elif isinstance(one, (Landing, Indented)):
            self._write_lines(number, one, depth)
        else:
            raise TypeError(f"no such value: {one!r}")

    def lower_with_callees(self, number: int) -> None:
        """Write the rule of this number and those that are entered with it, as long as they are few.

        Whoever wants one of them begins anew when it is there, and would soon want the next.
        """
        waiting, known = [number], {number}
        for _ in range(_AT_ONCE):
            if not waiting:
                break
            one = waiting.pop()
            if self._tables.get(RULES, one, U_NODE) < 0:
                self.lower(one)
            for callee in self._entered_with(one):
                if callee not in known:
                    known.add(callee)
                    waiting.append(callee)

    def _entered_with(self, number: int) -> Iterator[int]:
        """The numbers of the rules that this one, which is written, calls before it reads a byte."""
        tables = self._tables
        if tables.get(RULES, number, U_KIND) != NODE_RULE:
            return
        waiting, known = [tables.get(RULES, number, U_NODE)], set[int]()
        while waiting:
            node = waiting.pop()
            if node in known or node < 0:
                continue
            known.add(node)
            kind, argument, following, other, *_ = tables.row(NODES, node)
            if kind == CALL:
                yield argument
            elif kind == SPLIT:
                waiting += (following, other)

    def lower_ahead(self, first: int = 0) -> None:
        """Write the rules from ``first`` on at once, those reached soonest first: no mask has to wait for them."""
        for number in itertools.count(first):
            if number == min(len(self.rules), _AHEAD):
                break
            if self.rules[number][1] < _AHEAD_DEPTH and self._tables.get(RULES, number, U_NODE) < 0:
                self.lower(number)

    def extended(self, keys: int, key: str) -> int:
        """The automaton of the ``keys`` that are left when ``key`` has been there."""
        one = self._key_sets[keys]
        one = one._replace(seen=one.seen | {key})
        extended = self._keys.get(one)
        if extended is None:
            extended = self._keys[one] = self._strings.with_name(keys, key)
            self._key_sets[extended] = one
        return extended

    def _write(self, number: int, kind: int, written: int) -> None:
        self._publish_rules()
        self._put(number, U_KIND, kind)
        self._put(number, U_NODE, written)

    def _put(self, number: int, column: int, value: int) -> None:
        self._tables.put(RULES, number, column, value)

    def _write_strings(self, number: int, language: Language) -> None:
        if language.texts is not None:
            self._write_lists({**self._lists, number: language})
            self._lists.clear()
            return
        self._write(number, STRING_RULE, self._strings.string(language, number))
        dfa = language.dfa
        leaf, values = (self._interiors.leaf(language), 0) if dfa is None else (self._interiors.leaf(dfa), len(dfa))
        self._put(number, U_LEAF, leaf)
        self._put(number, U_FIRST, values)

    def _write_lists(self, lists: Mapping[int, Language]) -> None:
        """Write lists of texts; all that are known together, as alternatives want one after the other."""
        self._publish_rules()
        rows = np.zeros((len(lists), self._tables[RULES].shape[1]), np.int32)
        rows[:, U_KIND] = STRING_RULE
        rows[:, U_NODE] = self._strings.lists({language: number for number, language in lists.items()})
        rows[:, U_LEAF] = [self._interiors.leaf(language) for language in lists.values()]
        self._tables[RULES][list(lists)] = rows

    def _write_regular(self, number: int, dfa: ByteDfa) -> None:
        """Write the states of ``dfa``, whose transitions are all known."""
        size, state, row = len(dfa.accepting), self._tables.count(N_STATES), self._tables.count(N_ROWS)
        self._make_room(STATES, state + size)
        self._make_room(TRANSITIONS, row + size)
        self._tables.set_count(N_ROWS, row + size)  # first: rows that are written are counted
        targets = np.reshape(self._tables[TRANSITIONS][row : row + size], -1)
        targets.fill(NO_STATE)
        places, after = dfa.edges
        targets[places] = after + state
        states = self._tables[STATES][state : state + size]
        states[:] = 0
        states[:, S_FLAGS] = F_BYTES * dfa.reads + F_FINAL * dfa.accepting
        spellable = dfa.alphabet & ~self._lengths.single == 0
        states[:, S_DISTANCE] = dfa.distances if spellable else FAR
        states[:, S_RULE] = number
        states[:, S_ROW] = np.arange(row, row + size)
        self._tables.set_count(N_STATES, state + size)
        for column, value in ((U_NODE, 0), (U_STATE, state), (U_FIRST, state), (U_LEAF, self._interiors.leaf(dfa))):
            self._put(number, column, value)

    def _write_lines(self, number: int, one: Landing | Indented, depth: int) -> None:
        tables, make_room, lengths = self._tables, self._make_room, self._lengths
        if isinstance(one, Landing):
            kind, state = LANDING_RULE, write_landing(tables, make_room, number, one, lengths)
        else:
            kind, inside = NODE_RULE, self._numbered(depth)
            state = write_indented(tables, make_room, number, one, inside, self._facts, lengths)
        self._write(number, kind, 0)
        self._put(number, U_STATE, state)

    def _numbered(self, depth: int) -> Callable[[Called], int]:
        """What gives the number of a rule or value inside ``depth`` objects and arrays, where that matters to it."""
        facts, numbers = self._facts, self._numbers

        def number_of(one: Called) -> int:
            one = meant(one)
            return numbers.setdefault((one, depth if facts[one].is_indented else 0), len(numbers))

        return number_of

    def _write_object(self, number: int, spec: ObjectSpec, depth: int) -> int:
        keys, spellable = self._keys_of(spec), is_spellable(spec, self._lengths)
        layout, inside = self._layout(spec.layout, depth), self._numbered(depth + 1)
        single, facts = self._lengths.single, self._facts
        return write_object(self._tables, spec, number, keys, inside, facts, layout, depth, single, spellable=spellable)

    def _write_array(self, number: int, spec: ArraySpec, depth: int) -> int:
        layout, inside = self._layout(spec.layout, depth), self._numbered(depth + 1)
        spellable = is_array_spellable(spec, self._lengths)
        return write_array(self._tables, spec, number, inside, self._facts, layout, depth, spellable=spellable)

    def _layout(self, layout: Layout | None, depth: int) -> int:
        """The number of a layout at ``depth``."""
        if layout is None:
            return FLEXIBLE
        number = self._layouts.get((layout, depth))
        if number is None:
            written = write_layout(self._tables, layout, depth, spellable=can_spell(layout, self._lengths))
            number = self._layouts[layout, depth] = written
        return number

    def _keys_of(self, spec: ObjectSpec) -> int:
        """The automaton of the keys of ``spec``."""
        one = _KeySet(spec.names, tuple(other.keys for other in spec.others))
        keys = self._keys.get(one)
        if keys is None:
            keys = self._keys[one] = self._strings.keys(one.names, one.others, 0)
            self._key_sets[keys] = one
        return keys

    def _lower_rule(self, number: int, rule: Rule, depth: int) -> None:
        first, inside = self._tables.count(N_NODES), self._numbered(depth)
        lowering = Lowering(first, number, inside, self._byteset_numbers, self._facts, self._lengths, depth)
        entry = lowering.lower_rule(rule.body)
        end = first + len(lowering.nodes)
        self._make_room(NODES, end)
        self._tables[NODES][first:end] = lowering.nodes
        self._tables.set_count(N_NODES, end)
        self._publish_bytesets()
        self._publish_rules()
        reads_bytes_only = all(node.kind not in (CALL, TOKEN) for node in lowering.nodes)
        self._put(number, U_FIRST, first)
        self._put(number, U_LEAF, self._interiors.leaf(rule.body) if reads_bytes_only else 0)
        self._put(number, U_NODE, entry)

    def _publish_bytesets(self) -> None:
        """Write the byte sets that lowering has numbered since."""
        known, total = self._tables.count(N_BYTESETS), len(self._byteset_numbers)
        if known == total:
            return
        self._make_room(BYTESETS, total)
        for bits in itertools.islice(self._byteset_numbers, known, None):
            words = np.frombuffer(bits.to_bytes(32, "little"), np.int32)
            self._tables[BYTESETS][self._byteset_numbers[bits]] = words
        self._tables.set_count(N_BYTESETS, total)

    def _publish_rules(self) -> None:
        """Make rows for the rules that lowering has numbered since; they are lowered when reached."""
        known, total = self._tables.count(N_RULES), len(self._numbers)
        if known == total:
            return
        self._make_room(RULES, total)
        self.rules += itertools.islice(self._numbers, len(self.rules), None)
        for number in range(known, total):
            one = self.rules[number][0]
            if isinstance(one, StringValue) and one.language.texts is not None and len(one.language.texts) <= _SHORT:
                self._lists[number] = one.language
        self._tables[RULES][known:total, U_NODE] = -1
        self._tables.set_count(N_RULES, total)

    def enter(self, one: Called) -> None:
        """Give ``one`` a number."""
        self._numbered(0)(one)
        self._publish_rules()
