"""Structural tags against the definition: every short text, every way to part it into tokens, random formats."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tag_oracle import Oracle, Symbol, all_texts

from structgen.errors import EmptyLanguage
from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary, compile_structural_tag

LETTERS = "ab<"
END, X, Y = 256, 257, 258
PIECES = ["".join(one) for size in (2, 3) for one in itertools.product(LETTERS, repeat=size)]
VOCABULARY = TokenVocabulary(
    [bytes([byte]) for byte in range(256)] + [b"", b"", b""] + [piece.encode() for piece in PIECES],
    [END],
    {X: "<a>", Y: "<|y|>"},  # X is called as a text that the vocabulary can spell
)
NUMBERS = {VOCABULARY.token_bytes(token): token for token in range(len(VOCABULARY)) if VOCABULARY.token_bytes(token)}

Format = dict[str, Any]


def compiled(spec: Format) -> TokenAutomaton:
    return compile_structural_tag({"type": "structural_tag", "format": spec}, VOCABULARY)


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def tag(begin: object, content: Format, end: object) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def token(token_id: int) -> Format:
    return {"type": "token", "token": token_id}


def triggered(triggers: Sequence[object], *tags: Format, **more: object) -> Format:
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, **more}


def sequence(*elements: Format) -> Format:
    return {"type": "sequence", "elements": elements}


TEXT: Format = {"type": "any_text"}
SPECS = {
    "prose": TEXT,
    "prose up to ends that begin alike": tag("a", TEXT, ["<", "<<", "<a"]),
    "prose without a text": {"type": "any_text", "excludes": ["aba", "b<"]},
    "a tag in prose": triggered(["<a"], tag("<ab", const("b"), "a")),
    "an overlapping trigger": triggered(["aba"], tag("abab", const(""), "<")),
    "a self-overlapping trigger": triggered(["aa"], tag("aab", const(""), "")),
    "a trigger in another": triggered(["ab", "abb"], tag("abb", const("<"), "a"), tag("aba", const(""), "")),
    "triggers that end together": triggered(["aab", "ab"], tag("aab<", const(""), ""), tag("aba", const(""), "")),
    "triggers that overlap": triggered(["ab<", "<a"], tag("ab<", const("b"), ""), tag("<a", const("<"), "")),
    "at least one": triggered(["<"], tag("<a", const(""), "b"), at_least_one=True),
    "one at most": triggered(["<"], tag("<a", const(""), "b"), stop_after_first=True),
    "exactly one": triggered(["<"], tag("<a", const(""), "b"), stop_after_first=True, at_least_one=True),
    "prose with a tag and without a text": triggered(["<"], tag("<", const("a"), ""), excludes=["bb"]),
    "prose in a tag": tag("<", TEXT, "aba"),
    "prose in a tag with two ends": tag("<", TEXT, ["ab", "ba"]),
    "prose in a tag with a token for an end": tag("<", TEXT, token(X)),
    "prose in a tag that may stay open": tag("<", TEXT, ["", "ab"]),
    "tags in a tag": tag("a", triggered(["<"], tag("<", const("a"), "b")), "bb"),
    "tags in a tag whose end begins like them": tag("a", triggered(["<"], tag("<a", const(""), "b")), "<b"),
    "one tag in a tag": tag("a", triggered(["<"], tag("<", TEXT, "b"), stop_after_first=True), "bb"),
    "prose before something in a tag": tag("<", sequence(TEXT, const("b")), "a"),
    "prose or not in a tag": tag("<", {"type": "or", "elements": [const("b"), TEXT]}, "a"),
    "prose several times in a tag": tag("<", {"type": "plus", "content": sequence(const("b"), TEXT)}, "a"),
    "prose and then something": sequence(TEXT, const("<")),
    "tags and then something": sequence(triggered(["<"], tag("<", const("a"), "b")), const("ab")),
    "special tokens": sequence(const("a"), {"type": "token", "token": "<a>"}, TEXT),
    "a token for a trigger": triggered([token(X)], tag(token(X), const("a"), token(Y))),
    "a token and its text for triggers": triggered(
        ["<a", token(X)], tag(token(X), const("b"), ""), tag("<a", const("<"), "")
    ),
    "tokens in prose": {"type": "any_tokens", "exclude_tokens": [Y]},
    "tokens in prose in a tag": tag("a", {"type": "any_tokens"}, token(X)),
    "tokens in prose in a tag with a text for an end": tag("a", {"type": "any_tokens"}, "ab"),
    "tokens that dispatch": {
        "type": "token_triggered_tags",
        "trigger_tokens": ["<a>"],
        "tags": [tag(token(X), TEXT, "b")],
    },
    "tokens that dispatch to formats": {"type": "token_dispatch", "rules": [[X, const("a")], [Y, TEXT]]},
    "texts that dispatch": {"type": "dispatch", "rules": [["ab", const("<")], ["<", TEXT]]},
    "texts that dispatch once in a tag": tag("b", {"type": "dispatch", "rules": [["a", TEXT]], "loop": False}, "<<"),
    "a list of tags": {
        "type": "tags_with_separator",
        "tags": [tag("a", const(""), "b"), tag("ab", TEXT, "<")],
        "separator": "<",
    },
    "a list of tags without a separator": {
        "type": "tags_with_separator",
        "tags": [tag("a", TEXT, "b")],
        "separator": "",
        "at_least_one": True,
    },
    "one of a list of tags": {
        "type": "tags_with_separator",
        "tags": [tag("a", TEXT, "b"), tag(token(X), const(""), "")],
        "separator": "a",
        "stop_after_first": True,
    },
    "reasoning": sequence({"type": "reasoning", "begin": "<", "end": "ab"}, const("b")),
    "reasoning between tokens": sequence({"type": "reasoning", "begin": token(X), "end": token(Y)}, TEXT),
    "times": {"type": "repeat", "min": 1, "max": 3, "content": {"type": "regex", "pattern": "a?b"}},
    "times of tags": {"type": "star", "content": tag("", {"type": "optional", "content": const("a")}, "<")},
}  # fmt: skip


def accepted_of(automaton: TokenAutomaton, alphabet: Sequence[Symbol], longest: int) -> set[tuple[Symbol, ...]]:
    """Every text of so many symbols that is accepted, found by walking the states."""
    found: set[tuple[Symbol, ...]] = set()
    with automaton.matcher() as matcher:
        pending: list[tuple[tuple[Symbol, ...], int]] = [((), matcher.start)]
        while pending:
            text, state = pending.pop()
            if matcher.is_accepting(state):
                found.add(text)
            if len(text) < longest:
                after = [(one, matcher.advance(state, one if isinstance(one, int) else ord(one))) for one in alphabet]
                pending += [((*text, one), then) for one, then in after if then != DEAD]
    return found


def splits(symbols: tuple[Symbol, ...]) -> Iterator[list[int]]:
    """Every way to spell a text in tokens."""
    if not symbols:
        yield []
        return
    for size in (1, 2, 3):
        piece = symbols[:size]
        if len(piece) < size or (size > 1 and any(isinstance(one, int) for one in piece)):
            return
        first = piece[0] if isinstance(piece[0], int) else NUMBERS["".join(map(str, piece)).encode()]
        yield from ([first, *rest] for rest in splits(symbols[size:]))


def check(spec: Format, longest: int, parted: int) -> None:
    """Compare with the definition: all texts of some symbols, and all ways to part shorter ones."""
    automaton, oracle = compiled(spec), Oracle(with_ids(spec), (X, Y))
    alphabet: list[Symbol] = [*LETTERS, X, Y]
    found = accepted_of(automaton, alphabet, longest)
    assert found == {text for text in all_texts(alphabet, longest) if oracle.accepts(text)}
    row = np.empty((len(VOCABULARY) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        for text in (one for one in found if len(one) <= parted):
            for tokens in splits(text):
                state = matcher.start
                for one in tokens:
                    matcher.fill_mask(state, row)
                    assert row[one // 32] >> (one % 32) & 1, (text, tokens)
                    state = matcher.advance(state, one)
                assert matcher.is_accepting(state), (text, tokens)


def with_ids(spec: Any) -> Any:
    """The format with ids in the place of names of special tokens."""
    if isinstance(spec, dict):
        names = {"token": X} if spec.get("token") == "<a>" else {}
        if spec.get("trigger_tokens") == ["<a>"]:
            names["trigger_tokens"] = [X]
        return {key: with_ids(value) for key, value in spec.items()} | names
    return [with_ids(one) for one in spec] if isinstance(spec, (list, tuple)) else spec


@pytest.mark.parametrize("name", SPECS)
def test_every_short_text_is_accepted_exactly_if_the_definition_says_so(name):
    check(SPECS[name], longest=5, parted=5)


texts = st.text(LETTERS, min_size=1, max_size=3)
tokens = st.sampled_from([X, Y]).map(token)
leaves = st.one_of(
    st.text(LETTERS, max_size=2).map(const),
    st.sampled_from(["a*", "(ab)?", "[ab]<?", "b"]).map(lambda pattern: {"type": "regex", "pattern": pattern}),
    tokens,
    st.lists(texts, max_size=2).map(lambda excludes: {"type": "any_text", "excludes": excludes}),
    st.lists(st.sampled_from([X, Y]), max_size=1).map(lambda out: {"type": "any_tokens", "exclude_tokens": out}),
)
marks = st.one_of(st.text(LETTERS, max_size=2), tokens)
ends = st.one_of(marks, st.lists(marks, min_size=1, max_size=2))


def tags_of(contents: st.SearchStrategy[Format]) -> st.SearchStrategy[Format]:
    return st.builds(tag, st.one_of(texts, tokens), contents, ends)


@st.composite
def triggered_of(draw: st.DrawFn, contents: st.SearchStrategy[Format]) -> Format:
    tags = draw(st.lists(tags_of(contents), min_size=1, max_size=3))
    begins = [one["begin"] for one in tags]
    triggers = [one if isinstance(one, dict) else one[: draw(st.integers(1, len(one)))] for one in begins]
    unique = [one for place, one in enumerate(triggers) if one not in triggers[:place]]
    return triggered(
        unique, *tags, at_least_one=draw(st.booleans()), stop_after_first=draw(st.booleans()),
        excludes=draw(st.lists(texts, max_size=1)),
    )  # fmt: skip


@st.composite
def token_triggered_of(draw: st.DrawFn, contents: st.SearchStrategy[Format]) -> Format:
    trigger = draw(st.sampled_from([X, Y]))
    return {
        "type": "token_triggered_tags",
        "trigger_tokens": [trigger],
        "tags": [tag(token(trigger), draw(contents), draw(ends))],
        "at_least_one": draw(st.booleans()),
        "stop_after_first": draw(st.booleans()),
        "exclude_tokens": draw(st.lists(st.just(X + Y - trigger), max_size=1)),
    }


@st.composite
def separated_of(draw: st.DrawFn, contents: st.SearchStrategy[Format]) -> Format:
    return {
        "type": "tags_with_separator",
        "tags": draw(st.lists(tags_of(contents), min_size=1, max_size=2)),
        "separator": draw(st.text(LETTERS, max_size=1)),
        "at_least_one": draw(st.booleans()),
        "stop_after_first": draw(st.booleans()),
    }


@st.composite
def repeated_of(draw: st.DrawFn, contents: st.SearchStrategy[Format]) -> Format:
    kind, low = draw(st.sampled_from(["optional", "star", "plus", "repeat"])), draw(st.integers(0, 2))
    bounds = {"min": low, "max": draw(st.sampled_from([low, low + 1, -1]))} if kind == "repeat" else {}
    return {"type": kind, "content": draw(contents), **bounds}


def larger(contents: st.SearchStrategy[Format]) -> st.SearchStrategy[Format]:
    several = st.lists(contents, min_size=1, max_size=3)
    rules = st.lists(st.tuples(texts, contents), min_size=1, max_size=2)
    return st.one_of(
        several.map(lambda them: sequence(*them)),
        several.map(lambda them: {"type": "or", "elements": them}),
        repeated_of(contents),
        tags_of(contents),
        triggered_of(contents),
        token_triggered_of(contents),
        separated_of(contents),
        st.builds(lambda them, loop: {"type": "dispatch", "rules": them, "loop": loop}, rules, st.booleans()),
    )


formats = st.recursive(leaves, larger, max_leaves=4)


@given(formats)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_formats_hold_what_the_definition_says(spec):
    try:
        check(spec, longest=4, parted=4)
    except EmptyLanguage:
        oracle = Oracle(spec, (X, Y))
        assert not any(oracle.accepts(text) for text in all_texts([*LETTERS, X, Y], 4))


@pytest.mark.parametrize("name", SPECS)
def test_texts_drawn_under_the_masks_are_of_the_language(name):
    automaton, oracle, source = compiled(SPECS[name]), Oracle(with_ids(SPECS[name]), (X, Y)), random.Random(name)
    for _ in range(20):
        symbols = drawn(automaton, source)
        assert oracle.accepts(symbols), symbols


def drawn(automaton: TokenAutomaton, source: random.Random) -> list[Symbol]:
    """A text of random tokens, of letters and special tokens; after a few of them it goes straight to an end."""
    row = np.empty((len(VOCABULARY) + 31) // 32, np.int32)
    tokens = [*map(ord, LETTERS), X, Y, *range(Y + 1, len(VOCABULARY))]
    with automaton.matcher() as matcher:
        state, symbols = matcher.start, list[Symbol]()
        while not (matcher.is_accepting(state) and (len(symbols) > 8 or source.random() < 0.1)):
            if len(symbols) < 8:
                matcher.fill_mask(state, row)
            else:
                matcher.fill_mask_within(state, row, max(0, matcher.distance(state) - 1))
            allowed = [one for one in tokens if row[one // 32] >> (one % 32) & 1]
            if not allowed:
                assert matcher.is_accepting(state)
                break
            token_id = source.choice(allowed)
            state = matcher.advance(state, token_id)
            symbols += [token_id] if token_id in (X, Y) else list(VOCABULARY.token_bytes(token_id).decode())
        return symbols
