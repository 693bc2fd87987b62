"""Regions: prose with tags in it, and whatever ends it, as expressions of the grammar IR.

A region reads text until one of its *markers*: the triggers of its tags, the texts that end it, and texts that may not
come at all. The first marker that is complete decides: what it begins must be a tag, or an end, that begins with it.
Where two are complete at once, either may be meant. So prose before a marker is what `Prose.before` says, not just any
text without markers: of the trigger ``aba``, text ``ababa`` has read the trigger after three letters, and ``ab`` is no
prose before a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.expr import (
    EPSILON,
    NEVER,
    Expr,
    alternation,
    literal,
    repetition,
    sequence,
    special_token,
)
from structgen.grammars.structural_tag.prose import Prose, prose_without
from structgen.grammars.values import regular

__all__ = ["NO_ENDS", "Ends", "Marker", "Region", "Trigger", "branches"]

Marker = bytes | int
"""A text, or the id of a special token."""


@dataclass(frozen=True)
class Ends:
    """What ends a tag, any of them."""

    texts: tuple[bytes, ...] = ()
    """Not empty ones."""
    tokens: tuple[int, ...] = ()
    """Special tokens."""
    may_be_empty: bool = False
    """Whether the tag may end without a mark."""

    @property
    def expr(self) -> Expr:
        """The expression of one end."""
        return alternation(
            *map(literal, self.texts), *map(special_token, self.tokens), EPSILON if self.may_be_empty else NEVER
        )


NO_ENDS = Ends(may_be_empty=True)
"""Of what is not inside a tag."""


class Trigger(NamedTuple):
    """What interrupts the prose, and what must follow."""

    marker: Marker
    begin: Marker
    """What is written from the marker on: the marker, and for a text maybe more."""
    after: Expr


@dataclass(frozen=True)
class Region:
    """Prose and tags.

    Parameters
    ----------
    triggers : sequence of Trigger
        The same marker may come several times.
    excludes : tuple of bytes
        Texts that may not occur in the prose, nor as a trigger or an end.
    tokens : tuple of int
        Special tokens that may stand in the prose.
    at_least_one, stop_after_first : bool
        Whether there must be a tag, and whether nothing may follow it; what ends the tag around the region is then
        part of what comes after a trigger.
    """

    triggers: Sequence[Trigger] = ()
    excludes: tuple[bytes, ...] = ()
    tokens: tuple[int, ...] = ()
    at_least_one: bool = False
    stop_after_first: bool = False

    def expr(self, ends: Ends, *, is_last: bool) -> Expr:
        """The expression of the region inside a tag with these ends.

        Parameters
        ----------
        ends : Ends
            Those of the innermost tag: the prose holds none of their texts.
        is_last : bool
            Whether one of them follows at once, and is part of the expression.
        """
        markers = self._texts
        forbidden = self.excludes if is_last else (*self.excludes, *ends.texts)
        if is_last:
            markers = markers | set(ends.texts)
        prose = prose_without(markers, forbidden)
        onward = self._onward(prose)
        return self._joined(prose, onward, self._over(prose, ends) if is_last else {prose.whole: EPSILON})

    @property
    def _texts(self) -> set[bytes]:
        """The triggers that are texts."""
        return {one.marker for one in self.triggers if isinstance(one.marker, bytes)}

    def _onward(self, prose: Prose) -> dict[ByteDfa, Expr]:
        """What may interrupt each kind of prose, with the rest of the tag."""
        by_prose: dict[ByteDfa, list[tuple[bytes, Expr]]] = {}
        by_token: list[Expr] = []
        for marker, begin, after in self.triggers:
            if isinstance(begin, int):
                by_token.append(sequence(special_token(begin), after))
            elif isinstance(marker, bytes) and (dfa := prose.before(marker)) is not None:
                by_prose.setdefault(dfa, []).append((begin, after))
        onward = {dfa: branches(pairs) for dfa, pairs in by_prose.items()}
        if by_token:
            onward[prose.whole] = alternation(onward.get(prose.whole, NEVER), *by_token)
        return onward

    def _over(self, prose: Prose, ends: Ends) -> dict[ByteDfa, Expr]:
        """What may end each kind of prose."""
        over: dict[ByteDfa, Expr] = {}
        for text in ends.texts:
            for marker in sorted(self._texts.union(ends.texts)):  # the first that is complete; the text may be longer
                if text.startswith(marker) and (dfa := prose.before(marker)) is not None:
                    over[dfa] = alternation(over.get(dfa, NEVER), literal(text))
        without_text = Ends(tokens=ends.tokens, may_be_empty=ends.may_be_empty).expr
        over[prose.whole] = alternation(over.get(prose.whole, NEVER), without_text)
        return over

    def _joined(self, prose: Prose, onward: dict[ByteDfa, Expr], over: dict[ByteDfa, Expr]) -> Expr:
        """Prose and tags in turn until it is over."""
        kinds = [one for one in {**onward, **over} if (onward.get(one, NEVER), over.get(one, NEVER)) != (NEVER, NEVER)]
        if len(kinds) == 1:  # so that a place in the prose is one place and not several
            text, tag, out = self._free(prose, kinds[0]), onward.get(kinds[0], NEVER), over.get(kinds[0], NEVER)
            if self.stop_after_first:
                return sequence(text, alternation(tag, NEVER if self.at_least_one else out))
            return sequence(text, repetition(sequence(tag, text), int(self.at_least_one), None), out)
        step = alternation(*(sequence(self._free(prose, one), tag) for one, tag in onward.items()))
        rest = alternation(*(sequence(self._free(prose, one), out) for one, out in over.items()))
        if self.stop_after_first:
            return alternation(step, NEVER if self.at_least_one else rest)
        return sequence(repetition(step, int(self.at_least_one), None), rest)

    def _free(self, prose: Prose, last: ByteDfa) -> Expr:
        """Prose whose last stretch of text is of this kind."""
        tokens = alternation(*map(special_token, self.tokens))
        if prose.whole is last:
            return sequence(regular(last), repetition(sequence(tokens, regular(last)), 0, None))
        return sequence(repetition(sequence(regular(prose.whole), tokens), 0, None), regular(last))


def branches(pairs: Sequence[tuple[bytes, Expr]]) -> Expr:
    """Any of the texts with what follows it, common beginnings written once."""
    by_first: dict[bytes, list[tuple[bytes, Expr]]] = {}
    for text, after in pairs:
        by_first.setdefault(text[:1], []).append((text, after))
    here = [after for _, after in by_first.pop(b"", [])]
    return alternation(*here, *map(_branch, by_first.values()))


def _branch(pairs: Sequence[tuple[bytes, Expr]]) -> Expr:
    """The same of texts that begin with the same byte."""
    least, most = min(text for text, _ in pairs), max(text for text, _ in pairs)
    size = next((at for at, byte in enumerate(least) if byte != most[at]), len(least))
    if len(pairs) == 1:
        return sequence(literal(least), pairs[0][1])
    return sequence(literal(least[:size]), branches([(text[size:], after) for text, after in pairs]))
