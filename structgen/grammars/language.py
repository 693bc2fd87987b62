"""Languages of string values: sets of strings of Unicode scalar values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from weakref import WeakValueDictionary

from structgen.grammars import _dfa_algebra
from structgen.grammars._dfa_members import SATURATED, members, size
from structgen.grammars.bounds import least
from structgen.grammars.char_dfa import FIRST_SURROGATE, LAST_SURROGATE, MAX_CODE_POINT, CharDfa

__all__ = ["ALL", "NOTHING", "SATURATED", "Language"]

_SMALL = 32
"""A language of at most so many texts is given by them,"""

_SHORT = 256
"""unless they must be longer than this."""


class Language:
    """A set of strings. Immutable; made by the class methods and operators, which keep equal ones identical.

    A language is given either by its texts or by an automaton with bounds on the number of characters, which stay
    outside of the automaton so that large ones cost nothing. One of at most 32 texts is always given by them, but for
    huge ones; a longer list is where it was made from one. So equal languages are most often one object.

    Attributes
    ----------
    texts : tuple of str or None
        All members, sorted, each once; ``dfa`` is then ``None``, and the bounds are applied: 0 and ``None``.
    dfa : CharDfa or None
        With ``texts`` ``None``: what the members match; ``None`` for any string.
    low : int
        Characters that a member has at least; 0 where the automaton says so already.
    high : int or None
        Characters that a member has at most; ``None`` where the automaton says so already, or without end.
    """

    __slots__ = ("__weakref__", "_size", "dfa", "high", "low", "texts")

    def __init__(self, texts: tuple[str, ...] | None, dfa: CharDfa | None, low: int, high: int | None) -> None:
        self.texts, self.dfa, self.low, self.high = texts, dfa, low, high
        self._size = -1 if texts is None else len(texts)

    @classmethod
    def finite(cls, texts: Iterable[str]) -> Language:
        """Exactly these texts; those with a surrogate are left out, since no JSON text has them."""
        return _intern(tuple(sorted(text for text in set(texts) if _is_encodable(text))), None, 0, None)

    @classmethod
    def length(cls, low: int = 0, high: int | None = None) -> Language:
        """All strings of ``low`` to ``high`` characters, ``None``: without end."""
        return cls.of_dfa(None, low, high)

    @classmethod
    def of_dfa(cls, dfa: CharDfa | None, low: int = 0, high: int | None = None) -> Language:
        """The strings that ``dfa`` accepts (``None``: all), of ``low`` to ``high`` characters."""
        low = max(low, 0)
        if dfa is not None:
            if len(dfa) == 1 and dfa.accepting[0] and dfa.lows == _ALL_LOWS and dfa.highs == _ALL_HIGHS:
                dfa = None
            else:
                low, high = _needed_bounds(dfa, low, high)
        if (high is not None and high < low) or (dfa is not None and not dfa.queries.can_end(0, low, high)):
            return NOTHING
        if dfa is None:
            return _intern(None, None, low, high) if high != 0 else _intern(("",), None, 0, None)
        if low <= _SHORT and (high is not None or dfa.longest is not None):
            few = members(dfa, low, high, _SMALL)
            if few is not None:
                return _intern(few, None, 0, None)
        return _intern(None, dfa, low, high)

    @property
    def is_empty(self) -> bool:
        """Whether there is no member."""
        return self is NOTHING

    @property
    def size(self) -> int:
        """The number of members, at most `SATURATED`."""
        if self._size < 0:
            self._size = size(self.dfa, self.low, self.high)
        return self._size

    def contains(self, text: str) -> bool:
        """Whether ``text`` is a member."""
        if self.texts is not None:
            place = bisect_left(self.texts, text)
            return place < len(self.texts) and self.texts[place] == text
        if len(text) < self.low or (self.high is not None and len(text) > self.high):
            return False
        return self.dfa.accepts(text) if self.dfa is not None else _is_encodable(text)

    def members(self, limit: int) -> tuple[str, ...] | None:
        """All members, sorted, if there are at most ``limit``."""
        if self.texts is not None:
            return self.texts if len(self.texts) <= limit else None
        if self.dfa is None or (self.high is None and self.dfa.longest is None):
            return None
        return members(self.dfa, self.low, self.high, limit)

    def shares(self, other: Language) -> bool:
        """Whether there is a member of both."""
        return not (self & other).is_empty

    def __and__(self, other: Language) -> Language:
        if self is other or other is ALL:
            return self
        if self is ALL:
            return other
        if self.texts is not None or other.texts is not None:
            return _filtered(self, other)
        return _both(self, other)

    def negations(self) -> tuple[Language, ...]:
        """Languages no two of which share a member, and which together hold all that is not in this one.

        Raises
        ------
        GrammarLimitExceeded
            A list of texts is too long to be negated.
        """
        return _negations(self)

    def __sub__(self, other: Language) -> tuple[Language, ...]:
        """The members that are not in ``other``, as languages no two of which share a member."""
        if self.texts is not None:
            rest = _intern(tuple(text for text in self.texts if not other.contains(text)), None, 0, None)
            return () if rest.is_empty else (rest,)
        parts = (self & part for part in other.negations())
        return tuple(part for part in parts if not part.is_empty)

    def __repr__(self) -> str:
        if self.texts is not None:
            shown = ", ".join(map(repr, self.texts[:5])) + (", ..." if len(self.texts) > 5 else "")
            return f"Language({{{shown}}})"
        what = "any string" if self.dfa is None else f"{len(self.dfa)} states"
        return f"Language({what}, low={self.low}, high={self.high})"


_interned: WeakValueDictionary[tuple[object, ...], Language] = WeakValueDictionary()


def _intern(texts: tuple[str, ...] | None, dfa: CharDfa | None, low: int, high: int | None) -> Language:
    key = (texts, dfa, low, high)
    found = _interned.get(key)
    return found if found is not None else _interned.setdefault(key, Language(*key))


NOTHING = _intern((), None, 0, None)
ALL = _intern(None, None, 0, None)

_ALL_LOWS = (0, LAST_SURROGATE + 1)
_ALL_HIGHS = (FIRST_SURROGATE - 1, MAX_CODE_POINT)


def _is_encodable(text: str) -> bool:
    return text.isascii() or not any(FIRST_SURROGATE <= ord(char) <= LAST_SURROGATE for char in text)


def _needed_bounds(dfa: CharDfa, low: int, high: int | None) -> tuple[int, int | None]:
    """The bounds without those that the automaton itself keeps."""
    if low and low <= dfa.shortest[0]:
        low = 0
    if high is not None and dfa.longest is not None and dfa.longest <= high:
        high = None
    return low, high


def _filtered(one: Language, other: Language) -> Language:
    """The intersection of two languages one of which is a list of texts."""
    if one.texts is None or (other.texts is not None and len(other.texts) < len(one.texts)):
        one, other = other, one
    contains = other.contains if other.texts is None else set(other.texts).__contains__
    return _intern(tuple(text for text in one.texts or () if contains(text)), None, 0, None)


@lru_cache(maxsize=4096)
def _both(one: Language, other: Language) -> Language:
    """The intersection of two languages that are no lists of texts."""
    low, high = max(one.low, other.low), least(one.high, other.high)
    if one.dfa is None or other.dfa is None or one.dfa is other.dfa:
        return Language.of_dfa(one.dfa or other.dfa, low, high)
    dfa = _dfa_algebra.intersection(one.dfa, other.dfa)
    return NOTHING if dfa is None else Language.of_dfa(dfa, low, high)


@lru_cache(maxsize=1024)
def _negations(language: Language) -> tuple[Language, ...]:
    if language is NOTHING:
        return (ALL,)
    dfa = language.dfa if language.texts is None else _dfa_algebra.of_texts(language.texts)
    parts: list[Language] = []
    if language.low:
        parts.append(Language.length(0, language.low - 1))
    if dfa is not None:
        rest = _dfa_algebra.complement(dfa)
        if rest is not None:
            parts.append(Language.of_dfa(rest, language.low, language.high))
    if language.high is not None:
        parts.append(Language.length(language.high + 1, None))
    return tuple(part for part in parts if not part.is_empty)
