"""Blocks in blocks down to the deepest column, without dead ends.

Blocks have no more columns than `MAX_COLUMN`, so in the deepest one no other can be opened, and what needs one cannot
stand there, nor what needs two in the next deepest. So a rule that may hold blocks is written once for each number of
levels that may still be opened, up to the number from which on more make no difference.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from structgen.grammars.expr import (
    NEVER,
    Alternation,
    Call,
    Expr,
    Repetition,
    Rule,
    Sequence,
    alternation,
    call,
    repetition,
    sequence,
)
from structgen.grammars.indentation import Indented, grid_of, indented
from structgen.grammars.left_recursion import called_rules, inner_parts
from structgen.grammars.limits import checkpoint

__all__ = ["with_levels"]


def with_levels(start: Rule) -> Rule:
    """The rule of what ``start`` matches, each `Indented` of which has one body and gets one for each level."""
    blocks = _Blocks(start)
    return _Writing(blocks).written(start) if blocks.holders else start


class _Blocks:
    """The rules that may hold blocks, and the blocks.

    Attributes
    ----------
    holders : set of Rule
        The rules.
    blocks : dict of Indented
        The blocks, in order.
    """

    def __init__(self, start: Rule) -> None:
        self.blocks: dict[Indented, None] = {}
        users: dict[Rule, list[Rule]] = {start: []}
        pending = [start]
        direct: list[Rule] = []
        while pending:
            rule = pending.pop()
            inside = [rule.body]
            while inside:
                one = inside.pop()
                checkpoint()
                if isinstance(one, Indented):
                    self.blocks[one] = None
                    direct.append(rule)
                for called in called_rules(one):
                    if called not in users:
                        users[called] = []
                        pending.append(called)
                    users[called].append(rule)
                inside += inner_parts(one)
        self.holders = set(direct)
        pending = list(self.holders)
        while pending:
            new = [user for user in users[pending.pop()] if user not in self.holders]
            self.holders.update(new)
            pending += new

    @cached_property
    def levels(self) -> list[Set[Indented]]:
        """The blocks that can be written where so many levels may be opened, the last one below all; increasing."""
        levels: list[Set[Indented]] = [set()]
        while True:
            matching = self._matching(levels[-1])
            more = {one for one in self.blocks if self._is_held(one.bodies[0], matching)}
            if more == levels[-1]:
                return levels
            levels.append(more)

    def _is_held(self, rule: Rule, matching: Set[Rule]) -> bool:
        return rule not in self.holders or rule in matching

    def _matching(self, blocks: Set[Indented]) -> set[Rule]:
        """The holders that match anything with only some of the blocks."""
        found: set[Rule] = set()

        def matches(expr: Expr) -> bool:
            if isinstance(expr, Call):
                return self._is_held(expr.rule, found)
            if isinstance(expr, Indented):
                return expr in blocks
            if isinstance(expr, Sequence):
                return all(map(matches, expr.parts))
            if isinstance(expr, Alternation):
                return any(map(matches, expr.parts))
            if isinstance(expr, Repetition):
                return expr.low == 0 or matches(expr.part)
            return expr is not NEVER

        count = -1
        while count < len(found):
            count = len(found)
            found |= {rule for rule in self.holders if rule not in found and matches(rule.body)}
        return found


class _Writing:
    def __init__(self, blocks: _Blocks) -> None:
        self._holders, self._levels = blocks.holders, blocks.levels
        self._rules: dict[tuple[Rule, int], Rule] = {}

    def written(self, start: Rule) -> Rule:
        """The rule in place of the one that a text begins with."""
        deeper = max(len(grid_of(one.indentation).columns) for one in self._levels[-1]) if self._levels[-1] else 0
        return self._rule(start, min(deeper, len(self._levels) - 1))

    def _rule(self, rule: Rule, level: int) -> Rule:
        if rule not in self._holders:
            return rule
        if (rule, level) not in self._rules:
            names = rule.value_names
            self._rules[rule, level] = Rule(
                rule.name, lambda: self._expr(rule.body, level), rule.pointer, value_names=names
            )
        return self._rules[rule, level]

    def _expr(self, expr: Expr, level: int) -> Expr:
        if isinstance(expr, Call):
            return call(self._rule(expr.rule, level))
        if isinstance(expr, Indented):
            if expr not in self._levels[level]:
                return NEVER
            bodies = (self._rule(expr.bodies[0], one) for one in range(len(self._levels)))
            return indented(expr.indentation, tuple(bodies))
        if isinstance(expr, Sequence):
            return sequence(*(self._expr(part, level) for part in expr.parts))
        if isinstance(expr, Alternation):
            return alternation(*(self._expr(part, level) for part in expr.parts))
        if isinstance(expr, Repetition):
            return repetition(self._expr(expr.part, level), expr.low, expr.high)
        return expr
