"""What is known of JSON values before they are lowered: what they call, and how few tokens suffice for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from structgen.grammars.automaton.blocks import indented_facts, landing_facts
from structgen.grammars.automaton.facts import Called, Facts, Lengths
from structgen.grammars.automaton.spare_strings import spare_string
from structgen.grammars.automaton.string_texts import shortest_string
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.covering import key_cells, key_covers
from structgen.grammars.expr import Rule
from structgen.grammars.indentation import Indented, Landing
from structgen.grammars.json_layout import Layout
from structgen.grammars.values import ArraySpec, ArrayValue, Item, ObjectSpec, ObjectValue, Regular, StringValue, Value

__all__ = [
    "MOST_LOOKS",
    "called_values",
    "can_spell",
    "element_tokens",
    "is_array_spellable",
    "is_spellable",
    "member_tokens",
    "other_tokens",
    "value_facts",
    "value_tokens",
]

_ALL_BYTES = (1 << 256) - 1

_UNDECLARED_KEYS = 256
"""Keys that an object may have beyond the declared ones before what suffices for another one might not."""

MOST_LOOKS = 1 << 14
"""At members by name, for the cheapest."""

_Known = Mapping[Called, Facts]


def called_values(value: Value) -> list[Rule]:
    """The rules that ``value`` calls."""
    if isinstance(value, ObjectValue):
        return [one for one in value.spec.values if one is not None] + [one.value for one in value.spec.others]
    if isinstance(value, ArrayValue):
        return [way.value for ways in (*value.spec.prefix, value.spec.rest) for way in ways]
    return list(value.bodies) if isinstance(value, Indented) else []


def value_facts(value: Value, facts: _Known, lengths: Lengths) -> Facts:
    """What holds of ``value``, given what holds of the rules that it calls."""
    if isinstance(value, ObjectValue):
        return _object_facts(value.spec, facts, lengths)
    if isinstance(value, ArrayValue):
        return _array_facts(value.spec, facts, lengths)
    if isinstance(value, StringValue):
        return Facts(True, False, shortest_string(value.language, lengths.single))
    if isinstance(value, Regular):
        spellable = value.dfa.alphabet & ~lengths.single == 0
        return Facts(True, bool(value.dfa.accepting[0]), value.dfa.distances[0] if spellable else FAR)
    if isinstance(value, Landing):
        return landing_facts(value, lengths)
    if isinstance(value, Indented):
        return indented_facts(value, facts, lengths)
    raise TypeError(f"no such value: {value!r}")


def _object_facts(spec: ObjectSpec, facts: _Known, lengths: Lengths) -> Facts:
    productive = all(one is not None and facts[one].productive for one in map(spec.values.__getitem__, spec.required))
    tokens = object_tokens(spec, facts, lengths.single) if is_spellable(spec, lengths) else FAR
    if spec.layout is None or spec.layout.indent is None:
        return Facts(productive, False, tokens)
    return Facts(productive, False, tokens, object_growth(spec, facts, lengths.single) if tokens < FAR else 0, True)


def _array_facts(spec: ArraySpec, facts: _Known, lengths: Lengths) -> Facts:
    productive = _is_array_productive(spec, facts)
    tokens = array_tokens(spec, facts) if is_array_spellable(spec, lengths) else FAR
    if spec.layout is None or spec.layout.indent is None:
        return Facts(productive, False, tokens)
    return Facts(productive, False, tokens, array_growth(spec, facts) if tokens < FAR else 0, True)


def can_spell(layout: Layout | None, lengths: Lengths) -> bool:
    """Whether every byte of its white space is a token."""
    return layout is None or all(lengths.single >> ord(byte) & 1 for byte in layout.characters)


def is_spellable(spec: ObjectSpec, lengths: Lengths) -> bool:
    """Whether what an object is written with are tokens byte by byte, so that bytes may be counted for tokens."""
    if lengths.single == _ALL_BYTES:
        return True
    spelled = (b'[],"' if spec.is_set else b'{}:,"') + json.dumps(spec.names, ensure_ascii=False).encode()
    return can_spell(spec.layout, lengths) and all(lengths.single >> byte & 1 for byte in set(spelled))


def is_array_spellable(spec: ArraySpec, lengths: Lengths) -> bool:
    """Whether what an array is written with are tokens byte by byte."""
    marks = b"[]" if spec.high in (0, 1) else b"[],"
    return can_spell(spec.layout, lengths) and all(lengths.single >> byte & 1 for byte in marks)


def spelled_length(text: str) -> int:
    """Bytes of ``text`` in a JSON string, quotes aside, escaped only where it must be."""
    if text.isidentifier() and text.isascii():
        return len(text)
    return sum(2 if mark in '"\\\b\f\n\r\t' else 6 if mark < " " else len(mark.encode()) for mark in text)


def _punctuation(spec: ObjectSpec, depth: int) -> int:
    """Bytes of a member beside its key and its value: quotes, colon, comma and white space."""
    marks, layout = 3 if spec.is_set else 4, spec.layout
    if layout is None:
        return marks
    colon = 0 if spec.is_set else len(layout.before_colon + layout.after_colon)
    return marks + colon + len(layout.before_comma + layout.between(depth))


def member_tokens(spec: ObjectSpec, places: Iterable[int], facts: _Known, depth: int = 0) -> list[int]:
    """Tokens that suffice for each of these declared members of an object at ``depth``, with a comma."""
    names, values, marks = spec.names, spec.values, _punctuation(spec, depth)
    return [
        FAR
        if (value := values[place]) is None
        else min(FAR, spelled_length(names[place]) + value_tokens(spec, value, facts, depth) + marks)
        for place in places
    ]


def other_tokens(spec: ObjectSpec, entry: int, facts: _Known, single: int, depth: int = 0) -> int:
    """Tokens that suffice for an undeclared member, with a comma."""
    value = value_tokens(spec, spec.others[entry].value, facts, depth)
    return min(FAR, _shortest_key(spec, entry, single) + value + _punctuation(spec, depth))


def value_tokens(spec: ObjectSpec, value: Rule, facts: _Known, depth: int = 0) -> int:
    """Tokens that suffice for what follows a key's colon; a set of strings has nothing there."""
    return 0 if spec.is_set else facts[value].at(depth + 1)


