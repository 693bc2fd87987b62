"""``unevaluatedProperties`` and ``unevaluatedItems``: what a way says of the keys and elements that it has not seen."""

from __future__ import annotations

from structgen.grammars.json_schema.atoms import ANYTHING, Atom, Either
from structgen.grammars.json_schema.value_ways import (
    ArrayPart,
    ArrayWay,
    Counter,
    ObjectPart,
    ObjectWay,
    Obligation,
    SeenItems,
    SeenKeys,
)

__all__ = ["items_fail", "items_hold", "keys_fail", "keys_hold"]

_ALL_KEYS, _ALL_ITEMS = SeenKeys(everything=True), SeenItems(everything=True)


def keys_hold(way: ObjectWay, atom: Atom) -> ObjectWay:
    """``way`` where the values of all keys that it has not seen meet ``atom``."""
    seen = way.seen or SeenKeys()
    if seen.everything or seen.is_least or atom is ANYTHING:
        return way.changed(seen=_ALL_KEYS)
    patterns = tuple((keys, ANYTHING) for keys in seen.languages)
    part = ObjectPart({}, patterns, atom, seen.names)
    return way.changed(parts=(*way.parts, part), seen=_ALL_KEYS)


def keys_fail(way: ObjectWay, atom: Atom) -> ObjectWay | None:
    """``way`` where the value of some key that it has not seen fails ``atom``; it must have seen exactly these."""
    seen = way.seen or SeenKeys()
    if seen.everything or atom is ANYTHING:
        return None
    one = Obligation((atom.negation,), outside=seen.languages, names=seen.names)
    return way.changed(obligations=(*way.obligations, one))


def items_hold(way: ArrayWay, atom: Atom) -> ArrayWay:
    """``way`` where all elements that it has not seen meet ``atom``."""
    seen = way.seen or SeenItems()
    if seen.everything or atom is ANYTHING:
        return way._replace(seen=_ALL_ITEMS)
    if seen.matching:
        atom = Either(tuple((one,) for one in (*seen.matching, atom)), atom.pointer)
    part = ArrayPart((ANYTHING,) * seen.first, atom)
    return way._replace(parts=(*way.parts, part), seen=_ALL_ITEMS)


def items_fail(way: ArrayWay, atom: Atom) -> ArrayWay | None:
    """``way`` where some element that it has not seen fails ``atom``; it must have seen exactly these."""
    seen = way.seen or SeenItems()
    if seen.everything or atom is ANYTHING:
        return None
    atoms = tuple(dict.fromkeys(one.negation for one in (*seen.matching, atom)))
    return way._replace(counters=(*way.counters, Counter(atoms, start=seen.first)), seen=None)
