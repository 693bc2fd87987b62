"""What must be known of all rules before any is lowered: which can match, which can be empty, how short they can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from structgen.errors import GrammarError
from structgen.grammars.automaton.facts import Called, Facts, Lengths, literal_tokens
from structgen.grammars.automaton.settling import Node, settle
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.automaton.value_facts import called_values, value_facts
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
)
from structgen.grammars.limits import checkpoint
from structgen.grammars.values import Value

__all__ = ["Facts", "Lengths", "analyse"]


_NOTHING = Facts(False, False, FAR)


def analyse(
    start: Rule, lengths: Lengths, known_facts: Callable[[Rule], Mapping[Called, Facts]] | None = None
) -> dict[Called, Facts]:
    """The facts of every rule and value that ``start`` can reach.

    Parameters
    ----------
    known_facts : callable, optional
        Those of a rule and of all that it reaches, where they are known; none of them reaches ``start``.

    Raises
    ------
    GrammarError
        A rule calls itself before it has read anything (left recursion).
    """
    facts: dict[Called, Facts] = {}

    def following(one: Called) -> Iterator[Called]:
        if known_facts is not None and one is not start and isinstance(one, Rule):
            facts.update(known_facts(one))
        return iter(()) if one in facts else callees(one)

    order, circular = _reachable(start, following)
    order = [one for one in order if one not in facts]
    if circular:  # what was known calls none of them
        facts |= _settled(order, facts, lengths)
        _refuse_left_recursion([one for one in order if isinstance(one, Rule)], facts, lengths)
        return facts
    known: dict[Expr, Facts] = {}
    for one in order:  # callees come first
        if not isinstance(one, Rule):
            facts[one] = value_facts(one, facts, lengths)
        elif isinstance(one.body, Value):  # as most are
            facts[one] = facts[one.body]
        else:
            facts[one] = _facts_of(one.body, facts, lengths, known)
    return facts


def _settled(order: list[Called], known: dict[Called, Facts], lengths: Lengths) -> dict[Called, Facts]:
    """The facts of rules and values that call each other in circles; ``known`` are those of others."""
    facts: dict[Any, Facts] = {**known, **dict.fromkeys(order, _NOTHING)}

    def parts(node: Node) -> Iterable[Node]:
        if isinstance(node, Rule):
            return (node.body,)
        if isinstance(node, Value):
            return called_values(node)
        return (node.rule,) if isinstance(node, Call) else parts_of(node)

    def compute(node: Node) -> Facts:
        if isinstance(node, Rule):
            return facts[node.body]
        return value_facts(node, facts, lengths) if isinstance(node, Value) else _compute(node, facts, lengths, facts)

    settle(order, facts, parts, compute)
    return {one: facts[one] for one in order}


def _reachable(start: Rule, callees: Callable[[Called], Iterator[Called]]) -> tuple[list[Called], bool]:
    """Every rule and value, what one calls before it but for circles; and whether there are circles."""
    done: list[Called] = []
    seen: set[Called] = {start}
    finished: set[Called] = set()
    circular = False
    stack: list[tuple[Called, Iterator[Called]]] = [(start, callees(start))]
    while stack:
        one, following = stack[-1]
        for callee in following:
            if callee not in seen:
                seen.add(callee)
                stack.append((callee, callees(callee)))
                break
            circular |= callee not in finished
        else:
            done.append(one)
            finished.add(one)
            stack.pop()
    return done, circular


def callees(one: Called) -> Iterator[Called]:
    """What a rule or value calls."""
    if not isinstance(one, Rule):
        return iter(called_values(one))
    return iter((one.body,)) if isinstance(one.body, Value) else called_rules(one.body)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside ``expr``."""
    if isinstance(expr, (Sequence, Alternation)):
        return expr.parts
    if isinstance(expr, Repetition):
        return (expr.part,)
    if isinstance(expr, Joined):
        return (*(item for item, _ in expr.items), expr.separator)
    return ()


def called_rules(expr: Expr) -> Iterator[Called]:
    """The rules and values that ``expr`` calls, each once, in order."""
    seen: set[Expr] = {expr}
    pending = [expr]
    while pending:
        one = pending.pop()
        if isinstance(one, Call):
            yield one.rule
        elif isinstance(one, Value):
            yield one
        for part in reversed(parts_of(one)):
            if part not in seen:
                seen.add(part)
                pending.append(part)


