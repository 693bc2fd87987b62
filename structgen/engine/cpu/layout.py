"""Where a step's numbers lie in memory, as its kernels and those who prepare it agree on.

A program is an int64 table, a row of `OPERANDS` numbers for each operation: its code, whether the team meets after it,
and what its kernel says that it takes. What changes from step to step stands in the *step*, an int64 array::

    0  tokens, logits, members, the barrier's place ...   places `TOKENS` to `TICKS`
    16 page tables: address and pages a row, for each cache group
    32 buffers: an address each, places `HIDDEN` to `BRANCH`
"""

from __future__ import annotations

__all__ = [
    "ACTIVATIONS",
    "ANGLES",
    "ATTENDED",
    "BARRIER",
    "BLOCK",
    "BRANCH",
    "GATE_UP",
    "GROUP",
    "HIDDEN",
    "LOGITS",
    "LOGIT_ROWS",
    "MEMBERS",
    "MOST_GROUPS",
    "OPERANDS",
    "PAGE_TABLES",
    "POOLS",
    "POSITIONS",
    "PROFILE",
    "QKV",
    "QUERIES",
    "ROW_OF_TOKEN",
    "ROW_STARTS",
    "SCALES",
    "SCRATCH",
    "SCRATCH_BYTES",
    "STEP_SIZE",
    "SUMS",
    "TASKS",
    "TASK_COUNT",
    "TICKS",
    "TILES",
    "TOKENS",
    "TOKEN_IDS",
    "WANTED",
]

OPERANDS = 18
BLOCK = 16
"""Output channels that a linear layer computes together, and positions that attention does."""
GROUP = 32
"""Inputs that share a scale in int4 weights and the activations before them."""
MOST_GROUPS = 4
"""Cache groups that a step can have."""

(
    TOKENS, LOGIT_ROWS, MEMBERS, BARRIER, TOKEN_IDS, POSITIONS, ROW_STARTS, ROW_OF_TOKEN, WANTED, TILES, TASKS,
    TASK_COUNT, SCRATCH_BYTES, ANGLES, PROFILE, TICKS,
) = range(16)  # fmt: skip
PAGE_TABLES = 16
"""For each cache group: the address of its table, int32 ``[rows, pages]``, and how many pages a row has."""
POOLS = 24
"""For each cache group: the address of its pages."""
HIDDEN, QKV, QUERIES, ATTENDED, ACTIVATIONS, SCALES, SUMS, GATE_UP, LOGITS, SCRATCH, BRANCH = range(32, 43)
STEP_SIZE = 48
