"""Writing the specs of objects and arrays into the tables (see `registers` and `frames`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from structgen.grammars.automaton.facts import Called, Facts
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.tables import (
    ARRAYS,
    C_HAS_SETS,
    FAR,
    N_ARRAYS,
    N_NAMES,
    N_OBJECTS,
    N_OTHERS,
    N_PLACES,
    N_WAYS,
    N_WORDS,
    NAMES,
    OBJECTS,
    OTHERS,
    PLACES,
    WAYS,
    WORDS,
)
from structgen.grammars.automaton.value_facts import element_tokens, member_tokens, other_tokens, value_tokens
from structgen.grammars.covering import ENDLESS_CELL, key_cells
from structgen.grammars.expr import Rule
from structgen.grammars.values import ArraySpec, ObjectSpec

__all__ = ["write_array", "write_object"]


def write_object(
    tables: Tables,
    spec: ObjectSpec,
    rule: int,
    keys: int,
    number_of: Callable[[Rule], int],
    facts: Mapping[Called, Facts],
    layout: int,
    depth: int,
    single: int,
    *,
    spellable: bool,
) -> int:
    """Write ``spec``; returns its number.

    Parameters
    ----------
    rule : int
        The rule that the object is.
    keys : int
        The automaton of its keys.
    number_of : callable
        A rule's number.
    facts : dict
        Of all rules.
    layout : int
        The number of its layout (see `layouts`).
    depth : int
        How many objects and arrays hold it, where that matters.
    single : int
        The bytes that are tokens, as a 256-bit integer.
    spellable : bool
        Whether every byte is a token, so that keys can be counted in bytes.
    """
    places = range(len(spec.names))
    members = member_tokens(spec, places, facts, depth) if spellable else [FAR] * len(spec.names)
    names = [
        (-1, int(place in spec.required), FAR, FAR)
        if value is None
        else (number_of(value), int(place in spec.required), member, value_tokens(spec, value, facts, depth))
        for place, value, member in zip(places, spec.values, members, strict=True)
    ]
    cells, rooms = key_cells([one.keys for one in spec.others] if spec.obligations else [], spec.names)
    others = [
        (
            number_of(one.value),
            _mask(one.meets),
            other_tokens(spec, entry, facts, single, depth) if spellable else FAR,
            value_tokens(spec, one.value, facts, depth),
            *_cell_and_room(cells, rooms, entry),
        )
        for entry, one in enumerate(spec.others)
    ]
    implications: list[int] = []
    for there, then in spec.implications:
        implications += [len(there), len(names) if then is None else then, *sorted(there)]
    row = (
        rule,
        keys,
        len(names),
        tables.append(NAMES, N_NAMES, names),
        len(others),
        tables.append(OTHERS, N_OTHERS, others),
        spec.low,
        -1 if spec.high is None else spec.high,
        int(spec.ordered),
        len(spec.implications),
        tables.append(WORDS, N_WORDS, [(word,) for word in implications]),
        spec.obligations,
        (len(names) + 31) // 32,
        int(spec.is_set),
        layout,
        (len(names) + 31) // 32 + len(rooms),
    )
    if spec.is_set:
        tables.set_count(C_HAS_SETS, 1)
    return tables.append(OBJECTS, N_OBJECTS, [row])


def write_array(
    tables: Tables,
    spec: ArraySpec,
    rule: int,
    number_of: Callable[[Rule], int],
    facts: Mapping[Called, Facts],
    layout: int,
    depth: int,
    *,
    spellable: bool,
) -> int:
    """Write ``spec``, as `write_object` does; returns its number."""
    places: list[tuple[int, ...]] = []
    for ways in (*spec.prefix, spec.rest):
        rows = [
            (
                number_of(way.value),
                _mask(way.counts),
                element_tokens(spec, way.value, facts, depth) if spellable else FAR,
            )
            for way in ways
        ]
        may, must = (_mask(combine(way.counts for way in ways)) for combine in (_union, _intersection))
        places.append((tables.append(WAYS, N_WAYS, rows), len(rows), may, must))
    counters = [word for one in spec.contains for word in (one.low, -1 if one.high is None else one.high)]
    row = (
        rule,
        len(spec.prefix),
        tables.append(PLACES, N_PLACES, places),
        spec.low,
        -1 if spec.high is None else spec.high,
        len(spec.contains),
        tables.append(WORDS, N_WORDS, [(word,) for word in counters]),
        layout,
    )
    return tables.append(ARRAYS, N_ARRAYS, [row])


def _cell_and_room(cells: tuple[int, ...], rooms: tuple[int, ...], entry: int) -> tuple[int, int]:
    cell = cells[entry] if cells else ENDLESS_CELL
    return cell, 0 if cell == ENDLESS_CELL else rooms[cell]


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)


def _intersection(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    first, *others = [*sets] or [frozenset[int]()]
    return first.intersection(*others)
