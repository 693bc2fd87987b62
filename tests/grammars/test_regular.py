"""Automata over bytes as values of a grammar: `Regular` against the table itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from number_samples import accepts, walk

from structgen.grammars import TokenVocabulary
from structgen.grammars.expr import Rule, alternation, literal, repetition, sequence
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.values import regular

SINGLE = [bytes([value]) for value in range(256)]
BYTES = TokenVocabulary.from_bytes([*SINGLE, b""], eos_token_ids=[256])
PIECES = [*SINGLE, b"", b"12", b"0.", b"00", b"1.5", b"e-", b"25", b"9]", b"], [", b"[-", b"100"]
LONGER = TokenVocabulary.from_bytes(PIECES, eos_token_ids=[256])

INTEGERS = NumberSet.integers()
SETS = {
    "all": NumberSet.ALL,
    "byte": NumberSet.at_least(0) & NumberSet.at_most(255) & INTEGERS,
    "share": NumberSet.at_least(0) & NumberSet.at_most(1),
    "cents": NumberSet.multiple_of(0.01) & NumberSet.above(-2),
    "words": NumberSet.only([1, 2.5, -100]),
}


def listed(dfa):
    """``[number, number, ...]`` with at least one."""
    number = regular(dfa)
    rest = repetition(sequence(literal(b", "), number), 0, None)
    return Rule("list", lambda: sequence(literal(b"["), number, rest, literal(b"]")))


@pytest.mark.parametrize("spelling", ["canonical", "any"])
@pytest.mark.parametrize("name", SETS)
def test_a_grammar_reads_what_its_automaton_reads(name, spelling):
    dfa, choose = SETS[name].dfa(spelling), random.Random(name).choice
    automaton = TokenAutomaton(listed(dfa), BYTES)
    for _ in range(20):
        numbers = [walk(dfa, choose) for _ in range(3)]
        assert automaton.accepts(f"[{', '.join(numbers)}]")
        changed = numbers[0].replace(choose(numbers[0]), choose("0123456789.e-+"), 1)
        assert automaton.accepts(f"[{changed}]") == accepts(dfa, changed), changed


@pytest.mark.parametrize("name", SETS)
def test_a_token_is_allowed_exactly_if_all_its_bytes_can_be_read(name):
    dfa, choose = SETS[name].dfa("canonical"), random.Random(name).choice
    single, longer = (TokenAutomaton(listed(dfa), vocabulary) for vocabulary in (BYTES, LONGER))
    row = np.zeros(-(-len(PIECES) // 32), np.int32)
    with single.matcher() as slow, longer.matcher() as fast:
        for _ in range(10):
            text = f"[{walk(dfa, choose)}, {walk(dfa, choose)}]".encode()
            for end in range(len(text)):
                one, other = slow.start, fast.start
                for byte in text[:end]:
                    one, other = slow.advance(one, byte), fast.advance(other, byte)
                fast.fill_mask(other, row)
                allowed = {token for token in range(len(PIECES)) if row[token >> 5] >> (token & 31) & 1}
                assert allowed == {token for token, piece in enumerate(PIECES) if piece and reads(slow, one, piece)}


def reads(matcher, state, piece):
    for byte in piece:
        state = matcher.advance(state, byte)
        if state < 0:
            return False
    return True


@pytest.mark.parametrize("name", SETS)
def test_distances_are_those_of_the_automaton(name):
    dfa, choose = SETS[name].dfa("canonical"), random.Random(name).choice
    automaton = TokenAutomaton(Rule("number", lambda: sequence(regular(dfa), literal(b";"))), BYTES)
    with automaton.matcher() as matcher:
        for _ in range(20):
            row, state = 0, matcher.start
            for byte in walk(dfa, choose).encode():
                assert matcher.distance(state) == dfa.distances[row] + 1
                row, state = dfa.transitions[row, byte], matcher.advance(state, byte)
            assert matcher.distance(state) == 1


def test_two_automata_may_be_read_at_once():
    even, odd = NumberSet.multiple_of(2), NumberSet.multiple_of(2).negations()[0] & INTEGERS
    either = alternation(
        sequence(regular(even.dfa("canonical")), literal(b"e")), sequence(regular(odd.dfa("canonical")), literal(b"o"))
    )
    automaton = TokenAutomaton(Rule("either", lambda: either), BYTES)
    assert [automaton.accepts(text) for text in ("12e", "12o", "13e", "13o", "0e")] == [True, False, False, True, True]


def test_a_byte_that_is_no_token_leaves_no_distance():
    vocabulary = TokenVocabulary.from_bytes([b"1", b"2", b"25", b""], eos_token_ids=[3])
    automaton = TokenAutomaton(Rule("number", lambda: regular(SETS["byte"].dfa("canonical"))), vocabulary)
    with automaton.matcher() as matcher:
        state = matcher.advance(matcher.start, 2)
        assert matcher.is_accepting(state)
        assert matcher.advance(state, 2) < 0
