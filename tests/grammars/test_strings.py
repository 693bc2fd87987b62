"""Strings by the language of their value, against spellings written out one by one."""

from __future__ import annotations

import itertools
import json
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from json_spelling import Spelling, spellings_of
from key_machine import KeyMachine
from reference_acceptor import after_byte, may_end, start_of
from vocabularies import BYTES, bytewise

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary
from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.expr import Expr, Rule, literal, sequence
from structgen.grammars.language import ALL, Language
from structgen.grammars.regex import ecma_language
from structgen.grammars.values import string_value

ALPHABET = 'a"é\ue000😀'
LONGEST = 4
WORDS = ["".join(word) for length in range(LONGEST + 2) for word in itertools.product(ALPHABET, repeat=length)]
OVER_ALPHABET = ecma_language(f"^[{ALPHABET}]*$")


@pytest.fixture(scope="module")
def vocabulary():
    return bytewise()


def automaton_of(expr: Expr, vocabulary: TokenVocabulary) -> StackAutomaton:
    return StackAutomaton(Rule("text", lambda: expr), vocabulary.lengths, vocabulary.interiors, 64 << 20)


def texts(max_size: int = 3) -> st.SearchStrategy[str]:
    return st.text(ALPHABET, max_size=max_size)


CHARACTERS = st.one_of(
    st.sampled_from(ALPHABET),
    st.sampled_from([".", "[^a]", "[a-é]", "[é-\U0001ffff]", "[\ue000-\U0010ffff]", "[\\ud000-\\ue000]"]),
)


def patterns() -> st.SearchStrategy[str]:
    pieces = st.tuples(CHARACTERS, st.sampled_from(["", "", "*", "?", "+", "{2}", "{0,2}"])).map("".join)
    whole = st.lists(pieces, min_size=1, max_size=3).map("".join)
    return st.one_of(
        whole.map("^{}$".format), st.tuples(whole, whole).map(lambda two: f"^(?:{two[0]}|{two[1]})$"), whole
    )


@st.composite
def languages(draw: st.DrawFn) -> Language:
    """Over `ALPHABET`; what begins a member of the language begins one of at most two characters more."""
    if draw(st.booleans()):
        return Language.finite(draw(st.sets(texts(LONGEST), min_size=1, max_size=12)))
    language = ecma_language(draw(patterns())) if draw(st.booleans()) else ALL
    low, more = draw(st.integers(0, 2)), draw(st.one_of(st.none(), st.integers(0, 2)))
    language = language & OVER_ALPHABET & Language.length(low, None if more is None else low + more)
    assume(not language.is_empty)
    assume(language.dfa is None or max(language.dfa.shortest) <= 2)
    return language


def members_of(language: Language, text: str = "") -> list[str]:
    """Those of one of `languages` that matter along ``text``: where a character more is possible, it is in one here."""
    words = language.texts or {*WORDS, *(text + more for more in WORDS if len(more) <= 3)}
    return [word for word in words if language.contains(word)]


def spelled(text: str, random) -> bytes:
    return b'"' + b"".join(_spelled(char, random) for char in text) + b'"'


def _spelled(char: str, random) -> bytes:
    return bytes(random.choice(allowed) for allowed in random.choice(spellings_of(char)))


@settings(max_examples=150, deadline=None)
@given(languages(), texts(2), st.randoms(use_true_random=False))
def test_a_byte_may_come_exactly_where_a_member_can_still_be_spelled(vocabulary, language, text, random):
    automaton, spelling = automaton_of(string_value(language), vocabulary), Spelling(members_of(language, text))
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


def distances_to_the_end(automaton: StackAutomaton, limit: int = 40) -> dict[int, int]:
    """By state, the bytes of the shortest way to the end, for every state that some short text leads to."""
    before: dict[int, set[int]] = {automaton.start: set()}
    frontier = [automaton.start]
    for _ in range(limit):
        following = []
        for state in frontier:
            for byte in automaton.next_bytes(state):
                target = automaton.advance_bytes(state, bytes([byte]))
                if target not in before:
                    before[target] = set()
                    following.append(target)
                before[target].add(state)
        frontier = following
    distances = {state: 0 for state in before if automaton.is_accepting(state)}
    pending = list(distances)
    for state in pending:
        for earlier in before[state]:
            if earlier not in distances:
                distances[earlier] = distances[state] + 1
                pending.append(earlier)
    return distances


