"""Sets of characters, and what Python's classes and its ignoring of case put into them."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.grammars.charset import ALL, NONE, CharSet
from structgen.grammars.regex.python_re import ignoring_case, shorthand

EVERY = [chr(code_point) for code_point in range(sys.maxunicode + 1)]
CASED = [char for char in EVERY if char.lower() != char or char.upper() != char]

code_points = st.one_of(st.integers(0, 24), st.integers(sys.maxunicode - 24, sys.maxunicode))
ranges = st.lists(st.tuples(code_points, code_points).map(sorted).map(tuple), max_size=5)
SAMPLES = [*range(30), *range(sys.maxunicode - 30, sys.maxunicode + 1)]


def char_set(chars):
    return CharSet.of((ord(char), ord(char)) for char in chars)


@settings(deadline=None)
@given(ranges, ranges)
def test_sets_are_what_their_operators_say(one, other):
    first, second = CharSet.of(one), CharSet.of(other)
    for point in SAMPLES:
        in_first = any(low <= point <= high for low, high in one)
        in_second = any(low <= point <= high for low, high in other)
        assert (point in first) is in_first
        assert (point in (first | second)) is (in_first or in_second)
        assert (point in (first & second)) is (in_first and in_second)
        assert (point in (first - second)) is (in_first and not in_second)
        assert (point in ~first) is not in_first


@settings(deadline=None)
@given(ranges)
def test_equal_sets_are_written_alike(ranges):
    charset = CharSet.of(ranges)
    assert all(last + 1 < first for (_, last), (first, _) in zip(charset.ranges, charset.ranges[1:], strict=False))
    assert charset == ~~charset == charset | charset == charset & charset == CharSet.of(reversed(charset.ranges))
    assert charset | ~charset == ALL
    assert charset - charset == NONE
    assert bool(charset) is (charset != NONE)


@pytest.mark.parametrize(
    ("letter", "holds"),
    [("d", str.isdecimal), ("w", lambda char: char.isalnum() or char == "_"), ("s", str.isspace)],
)
def test_shorthand_classes_hold_what_python_says_of_every_code_point(letter, holds):
    assert shorthand(letter, False) == char_set(char for char in EVERY if holds(char))
    matches = re.compile(rf"\{letter}", re.ASCII).match
    assert shorthand(letter, True) == char_set(char for char in EVERY if matches(char))


def class_of(charset):
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in charset.ranges)


def test_a_character_without_case_is_never_changed_by_ignoring_case():
    cased = char_set(CASED)
    assert not re.compile(f"[{class_of(cased)}]", re.IGNORECASE).search("".join(sorted(set(EVERY) - set(CASED))))
    assert not re.compile(f"[{class_of(~cased)}]", re.IGNORECASE).search("".join(CASED))
    assert ignoring_case("5", char_set("5"), False) == char_set("5")


@pytest.mark.parametrize("is_ascii", [False, True])
def test_every_letter_matches_what_it_matches_in_python_where_case_is_ignored(is_ascii):
    relatives = {}
    for char in CASED:
        relatives.setdefault(char.lower()[0].upper(), set()).add(char)
    for char in CASED:
        matches = re.compile(re.escape(char), re.IGNORECASE | (re.ASCII if is_ascii else 0)).fullmatch
        near = relatives[char.lower()[0].upper()]
        expected = char_set(other for other in near if matches(other))
        assert ignoring_case(re.escape(char), char_set(char), is_ascii) == expected


def test_exceptions_of_python_to_unicode_are_kept():
    assert ignoring_case("k", char_set("k"), False) == char_set("kK\N{KELVIN SIGN}")
    assert ignoring_case("k", char_set("k"), True) == char_set("kK")
    assert ignoring_case("[^k]", ~char_set("k"), False) == ~char_set("kK\N{KELVIN SIGN}")
    assert ignoring_case("i", char_set("i"), False) == char_set(
        "iI\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}\N{LATIN SMALL LETTER DOTLESS I}"
    )
