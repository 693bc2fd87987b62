"""Random texts of a grammar: a walk over bytes that keeps a way to an end within its budget.

It is the walk that a model takes under a token budget, with single bytes for tokens, so that `Matcher.distance`
counts bytes: of the bytes that may come, only those are drawn from after which an end still fits.
"""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.analysis import parts_of
from structgen.grammars.automaton.value_facts import called_values
from structgen.grammars.expr import Call, Expr, Rule, SpecialToken
from structgen.grammars.values import Value
from structgen.grammars.vocabulary import TokenVocabulary

if TYPE_CHECKING:
    from structgen.grammars.token_automaton import TokenAutomaton

__all__ = ["byte_vocabulary", "draw_text", "has_special_tokens", "shortest_ending"]

_WORDS = 8


@functools.cache
def byte_vocabulary() -> TokenVocabulary:
    """The vocabulary whose token ``i`` is the byte ``i``, with token 256 as its end."""
    return TokenVocabulary([bytes([byte]) for byte in range(256)] + [b""], [256], mask_slots=64)


def has_special_tokens(start: Rule) -> bool:
    """Whether a text of ``start`` may hold any; such a text has no bytes of its own."""
    pending: list[Expr] = [start.body]
    seen: set[Expr] = set(pending)
    while pending:
        one = pending.pop()
        if isinstance(one, SpecialToken):
            return True
        called = [one.rule] if isinstance(one, Call) else called_values(one) if isinstance(one, Value) else ()
        for part in (*parts_of(one), *(rule.body for rule in called)):
            if part not in seen:
                seen.add(part)
                pending.append(part)
    return False


def draw_text(bytewise: TokenAutomaton, seed: int | str, max_bytes: int) -> str:
    """A random text of the grammar, the same for the same seed.

    Parameters
    ----------
    bytewise : TokenAutomaton
        The grammar over `byte_vocabulary`.
    seed : int or str
        Any.
    max_bytes : int
        Length of the text at most.

    Raises
    ------
    GrammarLimitExceeded
        The shortest text that is known is longer than ``max_bytes``.
    InvalidGrammar
        The text is not UTF-8.
    """
    generator, least = random.Random(f"structgen {seed}"), bytewise.distance
    if least > max_bytes:  # it is an upper bound; walking to an end may prove to be shorter
        return _only_text(bytewise, max_bytes)
    left = least + int((max_bytes - least) * generator.random() ** 2)  # most texts are short, some are long
    text = bytearray()
    with bytewise.matcher() as matcher:
        state, row, seen = matcher.start, _row(), dict[bytes, _Choice]()
        while not (may_end := matcher.is_accepting(state)) or generator.random() >= _END:
            matcher.fill_mask_within(state, row, left - 1)
            if not row[:_WORDS].any():
                if may_end:
                    break
                raise _lost(bytes(text))
            choice = seen.get(key := row.tobytes())
            if choice is None:
                choice = seen[key] = _Choice.among(_allowed(row))
            byte = choice.draw(generator)
            text.append(byte)
            state, left = matcher.advance(state, byte), left - 1
    return _decoded(bytes(text))


def _only_text(bytewise: TokenAutomaton, max_bytes: int) -> str:
    """The shortest text that is known, where it fits."""
    text = shortest_ending(bytewise, b"") or b""
    if len(text) > max_bytes:
        raise GrammarLimitExceeded(f"the shortest text known has {len(text)} bytes, which is more than {max_bytes}")
    return _decoded(text)


def shortest_ending(bytewise: TokenAutomaton, prefix: bytes) -> bytes | None:
    """A short way from ``prefix`` to the end of a text; ``None`` where no text begins so.

    Parameters
    ----------
    bytewise : TokenAutomaton
        The grammar over `byte_vocabulary`.
    prefix : bytes
        The text so far.
    """
    with bytewise.matcher() as matcher:
        state, row, ending = matcher.advance_bytes(matcher.start, prefix), _row(), bytearray()
        if state < 0:
            return None
        while not matcher.is_accepting(state):
            if not matcher.fill_mask_within(state, row, matcher.distance(state) - 1):
                raise _lost(prefix + ending)
            byte = _plainest(_allowed(row))
            ending.append(byte)
            state = matcher.advance(state, byte)
        return bytes(ending)


