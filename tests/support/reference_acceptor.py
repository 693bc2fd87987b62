"""A slow, obvious acceptor of the grammar IR: sets of stacks of expressions, rewritten until a symbol shows.

It shares nothing with the automata but the expressions: no nodes, no states, no numbers.
"""

from __future__ import annotations

from json_spelling import as_expression

from structgen.grammars.expr import (
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
    joined,
    literal,
    repetition,
)
from structgen.grammars.values import StringValue

Stack = tuple[Expr, ...]  # what is still to come, the next first


def start_of(rule: Rule) -> frozenset[Stack]:
    return frozenset({(rule.body,)})


def after_byte(stacks: frozenset[Stack], byte: int) -> frozenset[Stack]:
    reached = set()
    for first, *rest in _exposed(stacks):
        if isinstance(first, Literal) and first.text[0] == byte:
            reached.add((literal(first.text[1:]), *rest))
        elif isinstance(first, ByteSet) and first.bits >> byte & 1:
            reached.add(tuple(rest))
    return _alive(reached)


def after_special(stacks: frozenset[Stack], token_id: int) -> frozenset[Stack]:
    return _alive(
        {
            tuple(rest)
            for first, *rest in _exposed(stacks)
            if isinstance(first, SpecialToken) and first.token_id == token_id
        }
    )


def may_end(stacks: frozenset[Stack]) -> bool:
    seen, pending = set(stacks), list(stacks)
    while pending:
        stack = pending.pop()
        if not stack:
            return True
        for rewritten in _rewrite(stack) or ():
            if rewritten not in seen:
                seen.add(rewritten)
                pending.append(rewritten)
    return False


def _exposed(stacks: frozenset[Stack]) -> list[Stack]:
    """The stacks that begin with a symbol, after all rewriting."""
    found, seen, pending = [], set(stacks), list(stacks)
    while pending:
        stack = pending.pop()
        if not stack:
            continue
        rewritten = _rewrite(stack)
        if rewritten is None:
            found.append(stack)
            continue
        for one in rewritten:
            if one not in seen:
                seen.add(one)
                pending.append(one)
    return found


def _rewrite(stack: Stack) -> list[Stack] | None:
    """What a stack may become before the next symbol; ``None`` where it begins with one."""
    first, *rest = stack
    if isinstance(first, Literal) and not first.text:
        return [tuple(rest)]
    if isinstance(first, Sequence):
        return [(*first.parts, *rest)]
    if isinstance(first, Alternation):
        return [(part, *rest) for part in first.parts]
    if isinstance(first, Call):
        return [(first.rule.body, *rest)]
    if isinstance(first, Repetition):
        low, high = max(0, first.low - 1), None if first.high is None else first.high - 1
        again = (first.part, repetition(first.part, low, high), *rest)
        return [again] if first.low else [again, tuple(rest)]
    if isinstance(first, Joined):
        return _rewrite_joined(first, rest)
    if isinstance(first, StringValue) and first.language.texts is not None:
        return [(as_expression(first.language.texts), *rest)]
    return None


def _rewrite_joined(expr: Joined, rest: list[Expr]) -> list[Stack]:
    (item, required), *others = expr.items
    after = joined(others, expr.separator) if others else None
    ways: list[Stack] = []
    if not any(is_required for _, is_required in others):
        ways.append((item, *rest))
    if after is not None:
        ways.append((item, expr.separator, after, *rest))
        if not required:
            ways.append((after, *rest))
    return ways


def _alive(stacks: set[Stack]) -> frozenset[Stack]:
    """Only the stacks that some text can still finish."""
    return frozenset(stack for stack in stacks if all(_productive(expr, frozenset()) for expr in stack))


def _productive(expr: Expr, inside: frozenset[Rule]) -> bool:
    if isinstance(expr, ByteSet):
        return expr.bits != 0
    if isinstance(expr, Sequence):
        return all(_productive(part, inside) for part in expr.parts)
    if isinstance(expr, Alternation):
        return any(_productive(part, inside) for part in expr.parts)
    if isinstance(expr, Repetition):
        return expr.low == 0 or _productive(expr.part, inside)
    if isinstance(expr, Joined):
        required = [item for item, is_required in expr.items if is_required]
        if required:
            return all(_productive(item, inside) for item in required) and (
                len(required) == 1 or _productive(expr.separator, inside)
            )
        return any(_productive(item, inside) for item, _ in expr.items)
    if isinstance(expr, Call):
        # The shortest text of a rule does not need the rule inside itself.
        return expr.rule not in inside and _productive(expr.rule.body, inside | {expr.rule})
    return True
