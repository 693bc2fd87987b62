"""Keywords that apply schemas to the very value: each as the ways in which it holds and in which it fails.

``allOf`` and ``$ref`` are conditions that hold as well, ``not`` is one whose atom is negated, and ``oneOf`` has a file
of its own. Where evaluated keys and elements are tracked, each way says what has been evaluated in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.atoms import ANYTHING, Atom
from structgen.grammars.json_schema.json_values import is_array
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.object_ways import absent
from structgen.grammars.json_schema.one_of import exactly_one, fewer_or_more
from structgen.grammars.json_schema.value_ways import ObjectWay
from structgen.grammars.json_schema.ways import NO_WAY, OBJECTS, Ways, free, union

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["ENOUGH", "EXACT", "UNTRACKED", "Applicator", "read_applicators"]

UNTRACKED, ENOUGH, EXACT = range(3)
"""What a way says about evaluated keys and elements: nothing; some of them, and other ways say all; exactly all."""


class Applicator(Protocol):
    """A condition made of others."""

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        """The ways of meeting it, of the types ``wanted``."""
        ...

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        """The ways of failing it."""
        ...


class Also:
    """``$ref``, ``not``, or one of ``allOf``."""

    def __init__(self, atom: Atom) -> None:
        self.atom = atom

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        return algebra.ways(self.atom, wanted, track)

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        return algebra.ways(self.atom.negation, wanted)


class AnyOf:
    """``anyOf``."""

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        if track == UNTRACKED:
            return union(algebra.ways(atom, wanted) for atom in self.atoms)
        # Each set of branches that hold together; that others fail matters only where they may not be evaluated.
        none, some = free(wanted), NO_WAY
        for atom in self.atoms:
            branch = algebra.ways(atom, wanted, track)
            also = union((algebra.product(none, branch), algebra.product(some, branch)))
            if track == EXACT:
                failing = algebra.ways(atom.negation, wanted)
                none, some = algebra.product(none, failing), algebra.product(some, failing)
            some = union((some, also))
        return some

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        return algebra.product_of((atom.negation for atom in self.atoms), wanted)


class OneOf:
    """``oneOf``."""

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        return exactly_one(algebra, self.atoms, wanted, track)

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        return fewer_or_more(algebra, self.atoms, wanted)


class Conditional:
    """``if``, ``then`` and ``else``."""

    def __init__(self, condition: Atom, then: Atom, otherwise: Atom) -> None:
        self.condition, self.then, self.otherwise = condition, then, otherwise

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        if self.then is ANYTHING and self.otherwise is ANYTHING and track == UNTRACKED:
            return free(wanted)
        return union(
            (
                algebra.product_of((self.condition, self.then), wanted, track),
                algebra.product_of((self.condition.negation, self.otherwise), wanted, track),
            )
        )

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        return union(
            (
                algebra.product_of((self.condition, self.then.negation), wanted),
                algebra.product_of((self.condition.negation, self.otherwise.negation), wanted),
            )
        )


class Dependent:
    """One of ``dependentSchemas``: where ``name`` is there, ``atom`` holds."""

    def __init__(self, name: str, atom: Atom) -> None:
        self.name, self.atom = name, atom

    def holds(self, algebra: Algebra, wanted: int, track: int) -> Ways:
        found = free(wanted)
        if not wanted & OBJECTS:
            return found
        there, missing = algebra.ways(self.atom, OBJECTS, track), Ways(objects=(absent(algebra, self.name),))
        if track != UNTRACKED:
            there = algebra.product(Ways(objects=(ObjectWay(required=(self.name,)),)), there)
        elif len(there.objects) == 1:
            # Told apart where that costs nothing: several such conditions on one key then leave few ways.
            failing = algebra.ways(self.atom.negation, OBJECTS)
            if len(failing.objects) == 1:
                missing = algebra.product(failing, missing)
        return found._replace(objects=union((missing, there)).objects)

    def fails(self, algebra: Algebra, wanted: int) -> Ways:
        there = Ways(objects=(ObjectWay(required=(self.name,)),) if wanted & OBJECTS else ())
        return algebra.product(there, algebra.ways(self.atom.negation, wanted & OBJECTS))


def read_applicators(location: Location) -> tuple[Applicator, ...]:
    """The applicators of a subschema in the order of its keywords."""
    if not location.read() & dialects.IN_PLACE:
        return ()
    found: list[Applicator] = []
    for keyword, value in location.keywords.items():
        if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            found.append(Also(location.refer(keyword)))
        elif keyword == "allOf":
            found += [Also(location.child(keyword, place)) for place in range(len(value))]
        elif keyword == "anyOf":
            found.append(AnyOf(_branches(location, keyword)))
        elif keyword == "oneOf":
            found.append(OneOf(_branches(location, keyword)))
        elif keyword == "not":
            found.append(Also(location.child(keyword).negation))
        elif keyword == "if":
            found.append(_conditional(location))
        elif keyword in ("dependentSchemas", "dependencies"):
            names = [name for name, its in value.items() if not is_array(its)]
            found += [Dependent(name, location.child(keyword, name)) for name in names]
    return tuple(found)


def _branches(location: Location, keyword: str) -> tuple[Atom, ...]:
    return tuple(location.child(keyword, place) for place in range(len(location.keywords[keyword])))


def _conditional(location: Location) -> Conditional:
    then, otherwise = (
        location.child(keyword) if keyword in location.keywords else ANYTHING for keyword in ("then", "else")
    )
    return Conditional(location.child("if"), then, otherwise)
