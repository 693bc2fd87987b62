"""Strings by the language of their value, against spellings written out one by one."""

from __future__ import annotations

import itertools
import json
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from json_spelling import Spelling, as_expression, spellings_of
from key_machine import KeyMachine
from reference_acceptor import after_byte, may_end, start_of

from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.expr import Expr, Rule, literal, sequence
from structgen.grammars.language import ALL, Language
from structgen.grammars.regex import ecma_language
from structgen.grammars.values import string_value

ALPHABET = 'a"é\ue000😀'
LONGEST = 4
WORDS = ["".join(word) for length in range(LONGEST + 2) for word in itertools.product(ALPHABET, repeat=length)]
BYTES = [bytes([byte]) for byte in range(256)]
OVER_ALPHABET = ecma_language(f"^[{ALPHABET}]*$")


@pytest.fixture(scope="module")
def vocabulary():
    return TokenVocabulary([*BYTES, b""], [256])


def automaton_of(expr: Expr, vocabulary: TokenVocabulary) -> StackAutomaton:
    return StackAutomaton(Rule("text", lambda: expr), vocabulary.lengths, vocabulary.trie, 64 << 20)


def texts(max_size: int = 3) -> st.SearchStrategy[str]:
    return st.text(ALPHABET, max_size=max_size)


CHARACTERS = st.one_of(
    st.sampled_from(ALPHABET),
    st.sampled_from([".", "[^a]", "[a-é]", "[é-\U0001ffff]", "[\ue000-\U0010ffff]", "[\\ud000-\\ue000]"]),
)


def patterns() -> st.SearchStrategy[str]:
    pieces = st.tuples(CHARACTERS, st.sampled_from(["", "", "*", "?", "+", "{2}", "{0,2}"])).map("".join)
    whole = st.lists(pieces, min_size=1, max_size=3).map("".join)
    return st.one_of(whole.map("^{}$".format), st.tuples(whole, whole).map(lambda two: f"^(?:{two[0]}|{two[1]})$"), whole)


@st.composite
def languages(draw: st.DrawFn) -> Language:
    """Over `ALPHABET`; up to three characters that begin a member begin one among `members_of` the language."""
    if draw(st.booleans()):
        return Language.finite(draw(st.sets(texts(LONGEST), min_size=1, max_size=12)))
    language = ecma_language(draw(patterns())) if draw(st.booleans()) else ALL
    low, more = draw(st.integers(0, 2)), draw(st.one_of(st.none(), st.integers(0, 2)))
    language = language & OVER_ALPHABET & Language.length(low, None if more is None else low + more)
    assume(not language.is_empty)
    assume(language.dfa is None or max(language.dfa.shortest) <= 2)
    return language


def members_of(language: Language) -> list[str]:
    return [word for word in language.texts or WORDS if language.contains(word)]


def spelled(text: str, random) -> bytes:
    return b'"' + b"".join(_spelled(char, random) for char in text) + b'"'


def _spelled(char: str, random) -> bytes:
    return bytes(random.choice(allowed) for allowed in random.choice(spellings_of(char)))


@settings(max_examples=150, deadline=None)
@given(languages(), texts(2), st.randoms(use_true_random=False))
def test_a_byte_may_come_exactly_where_a_member_can_still_be_spelled(vocabulary, language, text, random):
    automaton, spelling = automaton_of(string_value(language), vocabulary), Spelling(members_of(language))
    state = automaton.start
    for byte in spelled(text, random):
        expected = spelling.next_bytes
        assert set(automaton.next_bytes(state)) == expected
        assert {other for other in range(256) if automaton.advance_bytes(state, bytes([other]))} == expected
        assert not automaton.is_accepting(state)
        if byte not in expected:
            return
        spelling = spelling.after(byte)
        state = automaton.advance_bytes(state, bytes([byte]))
    assert spelling.is_whole
    assert automaton.is_accepting(state)
