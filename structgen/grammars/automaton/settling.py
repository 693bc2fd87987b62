"""Facts of rules that call each other in circles: what is found of one is handed on until nothing changes.

Expressions are nodes of a graph whose edges lead to what they stand in. So where the facts of a rule change, only what
holds a call of it is looked at again, and not all that its callers are made of (Kildall 1973).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator

from structgen.grammars.automaton.facts import Called, Facts
from structgen.grammars.expr import Expr, Rule
from structgen.grammars.limits import checkpoint
from structgen.grammars.values import Value

__all__ = ["Node", "settle"]

Node = Rule | Expr
_Users = defaultdict[Node, list[Node]]


def settle(
    order: Iterable[Called],
    facts: dict[Node, Facts],
    parts: Callable[[Node], Iterable[Node]],
    compute: Callable[[Node], Facts],
) -> None:
    """Find the facts of all rules and values, and of the expressions that they are made of.

    Parameters
    ----------
    order : iterable of Called
        What is looked for; what one calls comes before it as far as may be.
    facts : dict
        Those that are known, and of what is looked for those to begin with.
    parts : callable
        What a node is made of: the body of a rule, the rule of a call, the parts of an expression.
    compute : callable
        The facts of a node, from those of its parts.
    """
    users: _Users = defaultdict(list)
    pending: deque[Node] = deque()
    for one in order:
        for node in _upwards(one, parts, users):
            checkpoint()
            now = compute(node)
            if now != facts.get(node):
                facts[node] = now
                pending += users[node] if node is one else ()  # those that have been looked at before it
    waiting = set(pending)
    while pending:
        checkpoint()
        node = pending.popleft()
        if node not in waiting:
            continue
        waiting.remove(node)
        now = compute(node)
        if now != facts[node]:
            facts[node] = now
            pending += (user for user in users[node] if user not in waiting)
            waiting.update(users[node])


def _upwards(root: Called, parts: Callable[[Node], Iterable[Node]], users: _Users) -> list[Node]:
    """What a rule or value is made of and has not been met, each after its parts; fills in ``users``."""
    found: list[Node] = []
    path: list[tuple[Node, Iterator[Node]]] = [(root, iter(parts(root)))]
    while path:
        node, rest = path[-1]
        for part in rest:
            is_new = part not in users
            users[part].append(node)
            if is_new and not isinstance(part, (Rule, Value)):
                path.append((part, iter(parts(part))))
                break
        else:
            found.append(node)
            path.pop()
    return found
