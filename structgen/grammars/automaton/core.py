"""StackAutomaton: the tables of one grammar and the lock under which compiled code fills them."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from structgen.errors import EmptyLanguage, GrammarLimitExceeded
from structgen.grammars.automaton import walk
from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, UInt8Array
from structgen.grammars.automaton.analysis import analyse, callees
from structgen.grammars.automaton.determinize import rehash_states
from structgen.grammars.automaton.facts import Called, Facts, Lengths, meant
from structgen.grammars.automaton.fill import advance_token, fill_mask, fill_masks
from structgen.grammars.automaton.frame_tables import write_array, write_object
from structgen.grammars.automaton.frames import rehash_frames
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.layouts import FLEXIBLE, write_layout
from structgen.grammars.automaton.lowering import Lowering
from structgen.grammars.automaton.registers import rehash_registers
from structgen.grammars.automaton.spellings import enter_extension, rehash_extensions, rehash_spellings
from structgen.grammars.automaton.stacks import rehash_sets, start_set
from structgen.grammars.automaton.string_records import rehash_strings
from structgen.grammars.automaton.string_tables import StringTables
from structgen.grammars.automaton.tables import (
    ACCEPT,
    ARRAY_RULE,
    BYTESETS,
    C_DONE,
    C_WANTED_KEYS,
    C_WANTED_LEAF,
    C_WANTED_RULE,
    C_WANTED_SPELLING,
    C_WANTED_TABLE,
    C_WANTED_VARIANT,
    C_WANTED_VARIANT_2,
    CALL,
    EXTENSIONS,
    F_BYTES,
    F_FINAL,
    FAR,
    I_STATE,
    ITEMS,
    LINKS,
    MEMO,
    N_BYTESETS,
    N_LINKS,
    N_MEMO,
    N_NODES,
    N_REGISTERS,
    N_ROWS,
    N_RULES,
    N_SETS,
    N_STATES,
    NO_SPELLING,
    NO_STATE,
    NODES,
    NOTHING,
    OBJECT_RULE,
    Q_DISTANCE,
    RECORDS,
    REGISTERS,
    RULES,
    S_DISTANCE,
    S_FLAGS,
    S_ROW,
    S_RULE,
    SETS,
    SPELLINGS,
    STATES,
    STRING_RULE,
    TOKEN,
    TRANSITIONS,
    U_FIRST,
    U_KIND,
    U_LEAF,
    U_NODE,
    U_STATE,
    InteriorWanted,
    KeysWanted,
    OutOfRoom,
    RuleWanted,
    Tables,
)
from structgen.grammars.automaton.value_facts import can_spell, is_spellable
from structgen.grammars.automaton.walk import NO_BUDGET
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.expr import Rule
from structgen.grammars.json_layout import Layout
from structgen.grammars.values import ArraySpec, ArrayValue, ObjectSpec, ObjectValue, Regular, StringValue

__all__ = ["Size", "StackAutomaton"]

_Result = TypeVar("_Result")

_WANTED = (OutOfRoom, RuleWanted, KeysWanted, InteriorWanted)
"""What compiled code stops for."""


class Size(NamedTuple):
    """How much an automaton holds."""

    states: int
    rules: int
    registers: int
    bytes: int


_AHEAD, _AHEAD_DEPTH = 256, 4
"""So many rules are lowered when an automaton is made, those inside fewer objects and arrays where that matters."""
_STRIDE = 4096
"""So many bytes of a text are walked at a time."""


class StackAutomaton:
    """The automaton of a grammar over bytes and special tokens; its states are closed sets (see `stacks`).

    Thread-safe: every call that may build something runs under one lock, with the GIL released.

    Parameters
    ----------
    start : Rule
        What a text must match.
    lengths : Lengths
        Of the vocabulary, for distances.
    interiors : InteriorStore
        Of the vocabulary.
    max_bytes : int
        Limit on the tables.
    facts : dict, optional
        Of the rules, where they are known.

    Raises
    ------
    EmptyLanguage
        No text matches.
    GrammarError
        A rule is left-recursive.
    """

    def __init__(
        self,
        start: Rule,
        lengths: Lengths,
        interiors: InteriorStore,
        max_bytes: int,
        facts: dict[Called, Facts] | None = None,
    ) -> None:
        self._facts = analyse(start, lengths) if facts is None else facts
        if not self._facts[start].productive:
            raise EmptyLanguage(f"{start.name} is unsatisfiable: no text matches it")
        self._start, self._lengths, self._interiors, self._max_bytes = start, lengths, interiors, max_bytes
        self._tables = Tables()
        self._lock = threading.RLock()
        self._rule_numbers: dict[tuple[Called, int], int] = {(start, 0): 0}
        self._rules: list[tuple[Called, int]] = []  # by number; and at which depth, 0 where that does not matter
        self._byteset_numbers: dict[int, int] = {}
        self._holders: dict[Called, Called] | None = None
        self._keys: dict[tuple[ObjectSpec, frozenset[str]], int] = {}
        self._key_sets: dict[int, tuple[ObjectSpec, frozenset[str]]] = {}
        self._layouts: dict[tuple[Layout, int], int] = {}
        self._strings = StringTables(self._tables, self._make_room, lengths.single)
        self._publish_rules()
        self._lower_ahead()
        self.start = self._run(lambda memory: start_set(memory, 0))

    def renewed(self) -> StackAutomaton:
        """The automaton of the same grammar with empty tables."""
        return StackAutomaton(self._start, self._lengths, self._interiors, self._max_bytes, self._facts)

    def size(self) -> Size:
        """Count what is there."""
        tables = self._tables
        return Size(self.states, tables.count(N_RULES), tables.count(N_REGISTERS) - 1, self.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self._tables.nbytes

    @property
    def states(self) -> int:
        """States (closed sets and what lies below them) built so far."""
        return self._tables.count(N_SETS)

    def advance(self, state: int, token_id: int) -> int:
        """The state after a token: 0 after an end token that may come, -1 where ``token_id`` cannot come.

        What is no state or no token gives `NO_STATE_THERE` or `NO_TOKEN`.
        """
        with self._lock:
            while True:
                interiors, _ = self._interiors.snapshot
                try:
                    return advance_token(self._tables.address, interiors, state, token_id)
                except _WANTED as wanted:
                    self._provide(wanted)

    def advance_bytes(self, state: int, text: bytes) -> int:
        """The state after ``text``, 0 where it cannot come."""
        array = np.frombuffer(bytearray(text), np.uint8)
        for first in range(0, len(array), _STRIDE):  # what stops for want of something begins its stride again
            end = min(first + _STRIDE, len(array))
            state = self._advance(array, first, end, state)
            if not state:
                break
        return state

    def _advance(self, array: UInt8Array, first: int, end: int, state: int) -> int:
        return self._run(lambda memory: walk.advance(memory, array, first, end, state))

    def fill_mask(self, state: int, row: Int32Array, budget: int = NO_BUDGET) -> int:
        """Write the mask of ``state``, end tokens included; returns 0, or `NO_STATE_THERE` or `NO_ROW`.

        But for end tokens only those after which an end is at most ``budget`` tokens away.
        """
        with self._lock:
            while True:
                interiors, _held = self._interiors.snapshot
                try:
                    return fill_mask(self._tables.address, interiors, state, budget, row)
                except _WANTED as wanted:
                    self._provide(wanted)

    def fill_masks(self, states: Int64Array, rows: Int32Table) -> int:
        """Like `fill_mask` for many."""
        begin = 0
        with self._lock:
            while True:
                interiors, _held = self._interiors.snapshot
                try:
                    return fill_masks(self._tables.address, interiors, states, rows, begin)
                except _WANTED as wanted:
                    begin = self._tables.count(C_DONE)
                    self._provide(wanted)

    def successors(self, state: int, limit: int) -> list[int] | None:
        """The distinct states one token on, ``None`` where there are more than ``limit``."""
        found = np.empty(limit, np.int32)
        interiors, _held = self._interiors.snapshot
        count = self._run(lambda memory: walk.successors(memory, interiors, state, found))
        return None if count < 0 else [int(one) for one in found[:count]]

    def next_bytes(self, state: int) -> bytes:
        """The bytes that may come next, in order."""
        allowed = np.empty(256, np.uint8)
        self._run(lambda memory: walk.next_bytes(memory, state, allowed))
        return bytes(np.flatnonzero(allowed).astype(np.uint8))

    def has_special_tokens(self, state: int) -> bool:
        """Whether a special token may come next."""
        return self._run(lambda memory: walk.has_tokens(memory, state))

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in ``state``."""
        first, count = self._items_of(state)
        return count > 0 and int(self._tables[ITEMS][first, I_STATE]) == ACCEPT  # items are sorted and it is the least

    def distance(self, state: int) -> int:
        """So many tokens suffice to an end; `FAR` or more where no bound is known."""
        return int(self._tables[SETS][state, Q_DISTANCE])

    def rules(self, state: int) -> list[Called]:
        """The rules that a text in ``state`` may be in; a value that several hold stands for itself."""
        first, count = self._items_of(state)
        states, items = self._tables[STATES], self._tables[ITEMS]
        found = {int(states[items[place, 0], S_RULE]) for place in range(first, first + count) if items[place, 0]}
        return list(dict.fromkeys(self._holder(self._rules[number][0]) for number in sorted(found)))

    def _holder(self, one: Called) -> Called:
        """The rule that holds a value, where there is only one."""
        if isinstance(one, Rule):
            return one
        if self._holders is None:
            holders: dict[Called, Called] = {}
            for rule in self._facts:
                for value in callees(rule) if isinstance(rule, Rule) else ():
                    holders[value] = value if value in holders else rule
            self._holders = holders
        return self._holders.get(one, one)

    def _items_of(self, state: int) -> tuple[int, int]:
        if state == NOTHING:
            return 0, 0
        first, count, _ = self._tables[SETS][state]
        return int(first), int(count)

    def _run(self, work: Callable[[int], _Result]) -> _Result:
        """Call compiled code until it has had all the room and rules that it asked for."""
        with self._lock:
            while True:
                try:
                    return work(self._tables.address)
                except _WANTED as wanted:
                    self._provide(wanted)

    def _provide(self, wanted: Exception) -> None:
        """Make the room, the rule, the keys or the interior for want of which compiled code has stopped."""
        count = self._tables.count
        if isinstance(wanted, OutOfRoom):
            self._grow(count(C_WANTED_TABLE))
        elif isinstance(wanted, RuleWanted):
            self._lower(count(C_WANTED_RULE))
        elif isinstance(wanted, KeysWanted):
            self._extend(count(C_WANTED_KEYS), count(C_WANTED_SPELLING))
        else:
            leaf, trie, node, state = (count(C_WANTED_LEAF + place) for place in range(4))
            variant = count(C_WANTED_VARIANT) | count(C_WANTED_VARIANT_2) << 31
            self._run(lambda memory: self._interiors.add(memory, leaf, variant, trie, node, state))

    def _grow(self, table: int, rows: int = 0) -> None:
        if self.nbytes > self._max_bytes:
            raise GrammarLimitExceeded(
                f"the automaton needs more than max_bytes={self._max_bytes:,}; simplify the grammar"
            )
        self._tables.grow(table, rows)
        if table == STATES:
            rehash_states(self._tables.address)
            rehash_frames(self._tables.address)
        elif table == REGISTERS:
            rehash_registers(self._tables.address)
        elif table == SPELLINGS:
            rehash_spellings(self._tables.address)
        elif table == EXTENSIONS:
            rehash_extensions(self._tables.address)
        elif table == SETS:
            rehash_sets(self._tables.address)
        elif table == RECORDS:
            rehash_strings(self._tables.address)
        elif table == MEMO:  # only a cache: it fills again
            self._tables.set_count(N_MEMO, 0)
        elif table == LINKS:
            self._tables.set_count(N_LINKS, 0)

    def _lower(self, number: int) -> None:
        called, depth = self._rules[number]
        one = meant(called)
        if isinstance(one, Rule):
            self._lower_rule(number, one, depth)
        elif isinstance(one, ObjectValue):
            self._write(number, OBJECT_RULE, self._write_object(number, one.spec, depth))
            self._tables[RULES][number, U_LEAF] = self._interiors.key_leaf(
                tuple(other.keys for other in one.spec.others)
            )
        elif isinstance(one, ArrayValue):
            self._write(number, ARRAY_RULE, self._write_array(number, one.spec, depth))
        elif isinstance(one, StringValue):
            self._write(number, STRING_RULE, self._strings.string(one.language, number))
            dfa = one.language.dfa
            leaf, values = (
                (self._interiors.leaf(one.language), 0) if dfa is None else (self._interiors.leaf(dfa), len(dfa))
            )
            self._tables[RULES][number, [U_LEAF, U_FIRST]] = leaf, values
        elif isinstance(one, Regular):
            self._write_regular(number, one.dfa)
        else:
            raise TypeError(f"no such value: {one!r}")

    def _lower_ahead(self) -> None:
        """Lower the first rules at once, those that are reached soonest first: no mask has to wait for them."""
        for number in itertools.count():
            if number == min(len(self._rules), _AHEAD):
                break
            if self._rules[number][1] < _AHEAD_DEPTH:
                self._lower(number)

    def _write(self, number: int, kind: int, written: int) -> None:
        self._publish_rules()
        self._tables[RULES][number, [U_KIND, U_NODE]] = kind, written

    def _write_regular(self, number: int, dfa: ByteDfa) -> None:
        """Write the states of ``dfa``, whose transitions are all known."""
        size, state, row = len(dfa.accepting), self._tables.count(N_STATES), self._tables.count(N_ROWS)
        self._make_room(STATES, state + size)
        self._make_room(TRANSITIONS, row + size)
        targets = self._tables[TRANSITIONS][row : row + size]
        targets[:] = np.where(dfa.transitions >= 0, dfa.transitions + state, NO_STATE)
        states = self._tables[STATES][state : state + size]
        states[:] = 0
        states[:, S_FLAGS] = F_BYTES * (dfa.transitions >= 0).any(axis=1) + F_FINAL * dfa.accepting
        spellable = dfa.alphabet & ~self._lengths.single == 0
        states[:, S_DISTANCE] = dfa.distances if spellable else FAR
        states[:, S_RULE] = number
        states[:, S_ROW] = range(row, row + size)
        self._tables.set_count(N_STATES, state + size)
        self._tables.set_count(N_ROWS, row + size)
        self._tables[RULES][number, [U_NODE, U_STATE, U_FIRST]] = 0, state, state
        self._tables[RULES][number, U_LEAF] = self._interiors.leaf(dfa)

    def _numbers(self, depth: int) -> Callable[[Called], int]:
        """What gives the number of a rule or value inside ``depth`` objects and arrays, where that matters to it."""

        def number_of(one: Called) -> int:
            one = meant(one)
            key = one, depth if self._facts[one].is_indented else 0
            return self._rule_numbers.setdefault(key, len(self._rule_numbers))

        return number_of

    def _write_object(self, number: int, spec: ObjectSpec, depth: int) -> int:
        keys, spellable = self._keys_of(spec), is_spellable(spec, self._lengths)
        layout, inside = self._layout(spec.layout, depth), self._numbers(depth + 1)
        return write_object(self._tables, spec, number, keys, inside, self._facts, layout, depth, spellable=spellable)

    def _write_array(self, number: int, spec: ArraySpec, depth: int) -> int:
        layout, inside = self._layout(spec.layout, depth), self._numbers(depth + 1)
        spellable = can_spell(spec.layout, self._lengths)
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
        seen = frozenset[str]()
        keys = self._keys.get((spec, seen))
        if keys is None:
            keys = self._keys[spec, seen] = self._strings.keys(spec.names, [one.keys for one in spec.others], 0)
            self._key_sets[keys] = spec, seen
        return keys

    def _extend(self, keys: int, spelling: int) -> None:
        """Write the keys that are left when the one that was spelled so has been there."""
        spec, seen = self._key_sets[keys]
        key = self._spelled(spelling)
        extended = self._keys.get((spec, seen | {key}))
        if extended is None:
            extended = self._strings.with_name(keys, key)
            self._keys[spec, seen | {key}] = extended
            self._key_sets[extended] = spec, seen | {key}
        self._run(lambda memory: enter_extension(memory, keys, spelling, extended))

    def _spelled(self, spelling: int) -> str:
        """The key that was spelled so, quotes included."""
        spelled = bytearray()
        while spelling != NO_SPELLING:
            spelling, byte = (int(value) for value in self._tables[SPELLINGS][spelling])
            spelled.append(byte)
        text: str = json.loads(spelled[::-1].removeprefix(b'"').join((b'"', b'"')))
        return text

    def _lower_rule(self, number: int, rule: Rule, depth: int) -> None:
        first = self._tables.count(N_NODES)
        lowering = Lowering(
            first, number, self._numbers(depth), self._byteset_numbers, self._facts, self._lengths, depth
        )
        entry = lowering.lower_rule(rule.body)
        end = first + len(lowering.nodes)
        self._make_room(NODES, end)
        self._tables[NODES][first:end] = lowering.nodes
        self._tables.set_count(N_NODES, end)
        self._publish_bytesets()
        self._publish_rules()
        reads_bytes_only = all(node.kind not in (CALL, TOKEN) for node in lowering.nodes)
        self._tables[RULES][number, U_FIRST] = first
        self._tables[RULES][number, U_LEAF] = self._interiors.leaf(rule.body) if reads_bytes_only else 0
        self._tables[RULES][number, U_NODE] = entry

    def _publish_bytesets(self) -> None:
        """Write the byte sets that lowering has numbered since."""
        known, total = self._tables.count(N_BYTESETS), len(self._byteset_numbers)
        self._make_room(BYTESETS, total)
        for bits in itertools.islice(self._byteset_numbers, known, None):
            words = np.frombuffer(bits.to_bytes(32, "little"), np.int32)
            self._tables[BYTESETS][self._byteset_numbers[bits]] = words
        self._tables.set_count(N_BYTESETS, total)

    def _publish_rules(self) -> None:
        """Make rows for the rules that lowering has numbered since; they are lowered when reached."""
        known, total = self._tables.count(N_RULES), len(self._rule_numbers)
        self._make_room(RULES, total)
        self._rules += itertools.islice(self._rule_numbers, known, None)
        self._tables[RULES][known:total, U_NODE] = -1
        self._tables.set_count(N_RULES, total)

    def _make_room(self, table: int, rows: int) -> None:
        if rows > len(self._tables[table]):
            self._grow(table, rows)
