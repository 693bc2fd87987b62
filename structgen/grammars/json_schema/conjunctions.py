"""Conjunctions: atoms that must all hold, each set of them made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.contents import Contents
from structgen.grammars.json_schema.location import Location

if TYPE_CHECKING:
    from structgen.grammars.json_schema.plans import Plan
    from structgen.grammars.json_schema.ways import Ways

__all__ = ["Conjunction", "Conjunctions"]

_MAX_CONJUNCTIONS = 200_000
_SPREAD = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "allOf", "not"})
"""Keywords that say no more than that other schemas hold or fail."""


class Conjunction:
    """What a value must meet: all of ``atoms``, none for any value.

    Attributes
    ----------
    ways : Ways or None
        How it can be met, once that was asked for.
    hopeless : bool or None
        Whether it plainly cannot be, once that was asked for.
    plan : Plan or None
        What it comes to, once that was asked for.
    satisfiable : bool or None
        Whether any value meets it, once that is known.
    """

    __slots__ = ("atoms", "hopeless", "plan", "satisfiable", "ways")

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self.ways: Ways | None = None
        self.hopeless: bool | None = None
        self.plan: Plan | None = None
        self.satisfiable: bool | None = None

    @property
    def pointer(self) -> str:
        """Where the first atom comes from."""
        return self.atoms[0].pointer if self.atoms else ""


class Conjunctions:
    """Makes each conjunction once."""

    def __init__(self) -> None:
        self.contents = Contents()
        self._spread: dict[Atom, tuple[Atom, ...]] = {}
        self._known: dict[tuple[Atom, ...], Conjunction] = {}
        self.nothing = self.of((NOTHING,))
        self.anything = self.of(())

    def of(self, atoms: tuple[Atom, ...]) -> Conjunction:
        """The conjunction of ``atoms``, in order of first mention, without what says nothing.

        Raises
        ------
        GrammarLimitExceeded
            There are too many.
        """
        found = self._known.get(atoms)
        if found is None:
            plain = atoms if len(atoms) == 1 and _is_plain(atoms[0]) else self._plain(atoms)
            found = self._known.get(plain)
            if found is None:
                found = self._known[plain] = Conjunction(plain)
            self._known[atoms] = found
            if len(self._known) > _MAX_CONJUNCTIONS:
                raise GrammarLimitExceeded(f"the schema has more than {_MAX_CONJUNCTIONS:,} combinations of subschemas")
        return found

    def _plain(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        kept: dict[Atom, None] = {}
        negated = False
        for atom in atoms:
            spread = self._spread.get(atom)
            if spread is None:
                spread = self._spread[atom] = _spread(atom)
            for one in spread:
                if one is NOTHING or (one.has_negation and one.negation in kept):
                    return (NOTHING,)
                if one is not ANYTHING:
                    kept[one] = None
                    negated = negated or one.is_negated
        return (NOTHING,) if negated and self._contradict(kept) else tuple(kept)

    def _contradict(self, atoms: Iterable[Atom]) -> bool:
        """Whether what one subschema says is negated by another that says the same."""
        held, failed = set[int](), set[int]()
        for atom in atoms:
            if isinstance(atom, Location):
                held.add(self.contents.number(atom))
            elif isinstance(atom.negation, Location):
                failed.add(self.contents.number(atom.negation))
        return not held.isdisjoint(failed)


def _is_plain(atom: Atom) -> bool:
    """Whether a lone ``atom`` is at a glance no other word for anything else."""
    return isinstance(atom, Location) and atom.read() != 0 and not atom.about & dialects.IN_PLACE


def _spread(atom: Atom) -> tuple[Atom, ...]:
    """The atoms that ``atom`` is but another word for; itself if there are none, or if it leads back to itself."""
    first = _others(atom)
    if first is None:
        return (atom,)
    found: list[Atom] = []
    pending, seen = first[::-1], {atom, *first}
    if atom in first:
        return (atom,)
    while pending:
        one = pending.pop()
        others = _others(one)
        if others is None:
            found.append(one)
        elif not seen.isdisjoint(others):
            return (atom,)
        else:
            seen.update(others)
            pending += reversed(others)
    return tuple(found)


def _others(atom: Atom) -> list[Atom] | None:
    """The atoms that together say just what ``atom`` says, if it only passes on to others."""
    location = atom.negation if atom.is_negated else atom
    if not isinstance(location, Location):
        return None
    about = location.read()
    if not about:
        return [NOTHING if atom.is_negated else ANYTHING]
    if about != dialects.IN_PLACE or not _SPREAD.issuperset(location.keywords):
        return None
    others = list(_passed_on(location))
    if not atom.is_negated:
        return others
    return [others[0].negation] if len(others) == 1 else None


def _passed_on(location: Location) -> Iterator[Atom]:
    for keyword, value in location.keywords.items():
        if keyword == "allOf":
            yield from (location.child(keyword, place) for place in range(len(value)))
        elif keyword == "not":
            yield location.child(keyword).negation
        else:
            yield location.refer(keyword)
