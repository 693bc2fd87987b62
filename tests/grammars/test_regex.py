"""The automaton of a pattern against Python's `re`, what anchors mean, and what is refused where."""

from __future__ import annotations

import re
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regex_patterns import patterns_and_texts
from vocabularies import bytewise

from structgen.errors import EmptyLanguage, GrammarLimitExceeded, InvalidRegex
from structgen.grammars import compile_regex

VOCABULARY = bytewise()


def refusal_of(pattern):
    """What `InvalidRegex` says of ``pattern``, ``None`` where it compiles."""
    try:
        compile_regex(pattern, VOCABULARY)
    except InvalidRegex as refusal:
        return str(refusal)
    except EmptyLanguage:
        return None
    return None


def accepted(pattern, texts):
    """Those of ``texts`` that the automaton accepts, which are those that Python matches."""
    try:
        automaton = compile_regex(pattern, VOCABULARY)
    except EmptyLanguage:
        ours = []
    else:
        ours = [text for text in texts if automaton.accepts(text)]
    assert ours == [text for text in texts if re.fullmatch(pattern, text)]
    return ours


@settings(max_examples=150, deadline=None)
@given(patterns_and_texts(anchors=False))
def test_a_pattern_without_anchors_accepts_what_python_matches(case):
    accepted(*case)


@settings(max_examples=150, deadline=None)
@given(patterns_and_texts(anchors=True))
def test_a_pattern_with_anchors_accepts_what_python_matches(case):
    accepted(*case)


@settings(max_examples=150, deadline=None)
@given(patterns_and_texts(anchors=True, looks=True))
def test_a_pattern_that_looks_around_accepts_what_python_matches(case):
    accepted(*case)


