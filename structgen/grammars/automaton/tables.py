"""The tables of one automaton: sections of one int32 array, which compiled code fills.

::

    | offset, columns, rows of each table | counts | nodes | bytesets | rules | states | ... |

One array and not one for each table, because each array argument of a compiled function costs 0.3 us a call and
much time to compile. Rows are only ever appended. A compiled function that finds no room raises `OutOfRoom`; Python
lays the tables out anew, larger, and calls again; what had been built is still there.
"""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton._jit import Int32Array, Memory, fixed, inlined, inner, load, store
from structgen.grammars.automaton.table_memory import Template, give_back, reserve
from structgen.grammars.limits import checkpoint

__all__ = [
    "InteriorWanted",
    "KeysWanted",
    "OutOfRoom",
    "RuleWanted",
    "Tables",
    "cell",
    "get_count",
    "put",
    "rows_of",
    "set_count",
]


class OutOfRoom(Exception):
    """Compiled code needs a larger table; which one stands in the count `C_WANTED_TABLE`."""


class RuleWanted(Exception):
    """Compiled code reached a rule that is not lowered yet; which one stands in the count `C_WANTED_RULE`."""


class KeysWanted(Exception):
    """Compiled code needs the keys `C_WANTED_KEYS` less the one spelled `C_WANTED_SPELLING`."""


class InteriorWanted(Exception):
    """A mask needs an interior that nobody has computed yet; see `interiors` and the counts `C_WANTED_TRIE` and on."""


class _Table(NamedTuple):
    columns: int
    rows: int
    kept: bool = True
    """Whether growing keeps its rows; hash tables are filled anew."""
    used: int | None = None
    """Where `COUNTS` has the number of rows in use, for large tables: none beyond is ever written."""


COUNTS, NODES, BYTESETS, RULES, STATES, TRANSITIONS, STATE_NODES, CALLS, STATE_HASH = range(9)
SETS, ITEMS, SET_HASH, MEMO, NODE_WORK, STATE_WORK = range(9, 15)
OBJECTS, NAMES, OTHERS, ARRAYS, PLACES, WAYS, WORDS, REGISTERS, REGISTER_HASH, FRAME_HASH = range(15, 25)
SPELLINGS, SPELLING_HASH, EXTENSIONS, EXTENSION_HASH = range(25, 29)
POOL, TEXTS, VALUES, INTERVALS, MACHINES, RECORDS, RECORD_HASH = range(29, 36)
LINKS, JOBS, CLOSERS, EXCEPTIONS, MASKS = range(36, 41)

# COUNTS: rows in use, and the few scalars.
N_NODES, N_BYTESETS, N_RULES, N_STATES, N_STATE_NODES, N_CALLS, N_SETS, N_ITEMS, N_MEMO = range(9)
C_NODE_EPOCH, C_STATE_EPOCH, C_BACK, C_WANTED_TABLE, C_WANTED_RULE, C_HAS_SETS = range(9, 15)
N_ROWS, N_OBJECTS, N_NAMES, N_OTHERS, N_ARRAYS, N_PLACES, N_WAYS, N_WORDS, N_REGISTERS = range(15, 24)
N_SPELLINGS, N_EXTENSIONS, C_KEEPS_SPELLING, C_WANTED_KEYS, C_WANTED_SPELLING = range(24, 29)
N_POOL, N_TEXTS, N_VALUES, N_INTERVALS, N_MACHINES, N_RECORDS = range(29, 35)
N_LINKS, N_JOBS, C_WANTED_LEAF, C_WANTED_TRIE, C_WANTED_NODE, C_WANTED_STATE = range(64, 70)
C_GENERATION, C_BLANK, C_DONE, N_CLOSERS, N_EXCEPTIONS, C_FIRST_EXCEPTION, C_END_EXCEPTION, C_LONGEST = range(70, 78)
C_WANTED_VARIANT, C_WANTED_VARIANT_2, C_BASE_MASK, N_MASKS, C_FILLED, C_WALKS = range(78, 84)