def _facts_of(expr: Expr, facts: Mapping[Any, Facts], lengths: Lengths, known: dict[Any, Facts]) -> Facts:
    found = known.get(expr)
    if found is None:
        checkpoint()
        found = known[expr] = _compute(expr, facts, lengths, known)
    return found


def _compute(expr: Expr, facts: Mapping[Any, Facts], lengths: Lengths, known: dict[Any, Facts]) -> Facts:
    if isinstance(expr, Literal):
        return Facts(True, not expr.text, literal_tokens(expr.text, lengths))
    if isinstance(expr, ByteSet):
        return Facts(expr is not NEVER, False, 1 if expr.bits & lengths.single else FAR)
    if isinstance(expr, Call):
        return facts[expr.rule]
    if isinstance(expr, Value):
        return facts[expr]
    inner = [_facts_of(part, facts, lengths, known) for part in parts_of(expr)]
    if isinstance(expr, Sequence):
        return _all_of(inner)
    if isinstance(expr, Alternation):
        return _any_of(inner)
    if isinstance(expr, Repetition):
        if expr.low == 0:
            return Facts(True, True, 0, is_indented=inner[0].is_indented)
        return _all_of(inner * expr.low)
    if isinstance(expr, Joined):
        return _joined_facts(expr, inner)
    return Facts(True, False, 1)  # a special token


def _all_of(inner: list[Facts]) -> Facts:
    tokens = sum(f.tokens for f in inner)
    return Facts(
        all(f.productive for f in inner),
        all(f.nullable for f in inner),
        min(FAR, tokens),
        sum(f.growth for f in inner) if tokens < FAR else 0,
        any(f.is_indented for f in inner),
    )


def _any_of(inner: list[Facts]) -> Facts:
    tokens, growth = min((f.tokens, f.growth) for f in inner)
    return Facts(
        any(f.productive for f in inner),
        any(f.nullable for f in inner),
        tokens,
        growth,
        any(f.is_indented for f in inner),
    )


def _joined_facts(expr: Joined, inner: list[Facts]) -> Facts:
    required = [f for f, (_, is_required) in zip(inner, expr.items, strict=False) if is_required]
    found = _all_of(required + [inner[-1]] * (len(required) - 1)) if required else _any_of(inner[:-1])
    return found._replace(is_indented=any(f.is_indented for f in inner))


def _refuse_left_recursion(order: list[Rule], facts: dict[Called, Facts], lengths: Lengths) -> None:
    known: dict[Expr, Facts] = {}

    def nullable(expr: Expr) -> bool:
        return _facts_of(expr, facts, lengths, known).nullable

    first: dict[Rule, set[Rule]] = {rule: set(_first_calls(rule.body, nullable)) for rule in order}
    done: set[Rule] = set()
    for root in order:
        path: dict[Rule, Iterator[Rule]] = {}
        pending = [root]
        while pending:
            rule = pending[-1]
            if rule in done or rule not in first:
                pending.pop()
                continue
            callees = path.setdefault(rule, iter(first[rule]))
            callee = next(callees, None)
            if callee is None:
                done.add(rule)
                del path[rule]
                pending.pop()
            elif callee in path:
                raise GrammarError(f"rule {callee.name!r} calls itself before it reads anything (left recursion)")
            else:
                pending.append(callee)


def _first_calls(expr: Expr, nullable: Callable[[Expr], bool]) -> Iterator[Rule]:
    """The rules that ``expr`` may call before it has read a symbol."""
    if isinstance(expr, Call):
        yield expr.rule
    elif isinstance(expr, Alternation):
        for part in expr.parts:
            yield from _first_calls(part, nullable)
    elif isinstance(expr, Repetition):
        yield from _first_calls(expr.part, nullable)
    elif isinstance(expr, Sequence):
        for part in expr.parts:
            yield from _first_calls(part, nullable)
            if not nullable(part):
                return
    elif isinstance(expr, Joined):
        for item, required in expr.items:
            yield from _first_calls(item, nullable)
            if nullable(item):
                yield from _first_calls(expr.separator, nullable)
            elif required:
                return
