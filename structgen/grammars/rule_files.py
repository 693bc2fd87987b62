"""Rules and what is known of them as bytes, to be kept on disk: what has taken seconds to make is read in milliseconds.

The bodies of rules stay bytes until they are asked for, as most are not before a text comes to them.
"""

from __future__ import annotations

import marshal
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from structgen.grammars.automaton.facts import Called, Facts
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.expr import (
    Alternation,
    ByteSet,
    Call,
    Expr,
    Literal,
    Repetition,
    Rule,
    Sequence,
    alternation,
    byte_set,
    call,
    literal,
    repetition,
    sequence,
)
from structgen.grammars.indentation import Indentation, Indented, Landing, indented, landing
from structgen.grammars.values import Regular, Value, regular

__all__ = ["read_rules", "written_rules"]

_SEQUENCE, _ALTERNATION, _REPETITION, _CALL, _VALUE = range(5)
"""What a tuple is, its first element; bytes are a literal, an integer a set of bytes."""

_REGULAR, _LANDING, _INDENTED = range(3)

_dfas: WeakValueDictionary[tuple[bytes, bytes], ByteDfa] = WeakValueDictionary()


def written_rules(start: Rule, facts: dict[Called, Facts]) -> bytes | None:
    """``start`` and the facts of all that it reaches; ``None`` where they hold JSON values or special tokens."""
    called = list(facts)
    numbers = {one: number for number, one in enumerate(called)}
    try:
        records = [_record(one, numbers) for one in called]
    except KeyError:
        return None
    return marshal.dumps((numbers[start], records, [tuple(facts[one]) for one in called]))


def read_rules(content: bytes) -> tuple[Rule, dict[Called, Facts]]:
    """What `written_rules` has written."""
    start, records, known = marshal.loads(content)
    called: list[Any] = [None] * len(records)
    names = [dict[Expr, str]() for _ in records]
    for number, record in enumerate(records):
        if isinstance(record[0], str):
            called[number] = _rule(record, called, names[number])
    for number, record in enumerate(records):
        if not isinstance(record[0], str):
            called[number] = _value(record, called)
    for number, record in enumerate(records):
        if isinstance(record[0], str):
            names[number].update((called[value], name) for value, name in record[3].items())
    return called[start], {one: Facts(*its) for one, its in zip(called, known, strict=True)}


def _rule(record: tuple[Any, ...], called: list[Any], names: dict[Expr, str]) -> Rule:
    name, pointer, body, _ = record
    return Rule(name, lambda: _expr(marshal.loads(body), called), pointer, value_names=names)


def _record(one: Called, numbers: dict[Called, int]) -> tuple[Any, ...]:
    if isinstance(one, Rule):
        names = {
            numbers[value]: name
            for value, name in one.value_names.items()
            if isinstance(value, Value) and value in numbers
        }
        return (one.name, one.pointer, marshal.dumps(_plain(one.body, numbers)), names)
    if isinstance(one, Regular):
        transitions = one.dfa.transitions
        return (_REGULAR, transitions.astype(np.int32).tobytes(), one.dfa.accepting.astype(np.uint8).tobytes())
    if isinstance(one, Landing):
        return (_LANDING, _plain_indentation(one.indentation))
    if isinstance(one, Indented):
        return (_INDENTED, _plain_indentation(one.indentation), tuple(numbers[body] for body in one.bodies))
    raise KeyError(one)


def _plain_indentation(indentation: Indentation) -> tuple[Any, ...]:
    texts = indentation.texts
    return (texts.starts, texts.lows, texts.highs, texts.targets, texts.accepting, indentation.tab)


def _value(record: tuple[Any, ...], called: list[Any]) -> Expr:
    kind, its = record[0], record[1]
    if kind == _REGULAR:
        return regular(_dfa(its, record[2]))
    indentation = Indentation(CharDfa.of(*its[:-1]), its[-1])
    if kind == _LANDING:
        return landing(indentation)
    return indented(indentation, tuple(called[number] for number in record[2]))


def _dfa(transitions: bytes, accepting: bytes) -> ByteDfa:
    """One object for all that are equal: what a vocabulary knows of one, it knows of each grammar that has it."""
    found = _dfas.get((transitions, accepting))
    if found is None:
        rows = np.reshape(np.frombuffer(transitions, np.int32), (-1, 256))
        made = ByteDfa(rows, np.frombuffer(accepting, np.uint8).astype(np.bool_))
        found = _dfas.setdefault((transitions, accepting), made)
    return found


def _plain(expr: Expr, numbers: dict[Called, int]) -> Any:
    if isinstance(expr, Literal):
        return expr.text
    if isinstance(expr, ByteSet):
        return expr.bits
    if isinstance(expr, Call):
        return (_CALL, numbers[expr.rule])
    if isinstance(expr, Value):
        return (_VALUE, numbers[expr])
    if isinstance(expr, Repetition):
        return (_REPETITION, _plain(expr.part, numbers), expr.low, expr.high)
    if isinstance(expr, (Sequence, Alternation)):
        kind = _SEQUENCE if isinstance(expr, Sequence) else _ALTERNATION
        return (kind, *(_plain(part, numbers) for part in expr.parts))
    raise KeyError(expr)


def _expr(plain: Any, called: list[Any]) -> Expr:
    if isinstance(plain, bytes):
        return literal(plain)
    if isinstance(plain, int):
        return byte_set(plain)
    kind = plain[0]
    if kind == _CALL:
        return call(called[plain[1]])
    if kind == _VALUE:
        return called[plain[1]]
    if kind == _REPETITION:
        return repetition(_expr(plain[1], called), plain[2], plain[3])
    parts = (_expr(part, called) for part in plain[1:])
    return sequence(*parts) if kind == _SEQUENCE else alternation(*parts)
