"""JSON as text: the documented layout, written once as rules that every schema shares.

Between tokens at most ``" "`` or a line feed and up to 64 spaces; none before or after the value. Numbers in the
form that common writers give (Python's ``repr``, JavaScript), their digits bounded so that no number runs on. Strings
are valid UTF-8 with JSON's escapes, surrogates only in pairs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.charset import CharSet
from structgen.grammars.expr import (
    EPSILON,
    NEVER,
    Expr,
    Rule,
    alternation,
    byte_set,
    call,
    joined,
    literal,
    optional,
    repetition,
    sequence,
)
from structgen.grammars.json_schema.keywords import is_object
from structgen.grammars.utf8 import utf8

__all__ = ["ANY_NUMBER", "BOOLEAN", "INTEGER", "NULL", "NUMBER", "STRING", "array", "member", "object_of", "value"]

MAX_DIGITS = 20
"""Digits before the point, and after it, that a canonical number has at most."""
MAX_INDENT = 64
_MAX_BITS = 13_000
"""Of a number in ``enum`` or ``const``: beyond 4,300 digits Python refuses to write it."""

_DIGIT = byte_set(range(0x30, 0x3A))
_DIGIT_1_9 = byte_set(range(0x31, 0x3A))
_HEX = byte_set(b"0123456789abcdefABCDEF")


def _escape() -> Expr:
    """An escaped character; a high surrogate only with the low one that completes it."""
    single = sequence(
        alternation(
            sequence(byte_set(b"0123456789abcefABCEF"), _HEX),
            sequence(byte_set(b"dD"), byte_set(b"01234567")),
        ),
        _HEX,
        _HEX,
    )
    high = sequence(byte_set(b"dD"), byte_set(b"89abAB"), _HEX, _HEX)
    low = sequence(byte_set(b"dD"), byte_set(b"cdefCDEF"), _HEX, _HEX)
    pair = sequence(high, literal(b"\\u"), low)
    return sequence(
        literal(b"\\"), alternation(byte_set(b'"\\/bfnrt'), sequence(literal(b"u"), alternation(single, pair)))
    )


def _string() -> Expr:
    plain = CharSet(((0x20, 0x10FFFF),)) - CharSet.of((ord(mark), ord(mark)) for mark in '"\\')
    return sequence(literal(b'"'), repetition(alternation(utf8(plain), _escape()), 0, None), literal(b'"'))


def _integer() -> Expr:
    natural = sequence(_DIGIT_1_9, repetition(_DIGIT, 0, MAX_DIGITS - 1))
    return alternation(literal(b"0"), sequence(optional(literal(b"-")), natural))


def _number() -> Expr:
    digits = alternation(literal(b"0"), sequence(_DIGIT_1_9, repetition(_DIGIT, 0, MAX_DIGITS - 1)))
    ends_well = sequence(repetition(_DIGIT, 0, MAX_DIGITS - 1), _DIGIT_1_9)  # no trailing zero
    fraction = sequence(literal(b"."), alternation(literal(b"0"), ends_well))
    small = alternation(sequence(optional(literal(b"0")), _DIGIT_1_9), sequence(_DIGIT_1_9, _DIGIT))
    hundreds = sequence(byte_set(b"12"), _DIGIT, _DIGIT)
    negative = alternation(small, hundreds, sequence(literal(b"3"), byte_set(b"01"), _DIGIT), _below(b"32", b"01234"))
    positive = alternation(small, hundreds, _below(b"30", b"01234567"))
    mantissa = sequence(_DIGIT_1_9, optional(sequence(literal(b"."), ends_well)))
    # From 1.8e308 on a double is infinite.
    up_to_1_79 = alternation(sequence(byte_set(b"0123456"), repetition(_DIGIT, 0, 16)), literal(b"7"))
    below_1_79 = sequence(literal(b"7"), byte_set(b"012345678"), repetition(_DIGIT, 0, 15))
    largest = sequence(literal(b"1"), optional(sequence(literal(b"."), alternation(up_to_1_79, below_1_79))))
    scientific = alternation(
        sequence(mantissa, literal(b"e-"), negative),
        sequence(mantissa, literal(b"e+"), positive),
        sequence(largest, literal(b"e+308")),
    )
    signed = sequence(optional(literal(b"-")), alternation(sequence(digits, fraction), scientific))
    return alternation(_integer(), signed)


def _below(prefix: bytes, last: bytes) -> Expr:
    return sequence(literal(prefix), byte_set(last))


def _any_number() -> Expr:
    digits = repetition(_DIGIT, 1, None)
    natural = alternation(literal(b"0"), sequence(_DIGIT_1_9, repetition(_DIGIT, 0, None)))
    exponent = sequence(byte_set(b"eE"), optional(byte_set(b"+-")), digits)
    return sequence(optional(literal(b"-")), natural, optional(sequence(literal(b"."), digits)), optional(exponent))


STRING = call(Rule("string", _string))
INTEGER = call(Rule("integer", _integer))
NUMBER = call(Rule("number", _number))
ANY_NUMBER = call(Rule("number", _any_number))
"""Every spelling that RFC 8259 allows."""
NULL = literal(b"null")
BOOLEAN = alternation(literal(b"true"), literal(b"false"))

_NEW_LINE = Rule("line break", lambda: sequence(literal(b"\n"), repetition(literal(b" "), 0, MAX_INDENT)))
_SPACE = optional(alternation(literal(b" "), call(_NEW_LINE)))
_COMMA = sequence(_SPACE, literal(b","), _SPACE)
_COLON = sequence(_SPACE, literal(b":"), _SPACE)


def array(item: Expr) -> Expr:
    """An array of any number of items."""
    return sequence(literal(b"["), optional(sequence(_SPACE, _list_of(item))), _SPACE, literal(b"]"))


def _list_of(item: Expr) -> Expr:
    return sequence(item, repetition(sequence(_COMMA, item), 0, None))


def member(key: str, its_value: Expr) -> Expr:
    """A key and its value."""
    return sequence(_string_literal(key), _COLON, its_value)


def object_of(members: Iterable[tuple[Expr, bool]]) -> Expr:
    """An object with ``(member, required)`` in this order."""
    members = tuple(members)
    body = sequence(_SPACE, joined(members, _COMMA))
    if not any(required for _, required in members):
        body = optional(body)
    return sequence(literal(b"{"), body, _SPACE, literal(b"}"))


def value(data: Any) -> Expr:
    """Exactly this JSON value; an object's keys in their order."""
    if data is None:
        return NULL
    if isinstance(data, bool):
        return literal(b"true" if data else b"false")
    if isinstance(data, str):
        return _string_literal(data)
    if isinstance(data, (int, float)):
        return _number_literal(data)
    if is_object(data):
        return object_of((member(key, value(its)), True) for key, its in data.items())
    return _tuple_of([value(item) for item in data])


def _tuple_of(items: Sequence[Expr]) -> Expr:
    body = EPSILON
    if items:
        body = sequence(_SPACE, joined(((item, True) for item in items), _COMMA))
    return sequence(literal(b"["), body, _SPACE, literal(b"]"))


def _string_literal(text: str) -> Expr:
    """As common writers write it: characters beyond ASCII as themselves, or all of them escaped."""
    try:
        plain = json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate has no place in strict JSON
        return NEVER
    return alternation(literal(plain), literal(json.dumps(text).encode()))


def _number_literal(number: float) -> Expr:
    if isinstance(number, int):
        if number.bit_length() > _MAX_BITS:
            raise GrammarLimitExceeded(f"a number of more than {_MAX_BITS} bits cannot be written out")
        return literal(str(number).encode())
    if not math.isfinite(number):  # Python reads them from a schema file; JSON has no such number
        return NEVER
    spellings = [literal(repr(number).encode())]
    if number.is_integer() and str(number) != "-0.0":
        spellings.append(literal(str(int(number)).encode()))
    return alternation(*spellings)
