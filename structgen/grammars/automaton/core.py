"""StackAutomaton: the tables of one grammar and the lock under which compiled code fills them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from structgen.errors import EmptyLanguage, GrammarLimitExceeded
from structgen.grammars.automaton import walk
from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, UInt8Array
from structgen.grammars.automaton.analysis import analyse, callees
from structgen.grammars.automaton.bases import base_of, known_facts
from structgen.grammars.automaton.facts import Called, Facts, Lengths
from structgen.grammars.automaton.fill import advance_token, fill_mask, fill_mask_within, fill_masks
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.growth import Growth
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.rule_book import RuleBook
from structgen.grammars.automaton.spellings import enter_extension, read_spelling
from structgen.grammars.automaton.stacks import start_set
from structgen.grammars.automaton.tables import (
    ACCEPT,
    C_DONE,
    C_FILLED,
    C_GENERATION,
    C_WALKS,
    C_WANTED_KEYS,
    C_WANTED_LEAF,
    C_WANTED_RULE,
    C_WANTED_SPELLING,
    C_WANTED_TABLE,
    C_WANTED_VARIANT,
    C_WANTED_VARIANT_2,
    F_FRAME,
    I_STATE,
    ITEMS,
    N_REGISTERS,
    N_RULES,
    N_SETS,
    NOTHING,
    Q_COUNT,
    Q_DISTANCE,
    Q_FIRST,
    R_KEYS,
    REGISTERS,
    S_FLAGS,
    S_REGISTER,
    S_RULE,
    SETS,
    STATES,
    InteriorWanted,
    KeysWanted,
    OutOfRoom,
    RuleWanted,
)
from structgen.grammars.expr import Expr, Rule

__all__ = ["Size", "StackAutomaton"]

_MOST_BEGINNINGS = 4
"""Of the store of interiors, for one mask; threads that fill it at once may be the cause too."""

_Result = TypeVar("_Result")

_WANTED = (OutOfRoom, RuleWanted, KeysWanted, InteriorWanted)
"""What compiled code stops for."""


class Size(NamedTuple):
    """How much an automaton holds."""

    states: int
    rules: int
    registers: int
    bytes: int


_STRIDE = 4096
"""So many bytes of a text are walked at a time."""

_SPELLED = 256
"""Bytes of most keys."""


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
        self._facts = facts or analyse(start, lengths, lambda rule: known_facts(rule, lengths, interiors))
        if not self._facts[start].productive:
            raise EmptyLanguage(f"{start.name} is unsatisfiable: no text matches it")
        self._start, self._lengths, self._interiors, self._max_bytes = start, lengths, interiors, max_bytes
        common = next(
            (one for one in self._facts if isinstance(one, Rule) and one.is_common and one is not start), None
        )
        base = base_of(common, lengths, interiors)
        self._tables = Tables(base.tables)
        self._lock = threading.RLock()
        self._holders: dict[Called, Called] | None = None
        self._begun = 0, 0  # how often the store began anew, for want of room, at which mask
        self._growth = Growth(self._tables, max_bytes)
        self._book = RuleBook(start, self._facts, self._tables, self._growth, lengths, interiors, base.book)
        self._book.lower_ahead()
        self.start = self._run(lambda memory: start_set(memory, 0))

    def renewed(self) -> StackAutomaton:
        """The automaton of the same grammar with empty tables."""
        return StackAutomaton(self._start, self._lengths, self._interiors, self._max_bytes, self._facts)

    def size(self) -> Size:
        """Count what is there."""
        tables = self._tables
        return Size(self.states, tables.count(N_RULES), tables.count(N_REGISTERS) - 1, self.nbytes)

    @property
    def facts(self) -> dict[Called, Facts]:
        """What is known of the rules."""
        return self._facts

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
        self._lock.acquire()  # "with" takes twice as long, which is half as long as the rest
        try:
            while True:
                interiors, _held = self._interiors.snapshot
                try:
                    return advance_token(self._tables.address, interiors, state, token_id)
                except KeysWanted:
                    self._extend_all(state)
                except _WANTED as wanted:
                    self._provide(wanted)
        finally:
            self._lock.release()

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

    def fill_mask(self, state: int, row: Int32Array) -> int:
        """Write the mask of ``state``, end tokens included; returns 0, or `NO_STATE_THERE` or `NO_ROW_THERE`."""
        self._lock.acquire()  # as in `advance`
        try:
            while True:
                interiors, _held = self._interiors.snapshot
                try:
                    return fill_mask(self._tables.address, interiors, state, row)
                except _WANTED as wanted:
                    self._provide(wanted)
        finally:
            self._lock.release()

    def fill_mask_within(self, state: int, row: Int32Array, budget: int) -> int:
        """As `fill_mask`, but only end tokens and those after which an end is at most ``budget`` tokens away.

        Returns how many of the row's words are not empty.
        """
        self._lock.acquire()  # as in `advance`
        try:
            while True:
                interiors, _held = self._interiors.snapshot
                try:
                    return fill_mask_within(self._tables.address, interiors, state, budget, row)
                except _WANTED as wanted:
                    self._provide(wanted)
        finally:
            self._lock.release()

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
        if state == NOTHING or self._tables.get(SETS, state, Q_COUNT) == 0:
            return False
        first = self._tables.get(SETS, state, Q_FIRST)
        return self._tables.get(ITEMS, first, I_STATE) == ACCEPT  # items are sorted and it is the least

    def distance(self, state: int) -> int:
        """So many tokens suffice to an end; `FAR` or more where no bound is known."""
        return self._tables.get(SETS, state, Q_DISTANCE)

    def rules(self, state: int) -> list[Called]:
        """The rules that a text in ``state`` may be in; a value that several hold stands for itself."""
        first, count = self._items_of(state)
        states, items = self._tables[STATES], self._tables[ITEMS]
        found = {int(states[items[place, 0], S_RULE]) for place in range(first, first + count) if items[place, 0]}
        return list(dict.fromkeys(self._holder(self._book.rules[number][0]) for number in sorted(found)))

    @cached_property
    def value_names(self) -> dict[Expr, str]:
        """What values are to people, where a rule says it."""
        rules = [one for one in self._facts if isinstance(one, Rule)]
        return {value: name for rule in rules for value, name in rule.value_names.items()}

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
        return self._tables.get(SETS, state, Q_FIRST), self._tables.get(SETS, state, Q_COUNT)

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
            self._growth.grow(count(C_WANTED_TABLE))
        elif isinstance(wanted, RuleWanted):
            self._book.lower_with_callees(count(C_WANTED_RULE))
        elif isinstance(wanted, KeysWanted):
            self._extend(count(C_WANTED_KEYS), count(C_WANTED_SPELLING))
        else:
            leaf, trie, node, state = (count(C_WANTED_LEAF + place) for place in range(4))
            variant, generation = count(C_WANTED_VARIANT) | count(C_WANTED_VARIANT_2) << 31, count(C_GENERATION)
            self._run(lambda memory: self._interiors.add(memory, generation, leaf, variant, trie, node, state))
            self._count_beginnings(generation)

    def _count_beginnings(self, generation: int) -> None:
        """See to it that no mask has the store of interiors begin anew time and again.

        Of short rules in a row each way to part tokens between them has interiors of its own. Where these are too many
        to be kept together, what is behind the first of them is walked; and where that is still too much, all of it.
        """
        if self._interiors.generation == generation:
            return
        masks = self._tables.count(C_FILLED)
        self._begun = (masks, self._begun[1] + 1) if self._begun[0] == masks else (masks, 1)
        if self._begun[1] > _MOST_BEGINNINGS:
            raise GrammarLimitExceeded("a mask depends on more of the vocabulary than is kept; simplify the grammar")
        self._tables.set_count(C_WALKS, max(self._tables.count(C_WALKS), self._begun[1] - 1))

    def _extend(self, keys: int, spelling: int) -> None:
        """Write the keys that are left when the one that was spelled so has been there."""
        extended = self._book.extended(keys, self._spelled(spelling))
        self._run(lambda memory: enter_extension(memory, keys, spelling, extended))

    def _extend_all(self, state: int) -> None:
        """Write the keys that are wanted, and the same for whatever else may be read from ``state`` on."""
        wanted, spelling = self._tables.count(C_WANTED_KEYS), self._tables.count(C_WANTED_SPELLING)
        self._extend(wanted, spelling)
        first, count = self._items_of(state)
        if count == 1:
            return
        states = self._tables[STATES][self._tables[ITEMS][first : first + count, I_STATE]]
        registers = states[states[:, S_FLAGS] & F_FRAME != 0, S_REGISTER]
        for keys in {int(one) for one in self._tables[REGISTERS][registers, R_KEYS]} - {0, wanted}:
            self._extend(keys, spelling)

    def _spelled(self, spelling: int) -> str:
        """The key that was spelled so, quotes included."""
        backwards = np.empty(_SPELLED, np.uint8)
        count = read_spelling(self._tables.address, spelling, backwards)
        if count > len(backwards):
            backwards = np.empty(count, np.uint8)
            read_spelling(self._tables.address, spelling, backwards)
        spelled = backwards[:count].tobytes()[::-1].decode()
        text: str = json.loads(spelled.removeprefix('"').join('""')) if "\\" in spelled else spelled.strip('"')
        return text
