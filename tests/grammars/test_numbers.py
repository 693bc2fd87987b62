"""Sets of numbers against Decimal arithmetic, and their automata against regular expressions of the layouts."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from number_samples import RFC_8259, accepts, common_spellings, is_canonical, is_moderate, spellings, walk
from vocabularies import bytewise

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import compile_json_schema
from structgen.grammars.json_schema.number_dfa.canonical import CanonicalIntegers
from structgen.grammars.json_schema.number_dfa.graph import NO_BASE, build
from structgen.grammars.json_schema.number_dfa.integers import integers_dfa
from structgen.grammars.json_schema.number_parts import Parts, meet
from structgen.grammars.json_schema.numbers import NumberSet

SUITE = Path(__file__).parents[3] / "shared" / "data" / "json-schema-test-suite"

ALL, INTEGERS = NumberSet.ALL, NumberSet.integers()
BYTE = NumberSet.at_least(0) & NumberSet.at_most(255) & INTEGERS
SHARE = NumberSet.at_least(0) & NumberSet.at_most(1.0)
CENTS = NumberSet.multiple_of(0.01)

VALUES = st.one_of(
    st.integers(-12, 12),
    st.integers(-(10**18), 10**18),
    st.decimals(-20, 20, places=2).map(float),
    st.sampled_from([0.1, 0.001, 1e-7, 1e21, 1e5, 2**31, 2**53, 255, 1000, -90.0, 0.3]),
)
STEPS = st.sampled_from([1, 1, 2, 3, 5, 7, 10, 12, 60, 100, 0.5, 0.25, 0.1, 0.01, 0.3, 1.5, 2.5, 1e-3])


def fraction(value):
    return Fraction(str(value))


def bound(name, compare):
    return VALUES.map(lambda v: (getattr(NumberSet, name)(v), lambda x: compare(x, fraction(v)), f"{name} {v}"))


CONDITIONS = st.one_of(
    bound("at_least", lambda x, v: x >= v),
    bound("above", lambda x, v: x > v),
    bound("at_most", lambda x, v: x <= v),
    bound("below", lambda x, v: x < v),
    STEPS.map(lambda v: (NumberSet.multiple_of(v), lambda x: x % fraction(v) == 0, f"multiple_of {v}")),
    STEPS.map(
        lambda v: (NumberSet.multiple_of(v).negations()[0], lambda x: x % fraction(v) != 0, f"no multiple_of {v}")
    ),
    st.lists(VALUES, min_size=1, max_size=4).map(
        lambda vs: (NumberSet.only(vs), lambda x: x in map(fraction, vs), f"only {vs}")
    ),
    st.lists(VALUES, min_size=1, max_size=2).map(
        lambda vs: (NumberSet.only(vs).negations()[0], lambda x: x not in map(fraction, vs), f"not {vs}")
    ),
)


def both(conditions):
    """The set of all conditions, and the test for its members."""
    numbers = ALL
    for one, _, _ in conditions:
        numbers &= one
    return numbers, lambda x: all(test(x) for _, test, _ in conditions)


SETS = st.lists(CONDITIONS, min_size=1, max_size=3)


@st.composite
def near(draw, conditions):
    """A number that may make a difference to the conditions."""
    named = [
        fraction(word.strip("[],")) for _, _, said in conditions for word in said.split() if word[-1:] in "0123456789],"
    ]
    value = draw(st.sampled_from(named))
    change = draw(st.sampled_from(["same", "negated", "times", "beside", "shifted", "other"]))
    if change == "times":
        return value * draw(st.integers(-30, 30))
    if change == "beside":
        return value + Fraction(draw(st.sampled_from([1, -1, 5, -3])), 10 ** draw(st.integers(0, 6)))
    if change == "shifted":
        return value * Fraction(10) ** draw(st.integers(-3, 3))
    return fraction(draw(VALUES)) if change == "other" else -value if change == "negated" else value


def as_python(value):
    """An int where it is whole, else a Decimal."""
    if value.denominator == 1:
        return value.numerator
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    return Decimal(f"{int(value * 10**places)}E-{places}")


def dfa_of(numbers, spelling):
    try:
        return numbers.dfa(spelling)
    except GrammarLimitExceeded:
        assume(False)


# Sets


@given(st.data(), SETS)
def test_a_set_holds_what_all_its_conditions_hold(data, conditions):
    numbers, holds = both(conditions)
    value = data.draw(near(conditions))
    assert numbers.contains(as_python(value)) == holds(value)


@given(st.data(), SETS)
def test_a_set_and_its_negations_part_the_numbers(data, conditions):
    numbers, _ = both(conditions)
    value = as_python(data.draw(near(conditions)))
    assert sum(one.contains(value) for one in (numbers, *numbers.negations())) == 1
    assert all((numbers & one).is_empty for one in numbers.negations())


@given(st.integers(-20, 20), st.integers(-5, 30), st.lists(st.sampled_from([2, 3, 4, 5, 7]), max_size=4), st.data())
def test_a_set_is_empty_exactly_if_it_has_no_members(low, size, misses, data):
    numbers = NumberSet.at_least(low) & NumberSet.below(low + size) & INTEGERS
    for miss in misses:
        numbers &= NumberSet.multiple_of(miss).negations()[0]
    holes = data.draw(st.sets(st.integers(low, low + 30), max_size=8))
    for hole in holes:
        numbers &= NumberSet.only([hole]).negations()[0]
    members = [x for x in range(low, low + size) if x not in holes and all(x % miss for miss in misses)]
    assert list(numbers.members(100)) == members
    assert numbers.is_empty == (not members)


@given(SETS, SETS)
def test_the_order_of_conditions_makes_no_difference(some, others):
    one, _ = both([*some, *others])
    other, _ = both([*others, *some])
    assert one is other


def test_open_ends_leave_nothing_of_a_point():
    assert (NumberSet.above(1) & NumberSet.at_most(1)).is_empty
    assert (NumberSet.above(1) & NumberSet.below(2) & INTEGERS).is_empty
    assert not (NumberSet.above(1) & NumberSet.below(2)).is_empty
    assert (NumberSet.at_least(2) & NumberSet.at_most(2)).members(1) == (2,)


def test_values_are_decimals_and_not_doubles():
    assert NumberSet.multiple_of(0.1).contains(0.3)
    assert not NumberSet.at_most(0.1).contains(Decimal("0.1000000000000000055"))
    assert (NumberSet.multiple_of(0.1) & NumberSet.multiple_of(0.25)).contains(0.5)
    assert accepts(NumberSet.multiple_of(0.1).dfa("any"), "0.3")


def test_bounds_that_python_reads_as_infinite_bound_nothing():
    assert NumberSet.at_most(math.inf) is ALL
    assert NumberSet.at_least(math.inf).is_empty
    with pytest.raises(ValueError, match="nan"):
        NumberSet.below(math.nan)


def test_a_number_of_too_many_digits_is_a_limit():
    for make in (NumberSet.at_least, NumberSet.multiple_of, lambda x: NumberSet.only([x])):
        for value in (10**5000, Decimal("1e-9999")):
            with pytest.raises(GrammarLimitExceeded, match="written out"):
                make(value)


@pytest.mark.parametrize("keyword", ["minimum", "exclusiveMaximum", "multipleOf", "const"])
def test_a_schema_with_a_number_of_too_many_digits_is_a_limit(keyword):
    with pytest.raises(GrammarLimitExceeded, match="written out"):
        compile_json_schema({keyword: 10**5000}, bytewise())


# Automata


def test_every_state_is_reached_and_reaches_an_end():
    sets = [
        ALL,
        INTEGERS,
        BYTE,
        SHARE,
        CENTS,
        *SHARE.negations(),
        *(CENTS & BYTE).negations(),
        NumberSet.only([1, 2.5]),
    ]
    for numbers in sets:
        for spelling in ("canonical", "any"):
            dfa = numbers.dfa(spelling)
            reached, pending = {0}, [0]
            for state in pending:
                new = {int(target) for target in dfa.transitions[state] if target >= 0} - reached
                reached |= new
                pending += new
            assert len(reached) == len(dfa.accepting)
            assert min(dfa.distances) >= 0


@settings(deadline=None)
@given(st.data(), SETS)
def test_the_canonical_automaton_holds_the_canonical_spellings_of_the_members(data, conditions):
    numbers, holds = both(conditions)
    assume(not numbers.is_empty)
    dfa = dfa_of(numbers, "canonical")
    value = data.draw(near(conditions))
    text = data.draw(st.sampled_from([*sorted(common_spellings(value)), data.draw(spellings(value))]))
    if numbers.parts.only is None and not (numbers.is_whole and len(text.lstrip("-")) > 20):
        assert accepts(dfa, text) == (holds(value) and is_canonical(text, numbers)), text
    else:  # a set's own values may be longer
        assert holds(value) or not accepts(dfa, text)


@settings(deadline=None)
@given(st.data(), SETS)
def test_the_automaton_of_any_spelling_holds_the_members_however_spelled(data, conditions):
    numbers, holds = both(conditions)
    assume(not numbers.is_empty)
    dfa = dfa_of(numbers, "any")
    for _ in range(3):
        value = data.draw(near(conditions))
        text = data.draw(spellings(value))
        assert accepts(dfa, text) == holds(value) or not is_moderate(text), text
        assert holds(value) or not accepts(dfa, text), text
        for common in common_spellings(value):
            assert accepts(dfa, common) == holds(value), common


@settings(deadline=None)
@given(st.data(), SETS, st.sampled_from(["canonical", "any"]))
def test_whatever_an_automaton_spells_is_a_member(data, conditions, spelling):
    numbers, holds = both(conditions)
    assume(not numbers.is_empty)
    dfa = dfa_of(numbers, spelling)
    choose = random.Random(data.draw(st.integers(0, 2**32))).choice
    for _ in range(5):
        text = walk(dfa, choose)
        assert holds(Fraction(text)), text
        assert RFC_8259.fullmatch(text)
        if spelling == "canonical" and numbers.parts.only is None:
            assert is_canonical(text, numbers), text


@settings(deadline=None, max_examples=25)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_can_be_written_as_python_and_javascript_do(number):
    text = repr(number)
    assert accepts(ALL.dfa("canonical"), text)
    assert accepts(NumberSet.only([number]).dfa("canonical"), text)
    for numbers in (ALL, NumberSet.at_least(number), NumberSet.at_most(number), NumberSet.only([number])):
        assert accepts(numbers.dfa("any"), text)
    assert not accepts(NumberSet.above(number).dfa("any"), text)


@settings(deadline=None, max_examples=10)
@given(st.integers(-(10**40), 10**40))
def test_long_integers_are_read_digit_by_digit(number):
    text = str(number)
    for numbers in (
        INTEGERS,
        NumberSet.at_least(number),
        NumberSet.at_most(number) & INTEGERS,
        NumberSet.only([number]),
    ):
        assert accepts(numbers.dfa("any"), text)
    for numbers in (NumberSet.above(number), NumberSet.only([number]).negations()[0]):
        assert not accepts(numbers.dfa("any"), text)
    assert accepts(NumberSet.only([number]).dfa("canonical"), text)


@pytest.mark.parametrize(
    ("numbers", "yes", "no"),
    [
        (
            ALL,
            "0 -0.0 1.0 1e-07 1e-7 5e-324 1.7976931348623157e+308 123.456",
            "-0 01 1.50 1e5 1e400 1e-324 1.8e+308 .5 1.",
        ),
        (INTEGERS, "0 -1 99999999999999999999", "-0 1.0 1e5 100000000000000000000"),
        (BYTE, "0 9 10 199 249 255", "256 300 1000 -1 1.0 00"),
        (SHARE, "0 1 0.5 1.0 0.0 -0.0 1e-7 0.99999999999999999999", "1.1 2 -0.5 1e+1 1.00000000000000000001"),
        (CENTS, "0.01 -5 5.25 0.1 -0.0 1.0", "0.001 5.255 1e-3 1e+2 1.50"),
        (NumberSet.multiple_of(1e-7), "1e-07 1.5e-6 0.0000001 1.2345678e+20", "1e-08 1.23456789e+0 0.00000001"),
        (NumberSet.multiple_of(3) & NumberSet.at_least(10), "12 999", "9 13 12.0"),
        (INTEGERS.negations()[0], "0.5 -1.25 1e-5 1.25e+1", "1 1.0 2.5e+1 0"),
        (NumberSet.only([5]).negations()[0], "4 5.5 50 6.0", "5 5.0"),
        (NumberSet.at_least(10**30) & INTEGERS, "1" + "0" * 30, "9" * 30),
        (NumberSet.only([1, 2.0, 0.5, -0.0]), "1 2 2.0 0.5 0 0.0 -0.0", "1.0 5e-1 1e0 0.50"),
        (NumberSet.only([1e21, 1e-7]), "1e+21 1000000000000000000000 1e-07 1e-7", "1e21 10e+20"),
    ],
    ids=str,
)
def test_common_sets_hold_their_canonical_spellings_and_no_others(numbers, yes, no):
    dfa = numbers.dfa("canonical")
    assert [text for text in yes.split() if not accepts(dfa, text)] == []
    assert [text for text in no.split() if accepts(dfa, text)] == []


@pytest.mark.parametrize(
    ("numbers", "yes", "no"),
    [
        (ALL, "1.50 -0 1E5 0.0e-3 1e99999 " + "1" * 50, "01 1. .5 +1 1e -"),
        (
            INTEGERS,
            "1.0 1.00 1e0 1E+2 10e-1 0.5e1 1.5e1 -0 0e-5 0.0 123456789.0 1e308 1e007",
            "5e-1 1.5 1e-1 15e-1 0.1",
        ),
        (SHARE, "5e-1 1.0 10e-1 0.1e1 0 100e-2 0e9 1E-9", "1.1 11e-1 0.11e1 -1e-9 1e1"),
        (BYTE, "255 2.55e2 25500e-2 0.255e3 255.000", "256 2.56e2 2.555e2 0.5"),
        (CENTS, "0.01 1e-2 0.1e-1 100e-4 5.250", "1e-3 0.001 0.5e-2"),
        (NumberSet.multiple_of(4), "4 100 1e2 0.4e1 12.0", "1e1 2 102 0.2e1"),
        (INTEGERS.negations()[0], "0.5 5e-1 15e-1 1e-1", "1 1.0 10e-1 0.5e1 0"),
        (NumberSet.only([100]), "100 1e2 1E+02 100.0 1000e-1 0.1e3", "10 1e3 1e1 100.1"),
        (NumberSet.above(0), "1e-300 0.0001 5", "0 0.0 -0 0e5 -1"),
    ],
    ids=str,
)
def test_common_sets_hold_every_spelling_of_their_members_on_request(numbers, yes, no):
    dfa = numbers.dfa("any")
    assert [text for text in yes.split() if not accepts(dfa, text)] == []
    assert [text for text in no.split() if accepts(dfa, text)] == []


def test_zeros_beyond_the_room_let_nothing_in():
    """An exponent that undoes more zeros than are counted: refused where it might be wrong."""
    zeros = "0" * 40
    others = NumberSet.only([5]).negations()[0].dfa("any")
    assert [accepts(others, text) for text in (f"5{zeros}", f"5{zeros}e3", f"5{zeros}e-40")] == [True, True, False]
    no_eighths = NumberSet.multiple_of(8).negations()[0].dfa("any")
    assert [accepts(no_eighths, text) for text in (f"8{zeros}", f"8{zeros}e-30", f"1{zeros}")] == [False] * 3
    assert accepts(NumberSet.multiple_of(7).negations()[0].dfa("any"), f"1{zeros}")
    small = (NumberSet.at_most(5) & NumberSet.at_least(-5)).dfa("any")
    assert not any(accepts(small, text) for text in (f"5{zeros}", f"6{zeros}e-40", f"-6{zeros}e-40"))


def test_a_bound_near_the_largest_double_is_held():
    dfa = NumberSet.at_most(1.5e308).dfa("canonical")
    assert [accepts(dfa, text) for text in ("1.2e+308", "1.5e+308", "1.51e+308", "1.6e+307")] == [
        True,
        True,
        False,
        True,
    ]


def test_draft_4_knows_an_integer_by_its_spelling():
    plain = NumberSet.plain_integers()
    assert [plain.contains(value) for value in (1, 1.0, 1.5)] == [True, False, False]
    (marked,) = plain.negations()
    for numbers in (plain & NumberSet.at_most(9), NumberSet.only([1, 2.5]) & plain):
        for spelling in ("canonical", "any"):
            dfa = numbers.dfa(spelling)
            assert [accepts(dfa, text) for text in ("1", "1.0", "1e0", "2.5")] == [True, False, False, False]
    for numbers in (marked, marked & NumberSet.only([1, 1.5]), marked & NumberSet.multiple_of(0.5)):
        assert [accepts(numbers.dfa("any"), text) for text in ("1", "1.0", "1e0", "1.5")] == [False, True, True, True]
        assert [accepts(numbers.dfa("canonical"), text) for text in ("1", "1.0", "1.5")] == [False, True, True]


def test_a_multiple_with_too_many_remainders_is_a_limit():
    with pytest.raises(GrammarLimitExceeded, match="50,000"):
        NumberSet.multiple_of(1_000_003).dfa("canonical")
    few = NumberSet.multiple_of(1_000_003) & NumberSet.at_least(0) & NumberSet.at_most(10**7)
    assert accepts(few.dfa("canonical"), "2000006")


def test_a_set_without_short_spellings_is_a_limit():
    numbers = NumberSet.at_least(Decimal("1.000000000000000000000001")) & NumberSet.at_most(
        Decimal("1.000000000000000000000002")
    )
    with pytest.raises(GrammarLimitExceeded, match="few enough digits"):
        numbers.dfa("canonical")


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_tables_of_remainders_read_what_reading_digit_by_digit_reads(data):
    parts = Parts(step=data.draw(st.sampled_from([2, 3, 7, 10, 12, 64, 100])))
    for miss in data.draw(st.lists(st.sampled_from([4, 5, 9, 20, 49]), max_size=2)):
        parts = meet(parts, Parts(misses=(miss,)))
    parts = meet(parts, Parts(low=data.draw(st.none() | st.integers(-2000, 2000) | st.integers(-(10**9), 10**9))))
    parts = meet(parts, Parts(high=data.draw(st.none() | st.integers(-2000, 2000) | st.integers(-(10**9), 10**9))))
    parts = meet(parts, Parts(holes=frozenset(data.draw(st.lists(st.integers(-300, 300), max_size=3)))))
    assume(parts.only is None)
    digits = data.draw(st.sampled_from([4, 11]))
    try:
        expected = build(CanonicalIntegers(parts, digits), NO_BASE, 50_000)
    except GrammarLimitExceeded:
        with pytest.raises(GrammarLimitExceeded):
            integers_dfa(parts, digits, 50_000)
        return
    assert reads_the_same(integers_dfa(parts, digits, 50_000), expected)


def reads_the_same(one, other):
    """Whether two automata without dead states read the same."""
    seen, pending = {(0, 0)}, [(0, 0)]
    while pending:
        a, b = pending.pop()
        if one.accepting[a] != other.accepting[b]:
            return False
        for pair in zip(one.transitions[a].tolist(), other.transitions[b].tolist(), strict=True):
            if (pair[0] < 0) != (pair[1] < 0):
                return False
            if pair[0] >= 0 and pair not in seen:
                seen.add(pair)
                pending.append(pair)
    return True


def test_where_counting_takes_too_many_states_digits_are_not_counted():
    parts = Parts(low=5, step=1, misses=(7, 11))
    counted, free = integers_dfa(parts, 20, 50_000), integers_dfa(parts, 20, 200)
    assert len(counted.accepting) > 200 >= len(free.accepting)
    long = "1" + "0" * 29
    assert accepts(free, long)
    assert not accepts(counted, long)
    for number in range(-50, 2000):
        wanted = number >= 5 and number % 7 != 0 and number % 11 != 0
        assert accepts(counted, str(number)) == accepts(free, str(number)) == wanted


def test_of_many_values_the_usual_spellings_are_held():
    numbers = NumberSet.only([*range(0, 10**9, 10**6 + 7), 0.25])
    dfa = numbers.dfa("any")
    usual = "3000021 3000021.0 3.000021e6 3.000021E+6 3.000021e+06 0.25 0.250 2.5e-1 0 -0 0.0"
    assert [text for text in usual.split() if not accepts(dfa, text)] == []
    assert [text for text in ("3000022", "3.000021e9", "0.2", "25e-1") if accepts(dfa, text)] == []


def test_common_sets_have_small_automata():
    sizes = {"byte": BYTE, "share": SHARE, "cents": CENTS, "all": ALL, "integers": INTEGERS}
    limits = {"byte": 12, "share": 130, "cents": 65, "all": 210, "integers": 25}
    assert {name: its for name, its in sizes.items() if len(its.dfa("canonical").accepting) > limits[name]} == {}
    assert max(len(its.dfa("any").accepting) for its in sizes.values()) < 1000


# The official suite

ABOUT_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "type", "enum", "const"}


def set_of(schema, draft):
    """What a schema that is about numbers only says of them."""
    numbers = ALL
    names = schema.get("type", "number")
    names = names if isinstance(names, list) else [names]
    if "number" not in names:
        whole = NumberSet.plain_integers() if draft == "draft4" else INTEGERS
        numbers = whole if "integer" in names else NumberSet.NOTHING
    for end, closed, opened in (
        ("inimum", NumberSet.at_least, NumberSet.above),
        ("aximum", NumberSet.at_most, NumberSet.below),
    ):
        strict = schema.get(f"exclusiveM{end}")
        if f"m{end}" in schema:
            numbers &= (opened if strict is True else closed)(schema[f"m{end}"])
        if strict is not None and not isinstance(strict, bool):
            numbers &= opened(strict)
    if "multipleOf" in schema:
        numbers &= NumberSet.multiple_of(schema["multipleOf"])
    for values in ([schema["const"]] if "const" in schema else None, schema.get("enum")):
        if values is not None:
            numbers &= NumberSet.only([value for value in values if is_number(value)])
    return numbers


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@pytest.mark.skipif(not SUITE.exists(), reason="the shared data is not here")
def test_the_official_suite_agrees_on_numbers():
    wrong, refused, count = [], set(), 0
    for path in sorted(SUITE.glob("draft*/**/*.json")):
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            if not isinstance(schema, dict) or set(schema) - ABOUT_NUMBERS - {"$schema", "$comment"}:
                continue
            numbers = set_of(schema, path.relative_to(SUITE).parts[0])
            for test in group["tests"]:
                if not is_number(test["data"]):
                    continue
                count += 1
                held = numbers.contains(test["data"])
                try:
                    spelled = not numbers.is_empty and accepts(numbers.dfa("any"), json.dumps(test["data"]))
                except GrammarLimitExceeded:
                    refused.add(schema["multipleOf"])
                    spelled = held
                if not held == spelled == test["valid"]:
                    wrong.append((path.name, group["description"], test["description"]))
    assert count > 300
    assert wrong == []
    assert refused == {0.123456789}  # of integers: a remainder of nine digits would have to be known
