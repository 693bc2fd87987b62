"""``%regex`` in a terminal of a Lark grammar is what the runs of its chunks are, written out."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import re

import lark
import pytest

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars import compile_lark
from structgen.grammars.lark import runs
from structgen.grammars.sampling import byte_vocabulary

VOCABULARY = byte_vocabulary()
SOURCE = random.Random(7)


def runs_written_out(chunks: list[str]) -> list[str]:
    """All runs but the empty one, the longest first."""
    places = range(len(chunks) + 1)
    return sorted({"".join(chunks[a:b]) for a in places for b in places if a < b} - {""}, key=len, reverse=True)


def structure(kind: str, content: object) -> str:
    return f"%regex {json.dumps({kind: content})}"


def some_chunks(source: random.Random) -> list[str]:
    return ["".join(source.choices("ab ", k=source.randrange(4))) for _ in range(source.randrange(1, 7))] + ["a"]


def some_texts(source: random.Random, chunks: list[str], letters: str) -> list[str]:
    whole = "".join(chunks)
    places = [source.randrange(len(whole) + 1) for _ in range(40)]
    texts = [whole[a:b] for a, b in itertools.pairwise(places)]
    texts += ["".join(source.choices(letters, k=source.randrange(8))) for _ in range(40)]
    return [source.choice(["", "", source.choice(letters)]) + text for text in texts]


@pytest.mark.parametrize("parser", ["lalr", "earley"])
@pytest.mark.parametrize("seed", range(15))
def test_a_terminal_of_runs_has_the_runs_of_its_chunks(seed, parser):
    source = random.Random(seed)
    chunks = some_chunks(source)
    automaton = compile_lark(f"start: RUN\nRUN: {structure('substring_chunks', chunks)}", VOCABULARY, parser=parser)
    within = compile_lark(
        f'start: RUN\nRUN: "<" {structure("substring_chunks", chunks)} ">"', VOCABULARY, parser=parser
    )
    found = set(runs_written_out(chunks))
    for text in [*found, "", *some_texts(source, chunks, "ab ")]:
        assert automaton.accepts(text) is (text in found), text
        assert within.accepts(f"<{text}>") is (text in found or not text), text


@pytest.mark.parametrize("seed", range(25))
def test_tokens_of_runs_are_those_of_lark_where_they_are_written_out(seed):
    """The longest run is the token, a keyword is no run, and what is ignored is."""
    source = random.Random(seed)
    chunks = [one for one in some_chunks(source) if one]
    keyword, kind = source.choice(["ab", "b", "a", "x"]), source.choice(["start: RUN+", "start: RUN (KEY RUN)*"])
    rest = f'KEY: "{keyword}"\nPAIR: "(" RUN "," RUN ")"\n%ignore "x"'
    rules = f"{kind} | PAIR RUN | KEY\nRUN: "
    written = "|".join(map(re.escape, runs_written_out(chunks))).replace("/", r"\/")
    theirs = lark.Lark(f"{rules}/(?:{written})/\n{rest}", parser="lalr")
    ours = compile_lark(f"{rules}{structure('substring_chunks', chunks)}\n{rest}", VOCABULARY, parser="lalr")
    count = 0
    for text in some_texts(source, chunks * 2, "ab x(,)"):
        try:
            theirs.parse(text)
        except lark.exceptions.UnexpectedInput:
            assert not ours.accepts(text), text
        else:
            count += 1
            assert ours.accepts(text), text
    assert count


WORDS = {
    "foo bar. baz": ["foo", " ", "bar", ".", " ", "baz"],
    "a  b...c!?  d": ["a", "  ", "b", "...", "c", "!?", "  ", "d"],
    "don't x_y z-1": ["don", "'", "t", " ", "x_y", " ", "z", "-", "1"],
    "é日本 ü\n\nq\t r": ["é日本", " ", "ü", "\n\n", "q", "\t ", "r"],
    "a\u00a0ab\u0301c ⓐ\u0345½": ["a", "\u00a0", "ab", "\u0301", "c", " ", "ⓐ\u0345½"],
    "a\u200d\u2028_\x1cb": ["a", "\u200d", "\u2028", "_", "\x1c", "b"],
}


@pytest.mark.parametrize("text", WORDS)
def test_words_are_letters_and_digits_white_space_or_anything_else(text):
    assert runs.chunks_of({"substring_words": text}) == tuple(WORDS[text])
    assert runs.chunks_of({"substring_chars": text}) == tuple(text)


@pytest.mark.skipif(importlib.util.find_spec("llguidance") is None, reason="llguidance is not installed")
@pytest.mark.parametrize("kind", ["substring_words", "substring_chars", "substring_chunks"])
@pytest.mark.parametrize("text", WORDS)
def test_runs_are_those_of_llguidance(kind, text):
    from llguidance import LLMatcher, LLTokenizer

    content = WORDS[text] if kind == "substring_chunks" else text
    grammar = f'start: RUN\nRUN: "<" {structure(kind, content)} ">"'
    tokenizer, automaton = LLTokenizer("byte"), compile_lark(grammar, VOCABULARY)
    compiled = LLMatcher.grammar_from_lark(grammar)
    texts = [text[a:b] for a, b in itertools.combinations(range(len(text) + 1), 2)]
    for inside in ["", *texts, *some_texts(random.Random(1), WORDS[text], text)]:
        matcher = LLMatcher(tokenizer, compiled)
        taken = all(matcher.consume_token(token) for token in f"<{inside}>".encode())
        assert automaton.accepts(f"<{inside}>") is (taken and matcher.is_accepting()), inside


def test_runs_may_be_long_and_stand_twice_and_among_others():
    text = " ".join(SOURCE.choices(["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"], k=400))
    quote = structure("substring_words", text)
    automaton = compile_lark(
        f'start: (QUOTE NOTE?)+\nQUOTE: "\'" {quote} "\'"\nNOTE.2: "[" {quote}\n    | {quote} "]"', VOCABULARY
    )
    words = text.split(" ")
    for begin in range(0, 390, 30):
        inside = " ".join(words[begin : begin + 9])
        assert automaton.accepts(f"'{inside}'[{inside}")
        assert automaton.accepts(f"'{inside}'{inside}]''")
        assert not automaton.accepts(f"'{inside}x'")
    assert not automaton.accepts("'th'")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("start: A\nA: %regex {", "line 2, column 4: after %regex no JSON: Expecting property name"),
        ("start: A\nA: %regex 3", 'line 2, column 4: after %regex comes an object with "substring_words"'),
        ('start: A\nA: %regex {"pattern": "a"}', 'line 2, column 4: after %regex comes an object with "substring_'),
        ('start: A\nA: %regex {"substring_words": "a", "substring_chars": "a"}', "comes an object with"),
        ('start: A\nA: "b"\n  | %regex {"substring_words": ["a"]}', 'line 3, column 5: "substring_words" is a text'),
        ('start: A\nA: %regex {"substring_chunks": "a"}', '"substring_chunks" is a list of texts'),
        ('start: A\nA: %regex {"substring_chunks": ["a", 1]}', '"substring_chunks" is a list of texts'),
        ('start: A\nA: %regex {"substring_chunks": ["", ""]}', '"substring_chunks" has no characters'),
        ('start: A\nA: %regex {"substring_chars": "\\ud800"}', "has half of a surrogate pair"),
        ('start: "a" %regex {"substring_chars": "a"}', "line 1, column 12: %regex stands in the rule start; give it a"),
        ('start: A\nA: %regex {"substring_chars": "a"}?', "line 2, column 1: the terminal 'A' may be empty"),
    ],
)
@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_what_is_malformed_or_out_of_place_is_refused_with_its_place(grammar, message, parser):
    with pytest.raises(InvalidGrammar, match=re.escape(message)):
        compile_lark(grammar, VOCABULARY, parser=parser, name="x.lark")


def test_text_in_quotes_and_comments_is_no_run():
    grammar = 'start: "%regex {" A  // %regex {\nA: /%regex [0-9]/ # %regex'
    assert compile_lark(grammar, VOCABULARY).accepts("%regex {%regex 1")


def test_runs_that_are_alone_are_not_empty_also_where_they_are_ignored():
    grammar = 'start: "(" ")"\n%ignore ' + structure("substring_chars", "ab") + "\n// the end"
    automaton = compile_lark(grammar, VOCABULARY)
    assert all(automaton.accepts(text) for text in ("()", "(ab)", "aba(b)ab", "(ba)"))
    assert not automaton.accepts("(c)")


def test_a_text_with_too_many_states_is_refused():
    text = "".join(SOURCE.choices("ab", k=15_000))
    with pytest.raises(GrammarLimitExceeded, match=r"shorter text|lower the counts"):
        compile_lark(f"start: A\nA: {structure('substring_chars', text)}", VOCABULARY)
