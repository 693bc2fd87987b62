"""A mask within a budget takes tokens whole by how far they lead: here each bit is held against the distance itself."""

from __future__ import annotations

import json
import random

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_schemas import OBJECT, SCHEMAS, WIDE, vocabulary_of
from random_schemas import random_schema
from vocabularies import BYTES, END, allowed, bytewise

from structgen.errors import SchemaError
from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary
from structgen.grammars.automaton import interior_store
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.json_schema import compile_json_schema
from structgen.grammars.regex import compile_regex

STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 2}
FURTHER = {
    "a set of strings": STRINGS | {"uniqueItems": True},
    "a set of short strings": STRINGS | {"items": {"type": "string", "maxLength": 1}, "uniqueItems": True},
    "a pattern of at least": STRINGS | {"items": {"type": "string", "pattern": "^[^b]*b\n?$", "minLength": 2}},
    "keys of objects in an array": STRINGS | {"items": SCHEMAS["keys of any kind"]},
    "keys of two languages": OBJECT
    | {
        "patternProperties": {"^a{1,40}$": {"type": "integer"}, "a+b?$": {"type": "string"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "ways of many lengths": {
        "anyOf": [
            {"type": "string", "maxLength": 4},
            {"type": "string", "pattern": "^a{7,}$"},
            OBJECT | {"properties": {"ab": {"type": "string", "minLength": 7}}, "required": ["ab"]},
            STRINGS,
        ]
    },
}
CASES = SCHEMAS | WIDE | FURTHER
RANDOM_VOCABULARY, PIECES = vocabulary_of(10), vocabulary_of(11)
LAYOUTS = ["flexible", "compact", "indent:2", (", ", ": "), ("\r\n\t,", ":")]


def check_budgets(automaton: TokenAutomaton, source: random.Random, walks: int = 2, steps: int = 10) -> int:
    """Walk at random; in each state try budgets about the distance and smaller ones. Returns the number of masks."""
    size, masks = len(automaton.vocabulary), 0
    row = np.empty(automaton.vocabulary.masks.rows.shape[1], np.int32)
    with automaton.matcher() as matcher:
        for _ in range(walks):
            state = matcher.start
            for _ in range(steps):
                after = {token: matcher.advance(state, token) for token in range(size)}
                needs = {token: matcher.distance(target) for token, target in after.items() if target != DEAD}
                nearest = matcher.distance(state)
                budgets = {nearest + more for more in (-3, -1, 0, 1, 2, 5, source.randrange(30), 1 << 27)}
                for budget in sorted({*budgets, source.randrange(30)}):
                    found = matcher.fill_mask_within(state, row, budget)
                    expected = {token for token, need in needs.items() if need <= budget or token == END}
                    assert allowed(row) == expected, (budget, matcher.explain(state))
                    assert found == bool(expected)
                    masks += 1
                state = after[source.choice(sorted(needs.keys() - {END}) or [END])]
                if state <= 0:
                    break
    return masks


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", CASES)
def test_every_bit_within_a_budget_is_a_token_after_which_the_end_can_be_reached(name, order):
    automaton = compile_json_schema(CASES[name], vocabulary_of(5), property_order=order)
    assert check_budgets(automaton, random.Random(f"{name} {order}")) >= 8


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["keys of any kind", "keys by pattern", "texts", *FURTHER, "anything"])
def test_it_is_so_in_every_layout(name, layout):
    automaton = compile_json_schema(CASES[name], vocabulary_of(9), whitespace=layout)
    assert check_budgets(automaton, random.Random(f"{name} {layout}")) >= 8


@pytest.mark.parametrize("name", WIDE)
def test_it_is_so_by_a_projection_of_the_vocabulary(name, monkeypatch):
    monkeypatch.setattr(interior_store, "_NARROW", 0)
    automaton = compile_json_schema(WIDE[name], vocabulary_of(6))
    assert check_budgets(automaton, random.Random(name), walks=3) >= 8


@settings(max_examples=60, deadline=None)
@given(number=st.integers(0, 1 << 32), order=st.sampled_from(["schema", "any"]), layout=st.sampled_from(LAYOUTS))
def test_it_is_so_of_random_schemas(number, order, layout):
    source = random.Random(number)
    try:
        automaton = compile_json_schema(
            random_schema(source, 2020), RANDOM_VOCABULARY, property_order=order, whitespace=layout
        )
    except SchemaError:  # what no text or no grammar holds
        return
    check_budgets(automaton, source, walks=1, steps=8)


@settings(max_examples=20, deadline=None)
@given(missing=st.binary(min_size=1, max_size=6), name=st.sampled_from(sorted(CASES)), source=st.randoms())
def test_it_is_so_where_single_bytes_are_no_tokens(missing, name, source):
    pieces = map(PIECES.token_bytes, range(END + 1, len(PIECES)))
    tokens = [b"" if byte in missing else byte for byte in BYTES]
    vocabulary = TokenVocabulary([*tokens, b"", *pieces], [END])
    check_budgets(compile_json_schema(CASES[name], vocabulary), source, walks=1, steps=6)


@pytest.mark.parametrize("pattern", [r"[^\"]*\"x?", r"(a|b|é)*", r"\d{1,3}(\.\d+)?", r"(.|\n)*END", "[a-f]{3,40}"])
def test_it_is_so_of_regular_expressions(pattern):
    assert check_budgets(compile_regex(pattern, vocabulary_of(4)), random.Random(pattern)) >= 8


def test_it_is_so_however_often_the_store_begins_anew(monkeypatch):
    vocabulary = vocabulary_of(3)
    store = InteriorStore(vocabulary.trie, vocabulary.eos_token_ids, room=30_000)
    monkeypatch.setattr(vocabulary, "_interiors", store)
    for name in ("strings by length", "keys by pattern and others", "numbers", "anything"):
        check_budgets(compile_json_schema(SCHEMAS[name], vocabulary), random.Random(name))
    assert store.snapshot[1][interior_store.H_GENERATION] > 1


def test_a_token_that_ends_within_a_character_is_further_from_the_end_than_its_neighbours():
    letters, source = [f"a{letter}".encode() for letter in "bcdefghijklmnopqrstuvwxyz"], random.Random(1)
    pieces = [letter + source.choice(letters) + ending for letter in letters for ending in (b"", b"\xc3", b"e\xe2\x82")]
    automaton = compile_json_schema({"type": "string"}, bytewise(*pieces))
    row = np.empty((257 + len(pieces) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        state = matcher.advance(matcher.start, ord('"'))
        for budget, left_out in ((1, (b"\xc3", b"\x82")), (2, ())):
            matcher.fill_mask_within(state, row, budget)
            assert {END + 1 + place for place, one in enumerate(pieces) if not one.endswith(left_out)} == {
                token for token in allowed(row) if token > END
            }


@pytest.mark.parametrize(
    ("schema", "pieces", "texts"),
    [
        (
            OBJECT | {"additionalProperties": {"type": "integer"}, "minProperties": 2},
            [b'":1,', b'a":1,', b'a":1,"'],
            [b'{"', b'{"a', b'{"":1,"'],
        ),
        (
            FURTHER["a set of strings"],
            [b'",', b'a",', b'a", "', b'","a",'],
            [b'["', b'["a', b'["","'],
        ),
    ],
)
def test_how_a_key_is_spelled_within_a_token_counts_for_what_is_left(schema, pieces, texts):
    automaton = compile_json_schema(schema, bytewise(*pieces))
    with automaton.matcher() as matcher:
        row = np.empty(9, np.int32)
        for text in texts:
            state = matcher.advance_bytes(matcher.start, text)
            for budget in range(16):
                matcher.fill_mask_within(state, row, budget)
                after = {token: matcher.advance(state, token) for token in range(257, 257 + len(pieces))}
                near = {token for token, target in after.items() if target > 0 and matcher.distance(target) <= budget}
                assert allowed(row) & after.keys() == near, (text, budget)


AGENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "role": {"enum": ["admin", "guest"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,9}$"}, "minItems": 1},
        "note": {"type": "string"},
    },
    "required": ["name", "age", "note"],
}


@pytest.mark.slow
def test_ten_thousand_answers_within_tight_budgets_are_whole_and_leave_memory_flat():
    vocabulary = vocabulary_of(12)
    automaton = compile_json_schema(AGENT, vocabulary, max_bytes=4 << 20)
    source, tables, interiors = random.Random(1), list[int](), list[int]()
    validator = jsonschema.Draft202012Validator(AGENT)
    for _ in range(10_000):
        validator.validate(json.loads(tight_answer(automaton, source, spare=source.randrange(12))))
        tables.append(automaton.nbytes)
        interiors.append(vocabulary.interiors.nbytes)
    assert max(tables[5000:]) == max(tables[:5000]) < 4 << 20
    assert automaton.stats().generations > 1
    assert interiors[-1] < interiors[5000] * 1.1  # a few states inside characters are seldom met


def tight_answer(automaton: TokenAutomaton, source: random.Random, spare: int) -> bytes:
    """A text of random tokens within so many more than suffice for sure."""
    row, text = np.empty(automaton.vocabulary.masks.rows.shape[1], np.int32), bytearray()
    with automaton.matcher() as matcher:
        state = matcher.start
        for left in range(matcher.distance(state) + spare, 0, -1):
            assert matcher.fill_mask_within(state, row, left - 1)
            token = source.choice(sorted(allowed(row)))
            if token == END:
                break
            state = matcher.advance(state, token)
            text += automaton.vocabulary.token_bytes(token)
        assert matcher.is_accepting(state)
    return bytes(text)