_TABLES = {
    COUNTS: _Table(1, 84),
    NODES: _Table(6, 1024),
    BYTESETS: _Table(8, 32),
    RULES: _Table(5, 32),
    STATES: _Table(12, 512),
    TRANSITIONS: _Table(256, 256, used=N_ROWS),
    STATE_NODES: _Table(1, 2048),
    CALLS: _Table(2, 256),
    STATE_HASH: _Table(1, 1024, kept=False),
    SETS: _Table(4, 512),
    ITEMS: _Table(2, 1024),
    SET_HASH: _Table(1, 1024, kept=False),
    MEMO: _Table(3, 2048, kept=False),
    NODE_WORK: _Table(2, 1024),
    STATE_WORK: _Table(5, 512),
    OBJECTS: _Table(16, 16),
    NAMES: _Table(4, 64),
    OTHERS: _Table(6, 16),
    ARRAYS: _Table(8, 16),
    PLACES: _Table(4, 32),
    WAYS: _Table(3, 32),
    WORDS: _Table(1, 1024),
    REGISTERS: _Table(11, 256),
    REGISTER_HASH: _Table(1, 512, kept=False),
    FRAME_HASH: _Table(1, 1024, kept=False),
    SPELLINGS: _Table(2, 512),
    SPELLING_HASH: _Table(1, 1024, kept=False),
    EXTENSIONS: _Table(3, 16),
    EXTENSION_HASH: _Table(1, 32, kept=False),
    POOL: _Table(1, 4096),
    TEXTS: _Table(6, 128),
    VALUES: _Table(9, 64),
    INTERVALS: _Table(3, 256),
    MACHINES: _Table(17, 8),
    RECORDS: _Table(13, 512),
    RECORD_HASH: _Table(1, 1024, kept=False),
    LINKS: _Table(7, 256, kept=False),
    JOBS: _Table(5, 64),
    CLOSERS: _Table(2, 128),
    EXCEPTIONS: _Table(2, 128),
    MASKS: _Table(2, 16384, used=N_MASKS),
}
_ROOM = 64
"""A table has room for so many times its rows."""
_COUNTED = {table: its.used for table, its in _TABLES.items() if its.used is not None}
_ROWS_PLACE = list(_COUNTED).index(TRANSITIONS)
_FIRST_ROWS = {table: its.rows for table, its in _TABLES.items()}
_FIRST_ROOM = {table: its.rows * _ROOM for table, its in _TABLES.items()}
_MOST_WORDS = (1 << 31) - (1 << 16)
_STRIDE = 1 << 15
"""So many rows are written between two looks at the limits."""

_GROW_TOGETHER = (
    {NODES, NODE_WORK},
    {STATES, STATE_HASH, STATE_WORK, FRAME_HASH},
    {RECORDS, RECORD_HASH},
    {SETS, SET_HASH},
    {REGISTERS, REGISTER_HASH},
    {SPELLINGS, SPELLING_HASH},
    {EXTENSIONS, EXTENSION_HASH},
)

# NODES: nodes of the NFAs. BYTES and TOKEN read a symbol, CALL a rule; SPLIT goes both ways; FINAL ends the rule.
BYTES, TOKEN, CALL, SPLIT, FINAL = range(5)
K_KIND, K_ARGUMENT, K_NEXT, K_OTHER, K_RULE, K_DISTANCE = range(6)

# RULES: the first node, or the number of what it is, -1 until the rule is lowered; the start state, HOLE until it is
# built; what it is; the number by which the vocabulary knows a rule that reads bytes only, 0 for others; what its
# states are counted from (see `leaves`).
U_NODE, U_STATE, U_KIND, U_LEAF, U_FIRST = range(5)
NODE_RULE, OBJECT_RULE, ARRAY_RULE, STRING_RULE = range(4)

# TRANSITIONS: the next state, or
HOLE, NO_STATE = 0, -1

# STATES: sets of nodes of one rule, with a row of TRANSITIONS; or, with the count `STRING`, states of a string machine,
# whose record stands where the nodes would, and whose row is `NO_ROW` where it is not worth having; or, with no count,
# places in a frame (see `frames`).
S_NODES, S_COUNT, S_FLAGS, S_DISTANCE, S_RULE, S_CALLS, S_CALL_COUNT, S_ROW = range(8)
S_PLACE, S_REGISTER, S_LABEL, S_TEXT = range(8, 12)
STRING, NO_ROW = -1, -1
F_FINAL, F_BYTES, F_TOKENS, F_CALLS, F_LABEL, F_FRAME = 1, 2, 4, 8, 16, 32
"""`F_LABEL` stands alone, and not as a rule's end: a key has been read whole (see `strings`)."""

