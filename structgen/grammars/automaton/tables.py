"""The tables of one automaton: sections of one int32 array, which compiled code fills.

::

    | offset, columns, rows of each table | counts | nodes | bytesets | rules | states | ... |

One array and not one for each table, because each array argument of a compiled function costs 0.3 us a call and
much time to compile. Rows are only ever appended. A compiled function that finds no room raises `OutOfRoom`; Python
lays the tables out anew, larger, and calls again; what had been built is still there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from structgen.grammars.automaton._jit import Memory, fixed, inlined, inner, load, store

__all__ = [
    "TABLES",
    "InteriorWanted",
    "KeysWanted",
    "OutOfRoom",
    "RuleWanted",
    "Table",
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


class Table(NamedTuple):
    """What a table is; all its values are int32."""

    columns: int
    rows: int
    kept: bool = True
    """Whether growing keeps its rows; hash tables are filled anew."""
    used: int | None = None
    """Where `COUNTS` has the number of rows in use, for large tables: beyond them, only the next is ever written."""


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

TABLES = {
    COUNTS: Table(1, 84),
    NODES: Table(6, 1024, used=N_NODES),
    BYTESETS: Table(8, 32),
    RULES: Table(5, 32),
    STATES: Table(13, 512, used=N_STATES),
    TRANSITIONS: Table(256, 256, used=N_ROWS),
    STATE_NODES: Table(1, 2048),
    CALLS: Table(2, 256),
    STATE_HASH: Table(1, 1024, kept=False),
    SETS: Table(6, 512),
    ITEMS: Table(2, 1024),
    SET_HASH: Table(1, 1024, kept=False),
    MEMO: Table(3, 2048, kept=False),
    NODE_WORK: Table(2, 1024),
    STATE_WORK: Table(5, 512),
    OBJECTS: Table(16, 16),
    NAMES: Table(4, 64),
    OTHERS: Table(6, 16),
    ARRAYS: Table(8, 16),
    PLACES: Table(4, 32),
    WAYS: Table(3, 32),
    WORDS: Table(1, 1024),
    REGISTERS: Table(11, 256, used=N_REGISTERS),
    REGISTER_HASH: Table(1, 512, kept=False),
    FRAME_HASH: Table(1, 1024, kept=False),
    SPELLINGS: Table(2, 512),
    SPELLING_HASH: Table(1, 1024, kept=False),
    EXTENSIONS: Table(3, 16),
    EXTENSION_HASH: Table(1, 32, kept=False),
    POOL: Table(1, 4096, used=N_POOL),
    TEXTS: Table(6, 128),
    VALUES: Table(9, 64),
    INTERVALS: Table(3, 512, used=N_INTERVALS),
    MACHINES: Table(17, 32),
    RECORDS: Table(13, 512, used=N_RECORDS),
    RECORD_HASH: Table(1, 1024, kept=False),
    LINKS: Table(7, 256, kept=False),
    JOBS: Table(5, 64),
    CLOSERS: Table(2, 128),
    EXCEPTIONS: Table(2, 128),
    MASKS: Table(2, 16384, used=N_MASKS),
}

# NODES: nodes of the NFAs. BYTES and TOKEN read a symbol, CALL a rule; SPLIT goes both ways; FINAL ends the rule.
BYTES, TOKEN, CALL, SPLIT, FINAL = range(5)
K_KIND, K_ARGUMENT, K_NEXT, K_OTHER, K_RULE, K_DISTANCE = range(6)

# RULES: the first node, or the number of what it is, -1 until the rule is lowered; the start state, HOLE until it is
# built; what it is; the number by which the vocabulary knows a rule that reads bytes only, 0 for others; what its
# states are counted from (see `leaves`).
U_NODE, U_STATE, U_KIND, U_LEAF, U_FIRST = range(5)
NODE_RULE, OBJECT_RULE, ARRAY_RULE, STRING_RULE, LANDING_RULE = range(5)
"""`LANDING_RULE`: the start state is the one of column 0, those of the other columns follow (see `blocks`)."""

# TRANSITIONS: the next state, or
HOLE, NO_STATE = 0, -1

# STATES: sets of nodes of one rule, with a row of TRANSITIONS; or, with the count `STRING`, states of a string machine,
# whose record stands where the nodes would, and whose row is `NO_ROW` where it is not worth having; or, with no count,
# places in a frame (see `frames`).
S_NODES, S_COUNT, S_FLAGS, S_DISTANCE, S_RULE, S_CALLS, S_CALL_COUNT, S_ROW = range(8)
S_PLACE, S_REGISTER, S_LABEL, S_TEXT, S_COLUMN = range(8, 13)
STRING, NO_ROW = -1, -1
F_FINAL, F_BYTES, F_TOKENS, F_CALLS, F_LABEL, F_FRAME, F_COLUMN = 1, 2, 4, 8, 16, 32, 64
"""`F_LABEL` stands alone, and not as a rule's end: a key has been read whole (see `strings`). `F_COLUMN`: `S_COLUMN` is
the column of the block that lies above this state on the stack; of a state that reads, the most that it may come to."""

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

# SETS and ITEMS: see `stack_sets`. Where the set's mask begins in MASKS, 0 where it is not kept. The column of the
# innermost block, the least and the most where there are several: 0 outside of any.
Q_FIRST, Q_COUNT, Q_DISTANCE, Q_MASK, Q_LOW, Q_HIGH = range(6)
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


def _place(m: Memory, table: Any, row: int, column: int) -> int:
    is_known = isinstance(table, int)
    columns = TABLES[table].columns if is_known else fixed(m, 3 * table + 1)
    offset = 3 * len(TABLES) if is_known and table == COUNTS else fixed(m, 3 * table)
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
