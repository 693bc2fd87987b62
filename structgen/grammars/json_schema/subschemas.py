"""The ways in which a subschema holds, and in which it fails: all its keywords together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from structgen.grammars import language
from structgen.grammars.json_schema import array_ways, object_ways
from structgen.grammars.json_schema.applicators import ENOUGH, EXACT, UNTRACKED, Applicator, read_applicators
from structgen.grammars.json_schema.assertions import read_numbers, read_strings, read_values
from structgen.grammars.json_schema.atoms import Constant
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.unevaluated import items_fail, items_hold, keys_fail, keys_hold
from structgen.grammars.json_schema.ways import ARRAYS, LITERALS, NUMBERS, OBJECTS, STRINGS, Ways, free, union
from structgen.grammars.language import Language

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["Subschema"]


class Subschema:
    """What one subschema says, read once.

    Parameters
    ----------
    algebra : Algebra
        For the schemas in it.
    location : Location
        The subschema.
    """

    __slots__ = (
        "_algebra",
        "_applicators",
        "_are_strings_exact",
        "_location",
        "_numbers",
        "_part",
        "_strings",
        "values",
    )

    def __init__(self, algebra: Algebra, location: Location) -> None:
        self._algebra, self._location = algebra, location
        self.values = read_values(location)
        self._applicators: tuple[Applicator, ...] | None = None
        self._numbers: NumberSet | None = None
        self._strings: Language | None = None
        self._are_strings_exact = True

    @property
    def applicators(self) -> tuple[Applicator, ...]:
        """The keywords that apply schemas to the very value."""
        if self._applicators is None:
            self._applicators = read_applicators(self._location)
        return self._applicators

    @property
    def numbers(self) -> NumberSet:
        """The numbers that the assertions leave."""
        if self._numbers is None:
            self._numbers = self.values.numbers & read_numbers(self._location)
        return self._numbers

    @property
    def strings(self) -> Language:
        """The strings that the assertions leave."""
        if self._strings is None:
            algebra = self._algebra
            found, self._are_strings_exact = read_strings(self._location, algebra.formats, algebra.unsupported)
            self._strings = self.values.strings & found
        return self._strings

    def _wrong_strings(self) -> tuple[Language, ...]:
        """The strings that fail the assertions; all, where it is not known which."""
        strings = self.strings
        if not self._are_strings_exact:
            return (language.ALL,)
        return () if strings is language.ALL else strings.negations()

    def holds(self, wanted: int, track: int) -> Ways:
        """The ways of meeting it."""
        keywords = self._location.keywords
        keys, items = keywords.get("unevaluatedProperties"), keywords.get("unevaluatedItems")
        inside = max(track, ENOUGH) if keys is not None or items is not None else track
        ways = self._all_hold(wanted, inside)
        if inside == UNTRACKED:
            return ways
        arrays, objects = ways.arrays, ways.objects
        if items is not None:
            arrays = tuple(items_hold(way, self._location.child("unevaluatedItems")) for way in arrays)
        if keys is not None:
            objects = tuple(keys_hold(way, self._location.child("unevaluatedProperties")) for way in objects)
        if track == UNTRACKED:
            arrays = tuple(dict.fromkeys(way._replace(seen=None) for way in arrays))
            objects = tuple(dict.fromkeys(way.changed() for way in objects))
        return ways._replace(arrays=arrays, objects=objects)

    def _all_hold(self, wanted: int, track: int) -> Ways:
        ways = self.assertions_hold(wanted, track)
        for applicator in self.applicators:
            wanted = ways.types
            if not wanted:
                return ways
            ways = self._algebra.product(ways, applicator.holds(self._algebra, wanted, track))
        return ways

    def assertions_hold(self, wanted: int, track: int) -> Ways:
        """The ways of meeting it but for the keywords that apply schemas to the very value."""
        types = self.values.types & wanted
        algebra, location = self._algebra, self._location
        array = array_ways.array_way(algebra, location, track=track > 0) if types & ARRAYS else None
        item = object_ways.object_way(algebra, location, track=track > 0) if types & OBJECTS else None
        ways = Ways(
            types & LITERALS,
            (self.numbers,) if types & NUMBERS and not self.numbers.is_empty else (),
            (self.strings,) if types & STRINGS and not self.strings.is_empty else (),
            () if array is None else (array,),
            () if item is None else (item,),
        )
        if self.values.containers is None or not types & (ARRAYS | OBJECTS):
            return ways
        constants = union(algebra.ways(atom, types & (ARRAYS | OBJECTS)) for atom in self._constants())
        inside = algebra.product(constants, ways._replace(literals=0, numbers=(), strings=()))
        return ways._replace(arrays=inside.arrays, objects=inside.objects)

    def fails(self, wanted: int) -> Ways:
        """The ways of failing it."""
        types = self.values.types
        found = [free(wanted & ~types)] if wanted & ~types else []
        found.append(self._assertions_fail(wanted & types))
        found += [applicator.fails(self._algebra, wanted) for applicator in self.applicators]
        keywords = self._location.keywords
        if "unevaluatedProperties" in keywords and wanted & OBJECTS:
            ways, atom = self._all_hold(OBJECTS, EXACT), self._location.child("unevaluatedProperties")
            found.append(Ways(objects=_kept(keys_fail(way, atom) for way in ways.objects)))
        if "unevaluatedItems" in keywords and wanted & ARRAYS:
            ways, atom = self._all_hold(ARRAYS, EXACT), self._location.child("unevaluatedItems")
            found.append(Ways(arrays=_kept(items_fail(way, atom) for way in ways.arrays)))
        return union(found)

    def _assertions_fail(self, types: int) -> Ways:
        algebra, location = self._algebra, self._location
        arrays = tuple(array_ways.array_failures(location)) if types & ARRAYS else ()
        objects = tuple(object_ways.object_failures(algebra, location)) if types & OBJECTS else ()
        if self.values.containers is not None:
            others = algebra.product_of((atom.negation for atom in self._constants()), types & (ARRAYS | OBJECTS))
            arrays, objects = arrays + others.arrays, objects + others.objects
        return Ways(
            0,
            () if not types & NUMBERS or self.numbers is NumberSet.ALL else self.numbers.negations(),
            self._wrong_strings() if types & STRINGS else (),
            arrays,
            objects,
        )

    def _constants(self) -> Iterable[Constant]:
        place = f"{self._location.pointer}/{'enum' if 'enum' in self._location.keywords else 'const'}"
        return [self._algebra.constant(value, place) for value in self.values.containers or ()]


def _kept(ways: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(way for way in ways if way is not None)
