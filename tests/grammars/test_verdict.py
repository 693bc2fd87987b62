"""A verdict says where a text leaves its grammar, and what could have come there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import bytewise

from structgen.grammars import (
    TokenAutomaton,
    Verdict,
    compile_choice,
    compile_json_schema,
    compile_regex,
)
from structgen.grammars.expr import Rule
from structgen.grammars.language import ALL, Language
from structgen.grammars.values import ObjectSpec, object_value, string_value
from structgen.grammars.verdict import describe_bytes

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "pet": {"enum": ["cat", "dog"]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary():
    return bytewise()


@pytest.fixture(scope="module")
def person(vocabulary):
    return compile_json_schema(PERSON, vocabulary)


def test_a_valid_text_is_accepted(person):
    verdict = person.check('{"name": "Ann", "age": 3}')
    assert verdict == Verdict(accepted=True)
    assert str(verdict) == "accepted"


@pytest.mark.parametrize(
    ("text", "at", "found", "message"),
    [
        ('{"name": "x"}', 12, "}", "'}' cannot come here; expected ',' or white space"),
        ('{"name": "x", "age": 3.5}', 22, ".", "'.' cannot come here; expected ',', '}', a digit or white space"),
        ('{"name": "x",\n "age": true}', 22, "t", "(line 2, column 9): 't' cannot come here; expected '-' or a digit"),
        ('{"name": "\x07"}', 10, "\x07", "U+0007 cannot come here; expected any character"),
        ('{"name": "x", "age": 3', 22, "", "the text ends too soon; expected"),
        ('{"name": "x", "age": 3}\n', 23, "\n", "a line feed cannot come here; expected the end"),
        ("", 0, "", "the text ends too soon; expected '{'"),
    ],
)
def test_the_place_and_what_could_come_are_named(person, text, at, found, message):
    verdict = person.check(text)
    assert (verdict.accepted, verdict.at, verdict.found) == (False, at, found)
    assert message in str(verdict)


def test_the_place_in_the_schema_is_named(person):
    verdict = person.check('{"name": "x", "age": 3, "pet": "cow"}')
    assert verdict.at == 33
    assert b"a" in verdict.expected
    assert verdict.path == "/pet"
    assert "expected 'a'; in /pet" in str(verdict)
    ending = person.ending('{"name": "x", "age": 3, "pet": "c')
    assert ending == 'at"}'


def test_a_value_is_named_by_the_rule_that_holds_it(vocabulary):
    texts = [
        Rule(name, lambda name=name: string_value(Language.finite([name])), f"/properties/{name}") for name in "ab"
    ]
    free = [Rule(name, lambda: string_value(ALL), f"/properties/{name}") for name in "cd"]
    spec = ObjectSpec(tuple("abcd"), (*texts, *free), required=frozenset({0}))
    automaton = TokenAutomaton(Rule("all", lambda: object_value(spec), "/$defs/all"), vocabulary)
    assert automaton.check('{"a": "x"}').places == (("a", "/properties/a"),)
    assert str(automaton.check('{"a": "x"}')).endswith("expected 'a'; in /a under #/properties/a")
    assert automaton.check('{"b": "b"}').places == (("all", "/$defs/all"),)
    assert automaton.check('{"a": "a", "c": "\x07"}').places == (("string", ""),)  # held by two, told by the path
    assert automaton.check('{"a": "a", "c": "\x07"}').path == "/c"


def test_a_wrong_byte_inside_a_character_shows_the_whole_character(vocabulary):
    verdict = compile_choice(["caf\u00e9"], vocabulary).check("caf\u00e8")
    assert (verdict.at, verdict.column, verdict.found) == (4, 5, "\u00e8")
    assert verdict.expected == b"\xa9"
    assert "the rest of a character" in str(verdict)


def test_bytes_that_are_no_text_are_shown_as_such(vocabulary):
    assert compile_regex(".*", vocabulary).check(b"ab\xff").found == "\ufffd"
    assert compile_regex("ab", vocabulary).check(b"ab\x80").found == "\ufffd"


def test_what_may_end_says_so(vocabulary):
    verdict = compile_regex("a+", vocabulary).check("aab")
    assert verdict.may_end
    assert str(verdict).startswith("byte 2 (line 1, column 3): 'b' cannot come here; expected 'a' or the end")


@settings(max_examples=60, deadline=None)
@given(st.text("ab", max_size=9), st.integers(1, 5000), st.text("abc", max_size=9))
def test_the_place_is_where_the_longest_prefix_that_can_go_on_ends(vocabulary, head, middle, tail):
    automaton = compile_regex(r"(ab?)*c?", vocabulary)
    text = (head + "ab" * middle + tail).encode()
    verdict = automaton.check(text)
    assert verdict.accepted == automaton.accepts(text)
    if not verdict.accepted:
        assert automaton.ending(text[: verdict.at]) is not None
        assert verdict.at == len(text) or automaton.ending(text[: verdict.at + 1]) is None


def test_an_ending_is_short_and_makes_the_text_whole(person):
    whole = '{"name": "Ann", "age": 3, "pet": "dog"}'
    for length in range(len(whole) + 1):
        ending = person.ending(whole[:length])
        assert ending is not None
        assert json.loads(whole[:length] + ending)
        assert person.accepts(whole[:length] + ending)
    assert person.ending("") == '{"name":"","age":0}'
    assert person.ending("[") is None


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (b"", ""),
        (b"a", "'a'"),
        (b"0123456789", "a digit"),
        (b" \n,}", "',', '}' or white space"),
        (bytes(range(0x20, 0x7F)), "any ASCII character"),
        (bytes(set(range(0x20, 0x100)) - set(b'"')), "any character but a quote"),
        (b"acegikmoqsuwy", "'a', 'c', 'e', 'g', 'i', 'k', 'm', 'o', 'q', 's' or one of 3 more characters"),
        (b"\x00", "U+0000"),
    ],
)
def test_bytes_are_described_in_a_few_words(allowed, words):
    assert describe_bytes(bytes(sorted(allowed))) == words