# OBJECTS, NAMES, OTHERS, ARRAYS, PLACES, WAYS: what may stand in an object or array (see `frame_tables`).
O_RULE, O_KEYS, O_NAMES, O_FIRST_NAME, O_OTHERS, O_FIRST_OTHER, O_LOW, O_HIGH, O_ORDERED = range(9)
O_IMPLICATIONS, O_FIRST_IMPLICATION, O_OBLIGATIONS, O_WORDS, O_IS_SET, O_LAYOUT, O_ALLOWED = range(9, 16)
NAME_RULE, NAME_REQUIRED, NAME_COST, NAME_VALUE_COST = range(4)
OTHER_RULE, OTHER_MEETS, OTHER_COST, OTHER_VALUE_COST, OTHER_CELL, OTHER_ROOM = range(6)
A_RULE, A_PREFIX, A_FIRST_PLACE, A_LOW, A_HIGH, A_COUNTERS, A_FIRST_COUNTER, A_LAYOUT = range(8)
P_FIRST_WAY, P_WAYS, P_MAY_COUNT, P_MUST_COUNT = range(4)
Y_RULE, Y_COUNTS, Y_COST = range(3)

# REGISTERS: what an object or array has had so far, and what follows from it (see `registers`).
R_SPEC, R_KEYS, R_COUNT, R_LAST, R_MET, R_BITS, R_MAY_END, R_WAYS, R_MORE, R_DISTANCE, R_NEXT = range(11)

# SPELLINGS: a text byte by byte, backwards. EXTENSIONS: the keys that may come once one more has been there.
B_BEFORE, B_BYTE = range(2)
Z_KEYS, Z_SPELLING, Z_EXTENDED = range(3)
NO_SPELLING, UNKNOWN_SPELLING = 0, -1
"""The empty spelling; and that of a key inside a walk of the trie, which does not keep it."""

# CALLS: what a state calls, and the state after it, HOLE until it is built.
L_RULE, L_BACK = range(2)

# SETS and ITEMS: see `stacks`. Where the set's mask begins in MASKS, 0 where it is not kept.
Q_FIRST, Q_COUNT, Q_DISTANCE, Q_MASK = range(4)
I_STATE, I_BELOW = range(2)

# NODE_WORK: a list of nodes, and when each was last seen.
V_NODE, V_EPOCH = range(2)

# STATE_WORK: when a state was last seen and where in the worklist; the worklist's items and what is done.
W_EPOCH, W_PLACE, W_STATE, W_BELOW, W_DONE = range(5)

# MEMO: closed sets by (state, set below) that were entered, and by (SEVERAL - byte, set) that were stepped.
M_ONE, M_OTHER, M_SET = range(3)

# LINKS: the interiors (see `interiors`) that this automaton has used, by leaf, trie, node and state; an interior of -1:
# the state is walked.
LINK_LEAF, LINK_TRIE, LINK_NODE, LINK_STATE, LINK_INTERIOR, LINK_VARIANT, LINK_VARIANT_2 = range(7)

# JOBS: what a mask has still to walk: what is below a node of a trie, from a closed set, but for some EXCEPTIONS.
# EXCEPTIONS: tokens, and whether they were in the mask before. CLOSERS: nodes of a trie at which a text, of TEXTS, has
# come whole.
J_TRIE, J_NODE, J_SET, J_FIRST, J_END = range(5)
CLOSER_NODE, CLOSER_TEXT = range(2)

# MASKS: masks of sets, each as a mask of the store and the words in which it differs; see `kept_masks`.
KEPT_BASE, KEPT_COUNT = range(2)
KEPT_SET = 0
KEPT_WORD, KEPT_BITS = range(2)

# TEXTS: strings by first character and number of characters in POOL; the bytes that spell it; and where they are names
# of keys, the place in the object's own order and the `Others` that hold it too, 31 bits a word.
T_FIRST, T_LENGTH, T_COST, T_LABEL, T_MASK, T_MASK_2 = range(6)

# VALUES: states of automata over characters: their intervals; bytes to the nearest end; the languages that hold the
# text so far, and those that hold it or a longer one, a bit for each, 31 bits a word; and for machines with bounds on
# the length the characters to the nearest end and to the farthest, `ENDLESS` where there is none.
D_FIRST, D_COUNT, D_DISTANCE, D_LABEL, D_LABEL_2, D_MASK, D_MASK_2, D_SHORTEST, D_LONGEST = range(9)
ENDLESS = -1

# INTERVALS: of characters (see `spelling`), and the state after one of them.
INTERVAL_FROM, INTERVAL_TO, INTERVAL_TARGET = range(3)

