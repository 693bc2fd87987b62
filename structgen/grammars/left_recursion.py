"""Grammars without left recursion, of the same language.

The automaton enters every rule that may come next before it has read a byte, so no rule may come first within itself.
Rules that do, as ``sum ::= product | sum "+" product``, are rewritten from the left corner up. Among rules that come
first within each other, each alternative begins with one of them, ``R ::= Q rest``, or with none, ``Q ::= seed``. So
whatever ``R`` matches is the seed of some ``Q``, then the rests of a way from ``Q`` up to ``R``::

    R    ::= seed_Q Q>R | ...                       for each Q
    Q>R  ::= "" where Q is R | rest P>R | ...       for each P ::= Q rest

These rules end with themselves, which costs the automaton no stack. A rule that matches the empty text hides what comes
after it: it is taken as one that does not, or as nothing at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from structgen.grammars.circles import circles_of
from structgen.grammars.expr import (
    EPSILON,
    Alternation,
    ByteSet,
    Call,
    Expr,
    Literal,
    Repetition,
    Rule,
    Sequence,
    SpecialToken,
    alternation,
    call,
    repetition,
    sequence,
)
from structgen.grammars.indentation import Indented, indented
from structgen.grammars.limits import checkpoint
from structgen.grammars.values import Value

__all__ = ["called_rules", "inner_parts", "without_left_recursion"]


def without_left_recursion(start: Rule) -> Rule:
    """The rule of what ``start`` matches, no rule of which calls itself before it has read anything.

    Expressions are those of `expr` but for `Joined`; a value is taken to match no empty text.
    """
    rules = _reachable(start)
    nullable = _Nullable(rules)
    circles = circles_of({rule: list(_first_calls(rule.body, nullable)) for rule in rules})
    return _Rewriting(nullable, circles).rewritten(start) if circles else start


def inner_parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside of ``expr``."""
    if isinstance(expr, (Sequence, Alternation)):
        return expr.parts
    if isinstance(expr, Repetition):
        return (expr.part,)
    if isinstance(expr, (Literal, ByteSet, SpecialToken, Call, Value)):
        return ()
    raise TypeError(f"not an expression of a grammar that may be left-recursive: {expr!r}")


def called_rules(expr: Expr) -> tuple[Rule, ...]:
    """The rules that ``expr`` itself calls."""
    if isinstance(expr, Call):
        return (expr.rule,)
    return expr.bodies if isinstance(expr, Indented) else ()


def _reachable(start: Rule) -> list[Rule]:
    found, pending = {start: None}, [start]
    seen: set[Expr] = set()
    while pending:
        inside = [pending.pop().body]
        while inside:
            one = inside.pop()
            if one in seen:
                continue
            seen.add(one)
            inside += inner_parts(one)
            for rule in called_rules(one):
                if rule not in found:
                    found[rule] = None
                    pending.append(rule)
    return list(found)


