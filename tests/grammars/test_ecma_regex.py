"""Patterns of ECMA-262 against a JavaScript engine and Python's `re`, what is taken beyond it and what is refused."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest
from ecma_patterns import JavaScript, patterns, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from language_samples import changed, members_of
from unicode_table import PROPERTIES, ask, spelled

from structgen.errors import GrammarLimitExceeded, InvalidRegex
from structgen.grammars.language import ALL, NOTHING, Language
from structgen.grammars.limits import limited
from structgen.grammars.regex import ecma_language
from structgen.grammars.regex.unicode_properties import unicode_property

ENGINE = JavaScript.find()
SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_engine = pytest.mark.skipif(ENGINE is None, reason="no JavaScript engine: the extra `dev` installs one")


@pytest.fixture(scope="module")
def javascript():
    engine = JavaScript(ENGINE)
    yield engine
    engine.close()


def matching(pattern, candidates):
    """Those of the candidates in which the pattern matches."""
    language = ecma_language(pattern)
    return [text for text in candidates if language.contains(text)]


@settings(max_examples=300, deadline=None)
@given(patterns(), st.lists(texts, min_size=10, max_size=20))
def test_a_pattern_matches_where_python_says(pattern, candidates):
    inside = re.compile(pattern.replace("$", r"\Z").replace(r"\B", r"(?!\b)"), re.ASCII)  # an old \B fails on ""
    assert matching(pattern, candidates) == [text for text in candidates if inside.search(text)]


@needs_engine
@settings(max_examples=300, deadline=None)
@given(patterns(), st.lists(texts, min_size=10, max_size=20))
def test_a_pattern_matches_where_javascript_says(javascript, pattern, candidates):
    language = ecma_language(pattern)
    assert javascript.matches(pattern, candidates) == [language.contains(text) for text in candidates]


@needs_engine
@settings(max_examples=500, deadline=None)
@given(st.text("ab0-^$.|()[]{}*+?,:=!<>\\dwbpucx \n", max_size=10))
def test_what_javascript_refuses_is_refused(javascript, pattern):
    candidates = ["", "a", "b", "ab", "aa", "0", " ", "-", "a\n", "^", pattern]
    try:
        language = ecma_language(pattern)
    except InvalidRegex:
        return  # stricter than JavaScript without its flag u: the next test
    assert javascript.matches(pattern, candidates) == [language.contains(text) for text in candidates]


@needs_engine
@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"^\-\_\@\/\"\'\:\ \é\<$",
            r"[\w-.]+",
            r"[a-\d]",
            "a]b}",
            "a{b",
            "{a}",
            "x{,",
            "x{1",
            "[[]",
            r"[\]\-^]",
            "[]a",
        ),
        *("[^]", "[]", r"[\b]", r"^\cJ$", r"^\0$", r"\x41", r"\u0041", r"^\ud83d\ude00$", r"^\u{1F600}$", "(?<year>a)"),
        *("(?:a*)*", "(a|)+?b", "(?=a)*b", "(?=a){2}a", r"\$", "a??", "(?i:a)b", "^.$", r"^\s$", r"^\S$", r"^\W$"),
        *("a|", "|", "()", "^$|a", "(^|,)a(,|$)", "x^|a", "$a", "a$b|c", "^^a$$", r"\B", r"\b", r"^\b", r"(?<!a)b"),
        *(r"^(?!\s*$).+", r"^(?=.*\d)(?=.*[a-z]).{3,}$", "^(?!foo)bar$", "(?<=a(?!b))c|d", r"(?<!\ba)c", "(?<=^a)b"),
    ],
)
def test_javascripts_syntax_means_what_it_means_there(javascript, pattern):
    choose = random.Random(1)
    letters = "ab0-^$.|()[]{}*+?,:=!<>\\ \n\r\u2028\ufeff\u00a0é\U0001f600AE@_/\"'\b\0"
    candidates = ["".join(choose.choices(letters, k=choose.randrange(6))) for _ in range(300)]
    candidates += ["-_@/\"': é<", "2024", "foo", "bar", "foobar", "a1b", "12", "ab1", "ac", "ab", "d", *letters]
    language = ecma_language(pattern)
    assert javascript.matches(pattern, candidates) == [language.contains(text) for text in candidates]


@pytest.mark.parametrize(
    ("pattern", "members", "others"),
    [
        (r"(?i)^k\d$", ["k1", "K1", "\N{KELVIN SIGN}1"], ["j1"]),
        (r"(?i)^[^k]$", ["j"], ["k", "\N{KELVIN SIGN}"]),
        (r"(?s)^.$", ["\n", "a"], ["", "ab"]),
        (r"(?m)^b$", ["a\nb\nc", "b"], ["ab"]),
        (r"^(?P<name>a)$", ["a"], ["b"]),
    ],
)
def test_what_schemas_have_of_pythons_syntax_is_taken(pattern, members, others):
    assert matching(pattern, members + others) == members


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a)", "')' without a '(' before it at position 1"),
        ("(a", "'(' without a ')' after it at position 0"),
        ("x[a", "'[' without a ']' after it at position 1"),
        ("*a", "'*' with nothing to repeat at position 0"),
        ("a**", "'*' with nothing to repeat at position 2"),
        ("^*", "'*' with nothing to repeat at position 1"),
        (r"a\b+", "'+' with nothing to repeat at position 3"),
        ("(?<=a)?", "'?' with nothing to repeat at position 6"),
        ("a{2,1}", "counts are in the wrong order, at position 1"),
        ("a{,3}", "without its lower count, which some engines take literally, at position 1"),
        ("[b-a]", "a range from high to low at position 2"),
        ("a\\", "a backslash with nothing after it at position 1"),
        (r"\Z", r"'\Z', which is no escape of ECMA-262, at position 0"),
        (r"x\a", r"'\a', which is no escape of ECMA-262, at position 1"),
        (r"\u{110000}", "beyond the last character, at position 0"),
        (r"\p{Nonsense}", "'Nonsense' at position 0 is no property"),
        (r"a\p{Script=Latn2}", "'Script=Latn2' at position 1 is no property"),
        ("(?#a)", "'(?#', which begins no group, at position 0"),
        ("(?<1>a)", "'1', which is no name of a group, at position 0"),
        (r"(a)\1", r"a backreference, '\1' at position 3"),
        (r"(?<n>a)\k<n>", r"a backreference, '\k<n>' at position 7"),
        (r"(?P<n>a)(?P=n)", "a backreference, '(?P=n)' at position 8"),
    ],
)
def test_a_malformed_pattern_and_a_backreference_are_refused_with_their_position(pattern, message):
    with pytest.raises(InvalidRegex, match=re.escape(message)):
        ecma_language(pattern)


def test_languages_of_patterns_have_their_normal_form():
    assert ecma_language("^(foo|ba[rz])$") is Language.finite(["bar", "baz", "foo"])
    assert ecma_language("(?:)") is ecma_language(".*") is ecma_language("") is ALL
    assert ecma_language("a[]") is ecma_language("^a^b") is NOTHING
    assert ecma_language(r"^[\s\S]{3,5000}$") is Language.length(3, 5000)
    long = ecma_language("^[a-z]{1,5000}$")
    assert (len(long.dfa), long.low, long.high) == (1, 1, 5000)
    assert ecma_language("^#[0-9a-f]{1,6000}$") is Language.of_dfa(ecma_language("^#[0-9a-f]*$").dfa, 2, 6001)
    assert ecma_language("^(?=.*[0-9]).{8,64}$") is Language.of_dfa(ecma_language("^.*[0-9].*$").dfa, 8, 64)


@pytest.mark.parametrize(
    "pattern", ["(a|b)*a(a|b){20}$", "(?:a{1000}){1000}", "(" * 5000 + ")" * 5000, "^(?!.*a.{25}b)", "x(?!.*a.{25}b)"]
)
def test_a_pattern_that_grows_too_large_is_refused_soon(pattern):
    started = time.perf_counter()
    with pytest.raises(GrammarLimitExceeded):
        ecma_language(pattern)
    assert time.perf_counter() - started < 20


def test_a_limit_on_time_and_states_holds_while_a_pattern_is_compiled():
    with pytest.raises(GrammarLimitExceeded, match="max_states=100"), limited(max_states=100):
        ecma_language("^x?[a-z]{1,400}$")
    with pytest.raises(GrammarLimitExceeded, match="timeout"), limited(timeout=0.05):
        ecma_language("x(?!.*a.{26}b)")
    assert ecma_language("^x?[a-z]{1,400}$").contains("xa")


def test_a_pattern_never_matches_surrogates():
    language = ecma_language(r"^(.|[^a]|\ud800|\P{L}|\u{dfff})$")
    assert not any(language.contains(chr(surrogate)) for surrogate in range(0xD800, 0xE000))
    assert language.contains("\ud7ff")
    assert language.contains("\ue000")


@needs_engine
def test_properties_hold_the_characters_that_javascript_has():
    names = {"Lu|Uppercase_Letter", "Alphabetic|Alpha", "Greek|Grek", "Han|Hani", "Emoji", "Nd|Decimal_Number|digit"}
    chosen = [(kind, name) for kind, name in PROPERTIES if name in names]
    assert len(chosen) == 8
    for (kind, name), ranges in zip(chosen, ask(ENGINE, [spelled(*one) for one in chosen]), strict=True):
        ours = unicode_property(*_asked(kind, name), 0)
        theirs = {point for first, last in ranges for point in range(first, last + 1)}
        differing = theirs.symmetric_difference(
            point for first, last in ours.ranges for point in range(first, last + 1)
        )
        assert len(differing) < 200  # of another version of Unicode
    assert unicode_property("sc", "Grek", 0) == unicode_property("Script", "Greek", 0)


def _asked(kind, name):
    name = name.partition("|")[0]
    return (name, None) if kind == "binary" else (kind, name)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
class TestSharedData:
    @needs_engine
    def test_patterns_of_real_schemas_match_where_javascript_says(self, javascript):
        patterns, strings = set(), set()
        for line in (SHARED / "maskbench_dev.jsonl").read_text("utf-8").split("\n")[:-1]:
            case = json.loads(line)
            patterns.update(_patterns_in(case["schema"]))
            strings.update(_strings_in([test["data"] for test in case["tests"]]))
        choose = random.Random(1)
        candidates = sorted(text for text in strings if len(text) < 25)  # longer ones take JavaScript for ever
        for pattern in sorted(patterns):
            language, some = ecma_language(pattern), choose.sample(candidates, 100)
            if language is not ALL:
                members = [text for text in members_of(language, choose, 10, longest=12) if len(text) < 25]
                some += members + [changed(text, choose) for text in members]
            assert javascript.matches(pattern, some) == [language.contains(text) for text in some], pattern

    def test_patterns_of_the_official_suite_match_as_it_says(self):
        compared = 0
        for path in sorted(SHARED.glob("json-schema-test-suite/draft*/**/*.json")):
            for group in json.loads(path.read_text("utf-8")):
                for pattern in _patterns_in(group["schema"]):
                    ecma_language(pattern)
                if isinstance(group["schema"], dict) and group["schema"].keys() <= {"$schema", "pattern"}:
                    compared += self.compare(group)
        assert compared > 100

    def compare(self, group):
        language = ecma_language(group["schema"]["pattern"]) if "pattern" in group["schema"] else ALL
        texts = [test for test in group["tests"] if isinstance(test["data"], str)]
        assert [test for test in texts if language.contains(test["data"]) != test["valid"]] == []
        return len(texts)


def _patterns_in(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for value in schema.values():
            yield from _patterns_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _patterns_in(value)


def _strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for its in value.values():
            yield from _strings_in(its)
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)
