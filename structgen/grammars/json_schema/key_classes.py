"""The keys that an object does not declare, in classes: all keys of a class have values under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import language
from structgen.grammars.json_schema.atoms import ANYTHING, NOTHING, Atom
from structgen.grammars.json_schema.value_ways import ObjectPart, ObjectWay, Obligation
from structgen.grammars.language import Language

if TYPE_CHECKING:
    from structgen.grammars.json_schema.algebra import Algebra

__all__ = ["KeyClass", "key_classes", "meeting", "told_apart"]

_MAX_CLASSES = 1_000


class KeyClass(NamedTuple):
    """Keys with what their values must meet."""

    keys: Language
    atoms: tuple[Atom, ...] = ()
    meets: frozenset[int] = frozenset()
    """Obligations that a member with such a key and value meets."""


def key_classes(algebra: Algebra, way: ObjectWay) -> list[KeyClass]:
    """A partition of the keys that an object may have beside its declared ones.

    Raises
    ------
    GrammarLimitExceeded
        There are too many classes.
    """
    classes = [KeyClass(language.ALL)]
    for languages in way.keys:
        both = (one._replace(keys=one.keys & keys) for one in classes for keys in languages)
        classes = [one for one in both if not one.keys.is_empty]
    for part in way.parts:
        classes = [
            piece
            for one in classes
            for piece in _refined(one, part)
            if not piece.atoms or not _is_impossible(algebra, piece.atoms)
        ]
        if len(classes) > _MAX_CLASSES:
            raise GrammarLimitExceeded(f"the patterns of an object's keys divide them into over {_MAX_CLASSES} classes")
    return classes


def _is_impossible(algebra: Algebra, atoms: tuple[Atom, ...]) -> bool:
    return NOTHING in atoms or algebra.is_hopeless(atoms)


def _refined(one: KeyClass, part: ObjectPart) -> Iterator[KeyClass]:
    """``one``, divided by the patterns of ``part`` and with what it says of the pieces."""
    if part.additional is ANYTHING:
        patterns = [(keys, atom) for keys, atom in part.patterns if atom is not ANYTHING]
    else:
        patterns = list(part.patterns)
    matched: list[KeyClass] = []
    others = [one]
    for place, (keys, atom) in enumerate(patterns):
        matched = [*_divided(matched, keys, atom), *_inside(others, keys, atom)]
        if part.additional is not NOTHING or place + 1 < len(patterns):
            others = [*_outside(others, keys)]
    yield from matched
    if part.additional is not NOTHING:
        yield from (_with_atom(other, part.additional) for other in others)


def _divided(classes: Sequence[KeyClass], keys: Language, atom: Atom) -> Iterator[KeyClass]:
    yield from _inside(classes, keys, atom)
    yield from _outside(classes, keys)


def _inside(classes: Iterable[KeyClass], keys: Language, atom: Atom) -> Iterator[KeyClass]:
    for one in classes:
        both = one.keys & keys
        if not both.is_empty:
            yield _with_atom(one._replace(keys=both), atom)


def _outside(classes: Iterable[KeyClass], keys: Language) -> Iterator[KeyClass]:
    for one in classes:
        yield from (one._replace(keys=rest) for rest in one.keys - keys)


def _with_atom(one: KeyClass, atom: Atom) -> KeyClass:
    return one if atom is ANYTHING or atom in one.atoms else one._replace(atoms=(*one.atoms, atom))


def told_apart(classes: Iterable[KeyClass], obligations: Sequence[Obligation]) -> Iterator[KeyClass]:
    """``classes``, divided where some obligations together are about finitely many keys of one.

    Of these keys a class is then either all that an obligation is about or none of them, so that it is enough to count
    how many of a class have been there.
    """
    for one in classes:
        rest, cells = [one], list[KeyClass]()
        for keys in _finite_parts(one, obligations):
            cells = [*_divided(cells, keys, ANYTHING), *_inside(rest, keys, ANYTHING)]
            rest = [*_outside(rest, keys)]
        yield from (*rest, *cells)


def _finite_parts(one: KeyClass, obligations: Iterable[Obligation]) -> Iterator[Language]:
    """Of the keys that some of ``obligations`` are about together, those parts that have an end."""
    parts = [one]
    for obligation in obligations:
        parts += [piece for part in parts for piece in _concerned(part, obligation)]
    yield from (part.keys for part in parts if part.keys.size < language.SATURATED)


def _concerned(one: KeyClass, obligation: Obligation) -> Iterator[KeyClass]:
    """The keys of ``one`` that ``obligation`` is about."""
    pieces = [*_inside([one], obligation.inside, ANYTHING)]
    for keys in obligation.outside:
        pieces = [*_outside(pieces, keys)]
    for piece in pieces:
        # What is all of a class stays the same object: its members are counted together.
        is_all = piece.keys.size == one.keys.size < language.SATURATED
        yield one if is_all else piece


def meeting(algebra: Algebra, classes: Sequence[KeyClass], number: int, obligation: Obligation) -> list[KeyClass]:
    """``classes``, and of each the part that meets ``obligation``, which has this number.

    They overlap where the value decides.
    """
    found: list[KeyClass] = []
    for one in classes:
        parts, rest = list(_concerned(one, obligation)), [one]
        for part in parts if not obligation.said else ():
            rest = [*_outside(rest, part.keys)]
        found += rest
        for part in parts:
            piece = part._replace(meets=one.meets | {number})
            for atom in obligation.atoms:
                piece = _with_atom(piece, atom)
            if not _is_impossible(algebra, piece.atoms):
                found.append(piece)
    return found
