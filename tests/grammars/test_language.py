"""Languages of string values against sets of strings."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import GrammarLimitExceeded
from structgen.grammars._minimal import Alphabet, minimal
from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import ALL, NOTHING, SATURATED, Language

LETTERS = "ab"
WORDS = ["".join(letters) for length in range(7) for letters in itertools.product(LETTERS, repeat=length)]


def random_dfa(seed, states=5):
    """A random automaton over a and b, ``None`` where it accepts nothing."""
    choose = random.Random(seed)
    alphabet = Alphabet([ord("a"), ord("b"), ord("c")])
    rows = []
    for _ in range(states):
        moves = {}
        for letter in LETTERS:
            if choose.random() < 0.7:
                target = choose.randrange(states)
                moves[target] = moves.get(target, 0) | alphabet.set([(ord(letter), ord(letter))])
        rows.append([(mask, target) for target, mask in moves.items()])
    reached = [0]
    for state in reached:
        reached += [target for _, target in rows[state] if target not in reached]
    numbers = {state: number for number, state in enumerate(reached)}
    rows = [[(mask, numbers[target]) for mask, target in rows[state]] for state in reached]
    return minimal(alphabet, rows, [choose.random() < 0.4 for _ in reached])


@st.composite
def languages(draw):
    """A language with the set of its members among `WORDS`."""
    kind = draw(st.sampled_from(["texts", "length", "dfa"]))
    if kind == "texts":
        texts = draw(st.frozensets(st.sampled_from(WORDS), max_size=60))
        return Language.finite(texts), texts
    low, high = draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 6))
    inside = {word for word in WORDS if low <= len(word) <= (9 if high is None else high)}
    if kind == "length":
        return Language.length(low, high), inside
    dfa = random_dfa(draw(st.integers(0, 10_000)))
    if dfa is None:
        return NOTHING, set()
    return Language.of_dfa(dfa, low, high), {word for word in inside if dfa.accepts(word)}


def members_among_words(language):
    return {word for word in WORDS if language.contains(word)}


@given(languages(), languages())
def test_the_intersection_has_the_members_of_both(one, other):
    assert members_among_words(one[0]) == one[1]
    both = one[0] & other[0]
    assert members_among_words(both) == one[1] & other[1]
    assert both is other[0] & one[0]
    assert both.is_empty == (both is NOTHING)
    assert one[0].shares(other[0]) != both.is_empty


@given(languages())
def test_negations_are_disjoint_and_hold_all_that_is_not_a_member(case):
    language, members = case
    parts = language.negations()
    for word in [*WORDS, "c", "abc", "é" * 7]:
        assert sum(part.contains(word) for part in parts) == (not language.contains(word))
    assert all((language & part).is_empty for part in parts)
    assert all((one & other).is_empty for one, other in itertools.combinations(parts, 2))
    assert members == members_among_words(language)


@given(languages(), languages())
def test_a_difference_has_the_members_of_the_one_alone(one, other):
    parts = one[0] - other[0]
    assert set().union(*map(members_among_words, parts)) == one[1] - other[1]
    assert all(not part.is_empty for part in parts)


@given(languages())
def test_size_and_members_agree(case):
    language, members = case
    every = language.members(10_000)
    if every is None:
        assert language.size > 10_000
    else:
        assert language.size == len(every) == len(set(every))
        assert list(every) == sorted(every)
        assert members <= set(every)
        assert language.members(len(every)) == every
        assert not every or language.members(len(every) - 1) is None


@settings(max_examples=300)
@given(st.integers(0, 10_000), st.integers(0, 12), st.none() | st.integers(0, 12))
def test_emptiness_is_exact_with_bounds_on_the_length(seed, low, high):
    dfa = random_dfa(seed, states=7)
    if dfa is None:
        return
    lengths = lengths_by_walking(dfa, 40)
    wanted = range(low, 41 if high is None else high + 1)
    assert Language.of_dfa(dfa, low, high).is_empty == (not lengths[0].intersection(wanted))
    for state in range(len(dfa)):
        assert lengths[state] == {length for length in range(41) if dfa.lengths.of(length) >> state & 1}
        assert dfa.queries.can_end(state, low, high) == (not lengths[state].isdisjoint(wanted))


def lengths_by_walking(dfa, limit):
    """Of each state, how long the texts up to ``limit`` are that lead to the end."""
    found = []
    for start in range(len(dfa)):
        states, lengths = {start}, set()
        for length in range(limit + 1):
            if any(dfa.accepting[state] for state in states):
                lengths.add(length)
            states = {target for state in states for target in dfa.successors(state)}
        found.append(lengths)
    return found


@given(st.integers(0, 10_000))
def test_an_automaton_is_minimal_and_every_state_is_of_use(seed):
    dfa = random_dfa(seed, states=8)
    if dfa is None:
        return
    rights = [frozenset(word for word in WORDS if accepts_from(dfa, state, word)) for state in range(len(dfa))]
    assert len(set(rights)) == len(rights)  # words of six letters tell at most seven states apart
    assert all(distance >= 0 for distance in dfa.shortest)
    reached = {0}.union(dfa.targets)
    assert reached == set(range(len(dfa)))


def accepts_from(dfa, state, word):
    for char in word:
        state = dfa.step(state, ord(char))
        if state < 0:
            return False
    return dfa.accepting[state]


def test_equal_languages_are_one_object():
    assert Language.finite(["b", "a", "a"]) is Language.finite(["a", "b"])
    assert Language.length(0, None) is ALL
    assert Language.length(3, 2) is NOTHING
    assert Language.length(0, 0) is Language.finite([""])
    assert random_dfa(3) is random_dfa(3)
    (rest,) = Language.finite(["a"]).negations()
    assert rest.negations() == (Language.finite(["a"]),)


def test_texts_are_sorted_by_code_points_and_hold_no_surrogates():
    assert Language.finite(["é", "z", "\U0001f600", "\uffff", "\ud800", "a\udfff"]).texts == (
        "z",
        "é",
        "\uffff",
        "\U0001f600",
    )
    assert not ALL.contains("\ud800")
    assert ALL.contains("\U0001f600")


def test_sizes_are_saturated():
    assert ALL.size == SATURATED
    assert Language.length(0, 1).size == 1 + 0x110000 - 0x800
    assert NOTHING.size == 0


def test_a_long_list_of_texts_cannot_be_negated():
    texts = [f"{number:020}" for number in range(5000)]
    with pytest.raises(GrammarLimitExceeded):
        Language.finite([text[::-1] for text in texts]).negations()


def test_tables_as_arrays_are_those_of_the_automaton():
    dfa = random_dfa(5)
    assert isinstance(dfa, CharDfa)
    for array, numbers in zip(
        dfa.intervals, (dfa.starts, dfa.lows, dfa.highs, dfa.targets, dfa.accepting), strict=True
    ):
        assert array.tolist() == list(numbers)
