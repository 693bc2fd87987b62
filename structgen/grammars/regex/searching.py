"""From the syntax tree to the language of the texts in which it matches somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import NOTHING, Language
from structgen.grammars.regex.determinize import searching_dfa
from structgen.grammars.regex.syntax import Alternatives, Anchor, Characters, Concatenation, Look, Node, Place, Repeat

__all__ = ["searching_language"]

_MAX_WORDS = 4096
"""Alternatives of plain words are a list of texts up to so many."""

_MAX_WRITTEN_OUT = 8
"""A count of more characters is a bound on the length, where it can be."""


def searching_language(tree: Node) -> Language:
    """The texts in which ``tree`` matches somewhere.

    Raises
    ------
    GrammarLimitExceeded
        It needs too many states.
    """
    parts = _parts(tree)
    if len(parts) > 1 and _is_edge(parts[0], True) and _is_edge(parts[-1], False):
        found = _whole(parts[1:-1])
        if found is not None:
            return found
    return _looked_around(parts) or _of_dfa(searching_dfa(tree))


def _looked_around(parts: list[Node]) -> Language | None:
    """The texts of ``^(?=...)...``: what looks ahead from the start is one more pattern that must match."""
    place = next((place for place, part in enumerate(parts) if not _is_edge(part, True)), 0)
    rest = [part for part in parts[place:] if not isinstance(part, Look) or part.back]
    looks = [part for part in parts[place:] if isinstance(part, Look) and not part.back]
    if not place or not looks or parts[place : place + len(looks)] != looks:
        return None
    language = searching_language(Concatenation((_START, *rest)))
    for look in looks:
        found = searching_language(Concatenation((_START, look.body)))
        if look.negated:
            others = found.negations()
            if len(others) > 1:
                return None
            found = others[0] if others else NOTHING
        language &= found
    return language


def _parts(tree: Node) -> list[Node]:
    """What follows each other in ``tree``."""
    while isinstance(tree, (Concatenation, Alternatives)) and len(tree.inside) == 1:
        tree = tree.inside[0]
    return [part for inner in tree.parts for part in _parts(inner)] if isinstance(tree, Concatenation) else [tree]


def _is_edge(node: Node, looks_back: bool) -> bool:
    return isinstance(node, Anchor) and node.looks_back is looks_back


def _whole(parts: Sequence[Node]) -> Language | None:
    """The texts that match as a whole, if there is a quick way: plain words, or one count that is a length."""
    if any(part.anchored for part in parts):
        return None
    words = _words(Concatenation(tuple(parts)), _MAX_WORDS)
    if words is not None:
        return Language.finite(words)
    return _counted(parts)


def _words(node: Node, limit: int) -> list[str] | None:
    """All texts that ``node`` matches, if it has no classes and there are at most ``limit``."""
    if isinstance(node, Characters):
        return None if node.members.only is None else [chr(node.members.only)]
    if isinstance(node, Alternatives):
        found: list[str] = []
        for part in node.parts:
            words = _words(part, limit - len(found))
            if words is None or len(found) + len(words) > limit:
                return None
            found += words
        return found
    if isinstance(node, Concatenation):
        return _joined(node.parts, limit)
    if isinstance(node, Repeat) and node.high is not None and node.high <= _MAX_WRITTEN_OUT:
        counts = [_joined([node.part] * count, limit) for count in range(node.low, node.high + 1)]
        return _words_of_all(counts, limit)
    return None


def _words_of_all(counts: list[list[str] | None], limit: int) -> list[str] | None:
    found: list[str] = []
    for words in counts:
        if words is None:
            return None
        found += words
    return found if len(found) <= limit else None


def _joined(parts: Sequence[Node], limit: int) -> list[str] | None:
    found = [""]
    for part in parts:
        words = _words(part, limit)
        if words is None or len(found) * len(words) > limit:
            return None
        found = (
            [one + other for one, other in product(found, words)]
            if len(words) > 1
            else [one + words[0] for one in found]
        )
    return found


def _counted(parts: Sequence[Node]) -> Language | None:
    """With parts of fixed lengths and one that is repeated, the length of the text says how often it is."""
    widths = [_width(part) for part in parts]
    variable = [place for place, width in enumerate(widths) if width is None]
    if len(variable) > 1:
        return None
    place = variable[0] if variable else max(range(len(parts)), key=lambda place: widths[place] or 0, default=-1)
    repeat = parts[place] if place >= 0 else None
    inner = _width(repeat.part) if isinstance(repeat, Repeat) else None
    if not isinstance(repeat, Repeat) or not inner:
        return None
    if (repeat.low if repeat.high is None else repeat.high) * inner <= _MAX_WRITTEN_OUT:
        return None
    others = sum(width or 0 for at, width in enumerate(widths) if at != place)
    unbound = Repeat(repeat.part, 0, None)
    tree = Concatenation((_START, *parts[:place], unbound, *parts[place + 1 :], _END))
    dfa = searching_dfa(tree)
    high = None if repeat.high is None else others + inner * repeat.high
    return _of_dfa(dfa, others + inner * repeat.low, high)


def _of_dfa(dfa: CharDfa | None, low: int = 0, high: int | None = None) -> Language:
    return NOTHING if dfa is None else Language.of_dfa(dfa, low, high)


def _width(node: Node) -> int | None:
    """How many characters it matches, if always the same number."""
    if isinstance(node, Characters):
        return 1
    if isinstance(node, Repeat):
        width = _width(node.part)
        return None if width is None or node.low != node.high else width * node.low
    widths = [_width(part) for part in node.inside]
    if isinstance(node, Concatenation):
        total = 0
        for width in widths:
            if width is None:
                return None
            total += width
        return total
    return widths[0] if widths and all(width == widths[0] for width in widths) else None


_START = Anchor("^", 0, True, frozenset({Place.EDGE}))
_END = Anchor("$", 0, False, frozenset({Place.EDGE}))
