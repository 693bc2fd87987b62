"""What is known of JSON values before they are lowered: what they call, and how few tokens suffice for them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from structgen.grammars.automaton.facts import Called, Facts, Lengths
from structgen.grammars.automaton.spare_strings import spare_string
from structgen.grammars.automaton.string_texts import shortest_string
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Rule
from structgen.grammars.values import ArraySpec, ArrayValue, Item, ObjectSpec, ObjectValue, Regular, StringValue, Value

__all__ = [
    "array_tokens",
    "called_values",
    "is_spellable",
    "member_tokens",
    "object_tokens",
    "other_tokens",
    "value_facts",
    "value_tokens",
]

_ALL_BYTES = (1 << 256) - 1

_UNDECLARED_KEYS = 256
"""Keys that an object may have beyond the declared ones before what suffices for another one might not."""

_Known = Mapping[Called, Facts]


def called_values(value: Value) -> list[Rule]:
    """The rules that ``value`` calls."""
    if isinstance(value, ObjectValue):
        return [one for one in value.spec.values if one is not None] + [one.value for one in value.spec.others]
    if isinstance(value, ArrayValue):
        return [way.value for ways in (*value.spec.prefix, value.spec.rest) for way in ways]
    return []


def value_facts(value: Value, facts: _Known, lengths: Lengths) -> Facts:
    """What holds of ``value``, given what holds of the rules that it calls."""
    if isinstance(value, ObjectValue):
        spec = value.spec
        productive = all(
            one is not None and facts[one].productive for one in map(spec.values.__getitem__, spec.required)
        )
        return Facts(productive, False, object_tokens(spec, facts) if is_spellable(spec, lengths) else FAR)
    if isinstance(value, ArrayValue):
        return Facts(_is_array_productive(value.spec, facts), False, array_tokens(value.spec, facts))
    if isinstance(value, StringValue):
        return Facts(True, False, shortest_string(value.language, lengths.single))
    if isinstance(value, Regular):
        spellable = value.dfa.alphabet & ~lengths.single == 0
        return Facts(True, bool(value.dfa.accepting[0]), value.dfa.distances[0] if spellable else FAR)
    raise TypeError(f"no such value: {value!r}")


def is_spellable(spec: ObjectSpec, lengths: Lengths) -> bool:
    """Whether what an object is written with are tokens byte by byte, so that bytes may be counted for tokens."""
    if lengths.single == _ALL_BYTES:
        return True
    spelled = b'{}[]:,"a' + json.dumps(spec.names, ensure_ascii=False).encode()
    return all(lengths.single >> byte & 1 for byte in set(spelled))


def spelled_length(text: str) -> int:
    """Bytes of ``text`` in a JSON string, quotes aside, escaped only where it must be."""
    if text.isidentifier() and text.isascii():
        return len(text)
    return sum(2 if mark in '"\\\b\f\n\r\t' else 6 if mark < " " else len(mark.encode()) for mark in text)


def member_tokens(spec: ObjectSpec, place: int, facts: _Known) -> int:
    """Tokens that suffice for a declared member, with a comma."""
    value = spec.values[place]
    if value is None:
        return FAR
    return min(FAR, spelled_length(spec.names[place]) + value_tokens(spec, value, facts) + (3 if spec.is_set else 4))


def other_tokens(spec: ObjectSpec, entry: int, facts: _Known) -> int:
    """Tokens that suffice for an undeclared member, with a comma."""
    value = value_tokens(spec, spec.others[entry].value, facts)
    return min(FAR, _shortest_key(spec, entry) + value + (3 if spec.is_set else 4))


def value_tokens(spec: ObjectSpec, value: Rule, facts: _Known) -> int:
    """Tokens that suffice for what follows a key's colon; a set of strings has nothing there."""
    return 0 if spec.is_set else facts[value].tokens


def _shortest_key(spec: ObjectSpec, entry: int) -> int:
    return spare_string(spec.others[entry].keys, len(spec.names) + _UNDECLARED_KEYS, _ALL_BYTES) - 1


def object_tokens(spec: ObjectSpec, facts: _Known) -> int:
    """Tokens that suffice for an object: what a register counts (see `registers`) and the opening brace."""
    wanted = set(spec.required)
    changed = True
    while changed:
        then = {other for keys, other in spec.implications if keys <= wanted and other is not None}
        changed = not then <= wanted
        wanted |= then
    dearest = max((other_tokens(spec, entry, facts) for entry in range(len(spec.others))), default=0)
    total = 2 + sum(member_tokens(spec, place, facts) for place in wanted) + spec.obligations * dearest
    short = spec.low - len(wanted) - spec.obligations
    if short > 0:
        open_names = (place for place, value in enumerate(spec.values) if value is not None)
        total += short * max([dearest, *(member_tokens(spec, place, facts) for place in open_names)])
    return min(FAR, total)


def _elements_to(spec: ArraySpec, counter: int) -> int:
    """The elements that an array has when it is long enough and ``counter`` has its least (see `registers`)."""
    elements, gained = 0, 0
    while elements < spec.low or gained < spec.contains[counter].low:
        is_rest = elements >= len(spec.prefix)
        may = any(counter in way.counts for way in (spec.rest if is_rest else spec.prefix[elements]))
        times = 1
        if is_rest:
            times = max(1, spec.low - elements, (spec.contains[counter].low - gained) * may)
            if gained < spec.contains[counter].low and not may:
                return FAR
        elements, gained = elements + times, gained + times * may
    return elements


def _elements(spec: ArraySpec) -> int:
    """So many elements suffice."""
    return min(FAR, max(spec.low, sum(_elements_to(spec, counter) for counter in range(len(spec.contains)))))


def _is_array_productive(spec: ArraySpec, facts: _Known) -> bool:
    places = [*spec.prefix[: spec.low], *([spec.rest] if spec.low > len(spec.prefix) else [])]
    return all(any(facts[way.value].productive for way in ways) for ways in places)


def array_tokens(spec: ArraySpec, facts: _Known) -> int:
    """Tokens that suffice for an array: what a register counts and the opening bracket."""
    short = _elements(spec)
    total = 2 + sum(_dearest(ways, facts) for ways in spec.prefix[:short])
    if short > len(spec.prefix):
        total += (short - len(spec.prefix)) * _dearest(spec.rest, facts)
    return min(FAR, total)


def _dearest(ways: tuple[Item, ...], facts: _Known) -> int:
    return max((1 + facts[way.value].tokens for way in ways), default=0)