@settings(max_examples=60, deadline=None)
@given(languages())
def test_distances_of_lists_and_of_patterns_without_bounds_are_exact(vocabulary, language):
    assume(not language.low and language.high is None)
    automaton = automaton_of(string_value(language), vocabulary)
    exact = distances_to_the_end(automaton)
    assert {state: automaton.distance(state) for state in exact} == exact


@settings(max_examples=100, deadline=None)
@given(languages(), st.integers(0, 25), st.randoms(use_true_random=False))
def test_some_byte_always_lowers_the_distance(vocabulary, language, wandering, random):
    automaton = automaton_of(string_value(language), vocabulary)
    state = automaton.start
    while not automaton.is_accepting(state):
        after = {automaton.advance_bytes(state, bytes([byte])) for byte in automaton.next_bytes(state)}
        nearer = [target for target in after if automaton.distance(target) < automaton.distance(state)]
        assert nearer
        wandering -= 1
        state = random.choice(sorted(after)) if wandering >= 0 else random.choice(sorted(nearer))


TOKENS = [b'"', b"a", b"\\", b"\\u", b"00", b"6", b"1", b'a"', b"\xc3", b"\xa9", b"\xa9a", b'""', b"\\u00", b"e9"]
TOKENS += [b'\\"', b"]"]


UNUSED = b"\xc0\xc1\xf1\xf2" + bytes(range(0xF5, 0x100))
"""Some of the bytes that no token of SmolLM2's is: no text that it learned from holds them."""


@pytest.mark.parametrize(
    ("pattern", "text", "distance"),
    [
        ("", b"\xe5", 3),
        ("", b"\xe5\x8e", 2),
        ("", b"\xc3", 2),
        ("", b"\xf0\x9f", 3),
        ("^\U0001f600$", b"", 13),  # as two escapes: not every character of four bytes can be spelled in them
        ("^\U0001f600$", b"\xf0", 4),
        ("^\U0001f600{2}$", b"\xf0\x9f\x98", 14),
    ],
)
def test_what_is_left_of_a_character_asks_for_no_byte_that_begins_one(pattern, text, distance):
    words = [byte for byte in BYTES if byte not in UNUSED]
    vocabulary = TokenVocabulary([*words, b""], [len(words)])
    stacks = automaton_of(string_value(ecma_language(pattern)), vocabulary)
    assert stacks.distance(stacks.advance_bytes(stacks.start, b'"' + text)) == distance


@pytest.fixture(scope="module")
def few_tokens():
    return TokenVocabulary([*TOKENS, b""], [len(TOKENS)])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sets(st.text('a"é', max_size=3), min_size=1, max_size=4), min_size=1, max_size=2), st.randoms())
def test_masks_are_those_of_the_slow_acceptor(few_tokens, lists, random):
    body = sequence(*(string_value(Language.finite(texts)) for texts in lists), literal(b"]"))
    automaton = TokenAutomaton(Rule("text", lambda: body), few_tokens)
    row = np.empty(1, np.int32)
    with automaton.matcher() as matcher:
        state, stacks = matcher.start, start_of(Rule("text", lambda: body))
        while not may_end(stacks):
            expected = [token for token, text in enumerate(TOKENS) if after_text(stacks, text)]
            matcher.fill_mask(state, row)
            assert [token for token in range(len(TOKENS) + 1) if int(row[0]) >> token & 1] == expected
            if not expected:  # the vocabulary cannot spell what is missing
                return
            token = random.choice(expected)
            state, stacks = matcher.advance(state, token), after_text(stacks, TOKENS[token])
            assert state != DEAD


def after_text(stacks, text: bytes):
    for byte in text:
        stacks = after_byte(stacks, byte)
    return stacks


