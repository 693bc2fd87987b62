"""The edges of a pattern that is looked for in a text: whether every match is bound to one, what is needless there."""

from __future__ import annotations

from structgen.grammars.regex.syntax import EMPTY, Alternatives, Anchor, Concatenation, Node, Repeat

__all__ = ["is_bound", "opened"]


def is_bound(node: Node, at_start: bool) -> bool:
    """Whether every match begins at the start of the text, or ends at its end."""
    if isinstance(node, Anchor):
        return node.looks_back is at_start
    if isinstance(node, Concatenation) and node.parts:
        return is_bound(node.parts[0 if at_start else -1], at_start)
    if isinstance(node, Alternatives):
        return all(is_bound(part, at_start) for part in node.parts)
    return False


def opened(node: Node, at_start: bool) -> Node:
    """A pattern that matches somewhere where ``node`` does, any text coming before it (or after it).

    Any text takes what is repeated more often than it must be.
    """
    if isinstance(node, Concatenation):
        return _opened_parts(list(node.parts), at_start)
    if isinstance(node, Alternatives):
        return Alternatives(tuple(opened(part, at_start) for part in node.parts))
    if isinstance(node, Repeat) and not node.part.anchored:
        if node.low == 0:
            return EMPTY
        if node.low == 1:
            return opened(node.part, at_start)
        inner, edge = Repeat(node.part, node.low - 1, node.low - 1), opened(node.part, at_start)
        return Concatenation((edge, inner) if at_start else (inner, edge))
    return node


def _opened_parts(parts: list[Node], at_start: bool) -> Node:
    place = 0 if at_start else -1
    while parts:
        parts[place] = opened(parts[place], at_start)
        if parts[place] is not EMPTY:
            return Concatenation(tuple(parts))
        del parts[place]
    return EMPTY