@pytest.mark.filterwarnings(
    "ignore:Possible:FutureWarning", "ignore:Flags not at:DeprecationWarning"
)  # of Python's own
@settings(deadline=None)
@given(st.text("ab0é\U0001f600^$.|()[]{}*+?#,:=!<>-\\ \n", max_size=10), st.sampled_from(["", "(?i)", "(?x)", "(?s)"]))
def test_any_text_is_a_pattern_as_it_is_in_python(text, flags):
    pattern = flags + text
    refusal = refusal_of(pattern)
    if refusal is None:
        accepted(pattern, [text, "", "a", "b", "A", "é", "\n", "ab", "aab", "0", " ", "\\"])
    elif refusal.startswith("the pattern is malformed: "):
        with pytest.raises(re.error, match=re.escape(refusal.partition(": ")[2])):
            re.compile(pattern)
    else:
        assert "at position" in refusal


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"\x41\u00e9\U0001F600\N{BULLET}", ["Aé\U0001f600•"], ["A"]),
        (r"\0\07\012\101\177", ["\0\x07\nA\x7f"], []),
        (r"[\0\07\12\101-\103]+", ["\0\x07\nABC"], ["D"]),
        (r"\a\f\n\r\t\v\\\.\-\ \é", ["\a\f\n\r\t\v\\.- é"], []),
        (r"[\b\]\-^]+", ["\b]-^"], ["b", "\\"]),
        (r"[]a]+[^]a]", ["]a]b"], ["a]"]),
        (r"[a-]+[-a]+[+--]", ["a-a-,"], ["aab"]),
        (r"[\w-]+[^\W\d_]", ["a-9é"], ["a9"]),
        (r"a{,2}b{2,}c{,}d{e}{}x{1", ["aabbd{e}{}x{1", "bbbccd{e}{}x{1"], ["abcd{e}{}x{1"]),
        (r"(?P<year>\d{4})-(?:\d\d)(?#month)", ["2026-11", "٢٠٢٦-11"], ["2026-1"]),
        (r"(?a)\d\w\s", ["1a "], ["٢a ", "1é ", "1a\u2003"]),
        (r"(?a:\w)(?u:\w)\w", ["aéé"], ["éaa"]),
        (r"(?i)straße|k", ["STRAßE", "straẞe", "K", "\N{KELVIN SIGN}"], ["strasse"]),
        (r"a(?i:b)c(?-i:d)", ["abcd", "aBcd"], ["Abcd", "abCd"]),
        (r"(?i)[^k-m]\W", ["a "], ["K ", "\N{KELVIN SIGN} "]),
        (r"(?x) a b # comment" + "\n [ #]\\ c", ["ab# c", "ab  c"], ["a b# c"]),
        ("(?x)a#\\\nb\n+(?#\\)b)c", ["aac"], ["abc"]),
        (r"(?x: a + ) b", ["aaa b"], ["a + b"]),
        (r".(?s:.)", ["a\n", "\r\n"], ["\na"]),
        (r"(?:)|()a(|b)", ["", "a", "ab"], ["b"]),
        (r"(?:a?)*?b+?(?:|c)??", ["b", "aabbc"], ["c"]),
    ],
)
def test_the_syntax_of_python_means_what_it_means_there(pattern, matching, others):
    assert accepted(pattern, matching + others) == matching


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^a$", ["a"], ["a\n", "\na"]),
        (r"\Aa\Z", ["a"], ["a\n"]),
        ("^a$|^b$", ["a", "b"], ["ab", "a|b"]),
        ("(^a|b)c$", ["ac", "bc"], ["aac", "bac"]),
        ("(?:(^a|b)c$)", ["ac", "bc"], ["c"]),
        ("x(^a|b)c", ["xbc"], ["xac", "ac"]),
        ("(a$|b)c", ["bc"], ["ac", "a"]),
        ("^$", [""], ["\n", "a"]),
        ("$^", [""], ["a"]),
        ("^^a$$", ["a"], []),
        ("(^)*a($)+", ["a"], ["aa"]),
        ("a(?:^)?b", ["ab"], ["a"]),
        ("a$\n?", ["a", "a\n"], ["a\n\n"]),
        ("a$\n", ["a\n"], ["a"]),
        ("(?m)^a$\n^b$", ["a\nb"], ["ab", "a\n"]),
        ("(?m)^- .+$(?:\n^- .+$)*", ["- a", "- a\n- b"], ["- a\n b"]),
        ("(?m:^)a(?-m:$)", ["a"], ["a\n"]),
        ("(?:(?:^|,)[0-9])+", ["1", "1,2,3", ",1"], ["12", ""]),
        ("(?:[0-9](?:,|$))*", ["", "1", "1,2,3"], ["12", "1,2,3,,"]),
        ("(?:^a|b){2,3}", ["ab", "bb", "abb", "bbb"], ["aa", "ba", "a"]),
        ("(?:^|a)*", ["", "a", "aaa"], ["b"]),
        ("(?:a|$)+", ["", "a", "aaa"], ["b"]),
        ("(?:^a*)+", ["", "a", "aa"], ["b"]),
        ("(?:[a\\s]|^$)*", ["", "a \n"], ["b"]),
    ],
)
def test_an_anchor_holds_where_the_pattern_alone_says_so(pattern, matching, others):
    assert accepted(pattern, matching + others) == matching


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a*^b", ["b"], ["ab", "a"]),
        ("a$\n*", ["a", "a\n"], ["a\n\n"]),
        ("a\\Z\n?", ["a"], ["a\n"]),
        ("(?m)(?:^a$\n?)+", ["a", "a\na", "a\na\n"], ["aa", "a\n\na"]),
        ("(?:a|$){2}", ["", "a", "aa"], ["aaa"]),
        ("\\n?\\Ax", ["x"], ["\nx"]),
        ("(?=.*[0-9])(?=.*[a-z])[^ ]{3,}", ["a1b", "éa1"], ["a1", "abc", "123", "a 1b"]),
        ("(?!foo|bar$).*", ["", "fo", "bars"], ["foo", "food", "bar"]),
        (r".*(?<!\.)", ["", "a", "a.b"], ["a.", "."]),
        (r"(?a).*\bcaf\b.*", ["caf", "un caf.", "café"], ["scaf", "cafe"]),
        (r"(?s).*\bcaf\b.*", ["caf", "un\ncaf."], ["café", "scaf"]),
        (r"a\Bb|é\b", ["ab", "é"], ["a", "b"]),
        ("(?i:(?<=A)B|^a)+", ["a", "ab", "Ab"], ["b", "abb"]),
        ("(?=a(?!.*c)|.*d$).*", ["a", "abd", "acd", "d"], ["ac", "b"]),
    ],
)
def test_what_depends_on_the_text_around_is_held(pattern, matching, others):
    assert accepted(pattern, matching + others) == matching


def test_a_mask_where_the_pattern_looks_around_allows_exactly_the_bytes_that_may_come():
    automaton = compile_regex(r"(?!é)[à-ý]|(?=x)[a-z]{2}", VOCABULARY)
    with automaton.matcher() as matcher:
        assert matcher.explain(matcher.start).next_bytes == b"x\xc3"
        within = matcher.advance(matcher.start, 0xC3)
        assert matcher.explain(within).next_bytes == bytes(byte for byte in range(0xA0, 0xBE) if byte != 0xA9)
    assert automaton.min_tokens == 2