@pytest.mark.parametrize(
    ("data", "is_string"),
    [
        (b'"\\ud83d\\ude00"', True),
        (b'"\\uD83D\\uDE00"', True),
        (b'"\\ud83d"', False),
        (b'"\\ud83dx"', False),
        (b'"\\ud83d\\n"', False),
        (b'"\\ud83d\\u0061"', False),
        (b'"\\ude00"', False),
        (b'"\\ude00\\ud83d"', False),
        (b'"\\U0061"', False),
        (b'"\\u006"', False),
        (b'"\\u006g"', False),
        (b'"\\x41"', False),
        (b'"\\/\\"\\\\\\b\\f\\n\\r\\t"', True),
        (b'"\x7f"', True),
        (b'"\x1f"', False),
        (b'"\xc0\x80"', False),
        (b'"\xed\xa0\x80"', False),
        (b'"\xed\x9f\xbf"', True),
        (b'"\xf4\x8f\xbf\xbf"', True),
        (b'"\xf4\x90\x80\x80"', False),
        (b'"\xe0\x9f\xbf"', False),
        (b'"\xf0\x8f\xbf\xbf"', False),
    ],
)
def test_a_string_is_what_rfc_8259_and_utf_8_allow(vocabulary, data, is_string):
    for language in (ALL, Language.length(0, 99), ecma_language("^.*$") if b"\\n" not in data else ALL):
        automaton = TokenAutomaton(Rule("text", lambda language=language: string_value(language)), vocabulary)
        assert automaton.accepts(data) == is_string


@pytest.mark.parametrize(
    ("pattern", "low", "high"),
    [("^(?:aaa)*$", 1, 7), ("^(?:aaa|aaaa)*$", 5, 6), ("^(?:aa)*b?$", 3, 3), ("^(?:a{4}|b{7}|(?:cc)*)$", 5, 8)],
)
def test_gaps_in_the_lengths_of_a_pattern_meet_its_bounds(vocabulary, pattern, low, high):
    language = Language.of_dfa(ecma_language(pattern).dfa, low, high)
    words = ["".join(word) for length in range(9) for word in itertools.product("abc", repeat=length)]
    members = [word for word in words if language.contains(word)]
    automaton = automaton_of(string_value(language), vocabulary)
    pending = [(automaton.start, b'"')]
    while pending:
        state, data = pending.pop()
        state = automaton.advance_bytes(state, data[-1:])
        read = data[1:].decode()
        following = {word[len(read)] for word in members if word.startswith(read) and word != read}
        assert bytes(sorted(set(automaton.next_bytes(state)) & set(b"abc"))) == "".join(sorted(following)).encode()
        assert (ord('"') in automaton.next_bytes(state)) == (read in members)
        pending += [(state, data + char.encode()) for char in following]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_bounds_on_one_pattern_do_not_meddle_with_each_other(vocabulary, order):
    dfa = ecma_language("^(?:a{1,2}|b*)$").dfa
    languages = [Language.of_dfa(dfa, 3, None), Language.of_dfa(dfa, 0, 5)]
    wholes, expected = [b'"bbb"', b'"a"'], [(b"b\\", b"b\\"), (b'"ab\\', b'"b\\')]
    automaton = automaton_of(sequence(*(string_value(languages[one]) for one in order)), vocabulary)
    before = b""
    for one in order:
        for text, following in zip((b'"', b'"b'), expected[one], strict=True):
            state = automaton.advance_bytes(automaton.start, before + text)
            assert set(automaton.next_bytes(state)) == set(following)
        before += wholes[one]