def _lost(text: bytes) -> GrammarLimitExceeded:
    """The error where `Matcher.distance` was wrong: what is not whole is never passed off as a text."""
    return GrammarLimitExceeded(f"no way to an end is known after {text!r}; please report this grammar")


def _row() -> Int32Array:
    return np.zeros(_WORDS + 1, np.int32)


def _allowed(row: Int32Array) -> list[int]:
    bits = np.unpackbits(np.frombuffer(row.tobytes()[: 4 * _WORDS], np.uint8), bitorder="little")
    return [int(byte) for byte in np.flatnonzero(bits)]


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidGrammar(f"this grammar has texts that are not UTF-8, such as {text!r}") from error


_END = 0.2
"""Chance to end where a text may, so that what could go on for ever has a few characters."""


def _plainest(allowed: list[int]) -> int:
    """What a person would write to come to an end: a mark that closes, or a letter inside of a string, or a digit."""
    in_text = _is_text(allowed)
    order = b'"abcdefghijklmnopqrstuvwxyz0123456789' if in_text else b'"]},0123456789abcdefghijklmnopqrstuvwxyz'
    return min(allowed, key=lambda byte: order.find(byte) if byte in order else len(order) + byte)


class _Kind(NamedTuple):
    """Bytes that are drawn from evenly once their kind is drawn."""

    members: frozenset[int]
    weight: float
    """Where structure is written,"""
    in_text: float
    """and where any letter may come, inside of strings."""


_KINDS = (
    _Kind(frozenset(b'"'), 6, 3),
    _Kind(frozenset(b"]})"), 3, 0.3),
    _Kind(frozenset(b"{[("), 5, 0.3),
    _Kind(frozenset(b","), 6, 0.5),
    _Kind(frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"), 8, 8),
    _Kind(frozenset(b"0123456789"), 5, 3),
    _Kind(frozenset(b" "), 1, 2),
    _Kind(frozenset(b"\n\r\t"), 0.3, 0.2),
    _Kind(frozenset(b"\\"), 0.1, 0.4),
    _Kind(frozenset(range(0x80, 0x100)), 1, 1),
)
_OTHERS = _Kind(frozenset(range(256)).difference(*(kind.members for kind in _KINDS)), 2, 2)
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_MANY_LETTERS, _FEW = 20, 3


def _is_text(allowed: list[int]) -> bool:
    """Whether any letter may come, as in strings and not where structure is written."""
    return len(_LETTERS.intersection(allowed)) >= _MANY_LETTERS


class _Choice(NamedTuple):
    """What may come in one place: the bytes of each kind, and the kinds' weights summed up."""

    kinds: tuple[tuple[int, ...], ...]
    heights: tuple[float, ...]

    @classmethod
    def among(cls, allowed: list[int]) -> _Choice:
        """The choice among some bytes."""
        in_text = _is_text(allowed)
        kinds: list[tuple[int, ...]] = []
        heights: list[float] = []
        height = 0.0
        for kind in (*_KINDS, _OTHERS):
            members = tuple(byte for byte in allowed if byte in kind.members)
            if members:
                weight = kind.in_text if in_text else kind.weight
                # The letters of null, true and false are not worth as much as the alphabet.
                height += min(weight, 2 * len(members)) if len(kind.members) > _FEW else weight
                kinds.append(members)
                heights.append(height)
        return cls(tuple(kinds), tuple(heights))

    def draw(self, generator: random.Random) -> int:
        """One byte."""
        point = generator.random() * self.heights[-1]
        members = next(its for its, height in zip(self.kinds, self.heights, strict=True) if point < height)
        return members[int(generator.random() * len(members))]
