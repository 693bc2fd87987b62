"""Masks have slots that never move, the least recently used give way, and a running step keeps its own."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import ALL_TOKENS, NO_TOKENS, MaskPool, TokenVocabulary, compile_choice


def filled_with(value: int):
    def fill(row):
        row[:] = value

    return fill


@pytest.fixture
def pool():
    return MaskPool(np.full(2, -1, np.int32), slots=4)


def test_the_first_rows_are_everything_and_nothing(pool):
    assert (pool.rows[ALL_TOKENS] == -1).all()
    assert (pool.rows[NO_TOKENS] == 0).all()


def test_a_mask_is_computed_once_while_it_has_a_slot(pool):
    slot = pool.slot("a", filled_with(1))
    assert pool.slot("a", filled_with(2)) == slot
    assert (pool.rows[slot] == 1).all()
    assert (pool.hits, pool.misses) == (1, 1)


def test_the_least_recently_used_mask_leaves_first(pool):
    kept, lost = pool.slot("kept", filled_with(1)), pool.slot("lost", filled_with(2))
    pool.slot("kept", filled_with(3))
    assert pool.slot("new", filled_with(4)) == lost
    assert (pool.rows[kept] == 1).all()


def test_a_running_step_keeps_its_slots(pool):
    with pool.step():
        pool.slot("a", filled_with(1))
        pool.slot("b", filled_with(2))
        with pytest.raises(GrammarLimitExceeded, match="mask_slots"):
            pool.slot("c", filled_with(3))
    pool.slot("c", filled_with(3))


def test_rows_never_move(pool):
    address = pool.rows.ctypes.data
    for number in range(100):
        pool.slot(number, filled_with(number))
    assert pool.rows.ctypes.data == address


def test_a_mask_that_fails_to_be_written_leaves_its_slot_free(pool):
    def fail(row):
        raise GrammarLimitExceeded("too large")

    for _ in range(5):
        with pytest.raises(GrammarLimitExceeded):
            pool.slot("a", fail)
    with pool.step():
        pool.slot("b", filled_with(1))
        pool.slot("c", filled_with(2))


def test_threads_get_the_masks_that_they_asked_for():
    vocabulary = TokenVocabulary.from_bytes([bytes([byte]) for byte in b"abcdefgh"] + [b""], [8], mask_slots=4)
    automata = [compile_choice([text], vocabulary) for text in ("abcdefgh", "hgfedcba", "aabbccdd")]
    wrong: list[object] = []

    def walk(number: int) -> None:
        row = np.empty(1, np.int32)
        text = ("abcdefgh", "hgfedcba", "aabbccdd")[number]
        for _ in range(200):
            with automata[number].matcher() as matcher:
                state = matcher.start
                for letter in text:
                    token = "abcdefgh".index(letter)
                    matcher.fill_mask(state, row)
                    if row[0] != 1 << token:
                        wrong.append((text, letter, row[0]))
                    state = matcher.advance(state, token)

    threads = [threading.Thread(target=walk, args=(number % 3,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
