"""Masks take much whole that a walk would pass token by token: here each bit is held against a step of its own."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from mask_schemas import SCHEMAS, WIDE, vocabulary_of
from vocabularies import END, allowed, bytewise

from structgen.grammars import DEAD, Matcher, TokenVocabulary
from structgen.grammars.automaton import interior_store
from structgen.grammars.automaton.fill import only_token
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.json_schema import compile_json_schema
from structgen.grammars.regex import compile_regex


def checked_mask(matcher: Matcher, state: int, row: np.ndarray, size: int) -> set[int]:
    """The tokens of a mask, each bit of which is that of a step."""
    matcher.fill_mask(state, row)
    expected = {token for token in range(size) if matcher.advance(state, token) != DEAD}
    assert allowed(row) == expected, matcher.explain(state)
    return expected


def check_walks(automaton, source: random.Random, walks: int, steps: int) -> int:
    """Walk at random under the mask; returns the number of states looked at."""
    size, looked_at = len(automaton.vocabulary), 0
    row = np.empty(automaton.vocabulary.masks.rows.shape[1], np.int32)
    with automaton.matcher() as matcher:
        for _ in range(walks):
            state = matcher.start
            for _ in range(steps):
                expected = checked_mask(matcher, state, row, size)
                looked_at += 1
                state = matcher.advance(state, source.choice(sorted(expected - {END}) or [END]))
                if state <= 0:
                    break
    return looked_at


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_bit_of_a_mask_equals_a_step(name):
    source = random.Random(name)
    vocabulary = vocabulary_of(1)
    automaton = compile_json_schema(
        SCHEMAS[name], vocabulary, property_order="any" if "any order" in name else "schema"
    )
    assert check_walks(automaton, source, walks=4, steps=14) >= 4


@pytest.mark.parametrize("whitespace", ["indent:2", (", ", ": "), ("\r\n\t,", ":"), "compact"])
@pytest.mark.parametrize("name", ["keys of any kind", "keys by pattern", "texts", "either", "anything"])
def test_every_bit_of_a_mask_equals_a_step_in_every_layout(name, whitespace):
    automaton = compile_json_schema(SCHEMAS[name], vocabulary_of(8), whitespace=whitespace)
    assert check_walks(automaton, random.Random(f"{name} {whitespace}"), walks=3, steps=14) >= 3


@pytest.mark.parametrize("name", WIDE)
def test_a_walk_of_a_projection_says_what_one_of_the_vocabulary_does(name, monkeypatch):
    monkeypatch.setattr(interior_store, "_NARROW", 0)
    vocabulary = vocabulary_of(5)
    assert check_walks(compile_json_schema(WIDE[name], vocabulary), random.Random(name), walks=6, steps=14) >= 6


SEARCHED = {
    "a long text": r"/api/v1/user_identities/\d+/programs/\d+/applicants_by_cas_id/\d+/custom_field_answers/\d+",
    "a text of more states than are told apart": "abcde" * 60 + "x",
    "all but a text": r"^(?!.*tables).*$",
    "no letter of three": r"^[^xyz]*$",
    "no character beyond ASCII": r"^[\x00-\x7f]*end",
    "some beyond ASCII": r"^([\x00-\u04ff]|end)*$",
}


def vocabulary_of_searched() -> TokenVocabulary:
    """Pieces of the texts that the patterns name, some of which go on behind a quote or a character beyond ASCII."""
    source = random.Random(6)
    texts = [
        *SEARCHED.values(),
        "table tables éndЖ end",
        'an "end',
        "line\\nend \\u00e9",
        "boxes toys lazy taxis boxing tables",
    ]
    pieces = set()
    for _ in range(1500):
        text = source.choice(texts)
        begin = source.randrange(len(text))
        pieces.add(text[begin : begin + source.randint(2, 14)] + source.choice(["", "", "", '"', "中", " "]))
    return bytewise(*(piece.encode() for piece in sorted(pieces)))


@pytest.mark.parametrize("most", [interior_store._NARROW, interior_store._LONG])
@pytest.mark.parametrize("name", SEARCHED)
def test_what_a_mask_takes_whole_of_a_pattern_equals_a_step(name, most, monkeypatch):
    monkeypatch.setattr(interior_store, "_NARROW", most)
    vocabulary = vocabulary_of_searched()
    assert len(vocabulary.trie.large) > 20
    automaton = compile_json_schema({"type": "string", "pattern": SEARCHED[name]}, vocabulary)
    assert check_walks(automaton, random.Random(name), walks=3, steps=8) >= 3
    row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
    text = b'"' + SEARCHED[name].replace(r"\d+", "12").encode()
    with automaton.matcher() as matcher:  # where a text is nearly found, which walks at random seldom come to
        for end in range(0, len(text), 9):
            state = matcher.advance_bytes(matcher.start, text[:end])
            if state > 0:
                checked_mask(matcher, state, row, len(vocabulary))


def test_a_key_that_comes_twice_within_a_token_is_not_in_the_mask():
    pieces = [b'"k":1,"k":2', b'"k":1,"j":2', b'":1,"k":2', b'":1,"k', b'"k":1,"\\u006b":2']
    vocabulary = bytewise(*pieces)
    automaton = compile_json_schema({"type": "object", "additionalProperties": {"type": "integer"}}, vocabulary)
    row = np.empty((len(vocabulary) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        matcher.fill_mask(matcher.advance_bytes(matcher.start, b"{"), row)
        assert allowed(row) & set(range(257, 262)) == {258}
        matcher.fill_mask(matcher.advance_bytes(matcher.start, b'{"k'), row)
        assert allowed(row) & set(range(257, 262)) == {260}
        matcher.fill_mask(matcher.advance_bytes(matcher.start, b'{"j'), row)
        assert allowed(row) & set(range(257, 262)) == {259, 260}
        matcher.fill_mask(matcher.advance_bytes(matcher.start, b'{"j":0,'), row)
        assert allowed(row) & set(range(257, 262)) == set()


def test_grammars_of_one_vocabulary_share_what_they_take_whole():
    vocabulary, source = vocabulary_of(2), random.Random(2)
    sizes = []
    for _ in range(2):
        for name in ("strings by length", "a pattern by length", "keys by pattern"):
            check_walks(compile_json_schema(SCHEMAS[name], vocabulary), random.Random(name), walks=2, steps=8)
        sizes.append(vocabulary.interiors.nbytes)
    assert sizes[0] == sizes[1]
    check_walks(compile_json_schema(SCHEMAS["anything"], vocabulary), source, walks=1, steps=8)
    assert vocabulary.interiors.nbytes > sizes[1]


def test_masks_are_right_however_often_the_store_begins_anew(monkeypatch):
    vocabulary = vocabulary_of(3)
    monkeypatch.setattr(vocabulary, "_interiors", InteriorStore(vocabulary.trie, vocabulary.eos_token_ids, room=20_000))
    for name in ("strings by length", "keys by pattern and others", "numbers", "anything"):
        check_walks(compile_json_schema(SCHEMAS[name], vocabulary), random.Random(name), walks=2, steps=10)


def test_a_regular_expression_that_goes_on_after_any_character_is_masked_right():
    vocabulary = vocabulary_of(4)
    for pattern in (r"[^\"]*\"x?", r"(a|b|é)*", r"\d{1,3}(\.\d+)?", r"(.|\n)*END"):
        check_walks(compile_regex(pattern, vocabulary), random.Random(pattern), walks=2, steps=10)


def test_threads_compute_interiors_at_once():
    vocabulary = vocabulary_of(6)
    rows: list[bytes] = []
    barrier = threading.Barrier(4)

    def fill() -> None:
        row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
        with compile_json_schema(SCHEMAS["anything"], vocabulary).matcher() as matcher:
            barrier.wait(10)
            state, written = matcher.start, b""
            for byte in b'{"a": ["b", 1':
                matcher.fill_mask(state, row)
                written += row.tobytes()
                state = matcher.advance(state, byte)
            rows.append(written)

    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4
    assert len(set(rows)) == 1


def test_a_batch_goes_on_where_it_was_when_something_had_to_be_built():
    vocabulary = vocabulary_of(7)
    with compile_json_schema(SCHEMAS["anything"], vocabulary).matcher() as matcher:
        states = [matcher.start]
        for byte in b'{"a": ["b", 12':
            states.append(matcher.advance(states[-1], byte))
        rows = np.empty((len(states), vocabulary.masks.rows.shape[1]), np.int32)
        matcher.fill_masks(states, rows)
        row = np.empty(rows.shape[1], np.int32)
        for state, written in zip(states, rows, strict=True):
            matcher.fill_mask(state, row)
            assert (row == written).all()


def test_only_one_token_is_told_from_none_and_several():
    row = np.zeros(40, np.int32)
    assert only_token(row) == -1
    for token in (0, 31, 32, 1279):
        row[token // 32] = np.int64(1 << token % 32).astype(np.int32)
        assert only_token(row) == token
        row[token // 32] |= np.int32(2 if token % 32 == 0 else 1)
        assert only_token(row) == -1
        row[token // 32] = 0
    row[[3, 30]] = 1
    assert only_token(row) == -1