def element_tokens(spec: ArraySpec, value: Rule, facts: _Known, depth: int = 0) -> int:
    """Tokens that suffice for an element, with a comma."""
    space = "" if spec.layout is None else spec.layout.before_comma + spec.layout.between(depth)
    return min(FAR, 1 + len(space) + facts[value].at(depth + 1))


def _shortest_key(spec: ObjectSpec, entry: int, single: int) -> int:
    return spare_string(spec.others[entry].keys, len(spec.names) + _UNDECLARED_KEYS, single) - 1


def object_tokens(spec: ObjectSpec, facts: _Known, single: int) -> int:
    """Tokens that suffice for an object that nothing holds: what a register counts (see `registers`) and the brace."""
    total = 2 + sum(member_tokens(spec, _wanted(spec), facts))
    return min(FAR, total + sum(one.tokens for one in _further(spec, facts, single)) + _closing_line(spec.layout))


def object_growth(spec: ObjectSpec, facts: _Known, single: int) -> int:
    """What an indented object needs more one level deeper: what `object_tokens` counts, white space only."""
    indent = 0 if spec.layout is None else spec.layout.indent or 0
    wanted = sum(_member_growth(spec, spec.values[place], facts) for place in _wanted(spec))
    return indent + wanted + sum(one.growth * one.number for one in _further(spec, facts, single))


class _Members(NamedTuple):
    """So many members, each of which takes so many tokens, and grows by so many one level deeper."""

    cost: int
    growth: int
    number: int = 1

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return self.cost * self.number


def _member_growth(spec: ObjectSpec, value: Rule | None, facts: _Known) -> int:
    indent = 0 if spec.layout is None else spec.layout.indent or 0
    return indent + (0 if value is None or spec.is_set else facts[value].growth)