# MACHINES: the languages of strings: their texts, the start of their automaton (-1: none), the bounds on the number of
# characters (`ENDLESS`: no upper one). Where there are bounds: the bytes that the dearest step towards an end takes,
# and if the lengths to an end have gaps, `CharDfa.lengths` in POOL, so many words a set (0: no gaps). For keys: how
# many languages there are, and for each state and language, in POOL: how many texts, the bytes to the nearest end.
G_RULE, G_IS_KEYS, G_TEXT, G_TEXT_END, G_VALUE, G_LOW, G_HIGH, G_WEIGHT, G_FIRST_VALUE = range(9)
G_SETS, G_SET_COUNT, G_SET_LOOP, G_SET_WORDS, G_ENTRIES, G_SIZES, G_NEAREST, G_START = range(9, 17)

# RECORDS: states of string machines; see `strings`.
X_MACHINE, X_TEXT, X_TEXT_END, X_DEPTH, X_VALUE, X_PHASE, X_POINT, X_COUNT = range(8)
X_SPENT, X_BASE, X_MASK, X_MASK_2, X_STATE = range(8, 13)

# The state and the sets that always exist.
ACCEPT = 0
"""The pseudo-state that a text reaches which may end."""
CLOSED = 1
"""The state of a frame after its closing bracket."""
NOTHING, BOTTOM = 0, 1
"""The empty set, and the bottom of every stack: the one item (`ACCEPT`, `NOTHING`)."""

