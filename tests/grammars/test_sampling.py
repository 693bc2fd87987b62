"""Samples are accepted, well spread, within their budget, and the same for the same seed."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from vocabularies import BYTES, bytewise

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars import TokenAutomaton, TokenVocabulary, compile_choice, compile_json_schema, compile_regex
from structgen.grammars.expr import Rule, alternation, byte_set, call, literal, repetition, sequence, special_token
from structgen.grammars.language import ALL, Language
from structgen.grammars.values import ArraySpec, Item, ObjectSpec, Others, array_value, object_value, string_value

TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": ["integer", "null"]},
        "children": {"type": "array", "items": {"$ref": "#"}},
        "colour": {"enum": ["red", "green", 3]},
    },
    "required": ["name", "children"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary():
    words = [b'{"name', b'": "', b"children", b'"}', b"]}", b"a", b"b"]
    return TokenVocabulary([*words, *BYTES, b"", b""], [263], {264: "<|call|>"})


@pytest.fixture(scope="module")
def tree(vocabulary):
    return compile_json_schema(TREE, vocabulary)


def test_samples_are_valid(tree):
    for seed in range(60):
        text = tree.sample(seed, max_bytes=600)
        assert tree.accepts(text), text
        assert len(text.encode()) <= 600
        jsonschema.validate(json.loads(text), TREE)


def test_samples_are_well_spread(tree):
    texts = [tree.sample(seed, max_bytes=600) for seed in range(120)]
    assert len(set(texts)) > 60
    values = [json.loads(text) for text in texts]
    assert {"red", "green", 3} <= {value.get("colour") for value in values}
    assert any(value["children"] for value in values)
    assert any(not value["children"] for value in values)
    assert any("size" in value for value in values)
    assert min(map(len, texts)) < 40
    assert max(map(len, texts)) > 120


def test_a_seed_gives_one_text_whatever_the_vocabulary(tree, vocabulary):
    other = compile_json_schema(TREE, bytewise())
    for seed in (0, 1, -1, 2**70):
        assert tree.sample(seed) == other.sample(seed) == tree.sample(seed)
    assert tree.sample(1) != tree.sample(-1)


def test_the_least_budget_that_holds_any_text_suffices(tree):
    least = len('{"name":"","children":[]}')
    for seed in range(10):
        assert tree.sample(seed, max_bytes=least) == '{"name":"","children":[]}'
    with pytest.raises(GrammarLimitExceeded, match=f"has {least} bytes, which is more than {least - 1}"):
        tree.sample(0, max_bytes=least - 1)


@pytest.mark.parametrize("pattern", ["[a-z]{3,2000}", r"\d{4}-\d\d", "a*", "(é|ü|日本)+", "[^\n]*", "(a|b){40}"])
def test_samples_of_patterns_match(vocabulary, pattern):
    automaton = compile_regex(pattern, vocabulary)
    texts = {automaton.sample(seed) for seed in range(30)}
    assert all(re.fullmatch(pattern, text) for text in texts)
    assert len(texts) > 3
    assert sorted(map(len, texts))[len(texts) // 2] < 60


def test_every_text_of_a_choice_comes(vocabulary):
    choices = ["", "yes", "no", "maybe", "日本"]
    automaton = compile_choice(choices, vocabulary)
    assert {automaton.sample(seed) for seed in range(60)} == set(choices)


def members(number: int) -> Rule:
    """An object of anything, one declared key among it."""
    text = Rule("text", lambda: string_value(ALL))
    colour = Rule("colour", lambda: string_value(Language.finite(["red", "green"])))
    spec = ObjectSpec(("name", "colour"), (text, colour), (Others(ALL, text),), frozenset({0}), low=number)
    rows = ArraySpec(rest=(Item(Rule("row", lambda: object_value(spec))),), low=1, high=3)
    return Rule("rows", lambda: array_value(rows))


@pytest.mark.parametrize("number", [0, 3])
def test_samples_of_values_are_json_values(vocabulary, number):
    automaton = TokenAutomaton(members(number), vocabulary)
    least = len(automaton.ending(""))
    for seed in range(40):
        text = automaton.sample(seed, max_bytes=least + 5 * seed)
        assert automaton.accepts(text)
        for row in json.loads(text, object_pairs_hook=list):
            keys = [key for key, _ in row]
            assert len(set(keys)) == len(keys) >= number
            assert "name" in keys
            assert all(value in ("red", "green") for key, value in row if key == "colour")


def test_a_grammar_without_texts_in_utf8_is_refused(vocabulary):
    automaton = TokenAutomaton(Rule("bytes", lambda: byte_set(b"\xff")), vocabulary)
    with pytest.raises(InvalidGrammar, match="not UTF-8"):
        automaton.sample()


def test_special_tokens_are_no_text(vocabulary):
    call_or_text = alternation(sequence(literal(b"a"), call(Rule("call", lambda: special_token(264)))), literal(b"b"))
    automaton = TokenAutomaton(Rule("either", lambda: repetition(call_or_text, 0, 3)), vocabulary)
    with pytest.raises(InvalidGrammar, match="special tokens"):
        automaton.sample()
    with pytest.raises(InvalidGrammar, match="special tokens"):
        automaton.ending("a")
