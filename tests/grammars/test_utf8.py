"""Sets of characters as bytes: exactly the encodings, whatever the set."""

from __future__ import annotations

import itertools
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.grammars.charset import ALL, NEWLINE, NONE, CharSet
from structgen.grammars.expr import NEVER, Alternation, ByteSet, Literal, Repetition, Sequence
from structgen.grammars.regex.python_re import shorthand
from structgen.grammars.utf8 import utf8

SURROGATES = CharSet(((0xD800, 0xDFFF),))
BORDERS = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]


def strings_of(expr):
    """Every string of bytes of an expression without repetition."""
    if isinstance(expr, Literal):
        return [expr.text]
    if isinstance(expr, ByteSet):
        return [bytes([byte]) for byte in range(256) if expr.bits >> byte & 1]
    if isinstance(expr, Alternation):
        return [text for part in expr.parts for text in strings_of(part)]
    assert isinstance(expr, Sequence)
    return [b"".join(pieces) for pieces in itertools.product(*map(strings_of, expr.parts))]


def encodings_of(charset):
    kept = charset - SURROGATES
    return sorted(chr(point).encode() for first, last in kept.ranges for point in range(first, last + 1))


def byte_sets_in(expr):
    if isinstance(expr, (Sequence, Alternation)):
        return sum(map(byte_sets_in, expr.parts))
    assert not isinstance(expr, Repetition)
    return 1


near_borders = st.builds(
    lambda border, step: min(max(border + step, 0), sys.maxunicode), st.sampled_from(BORDERS), st.integers(-70, 70)
)
ranges = st.builds(
    lambda first, length: (first, min(first + length, sys.maxunicode)), near_borders, st.integers(0, 300)
)


@settings(deadline=None)
@given(st.lists(ranges, max_size=5).map(CharSet.of))
def test_the_bytes_of_a_set_are_the_encodings_of_its_characters_each_once(charset):
    assert sorted(strings_of(utf8(charset))) == encodings_of(charset)


@pytest.mark.parametrize(
    "charset",
    [ALL, ~NEWLINE, shorthand("w", False), ~shorthand("w", False), shorthand("d", False), ~shorthand("s", False)],
    ids=["everything", "dot", "word", "no word", "digit", "no space"],
)
def test_large_sets_hold_every_encoding_once(charset):
    assert sorted(strings_of(utf8(charset))) == encodings_of(charset)


def test_surrogates_are_no_characters_of_a_text():
    assert utf8(SURROGATES) is NEVER
    assert utf8(NONE) is NEVER
    assert utf8(ALL) is utf8(ALL - SURROGATES)


def test_sets_are_as_small_as_their_structure():
    assert byte_sets_in(utf8(CharSet(((0, 0x7F),)))) == 1
    assert byte_sets_in(utf8(ALL)) <= 24
    assert byte_sets_in(utf8(shorthand("w", False))) <= 1200