FAR = 1 << 28
"""A distance that no text bridges; the sum of a few stays within int32."""


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
            self._use(reserve(len(base.memory), self._template), base._layout[1])
            self._whole, self._nbytes = base._whole, base._nbytes

    def as_template(self) -> Template:
        """What others begin with; nothing may be written here any more."""
        known = self._as_template
        if known is None:
            fixed, rows = self._used(TRANSITIONS, N_ROWS), list[slice]()
            for table, its in _TABLES.items():
                offset = self._layout[1][table]
                used = np.flatnonzero(self.memory[offset : offset + its.columns * self._rows[table]])
                if len(used) and table != TRANSITIONS:
                    rows.append(slice(offset, offset + int(used[-1]) + 1))
            known = self._as_template = Template(self.memory, fixed, (slice(0, 3 * len(_TABLES)), *rows))
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
        self[SETS][NOTHING] = (0, 0, FAR, 0)
        self[SETS][BOTTOM] = (0, 1, 0, 0)

    def __getitem__(self, table: int) -> Int32Array:
        """The rows of ``table``, int32[rows, columns], a view."""
        memory, offsets, views = self._layout  # one read: another thread may put another there
        view = views.get(table)
        if view is None:
            rows, columns, offset = int(memory[3 * table + 2]), _TABLES[table].columns, offsets[table]
            view = views[table] = np.reshape(memory[offset : offset + rows * columns], (rows, columns))
        return view

    def _use(self, memory: Int32Array, offsets: list[int]) -> None:
        self.memory = memory
        self.address: Memory = int(memory.ctypes.data)
        """What compiled functions take; good until the tables grow."""
        self._layout: tuple[Int32Array, list[int], dict[int, Int32Array]] = memory, offsets, {}
        self._whole: list[slice] | None = None
        self._nbytes: int | None = None
        self._as_template: Template | None = None
        self._numbers = memory.data  # numpy takes ten times as long for a few numbers

    def count(self, place: int) -> int:
        """One of the counts."""
        number: int = self._numbers[3 * len(_TABLES) + place]
        return number

    def set_count(self, place: int, value: int) -> None:
        """Set one of the counts."""
        self._numbers[3 * len(_TABLES) + place] = value

    def get(self, table: int, row: int, column: int) -> int:
        """One value."""
        number: int = self._numbers[self._layout[1][table] + row * _TABLES[table].columns + column]
        return number

    def put(self, table: int, row: int, column: int, value: int) -> None:
        """Write one value."""
        self._numbers[self._layout[1][table] + row * _TABLES[table].columns + column] = value

    def append(self, table: int, count: int, rows: Sequence[Sequence[int]]) -> int:
        """Write ``rows`` behind those of ``table`` that ``count`` counts; returns the number of the first."""
        first, columns = self.count(count), _TABLES[table].columns
        if not rows:
            return first
        self.make_room(table, first + len(rows))
        for begin in range(0, len(rows), _STRIDE):
            checkpoint()
            numbers = array("i", itertools.chain.from_iterable(rows[begin : begin + _STRIDE]))
            place = self._layout[1][table] + (first + begin) * columns
            self._numbers[place : place + len(numbers)] = numbers
        self.set_count(count, first + len(rows))
        return first

    def make_room(self, table: int, rows: int) -> None:
        """Grow ``table`` until it has room for ``rows`` rows; for tables without a hash."""
        if rows > self._rows[table]:
            self.grow(table, rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that there are, but for the cache `MASKS`, which takes 128 KiB at most."""
        known = self._nbytes
        if known is None:
            words = sum(its.columns * self._rows[table] for table, its in _TABLES.items() if table != MASKS)
            known = self._nbytes = 4 * words
        return known

    def grow(self, table: int, rows: int = 0) -> None:
        """Double ``table`` and what grows with it until it has ``rows``; the hash tables among them are empty then."""
        growing = next((group for group in _GROW_TOGETHER if table in group), {table})
        doublings = max(1, (-(-rows // self._rows[table]) - 1).bit_length())
        for one in growing:
            self._rows[one] <<= doublings
        if all(self._rows[one] <= self._room[one] for one in growing):
            for one in growing:
                if not _TABLES[one].kept:
                    self[one][:] = 0
                self.memory[3 * one + 2] = self._rows[one]
            self._layout, self._whole, self._nbytes = (self.memory, self._layout[1], {}), None, None
            return
        self._room = self._room_with(growing)
        memory, offsets = self._lay_out()
        self._template = None
        for one, its in _TABLES.items():
            if its.kept or one not in growing:
                old = np.reshape(self[one], -1)
                memory[offsets[one] : offsets[one] + len(old)] = old
        self._use(memory, offsets)  # last: other threads read without the lock

    def _room_with(self, growing: set[int]) -> dict[int, int]:
        """Room for the rows of those that grow and for as many times these as addresses of 31 bits allow."""
        for times in (_ROOM, _ROOM // 8, 1):
            room = self._room | {one: self._rows[one] * times for one in growing}
            if sum(its.columns * room[table] for table, its in _TABLES.items()) < _MOST_WORDS:
                return room
        raise GrammarLimitExceeded("the automaton's tables are as large as they may be; simplify the grammar")

    def _spans(self) -> list[slice]:
        """What may have been written."""
        spans = self._whole
        if spans is None:
            places = zip(_TABLES.items(), self._layout[1], strict=True)
            spans = self._whole = [
                slice(offset, offset + its.columns * self._rows[table])
                for (table, its), offset in places
                if its.used is None
            ]
        used = [self._used(table, count) for table, count in _COUNTED.items()]
        if self._template is not None:  # which is where the transitions begin
            used[_ROWS_PLACE] = slice(self._template.fixed.stop, used[_ROWS_PLACE].stop)
        return [slice(0, 3 * len(_TABLES)), *spans, *used]

    def _used(self, table: int, count: int) -> slice:
        offset = self._layout[1][table]
        return slice(offset, offset + _TABLES[table].columns * self.count(count))

    def _lay_out(self) -> tuple[Int32Array, list[int]]:
        """Memory with its header, and where each table begins."""
        header, offset = [0] * (3 * len(_TABLES)), 3 * len(_TABLES)
        for table, its in _TABLES.items():
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


def _place(m: Memory, table: Any, row: int, column: int) -> int:
    is_known = isinstance(table, int)
    columns = _TABLES[table].columns if is_known else fixed(m, 3 * table + 1)
    offset = 3 * len(_TABLES) if is_known and table == COUNTS else fixed(m, 3 * table)
    return offset + row * columns + column


@inlined
def cell(m: Memory, table: int, row: int, column: int) -> int:
    """The value at ``row``, ``column`` of ``table``."""
    return load(m, _place(m, table, row, column))


@inlined
def put(m: Memory, table: int, row: int, column: int, value: int) -> None:
    """Set the value at ``row``, ``column`` of ``table``."""
    store(m, _place(m, table, row, column), value)


@inlined
def rows_of(m: Memory, table: int) -> int:
    """Rows that ``table`` has room for."""
    return fixed(m, 3 * table + 2)


@inlined
def get_count(m: Memory, place: int) -> int:
    """One of the counts."""
    return cell(m, COUNTS, place, 0)


@inlined
def set_count(m: Memory, place: int, value: int) -> None:
    """Set one of the counts."""
    put(m, COUNTS, place, 0, value)


@inner
def need(m: Memory, table: int, rows: int) -> None:
    """Raise `OutOfRoom` unless ``table`` has room for ``rows`` rows."""
    if rows > rows_of(m, table):
        set_count(m, C_WANTED_TABLE, table)
        raise OutOfRoom