class _Nullable:
    """Which rules and expressions match the empty text."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules: set[Rule] = set()
        self._known: dict[Expr, bool] = {}
        found = -1
        while found < len(self._rules):
            found = len(self._rules)
            self._known.clear()
            for rule in reversed(rules):  # those that are called before their callers, as far as may be
                if rule not in self._rules and self.holds(rule.body):
                    self._rules.add(rule)
        self._known.clear()

    def holds(self, expr: Expr) -> bool:
        """Whether ``expr`` matches the empty text."""
        found = self._known.get(expr)
        if found is None:
            checkpoint()
            found = self._known[expr] = self._holds(expr)
        return found

    def _holds(self, expr: Expr) -> bool:
        if isinstance(expr, Literal):
            return not expr.text
        if isinstance(expr, Call):
            return expr.rule in self._rules
        if isinstance(expr, Sequence):
            return all(map(self.holds, expr.parts))
        if isinstance(expr, Alternation):
            return any(map(self.holds, expr.parts))
        return isinstance(expr, Repetition) and (expr.low == 0 or self.holds(expr.part))


def _first_calls(expr: Expr, nullable: _Nullable) -> Iterator[Rule]:
    """The rules that ``expr`` may call before it has read anything."""
    if isinstance(expr, Call):
        yield expr.rule
    for part in inner_parts(expr):
        yield from _first_calls(part, nullable)
        if isinstance(expr, Sequence) and not nullable.holds(part):
            break


class _Split(NamedTuple):
    """An expression less the empty text: what begins with a rule of the circle, and what does not."""

    edges: list[tuple[Rule, Expr]]
    """The rule, and what comes after it, as the grammar has it."""
    seeds: list[Expr]
    """Rewritten."""


class _Rewriting:
    def __init__(self, nullable: _Nullable, circles: dict[Rule, frozenset[Rule]]) -> None:
        self._nullable, self._circles = nullable, circles
        self._rules: dict[Rule, Rule] = {}
        self._solid_rules: dict[Rule, Rule] = {}
        self._tails: dict[tuple[Rule, Rule], Rule] = {}
        self._splits: dict[Rule, _Split] = {}
        self._above: dict[frozenset[Rule], dict[Rule, list[tuple[Rule, Expr]]]] = {}

    def rewritten(self, rule: Rule) -> Rule:
        """The rule in place of ``rule``."""
        if rule not in self._rules:
            names = rule.value_names
            self._rules[rule] = Rule(rule.name, lambda: self._body(rule), rule.pointer, value_names=names)
        return self._rules[rule]

    def _body(self, rule: Rule) -> Expr:
        if rule not in self._circles:
            return self._mapped(rule.body)
        solid = call(self._solid(rule))
        return alternation(solid, EPSILON) if self._nullable.holds(call(rule)) else solid

    def _mapped(self, expr: Expr) -> Expr:
        """``expr`` with rewritten rules."""
        checkpoint()
        if isinstance(expr, Call):
            return call(self.rewritten(expr.rule))
        if isinstance(expr, Indented):
            return indented(expr.indentation, tuple(map(self.rewritten, expr.bodies)))
        if isinstance(expr, Sequence):
            return sequence(*map(self._mapped, expr.parts))
        if isinstance(expr, Alternation):
            return alternation(*map(self._mapped, expr.parts))
        return repetition(self._mapped(expr.part), expr.low, expr.high) if isinstance(expr, Repetition) else expr

    def _solid(self, rule: Rule) -> Rule:
        """The rule of what ``rule`` matches less the empty text."""
        if rule not in self._solid_rules:
            self._solid_rules[rule] = Rule(rule.name, lambda: self._solid_body(rule), rule.pointer)
        return self._solid_rules[rule]

    def _solid_body(self, rule: Rule) -> Expr:
        if rule not in self._circles:
            return self._solid_expr(rule.body)
        return alternation(
            *(
                sequence(seed, call(self._tail(corner, rule)))
                for corner in self._in_order(self._circles[rule])
                for seed in self._split_rule(corner).seeds
            )
        )

    def _solid_expr(self, expr: Expr) -> Expr:
        """``expr`` less the empty text, rewritten."""
        return alternation(*self._split(expr, frozenset()).seeds)

    def _split_rule(self, rule: Rule) -> _Split:
        if rule not in self._splits:
            self._splits[rule] = self._split(rule.body, self._circles[rule])
        return self._splits[rule]

    def _split(self, expr: Expr, circle: frozenset[Rule]) -> _Split:
        checkpoint()
        if isinstance(expr, Call):
            if expr.rule in circle:
                return _Split([(expr.rule, EPSILON)], [])
            rule = self._solid(expr.rule) if self._nullable.holds(expr) else self.rewritten(expr.rule)
            return _Split([], [call(rule)])
        if isinstance(expr, Repetition):
            low = 0 if self._nullable.holds(expr.part) else max(0, expr.low - 1)
            rest = repetition(expr.part, low, None if expr.high is None else expr.high - 1)
            return self._followed(self._split(expr.part, circle), rest)
        found = _Split([], [])
        if isinstance(expr, Alternation):
            for part in expr.parts:
                self._unite(found, self._split(part, circle))
        elif isinstance(expr, Sequence):
            for place, part in enumerate(expr.parts):
                self._unite(found, self._followed(self._split(part, circle), sequence(*expr.parts[place + 1 :])))
                if not self._nullable.holds(part):
                    break
        elif expr is not EPSILON:
            found.seeds.append(self._mapped(expr))
        return found

    def _followed(self, split: _Split, rest: Expr) -> _Split:
        after = self._mapped(rest)
        edges = [(rule, sequence(one, rest)) for rule, one in split.edges]
        return _Split(edges, [sequence(seed, after) for seed in split.seeds])

    @staticmethod
    def _unite(found: _Split, more: _Split) -> None:
        found.edges.extend(more.edges)
        found.seeds.extend(more.seeds)

    def _tail(self, corner: Rule, rule: Rule) -> Rule:
        """The rule of what comes after ``corner`` on the ways up to ``rule``."""
        key = (corner, rule)
        if key not in self._tails:
            name = f"{rule.name} after {corner.name}"
            self._tails[key] = Rule(name, lambda: self._tail_body(corner, rule), rule.pointer)
        return self._tails[key]

    def _tail_body(self, corner: Rule, rule: Rule) -> Expr:
        above = self._above_in(self._circles[rule])
        same, pending = {corner: None}, [corner]  # the rules that what ``corner`` has matched may be without more
        ways: list[Expr] = []
        while pending:
            for upper, rest in above[pending.pop()]:
                ways.append(sequence(self._solid_expr(rest), call(self._tail(upper, rule))))
                if self._nullable.holds(rest) and upper not in same:
                    same[upper] = None
                    pending.append(upper)
        return alternation(*ways, *([EPSILON] if rule in same else []))

    def _above_in(self, circle: frozenset[Rule]) -> dict[Rule, list[tuple[Rule, Expr]]]:
        """For each rule of the circle those that begin with it, and what these have after it."""
        if circle not in self._above:
            found: defaultdict[Rule, list[tuple[Rule, Expr]]] = defaultdict(list)
            for upper in self._in_order(circle):
                for rule, rest in self._split_rule(upper).edges:
                    found[rule].append((upper, rest))
            self._above[circle] = found
        return self._above[circle]

    def _in_order(self, circle: frozenset[Rule]) -> list[Rule]:
        return [rule for rule, its in self._circles.items() if its == circle]
