"""Sets of numbers: what ``type``, ``minimum``, ``multipleOf``, ``enum`` and their like leave of them, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from weakref import WeakValueDictionary

from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.decimals import Exact, Written, exact, to_python
from structgen.grammars.json_schema.number_dfa import number_dfa
from structgen.grammars.json_schema.number_parts import (
    ANYHOW,
    EMPTY,
    MARKED,
    PLAIN,
    Parts,
    complement,
    few,
    holds,
    meet,
    some,
)

__all__ = ["NumberSet"]


class NumberSet:
    """A set of decimals: an interval, its multiples of something, without some; or a few values.

    Immutable; equal sets that were made in the same way are one object. Values are decimals and not doubles: 0.3 is a
    multiple of 0.1. A float counts as the decimal that its ``repr`` shows.
    """

    __slots__ = ("__weakref__", "_dfas", "parts")

    ALL: NumberSet
    NOTHING: NumberSet

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._dfas: dict[str, ByteDfa] = {}

    @staticmethod
    def at_least(bound: Written) -> NumberSet:
        """Numbers that are ``bound`` or more."""
        return _from(bound, is_open=False)

    @staticmethod
    def above(bound: Written) -> NumberSet:
        """Numbers greater than ``bound``."""
        return _from(bound, is_open=True)

    @staticmethod
    def at_most(bound: Written) -> NumberSet:
        """Numbers that are ``bound`` or less."""
        return _up_to(bound, is_open=False)

    @staticmethod
    def below(bound: Written) -> NumberSet:
        """Numbers less than ``bound``."""
        return _up_to(bound, is_open=True)

    @staticmethod
    def multiple_of(step: Written) -> NumberSet:
        """Whole multiples of ``step``, which is not zero."""
        value = exact(step)
        if value == 0:
            raise ValueError("nothing but 0 is a multiple of 0")
        return _intern(Parts(step=abs(value)))

    @staticmethod
    def integers() -> NumberSet:
        """Whole numbers, however they are written."""
        return _INTEGERS

    @staticmethod
    def plain_integers() -> NumberSet:
        """Numbers written without fraction and exponent: what draft 4 calls an integer."""
        return _PLAIN_INTEGERS

    @staticmethod
    def only(values: Iterable[Written]) -> NumberSet:
        """Exactly ``values``; those that are infinite or NaN are no JSON numbers and left out."""
        found: set[Exact] = set()
        floats: set[Exact] = set()
        for value in values:
            if _is_finite(value):
                one = exact(value)
                found.add(one)
                if isinstance(value, float) and isinstance(one, int):
                    floats.add(one)
        return _intern(some(frozenset(found), ANYHOW, frozenset(floats)))

    def __and__(self, other: NumberSet) -> NumberSet:
        if self is other or other is _ALL:
            return self
        return other if self is _ALL else _intern(meet(self.parts, other.parts))

    def negations(self) -> tuple[NumberSet, ...]:
        """Disjoint sets that together hold every number that this one does not."""
        found = [_intern(parts) for parts in complement(self.parts)]
        writing = self.parts.writing
        if writing != ANYHOW:
            found = [one & _WRITTEN[writing] for one in found]
            found.append(_WRITTEN[MARKED if writing == PLAIN else PLAIN])
        return tuple(one for one in found if not one.is_empty)

    @property
    def is_empty(self) -> bool:
        """Whether no number is in the set."""
        return self is _NOTHING

    @property
    def is_whole(self) -> bool:
        """Whether every member is an integer."""
        if self.parts.only is not None:
            return all(isinstance(value, int) for value in self.parts.only)
        return isinstance(self.parts.step, int)

    def contains(self, value: Written) -> bool:
        """Whether ``value`` is in the set. An int counts as written without fraction and exponent, all else as with."""
        if not _is_finite(value):
            return False
        if self.parts.writing != ANYHOW and (self.parts.writing == PLAIN) != isinstance(value, int):
            return False
        return holds(self.parts, value if isinstance(value, int) else exact(value))

    def members(self, limit: int) -> tuple[int | Decimal, ...] | None:
        """All members in order if there are at most ``limit``, else ``None``."""
        found = few(self.parts, limit)
        return None if found is None else tuple(map(to_python, found))

    def dfa(self, spelling: str) -> ByteDfa:
        """The automaton of the members' spellings; the set is not empty.

        Parameters
        ----------
        spelling : {"canonical", "any"}
            ``"canonical"``: as Python's ``repr`` and JavaScript write them, see `CanonicalFloats`; where all members
            are whole, without fraction and exponent.
            ``"any"``: every spelling of RFC 8259, see `EverySpelling` for its bounds.

        Raises
        ------
        GrammarLimitExceeded
            It would have more than 50,000 states, or no member has a spelling within the bounds.
        """
        found = self._dfas.get(spelling)
        if found is None:
            found = self._dfas[spelling] = number_dfa(self.parts, spelling)
        return found

    def __repr__(self) -> str:
        usual = Parts()._asdict()
        said = (f"{name}={its!r}" for name, its in self.parts._asdict().items() if its != usual[name])
        return f"NumberSet({', '.join(said)})"


_interned: WeakValueDictionary[Parts, NumberSet] = WeakValueDictionary()


def _intern(parts: Parts) -> NumberSet:
    found = _interned.get(parts)
    return found if found is not None else _interned.setdefault(parts, NumberSet(parts))


_ALL = NumberSet.ALL = _intern(Parts())
_NOTHING = NumberSet.NOTHING = _intern(EMPTY)
_INTEGERS = _intern(Parts(step=1))
_PLAIN_INTEGERS = _intern(Parts(step=1, writing=PLAIN))
_WRITTEN = (_ALL, _PLAIN_INTEGERS, _intern(Parts(writing=MARKED)))


def _is_finite(value: Written) -> bool:
    return isinstance(value, int) or Decimal(value).is_finite()


def _from(bound: Written, *, is_open: bool) -> NumberSet:
    if _is_finite(bound):
        return _intern(Parts(low=exact(bound), low_open=is_open))
    return _beyond_all(bound, empty=bound > 0)


def _up_to(bound: Written, *, is_open: bool) -> NumberSet:
    if _is_finite(bound):
        return _intern(Parts(high=exact(bound), high_open=is_open))
    return _beyond_all(bound, empty=bound < 0)


def _beyond_all(bound: Written, *, empty: bool) -> NumberSet:
    """For a bound that Python reads as infinite, such as 1e400: beyond every number that is written."""
    if bound != bound:
        raise ValueError(f"{bound!r} is no bound")
    return _NOTHING if empty else _ALL
