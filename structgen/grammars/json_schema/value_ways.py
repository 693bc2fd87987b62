"""Ways of being an array or an object: what it holds and must, each of its values by the atoms that it meets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, TypeVar

from structgen.grammars import language
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.language import Language

__all__ = [
    "FREE_ARRAY",
    "FREE_OBJECT",
    "ArrayPart",
    "ArrayWay",
    "Counter",
    "ObjectPart",
    "ObjectWay",
    "Obligation",
    "SeenItems",
    "SeenKeys",
    "joined",
]

_T = TypeVar("_T")


def joined(one: tuple[_T, ...], other: tuple[_T, ...]) -> tuple[_T, ...]:
    """What is in either, each once, in order."""
    if not one or not other:
        return one or other
    return tuple(dict.fromkeys(one + other))


class SeenKeys(NamedTuple):
    """The keys that have been evaluated, in the sense of ``unevaluatedProperties``."""

    names: frozenset[str] = frozenset()
    languages: tuple[Language, ...] = ()
    everything: bool = False
    is_least: bool = False
    """There may be others, of which that is not known."""

    def __or__(self, other: SeenKeys) -> SeenKeys:
        return SeenKeys(
            self.names | other.names,
            joined(self.languages, other.languages),
            self.everything or other.everything,
            self.is_least or other.is_least,
        )


class SeenItems(NamedTuple):
    """The elements that have been evaluated, in the sense of ``unevaluatedItems``."""

    first: int = 0
    """All before this place,"""
    matching: tuple[Atom, ...] = ()
    """and those that meet one of these,"""
    everything: bool = False
    """or all of them."""

    def __or__(self, other: SeenItems) -> SeenItems:
        return SeenItems(
            max(self.first, other.first),
            joined(self.matching, other.matching),
            self.everything or other.everything,
        )


class ObjectPart:
    """What the members of an object must meet, each by its key.

    Parameters
    ----------
    properties : dict of str to Atom
        For the values of these keys.
    patterns : tuple of (Language, Atom)
        For the values of the keys in each language.
    additional : Atom
        For the values of all keys that are neither in ``covered`` nor in any of the languages.
    covered : collection of str, optional
        ``properties`` if not given.
    is_exact : bool
        Whether that is all; else something has been left out.
    """

    __slots__ = ("_matched", "additional", "covered", "is_exact", "patterns", "properties")

    def __init__(
        self,
        properties: dict[str, Atom],
        patterns: tuple[tuple[Language, Atom], ...] = (),
        additional: Atom = ANYTHING,
        covered: Collection[str] | None = None,
        *,
        is_exact: bool = True,
    ) -> None:
        self.is_exact = is_exact
        self.properties, self.patterns, self.additional = properties, patterns, additional
        self.covered: Collection[str] = properties if covered is None else covered
        self._matched: dict[str, tuple[Atom, ...]] = {}

    @property
    def is_closed(self) -> bool:
        """Whether no keys are allowed but the covered ones."""
        return self.additional is NOTHING and not self.patterns

    def atoms_of(self, name: str) -> Iterable[Atom]:
        """What the value of ``name`` must meet."""
        if self.patterns:
            found = self._matched.get(name)
            if found is None:
                found = self._matched[name] = tuple(self._match(name))
            return found
        if name in self.properties:
            return (self.properties[name],)
        return () if name in self.covered else (self.additional,)

    def _match(self, name: str) -> Iterable[Atom]:
        is_covered = name in self.covered
        if name in self.properties:
            yield self.properties[name]
        for keys, atom in self.patterns:
            if keys.contains(name):
                is_covered = True
                yield atom
        if not is_covered:
            yield self.additional


class Obligation(NamedTuple):
    """At least one member has a key of this kind and a value that meets ``atoms``."""

    atoms: tuple[Atom, ...]
    inside: Language = language.ALL
    """The key lies in here,"""
    outside: tuple[Language, ...] = ()
    """in none of these,"""
    names: Collection[str] = ()
    """and is none of these."""

    @property
    def said(self) -> frozenset[Atom]:
        """What its value must meet, if anything."""
        return frozenset(self.atoms) - {ANYTHING}

    def concerns(self, name: str) -> bool:
        """Whether ``name`` is such a key."""
        return (
            name not in self.names
            and self.inside.contains(name)
            and not any(keys.contains(name) for keys in self.outside)
        )


class ObjectWay:
    """What an object may hold and must. Immutable; equal ones say the same.

    Parameters
    ----------
    parts : tuple of ObjectPart
        What members must meet.
    required : tuple of str
        Keys that are there.
    low, high : int
        Bounds on the number of members; ``high`` may be ``None``.
    implications : tuple of (frozenset of str, str or None)
        Where all of these keys are there, so must be the other; ``None``: not all of them may be.
    obligations : tuple of Obligation
        Members one of which must be there.
    keys : tuple of tuple of Language
        Each key lies in one language of each of these.
    seen : SeenKeys, optional
        What has been evaluated.
    """

    __slots__ = (
        "_hash",
        "_literals",
        "_values",
        "high",
        "implications",
        "keys",
        "low",
        "obligations",
        "parts",
        "required",
        "seen",
    )

    def __init__(
        self,
        parts: tuple[ObjectPart, ...] = (),
        required: tuple[str, ...] = (),
        low: int = 0,
        high: int | None = None,
        implications: tuple[tuple[frozenset[str], str | None], ...] = (),
        obligations: tuple[Obligation, ...] = (),
        keys: tuple[tuple[Language, ...], ...] = (),
        seen: SeenKeys | None = None,
    ) -> None:
        self.parts, self.required, self.low, self.high = parts, required, low, high
        self.implications, self.obligations, self.keys, self.seen = implications, obligations, keys, seen
        self._values: dict[str, tuple[Atom, ...]] = {}
        self._literals: frozenset[object] | None = None
        self._hash: int | None = None

    def atoms_of(self, name: str) -> tuple[Atom, ...]:
        """What the value of ``name`` must meet."""
        found = self._values.get(name)
        if found is None:
            atoms = dict.fromkeys(atom for part in self.parts for atom in part.atoms_of(name))
            atoms.pop(ANYTHING, None)
            found = self._values[name] = tuple(atoms)
        return found

    @property
    def literals(self) -> frozenset[object]:
        """All that it says but the bounds."""
        if self._literals is None:
            said = (self.parts, self.required, self.implications, self.obligations, self.keys)
            self._literals = frozenset(one for several in said for one in several)
        return self._literals

    def holds(self, other: ObjectWay) -> bool:
        """Whether it says nothing that ``other`` does not say too."""
        return (
            self.literals <= other.literals
            and self.low <= other.low
            and (self.high is None or (other.high is not None and other.high <= self.high))
            and self.seen == other.seen
        )

    def changed(
        self,
        *,
        parts: tuple[ObjectPart, ...] | None = None,
        required: tuple[str, ...] | None = None,
        obligations: tuple[Obligation, ...] | None = None,
        seen: SeenKeys | None = None,
    ) -> ObjectWay:
        """The way with other parts, keys or obligations where given, and with ``seen``."""
        return ObjectWay(
            self.parts if parts is None else parts,
            self.required if required is None else required,
            self.low,
            self.high,
            self.implications,
            self.obligations if obligations is None else obligations,
            self.keys,
            seen,
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ObjectWay)
            and (self.low, self.high, self.seen, self.literals) == (other.low, other.high, other.seen, other.literals)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.low, self.high, self.literals))
        return self._hash


class ArrayPart(NamedTuple):
    """What the elements of an array must meet, each by its place."""

    places: tuple[Atom, ...] = ()
    rest: Atom = ANYTHING
    """All elements after `places`."""

    def atom_at(self, place: int) -> Atom:
        """What the element at ``place`` must meet."""
        return self.places[place] if place < len(self.places) else self.rest


class Counter(NamedTuple):
    """From ``low`` to ``high`` elements at ``start`` or later meet ``atoms``."""

    atoms: tuple[Atom, ...]
    low: int = 1
    high: int | None = None
    start: int = 0


class ArrayWay(NamedTuple):
    """What an array may hold and must."""

    parts: tuple[ArrayPart, ...] = ()
    low: int = 0
    high: int | None = None
    counters: tuple[Counter, ...] = ()
    unique: bool = False
    repeats: str | None = None
    """If given, some elements are equal; the pointer of the ``uniqueItems`` that says so."""
    seen: SeenItems | None = None

    @property
    def literals(self) -> frozenset[object]:
        """All that it says but the bounds."""
        return frozenset((*self.parts, *self.counters, self.unique, self.repeats))

    def holds(self, other: ArrayWay) -> bool:
        """Whether it says nothing that ``other`` does not say too."""
        return (
            set(self.parts) <= set(other.parts)
            and set(self.counters) <= set(other.counters)
            and self.unique <= other.unique
            and self.repeats in (None, other.repeats)
            and self.low <= other.low
            and (self.high is None or (other.high is not None and other.high <= self.high))
            and self.seen == other.seen
        )


FREE_ARRAY, FREE_OBJECT = ArrayWay(), ObjectWay()
