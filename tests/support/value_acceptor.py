"""A slow, obvious reading of the grammar IR on parsed JSON values: member order and spelling aside.

It shares nothing with the automata but the expressions, and nothing with the algebra but what it gives.
"""

from __future__ import annotations

import json

from structgen.grammars.expr import Alternation, Call, Expr, Literal, Rule
from structgen.grammars.values import ArraySpec, ArrayValue, ObjectSpec, ObjectValue, Regular, StringValue


def accepts(expr: Expr, value: object) -> bool:
    if isinstance(expr, Call):
        return accepts(expr.rule.body, value)
    if isinstance(expr, Alternation):
        return any(accepts(part, value) for part in expr.parts)
    if isinstance(expr, Literal):
        return not isinstance(value, (str, list, dict)) and json.dumps(value).encode() == expr.text
    if isinstance(expr, Regular):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and _runs(expr.dfa, json.dumps(value).encode())
    if isinstance(expr, StringValue):
        return isinstance(value, str) and expr.language.contains(value)
    if isinstance(expr, ArrayValue):
        return isinstance(value, list) and _array(expr.spec, value)
    if isinstance(expr, ObjectValue) and expr.spec.is_set:
        return isinstance(value, list) and _set(expr.spec, value)
    if isinstance(expr, ObjectValue):
        return isinstance(value, dict) and _object(expr.spec, value)
    return False


def _runs(dfa, text: bytes) -> bool:
    state = 0
    for byte in text:
        state = dfa.transitions[state, byte]
        if state < 0:
            return False
    return bool(dfa.accepting[state])


def _holds(rule: Rule | None, value: object) -> bool:
    return rule is not None and accepts(rule.body, value)


def _object(spec: ObjectSpec, members: dict[str, object]) -> bool:
    if len(members) < spec.low or (spec.high is not None and len(members) > spec.high):
        return False
    present = {place for place, name in enumerate(spec.names) if name in members}
    if not spec.required <= present:
        return False
    if any(keys <= present and other not in present for keys, other in spec.implications):
        return False
    if not all(_holds(spec.values[place], members[spec.names[place]]) for place in present):
        return False
    met = {frozenset()}  # the sets of obligations that the members so far can have met
    for name, value in members.items():
        if name in spec.names:
            continue
        ways = [one.meets for one in spec.others if one.keys.contains(name) and _holds(one.value, value)]
        met = {before | more for before in met for more in ways}
    return frozenset(range(spec.obligations)) in met


def _set(spec: ObjectSpec, items: list[object]) -> bool:
    if not all(isinstance(item, str) for item in items) or len(set(items)) < len(items):
        return False
    if len(items) < spec.low or (spec.high is not None and len(items) > spec.high):
        return False
    return all(item in spec.names or any(one.keys.contains(item) for one in spec.others) for item in items)


def _array(spec: ArraySpec, items: list[object]) -> bool:
    if len(items) < spec.low or (spec.high is not None and len(items) > spec.high):
        return False
    counts = {(0,) * len(spec.contains)}  # what the counters can show so far
    for place, value in enumerate(items):
        ways = spec.prefix[place] if place < len(spec.prefix) else spec.rest
        moves = [way.counts for way in ways if _holds(way.value, value)]
        counts = {
            tuple(count + (number in move) for number, count in enumerate(before))
            for before in counts
            for move in moves
        }
    return any(
        all(
            one.low <= count and (one.high is None or count <= one.high)
            for one, count in zip(spec.contains, shown, strict=True)
        )
        for shown in counts
    )