def _further(spec: ObjectSpec, facts: _Known, single: int) -> list[_Members]:
    """The members besides those wanted: those that obligations ask for, and those short.

    Those of the fewest tokens together, as `object_following` reckons.
    """
    wanted = _wanted(spec)
    short = spec.low - len(wanted)
    if not spec.obligations and short <= 0:
        return []
    others = [
        _Members(other_tokens(spec, entry, facts, single), _member_growth(spec, one.value, facts))
        for entry, one in enumerate(spec.others)
    ]
    if not spec.obligations:
        return _short(spec, facts, short, wanted, others)
    choices = [
        [*(others[entry] for entry in cover), *_short(spec, facts, short - len(cover), wanted, others)]
        for cover in _covers(spec, len(wanted))
    ]
    return min(choices, key=lambda members: sum(one.tokens for one in members), default=[_Members(FAR, 0)])


def _covers(spec: ObjectSpec, wanted: int) -> Iterator[tuple[int, ...]]:
    """The ways to meet all obligations, by the entries of the members, beside so many that are wanted."""
    meets, cells = [one.meets for one in spec.others], key_cells([one.keys for one in spec.others], spec.names)
    for members in range(1, spec.obligations + 1):
        if spec.high is None or members + wanted <= spec.high:
            yield from key_covers(meets, cells, frozenset(range(spec.obligations)), members)


def _short(spec: ObjectSpec, facts: _Known, short: int, wanted: set[int], others: list[_Members]) -> list[_Members]:
    """So many members that are not ``wanted``."""
    if short <= 0:
        return []
    places = [place for place, value in enumerate(spec.values) if value is not None and place not in wanted]
    growths = [_member_growth(spec, spec.values[place], facts) for place in places]
    names = sorted(map(_Members, member_tokens(spec, places, facts), growths))
    if counts_dearest(short, len(spec.values), has_implications=bool(spec.implications)):
        return [max([*names, *others], default=_Members(FAR, 0))._replace(number=short)]
    other = min(others, default=_Members(FAR, 0))
    cheap = [name for name in names[:short] if name.cost < other.cost]
    return [*cheap, other._replace(number=short - len(cheap))]


def counts_dearest(short: int, names: int, *, has_implications: bool) -> bool:
    """Whether members that are short count as the dearest there is: a choice takes long, or brings others with it."""
    return has_implications or short * names > MOST_LOOKS


def _closing_line(layout: Layout | None) -> int:
    """Bytes before the closing bracket of what nothing holds."""
    return 0 if layout is None else len(layout.line(0))


def _wanted(spec: ObjectSpec) -> set[int]:
    """The declared keys, by place, that will be there."""
    wanted, changed = set(spec.required), bool(spec.implications)
    while changed:
        then = {other for keys, other in spec.implications if keys <= wanted and other is not None}
        changed = not then <= wanted
        wanted |= then
    return wanted


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
    """Tokens that suffice for an array that nothing holds: what a register counts and the opening bracket."""
    short = _elements(spec)
    total = 2 + sum(_dearest(spec, ways, facts) for ways in spec.prefix[:short])
    if short > len(spec.prefix):
        total += (short - len(spec.prefix)) * _dearest(spec, spec.rest, facts)
    return min(FAR, total + _closing_line(spec.layout))


def array_growth(spec: ArraySpec, facts: _Known) -> int:
    """What an indented array needs more one level deeper: what `array_tokens` counts, white space only."""
    short, indent = _elements(spec), 0 if spec.layout is None else spec.layout.indent or 0
    places = [max((indent + facts[way.value].growth for way in ways), default=0) for ways in (*spec.prefix, spec.rest)]
    return indent + sum(places[:-1][:short]) + max(0, short - len(spec.prefix)) * places[-1]


def _dearest(spec: ArraySpec, ways: tuple[Item, ...], facts: _Known) -> int:
    return max((element_tokens(spec, way.value, facts) for way in ways), default=0)
