"""From expressions to nodes: Thompson's construction, written back to front.

A node is made after the one that follows it, so its distance to the end of the rule is known when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, count, repeat
from typing import NamedTuple

from structgen.grammars.automaton.facts import Facts, Lengths, literal_distances
from structgen.grammars.automaton.tables import BYTES, CALL, FAR, FINAL, SPLIT, TOKEN
from structgen.grammars.expr import (
    NEVER,
    Alternation,
    ByteSet,
    Call,
    Expr,
    Joined,
    Literal,
    Repetition,
    Rule,
    Sequence,
    SpecialToken,
)
from structgen.grammars.limits import checkpoint
from structgen.grammars.values import Value

__all__ = ["Lowering", "Node"]

DEAD_END = -1
"""The node of an expression that cannot match."""


class Node(NamedTuple):
    """One row of the NFA table."""

    kind: int
    argument: int
    next: int
    other: int
    rule: int
    distance: int


class Lowering:
    """Lowers one rule.

    Parameters
    ----------
    first : int
        Number of the first node to make.
    rule : int
        Number of the rule.
    number_of : callable
        The number of a rule that this one calls, or of a value, which is a rule of its own.
    byteset_numbers : dict
        Numbers of byte sets; grows as new ones are met.
    facts : dict
        Of all rules and values.
    lengths : Lengths
        Of the vocabulary, for distances.
    depth : int
        How many objects and arrays hold the rule, where that matters.
    """

    def __init__(
        self,
        first: int,
        rule: int,
        number_of: Callable[[Rule | Value], int],
        byteset_numbers: dict[int, int],
        facts: dict[Rule | Value, Facts],
        lengths: Lengths,
        depth: int = 0,
    ) -> None:
        self._first, self._rule, self._depth = first, rule, depth
        self._number_of, self._byteset_numbers = number_of, byteset_numbers
        self._facts, self._lengths = facts, lengths
        self.nodes: list[Node] = []

    def lower_rule(self, body: Expr) -> int:
        """Make the nodes of ``body``; returns the first one to visit."""
        return self._lower(body, self._add(FINAL, 0, DEAD_END, DEAD_END, 0))

    def _add(self, kind: int, argument: int, following: int, other: int, distance: int) -> int:
        self.nodes.append(Node(kind, argument, following, other, self._rule, min(distance, FAR)))
        return self._first + len(self.nodes) - 1

    def _distance(self, node: int) -> int:
        return FAR if node == DEAD_END else self.nodes[node - self._first].distance

    def _lower(self, expr: Expr, after: int) -> int:
        """The node where ``expr`` begins, ``after`` being where it ends; `DEAD_END` where it cannot match."""
        checkpoint()
        if after == DEAD_END or expr is NEVER:
            return DEAD_END
        if isinstance(expr, Literal):
            return self._literal(expr.text, after)
        if isinstance(expr, ByteSet):
            return self._bytes(expr.bits, after)
        if isinstance(expr, SpecialToken):
            return self._add(TOKEN, expr.token_id, after, DEAD_END, 1 + self._distance(after))
        if isinstance(expr, Call):
            return self._call(expr.rule, after)
        if isinstance(expr, Value):
            return self._call(expr, after)
        if isinstance(expr, Sequence):
            for part in reversed(expr.parts):
                after = self._lower(part, after)
            return after
        if isinstance(expr, Alternation):
            return self._split([self._lower(part, after) for part in expr.parts])
        if isinstance(expr, Repetition):
            return self._repetition(expr, after)
        if isinstance(expr, Joined):
            return self._joined(expr, after)
        raise TypeError(f"no such expression: {expr!r}")

    def _literal(self, text: bytes, after: int) -> int:
        if not text:
            return after
        distances = literal_distances(text, self._distance(after), self._lengths)
        first, numbers = self._first + len(self.nodes), {byte: self._byteset(1 << byte) for byte in reversed(text)}
        checkpoint()
        self.nodes += map(
            Node,
            repeat(BYTES),
            [numbers[byte] for byte in reversed(text)],
            chain((after,), count(first)),
            repeat(DEAD_END),
            repeat(self._rule),
            distances[-2::-1],
        )
        return first + len(text) - 1

    def _bytes(self, bits: int, after: int) -> int:
        distance = 1 + self._distance(after) if bits & self._lengths.single else FAR
        return self._add(BYTES, self._byteset(bits), after, DEAD_END, distance)

    def _byteset(self, bits: int) -> int:
        return self._byteset_numbers.setdefault(bits, len(self._byteset_numbers))

    def _call(self, rule: Rule | Value, after: int) -> int:
        facts = self._facts[rule]
        if not facts.productive:
            return DEAD_END
        return self._add(CALL, self._number_of(rule), after, DEAD_END, facts.at(self._depth) + self._distance(after))

    def _split(self, nodes: list[int]) -> int:
        """A node that stands for any of ``nodes``."""
        alive = list(dict.fromkeys(node for node in nodes if node != DEAD_END))
        if not alive:
            return DEAD_END
        one = alive.pop()
        while alive:
            other = alive.pop()
            one = self._add(SPLIT, 0, other, one, min(self._distance(one), self._distance(other)))
        return one

    def _repetition(self, expr: Repetition, after: int) -> int:
        if expr.high is None:
            loop = self._add(SPLIT, 0, DEAD_END, after, self._distance(after))
            body = self._lower(expr.part, loop)
            # A part that cannot match leaves the loop as it is: one way on, the way out.
            node = self.nodes[loop - self._first]
            self.nodes[loop - self._first] = node._replace(next=after if body == DEAD_END else body)
            after = loop
        else:
            end = after
            for _ in range(expr.high - expr.low):
                after = self._split([self._lower(expr.part, after), end])
        for _ in range(expr.low):
            after = self._lower(expr.part, after)
        return after

    def _joined(self, expr: Joined, after: int) -> int:
        """Two rows of nodes: before item ``i`` with nothing written yet, and with something written."""
        fresh, written = DEAD_END, after
        for item, required in reversed(expr.items):
            body = self._lower(item, written)
            separated = self._lower(expr.separator, body)
            fresh = body if required else self._split([body, fresh])
            written = separated if required else self._split([separated, written])
        return fresh
