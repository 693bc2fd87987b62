"""Rule interiors: what a state of a rule allows below a node of a trie, whatever lies below the rule on the stack.

As the interior of a leaf (see `interiors`), but for any rule and whatever it calls: some tokens come to no end of the
rule, or to one just there; of those that go on behind such an end only the remainders matter. A mask takes them rule by
rule down its stack, from the state that each returns to::

    tokens of (state, trie)  +  for each trie of remainders: tokens of (state below, that trie)  +  ...

So it costs what its rules cost once, however deep they are nested and whatever they are nested in. To compute one is to
make a mask of the state above a bottom that stands for any stack: where that is reached the rule has ended. States are
those of one automaton, so its interiors are kept under a leaf of its own.

What a line break leads to may depend on the column of the block around the rule. The bottom then stands for a block of
`OPEN_COLUMN`; where a step would have to know the column, the set after it holds the state `C_MISSED`, and there is an
interior for each column instead.
"""

from __future__ import annotations

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int32Table, Int64Array, Memory, compiled, inner, load
from structgen.grammars.automaton.exits import COUNT_EXITS, COUNT_TOKENS, EXIT_CHILD, EXIT_TOKENS, add_subtree
from structgen.grammars.automaton.interiors import (
    CHILDREN,
    E_EXITS,
    H_GENERATION,
    H_LONGEST,
    LARGE,
    ROOT,
    RULE_STATE,
    first_child,
    forget_links,
    part_of,
)
from structgen.grammars.automaton.jobs import ANY_COLUMN, OF_COLUMN, begin_jobs, bottom_of, run_jobs
from structgen.grammars.automaton.kept_masks import forget_masks
from structgen.grammars.automaton.stacks import entered
from structgen.grammars.automaton.tables import (
    C_GENERATION,
    C_INSIDE,
    LEFT_NODE,
    LEFT_TRIE,
    LEFTOVERS,
    N_LEFTOVERS,
    NOTHING,
    OPEN_COLUMN,
    cell,
    get_count,
    set_count,
)
from structgen.grammars.automaton.takes import add_job
from structgen.grammars.automaton.walk import NO_BUDGET

__all__ = ["collect_rule", "forget_old", "join_leftovers"]

_SMALL_TRIE = 256
"""Of a trie with more nodes no copy is made."""


@inner
def forget_old(m: Memory, s: Memory) -> None:
    """Forget what refers to the store, where it has begun anew."""
    if get_count(m, C_GENERATION) != load(s, H_GENERATION):
        forget_links(m)
        forget_masks(m)
        set_count(m, C_GENERATION, load(s, H_GENERATION))


@inner
def _bottom(m: Memory, variant: int) -> int:
    """What stands for any stack, or any whose innermost block has the column of a variant."""
    return bottom_of(m, OPEN_COLUMN if variant == ANY_COLUMN else variant - OF_COLUMN)


@compiled
def collect_rule(m: Memory, s: Memory, variant: int, trie: int, node: int, state: int, row: Int32Array) -> int:
    """Write the tokens of a rule interior to ``row``; returns how many leftovers there are, or `UNKNOWN`.

    ``state`` is `RULE_STATE` less a state.
    """
    forget_old(m, s)
    bottom = _bottom(m, variant)
    closed = entered(m, RULE_STATE - state, bottom)
    begin_jobs(m, s)
    set_count(m, C_INSIDE, bottom)
    add_job(m, trie, node, closed, 0, 0)
    run_jobs(m, s, NO_BUDGET, row.ctypes.data)
    set_count(m, C_INSIDE, NOTHING)
    return get_count(m, N_LEFTOVERS)


@inner
def _is_small(s: Memory, trie: int, node: int) -> bool:
    if node == ROOT:
        return trie != 0 and load(s, trie + E_EXITS) <= _SMALL_TRIE
    return load(part_of(s, trie, CHILDREN), node) < LARGE


@compiled
def join_leftovers(
    m: Memory,
    s: Memory,
    trie: int,
    node: int,
    exits: Int32Table,
    lists: Int32Table,
    counts: Int64Array,
    places: Int32Table,
) -> int:
    """Join what is below the smaller leftovers in one trie, in ``exits`` and ``lists`` as `exits.collect` has them.

    The others, and (``trie``, ``node``) itself, go to ``places``; returns how many these are, -1 for want of room.
    """
    work, kept = np.empty((load(s, H_LONGEST) + 2, 3), np.int32), 0
    counts[COUNT_EXITS] = counts[COUNT_TOKENS] = 1
    exits[0, EXIT_CHILD] = exits[0, EXIT_TOKENS] = 0
    for one in range(get_count(m, N_LEFTOVERS)):
        its, at = cell(m, LEFTOVERS, one, LEFT_TRIE), cell(m, LEFTOVERS, one, LEFT_NODE)
        if (its == trie and at == node) or not _is_small(s, its, at):
            places[kept, 0], places[kept, 1] = its, at
            kept += 1
            continue
        children = part_of(s, its, CHILDREN)
        for child in range(first_child(children, at), first_child(children, at + 1)):
            if not add_subtree(s, its, child, exits, lists, counts, 0, work):
                return -1
    return kept
