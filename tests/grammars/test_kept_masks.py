"""A mask that is asked for again is the one that was there before, whatever was forgotten in between."""

from __future__ import annotations

import random

import numpy as np
import pytest
from vocabularies import bytewise

from structgen.grammars import DEAD, TokenVocabulary, compile_json_schema
from structgen.grammars.automaton.interiors import H_GENERATION
from structgen.grammars.automaton.tables import MASKS, N_MASKS

SCHEMAS = [
    {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 9},
    {"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"enum": ["x", "xy", 7]}}},
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": ["number", "null"]}}},
]


@pytest.fixture(scope="module")
def vocabulary():
    """Single bytes, and pairs and triples of what JSON is full of."""
    parts = ['"', '",', '":', '": ', "],", "]", "}", ", ", "ab", "a", "x", "  ", "\n", "7", ".5", '"a', '","', '"ab":']
    texts = {(one + other).encode() for one in parts for other in parts} | {one.encode() for one in parts}
    single = [bytes([byte]) for byte in range(256)]
    return TokenVocabulary([*single, *sorted(texts - set(single)), b""], eos_token_ids=[256 + len(texts - set(single))])


def walked(matcher, generator: random.Random, steps: int) -> dict[int, np.ndarray]:
    """The masks of the states of a random walk, made for the first time in it or before."""
    row, found, state = np.empty(matcher._words, np.int32), {}, matcher.start
    for _ in range(steps):
        matcher.fill_mask(state, row)
        found[state] = row.copy()
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        state = matcher.advance(state, int(generator.choice(allowed.tolist())))
        if state <= 0:
            state = matcher.start
    return found


@pytest.mark.parametrize("schema", SCHEMAS, ids=["array", "object", "any keys"])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_second_mask_is_the_first(vocabulary, schema, order):
    automaton = compile_json_schema(schema, vocabulary, property_order=order)
    with automaton.matcher() as matcher:
        row = np.empty(matcher._words, np.int32)
        for state, first in walked(matcher, random.Random(1), 600).items():
            row[:] = -1  # whatever the row held before
            matcher.fill_mask(state, row)
            assert (row == first).all()


def test_a_kept_mask_says_what_advancing_says(vocabulary):
    automaton = compile_json_schema(SCHEMAS[1], vocabulary)
    with automaton.matcher() as matcher:
        row = np.empty(matcher._words, np.int32)
        for state in walked(matcher, random.Random(2), 200):
            matcher.fill_mask(state, row)
            allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: len(vocabulary)]
            for token in range(len(vocabulary)):
                assert bool(allowed[token]) == (matcher.advance(state, token) != DEAD)


def test_masks_that_find_no_room_any_more_are_made_again(vocabulary):
    generator = random.Random(5)
    text = "".join(generator.choice("abxyz7") for _ in range(12_000))
    automaton = compile_json_schema({"const": text}, vocabulary)
    with automaton.matcher() as matcher:
        tables, row = matcher._stacks._tables, np.empty(matcher._words, np.int32)
        firsts, kept, forgotten, state = {}, 0, 0, matcher.start
        for byte in f'"{text}'.encode():
            matcher.fill_mask(state, row)
            firsts[state] = row.copy()
            forgotten += tables.count(N_MASKS) < kept
            kept = tables.count(N_MASKS)
            state = matcher.advance(state, byte)
        assert forgotten > 1
        assert kept < len(tables[MASKS])
        for known, first in firsts.items():
            matcher.fill_mask(known, row)
            assert (row == first).all()


def test_a_mask_of_too_many_words_is_not_kept_nor_written_past_its_limit():
    texts = [f"{number:05d}" for number in range(32 * 2000)]
    vocabulary = TokenVocabulary([*(f'"{text}"'.encode() for text in texts), b""], eos_token_ids=[len(texts)])
    automaton = compile_json_schema({"enum": texts[::32]}, vocabulary)  # one bit of every word
    with automaton.matcher() as matcher:
        row = np.empty(matcher._words, np.int32)
        for _ in range(2):
            matcher.fill_mask(matcher.start, row)
            assert (row[:2000] == 1).all()
        tables = matcher._stacks._tables
        assert tables.count(N_MASKS) <= 1
        assert not tables[MASKS].any(), "what was written is cleared, so that this memory can be used again"


def test_kept_masks_go_when_the_store_begins_anew(vocabulary):
    automaton = compile_json_schema(SCHEMAS[0], vocabulary)
    with automaton.matcher() as matcher:
        row = np.empty(matcher._words, np.int32)
        firsts = walked(matcher, random.Random(3), 200)
        store = vocabulary._interiors
        store._begin_anew(int(store._memory[H_GENERATION]) + 1)
        for state, first in firsts.items():
            matcher.fill_mask(state, row)
            assert (row == first).all()


def test_single_bytes_alone_have_masks_too():
    automaton = compile_json_schema(SCHEMAS[2], bytewise())
    with automaton.matcher() as matcher:
        row = np.empty(matcher._words, np.int32)
        for state, first in walked(matcher, random.Random(4), 300).items():
            matcher.fill_mask(state, row)
            assert (row == first).all()
