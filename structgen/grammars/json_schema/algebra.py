"""The algebra: the ways of meeting a condition, computed one level at a time and remembered.

Nothing inside of arrays and objects is looked at but to see that it is plainly empty, so references may run in circles.
Where a condition leads back to itself on the way, a value meets it only if it does so without that: a least fixpoint,
and for negations the greatest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from structgen.errors import GrammarLimitExceeded, InvalidSchema
from structgen.grammars import language
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.array_ways import meet_arrays
from structgen.grammars.json_schema.assertions import Formats
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom, Constant, Either, Negation
from structgen.grammars.json_schema.conjunctions import Conjunction, Conjunctions
from structgen.grammars.json_schema.constants import constant_fails, constant_holds
from structgen.grammars.json_schema.kinds import kinds_of
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.object_ways import meet_objects, read_part
from structgen.grammars.json_schema.products import TooManyWays, combined, crossed
from structgen.grammars.json_schema.subschemas import Subschema
from structgen.grammars.json_schema.unsupported import Unsupported
from structgen.grammars.json_schema.value_ways import FREE_ARRAY, FREE_OBJECT, ObjectPart, ObjectWay
from structgen.grammars.json_schema.ways import ALL, ARRAYS, NO_WAY, OBJECTS, STRINGS, Ways, free, union
from structgen.grammars.language import Language
from structgen.grammars.limits import checkpoint

__all__ = ["Algebra"]

_FAR = 1 << 30
_SCALARS = ALL & ~(ARRAYS | OBJECTS)


class Algebra:
    """Computes ways, each once.

    Parameters
    ----------
    formats : Formats
        What ``format`` means.
    unsupported : Unsupported
        Takes what cannot be held exactly.
    """

    def __init__(self, formats: Formats, unsupported: Unsupported) -> None:
        self.formats, self.unsupported = formats, unsupported
        self._conjunctions = Conjunctions()
        self.anything, self.nothing = self._conjunctions.anything, self._conjunctions.nothing
        self._constants: dict[str, Constant] = {}
        self._parts: dict[Location, ObjectPart] = {}
        self._members: dict[tuple[str, Atom], ObjectPart] = {}
        self._common_numbers: dict[tuple[NumberSet, NumberSet], NumberSet] = {}
        self._common_strings: dict[tuple[Language, Language], Language] = {}
        self._depth = 0
        self._lowest = _FAR  # the outermost of the open atoms that the one being computed has led back to

    # What is asked of the rest

    def conjunction(self, *atoms: Atom) -> Conjunction:
        """All of ``atoms``."""
        return self._conjunctions.of(atoms)

    def expand(self, conjunction: Conjunction) -> Ways:
        """The ways of meeting all atoms."""
        if conjunction.ways is None:
            conjunction.ways = self._expanded(conjunction, ALL)
        return conjunction.ways

    def is_hopeless(self, atoms: tuple[Atom, ...]) -> bool:
        """Whether plainly nothing meets all of ``atoms``: neither a scalar, nor any array or object by its type."""
        conjunction = self._conjunctions.of(atoms)
        if conjunction.hopeless is None:
            kinds = self._kinds(conjunction)
            conjunction.hopeless = not kinds & (ARRAYS | OBJECTS) and not self._expanded(conjunction, kinds).types
        return conjunction.hopeless

    def strings(self, atom: Atom) -> tuple[Language, ...]:
        """The strings that meet ``atom``."""
        return self._expanded(self.conjunction(atom), STRINGS).strings

    def member_scalars(self, way: ObjectWay, name: str) -> Ways | None:
        """The ways of being the value of ``name``, if it can only be a scalar."""
        conjunction = self._conjunctions.of(way.atoms_of(name))
        kinds = self._kinds(conjunction)
        return None if kinds & (ARRAYS | OBJECTS) else self._expanded(conjunction, kinds)

    # What the files of single keywords ask

    def subschema(self, location: Location) -> Subschema:
        """What a subschema says."""
        if location.facts is None:
            location.facts = Subschema(self, location)
        return location.facts

    def object_part(self, location: Location) -> ObjectPart:
        """What a subschema says of members."""
        part = self._parts.get(location)
        if part is None:
            part = self._parts[location] = read_part(location, self.unsupported)
        return part

    def member(self, name: str, atom: Atom) -> ObjectPart:
        """What says that the value of ``name`` meets ``atom`` or that it is not there; one object for equal ones."""
        if isinstance(atom, Negation) and isinstance(atom.atom, Location):
            atom = self._conjunctions.contents.first(atom.atom).negation
        part = self._members.get((name, atom))
        if part is None:
            part = self._members[name, atom] = ObjectPart({name: atom})
        return part

    def constant(self, value: Any, pointer: str) -> Constant:
        """The condition to be ``value``."""
        key = json.dumps(value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Constant(value, pointer)
        return found

    def ways(self, atom: Atom, wanted: int, track: int = 0) -> Ways:
        """The ways of meeting ``atom`` with a value of the types ``wanted``.

        Raises
        ------
        InvalidSchema
            It is defined by its own negation.
        GrammarLimitExceeded
            There are too many.
        """
        if atom is ANYTHING or atom is NOTHING or not wanted:
            return free(wanted) if atom is ANYTHING else NO_WAY
        key = wanted | track << 7
        found = atom.ways.get(key)
        if found is None:
            if isinstance(atom, Location) and not atom.read() & dialects.IN_PLACE:
                found = self.subschema(atom).assertions_hold(wanted, track)
                atom.remember(key, found)
            else:
                found = self._computed(atom, wanted, track, key)
        return found

    def product_of(self, atoms: Iterable[Atom], wanted: int, track: int = 0) -> Ways:
        """The ways of meeting all of ``atoms``."""
        found = free(wanted)
        for atom in atoms:
            found = self.product(found, self.ways(atom, found.types, track))
        return found

    def product(self, one: Ways, other: Ways) -> Ways:
        """The ways of meeting both."""
        return Ways(
            one.literals & other.literals,
            crossed(one.numbers, other.numbers, NumberSet.ALL, self._common_numbers),
            crossed(one.strings, other.strings, language.ALL, self._common_strings),
            combined(one.arrays, other.arrays, FREE_ARRAY, lambda a, b: meet_arrays(self, a, b)),
            combined(one.objects, other.objects, FREE_OBJECT, lambda a, b: meet_objects(self, a, b)),
        )

    # How it is done

    def _kinds(self, conjunction: Conjunction) -> int:
        kinds = ALL
        for atom in conjunction.atoms:
            kinds &= kinds_of(self, atom)
        return kinds

    def _expanded(self, conjunction: Conjunction, wanted: int) -> Ways:
        atoms = conjunction.atoms
        if len(atoms) == 1:
            return self.ways(atoms[0], wanted)
        try:
            return self.product_of(atoms, wanted & self._kinds(conjunction))
        except TooManyWays as error:
            raise GrammarLimitExceeded(f"{conjunction.pointer or 'the root'}: {error}") from None

    def _computed(self, atom: Atom, wanted: int, track: int, key: int) -> Ways:
        # Whether a member is plainly empty is asked while its object is computed, but of scalars only: a level apart.
        level = 1 if wanted & (ARRAYS | OBJECTS) else 0
        if atom.opened[level] >= 0:
            self._lowest = min(self._lowest, atom.opened[level])
            return free(wanted) if atom.is_negated else NO_WAY
        if atom.is_opposite_open(level):
            raise InvalidSchema(atom.pointer, "it is defined by its own negation")
        before, opened = atom.opened, self._depth
        atom.opened = (before[0], opened) if level else (opened, before[1])
        outer, self._lowest = self._lowest, _FAR
        self._depth += 1
        checkpoint()
        try:
            found = self._compute(atom, wanted, track)
        except TooManyWays as error:
            raise GrammarLimitExceeded(f"{atom.pointer or 'the root'}: {error}") from None
        self._depth -= 1
        atom.opened = before
        if self._lowest < opened:  # true only inside of the outer circle
            self._lowest = min(outer, self._lowest)
        else:
            atom.remember(key, found)
            self._lowest = outer
        return found

    def _compute(self, atom: Atom, wanted: int, track: int) -> Ways:
        if isinstance(atom, Location):
            return self.subschema(atom).holds(wanted, track)
        if isinstance(atom, Constant):
            return constant_holds(self, atom, wanted)
        if isinstance(atom, Either):
            return union(self.product_of(choice, wanted) for choice in atom.choices)
        assert isinstance(atom, Negation)
        if isinstance(atom.atom, Location):
            return self.subschema(atom.atom).fails(wanted)
        assert isinstance(atom.atom, Constant)
        return constant_fails(self, atom.atom, wanted)