def test_more_than_31_languages_of_keys_are_told_apart():
    machine = KeyMachine([], [Language.finite([chr(0x61 + number // 10) + str(number % 10)]) for number in range(40)])
    assert machine.look(machine.start)[1] == set(range(40))
    state = machine.start
    for byte in b'"d':
        state = machine.step(state, byte)
    assert machine.look(state)[1] == set(range(30, 40))
    for byte in b'5"':
        state = machine.step(state, byte)
    assert machine.look(state)[1:4] == ({35}, True, -1)


def test_too_many_languages_of_keys_and_too_many_states_are_refused():
    with pytest.raises(GrammarLimitExceeded, match="languages of keys"):
        KeyMachine([], [Language.finite([str(number)]) for number in range(63)])
    with pytest.raises(GrammarLimitExceeded, match="states"):
        KeyMachine([], [Language.length(0, 100_000)])


# Keys


@st.composite
def keys(draw: st.DrawFn) -> tuple[list[str], list[Language]]:
    names = draw(st.lists(texts(2), unique=True, max_size=5))  # with one more character as long as `languages` says
    others = draw(st.lists(languages(), min_size=0 if names else 1, max_size=3))
    return names, others


@settings(max_examples=100, deadline=None)
@given(keys(), st.integers(0, 5), st.one_of(texts(2), st.integers(0, 4)), st.randoms(use_true_random=False))
def test_a_key_says_what_it_may_still_be(case, first, wanted, random):
    names, others = case
    text = wanted if isinstance(wanted, str) else names[wanted % len(names)] if names else ""
    machine, ordered = KeyMachine(names, others, first), sorted(names, key=lambda name: name.encode("utf-16-be"))
    known = {*names, *(word for one in others for word in members_of(one, text))}
    labels = {word: {entry for entry, one in enumerate(others) if one.contains(word)} for word in known}
    labels |= {name: set() for name in names}
    spelling, state = Spelling(known), machine.start
    for byte in spelled(text, random):
        places, mask, is_whole, _, _ = machine.look(state)
        assert not is_whole
        left = spelling.texts
        assert {ordered[place] for place in places} == {name for name in names if name in left}
        assert mask == set().union(*(labels[word] for word in left))
        assert {other for other in range(256) if machine.step(state, other) is not None} == spelling.next_bytes
        if byte not in spelling.next_bytes:
            return
        spelling, state = spelling.after(byte), machine.step(state, byte)
    _, mask, is_whole, label, _ = machine.look(state)
    assert is_whole
    assert label == (names.index(text) if text in names else -1)
    assert mask == labels[text]


@settings(max_examples=80, deadline=None)
@given(keys(), texts(2), st.sets(st.integers(0, 2)), st.randoms(use_true_random=False))
def test_what_a_key_still_takes_is_exact(case, text, ways, random):
    names, others = case
    assume(all(one.texts is not None or (not one.low and one.high is None) for one in others))
    machine, ordered = KeyMachine(names, others), sorted(names, key=lambda name: name.encode("utf-16-be"))
    new = {word for entry in ways & set(range(len(others))) for word in members_of(others[entry], text)} - set(names)
    state, spellings = machine.start, {word: Spelling([word]) for word in new | set(names)}
    for byte in spelled(text, random):
        rests = {word: spelling.cheapest_end for word, spelling in spellings.items()}
        assert machine.other_rest(state, ways) == min((rests[word] for word in new & set(rests)), default=FAR)
        for place in machine.look(state)[0]:
            assert machine.name_rest(state, place) == rests[ordered[place]]
        state = machine.step(state, byte)
        if state is None:
            return
        spellings = {word: spelling.after(byte) for word, spelling in spellings.items() if byte in spelling.next_bytes}


def test_the_inside_of_an_undeclared_key_is_that_of_any_string():
    machine = KeyMachine(["name", "nature"], [ALL])
    state = machine.start
    for byte in b'"n':
        state = machine.step(state, byte)
    assert machine.look(state)[:2] == (range(2), {0})
    state = machine.step(state, ord("x"))
    assert machine.look(state)[:2] == (range(0), {0})
    assert {machine.step(state, byte) for byte in b"anything"} == {state}


# What must cost little


def test_an_enum_of_5000_strings_is_lowered_in_no_time(vocabulary):
    language = Language.finite(f"https://example.com/item/{number * 7919 % 100003}" for number in range(5000))
    automaton = TokenAutomaton(Rule("warm", lambda: string_value(ALL)), vocabulary)
    begin = time.process_time()
    automaton = TokenAutomaton(Rule("text", lambda: string_value(language)), vocabulary)
    assert time.process_time() - begin < 0.05
    assert automaton.nbytes < 3 << 20
    assert all(automaton.accepts(json.dumps(text)) for text in language.texts[::100])
    assert not automaton.accepts('"https://example.com/item/"')


@pytest.mark.parametrize("pattern", ["^[a-z]*$", None])
def test_a_length_of_100000_costs_nothing_until_it_is_used_and_little_then(vocabulary, pattern):
    language = Language.length(3, 100_000) & (ecma_language(pattern) if pattern else ALL)
    automaton = TokenAutomaton(Rule("text", lambda: string_value(language)), vocabulary)
    assert automaton.nbytes < 1 << 20
    assert automaton.accepts('"' + "a" * 100_000 + '"')
    assert not automaton.accepts('"' + "a" * 100_001 + '"')
    assert not automaton.accepts('"aa"')
    assert automaton.nbytes < 20 << 20
