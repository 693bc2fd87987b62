"""From the syntax tree to the grammar IR: characters to UTF-8, anchors to nothing or to what cannot match.

A text is matched as a whole, so what lies beside an anchor is known from the pattern alone. An anchor that holds
wherever it is reached is the empty text, one that holds nowhere makes what it is part of impossible. Where it depends
on the text, it has no form here.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.charset import CharSet
from structgen.grammars.expr import (
    EPSILON,
    NEVER,
    Alternation,
    Expr,
    Literal,
    Repetition,
    Rule,
    Sequence,
    alternation,
    call,
    literal,
    repetition,
    sequence,
)
from structgen.grammars.regex.places import Crossings, Places
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Concatenation, Look, Node, Place, Repeat
from structgen.grammars.utf8 import utf8

__all__ = ["MAX_SIZE", "UndecidedAnchor", "lower"]

MAX_SIZE = 100_000
"""Symbols that a pattern may have once its repetitions are written out: a byte, or a character of a class."""

_MAX_INLINE = 16
"""A class of more byte sets is a rule of its own: written once, however often the pattern has it."""

_EDGE: Places = frozenset({Place.EDGE})


class UndecidedAnchor(Exception):
    """A pattern that has no form here."""


def lower(tree: Node) -> Expr:
    """The expression of the texts that ``tree`` matches as a whole.

    Raises
    ------
    UndecidedAnchor
        Whether an anchor holds depends on the text, or it looks further than to what lies beside it.
    GrammarLimitExceeded
        It has more than `MAX_SIZE` symbols with its repetitions written out.
    """
    expr = _Lowering().lower(tree, _EDGE, _EDGE)
    size = _size(expr, {})
    if size > MAX_SIZE:
        raise GrammarLimitExceeded(
            f"the pattern has {size:,} symbols with its repetitions written out, more than {MAX_SIZE:,};"
            " lower the counts, or repeat without a bound"
        )
    return expr


class _Lowering:
    """Lowers the nodes of one pattern; each once for what may lie before and after it."""

    def __init__(self) -> None:
        self._back, self._ahead = Crossings(looks_back=True), Crossings(looks_back=False)
        self._known: dict[tuple[Node, Places, Places], Expr] = {}

    def lower(self, node: Node, before: Places, after: Places) -> Expr:
        """The expression of ``node`` where one of ``before`` lies before it and one of ``after`` after it."""
        if not node.anchored:
            before = after = _EDGE  # it is all the same
        key = (node, before, after)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._lower(node, before, after)
        return found

    def _lower(self, node: Node, before: Places, after: Places) -> Expr:
        if isinstance(node, Characters):
            return _character(node.members)
        if isinstance(node, Anchor):
            return _anchor(node, before if node.looks_back else after)
        if isinstance(node, Look):
            raise UndecidedAnchor
        if isinstance(node, Concatenation):
            return self._concatenation(node, before, after)
        if isinstance(node, Alternatives):
            return alternation(*(self.lower(part, before, after) for part in node.parts))
        if isinstance(node, Repeat):
            if node.anchored:
                return self._anchored_repeat(node, before, after)
            return repetition(self.lower(node.part, before, after), node.low, node.high)
        raise TypeError(f"no such node: {node!r}")

    def _concatenation(self, node: Concatenation, before: Places, after: Places) -> Expr:
        afters: list[Places] = []
        for part in reversed(node.parts):
            afters.append(after)
            after = self._ahead.through(part, after) if node.anchored else after
        exprs: list[Expr] = []
        for part, after in zip(node.parts, reversed(afters), strict=True):
            exprs.append(self.lower(part, before, after))
            before = self._back.through(part, before) if node.anchored else before
        return _join(exprs)

    def _anchored_repeat(self, node: Repeat, before: Places, after: Places) -> Expr:
        """Once, or first, any number in the middle, and last: each of these has its own places."""
        if node.undecided:
            raise UndecidedAnchor
        low, high, part = node.low, node.high, node.part
        empty = self.lower(node.emptied, before, after) if node.nullable else NEVER
        if high == 0:
            return empty
        if part.nullable:
            low, part = 1, part.filled
        one = self.lower(part, before, after) if low <= 1 else NEVER
        if high == 1:
            return alternation(empty, one)
        earlier, later = self._back.through_repeated(part, before), self._ahead.through_repeated(part, after)
        middle = repetition(self.lower(part, earlier, later), max(low - 2, 0), None if high is None else high - 2)
        several = sequence(self.lower(part, before, later), middle, self.lower(part, earlier, after))
        return alternation(empty, one, several)


@lru_cache(maxsize=1024)
def _character(members: CharSet) -> Expr:
    expr = utf8(members)
    if expr is not NEVER and members.only is not None:
        return literal(chr(members.only).encode())  # joined with its neighbours, spelled in fewer tokens
    return call(Rule("character class", lambda: expr)) if _size(expr, {}) > _MAX_INLINE else expr


def _anchor(anchor: Anchor, beside: Places) -> Expr:
    if beside <= anchor.places:
        return EPSILON
    if beside.isdisjoint(anchor.places):
        return NEVER
    raise UndecidedAnchor


def _join(exprs: list[Expr]) -> Expr:
    """All in turn; runs of literals are joined at once, since one by one takes quadratic time."""
    parts: list[Expr] = []
    for is_text, run in groupby(exprs, lambda expr: isinstance(expr, Literal)):
        if is_text:
            parts.append(literal(b"".join(one.text for one in run if isinstance(one, Literal))))
        else:
            parts += run
    return sequence(*parts)


def _size(expr: Expr, known: dict[Expr, int]) -> int:
    """Symbols of ``expr`` written out."""
    if isinstance(expr, Literal):
        return len(expr.text)
    if expr not in known:
        if isinstance(expr, (Sequence, Alternation)):
            known[expr] = sum(_size(part, known) for part in expr.parts)
        elif isinstance(expr, Repetition):
            known[expr] = _size(expr.part, known) * (expr.low + 1 if expr.high is None else expr.high)
        else:
            known[expr] = 1
    return known[expr]