@pytest.mark.parametrize(
    "pattern",
    ["a^b", "$a", r"a\Ab", r"a\Zb", "^a$b", "(a^|b$)c", r"[^\s\S]", r"a[^\W\w]", "\ud800", "[\ud800-\udfff]+"],
)
def test_a_pattern_without_a_match_is_an_empty_language(pattern):
    with pytest.raises(EmptyLanguage):
        compile_regex(pattern, VOCABULARY)


def test_surrogates_never_match():
    automaton = compile_regex(r"(?s)(?:.|\ud800|[^a])", VOCABULARY)
    assert automaton.accepts("\ud7ff")
    assert automaton.accepts("\ue000")
    assert not any(automaton.accepts(chr(surrogate)) for surrogate in range(0xD800, 0xE000))


@pytest.mark.parametrize(
    ("pattern", "what", "position"),
    [
        (r"(a)\1", r"a backreference, '\1'", 3),
        (r"(a)(b)\2", r"a backreference, '\2'", 6),
        (r"(?P<n>a)(?P=n)", r"a backreference, '(?P='", 8),
        ("(a)?(?(1)b|c)", "a conditional, '(?('", 4),
    ],
)
def test_what_a_grammar_cannot_hold_is_refused_with_its_position(pattern, what, position):
    assert refusal_of(pattern).startswith(f"{what} at position {position}, cannot be held")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="malformed before Python 3.11")
def test_what_depends_on_the_order_of_trying_is_refused():
    assert refusal_of("x(?>a)").startswith("an atomic group, '(?>' at position 1, ")
    assert refusal_of("xa*+").startswith("a possessive quantifier, '*+' at position 2, ")


@pytest.mark.parametrize(
    "pattern", ["(", "a)", "[a", "*", "a**", r"\q", r"\x1", "a{2,1}", "(?P<1>a)", "[b-a]", "a\n(?"]
)
def test_a_malformed_pattern_is_refused_with_pythons_own_message(pattern):
    with pytest.raises(re.error) as python:
        re.compile(pattern)
    assert refusal_of(pattern) == f"the pattern is malformed: {python.value}"


def test_what_a_later_python_may_read_differently_means_what_it_means_today_and_does_not_warn():
    with pytest.warns(FutureWarning):
        re.compile("[[a]|[a||b]")
    automaton = compile_regex("[[b]&&]", VOCABULARY)
    assert automaton.accepts("b&&]")
    assert not automaton.accepts("b")


@pytest.mark.parametrize(
    "pattern",
    ["a{100001}", "(?:a{1000}){1000}", "a{4294967295}", "(?:" * 30 + "^a?|b?" + ")+" * 30, "(" * 5000 + ")" * 5000],
)
def test_a_pattern_that_grows_too_large_is_refused_at_once(pattern):
    started = time.perf_counter()
    with pytest.raises(GrammarLimitExceeded):
        compile_regex(pattern, VOCABULARY)
    assert time.perf_counter() - started < 5


def test_large_patterns_within_the_limit_compile():
    automaton = compile_regex(r"[a-z]{1,5000}|\w{,2000}\.", VOCABULARY)
    assert automaton.accepts("a" * 5000)
    assert automaton.accepts("é" * 2000 + ".")
    assert not automaton.accepts("a" * 5001)
    assert not automaton.accepts("é" * 2001 + ".")


def test_words_of_a_pattern_are_as_near_as_their_tokens():
    vocabulary = bytewise(b"caf", "é".encode())
    automaton = compile_regex("café|[0-9]{4}", vocabulary)
    assert automaton.min_tokens == 2
    with automaton.matcher() as matcher:
        assert matcher.distance(matcher.start) == 2


def test_a_mask_under_a_pattern_allows_exactly_the_bytes_that_may_come():
    automaton = compile_regex("(?i)[a-c]é|x{2}", VOCABULARY)
    with automaton.matcher() as matcher:
        assert matcher.explain(matcher.start).next_bytes == b"ABCXabcx"
        assert matcher.forced_bytes(matcher.advance(matcher.start, ord("a"))) == b"\xc3"
        assert matcher.forced_tokens(matcher.advance(matcher.start, ord("x"))) == []
    assert automaton.min_tokens == 2
