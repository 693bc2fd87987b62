"""Many answers through one automaton leave its memory flat; a matcher that is open keeps its states."""

from __future__ import annotations

import gc
import random
import threading
import weakref

import numpy as np
import pytest
from vocabularies import bytewise, reads

from structgen.grammars import DEAD, TokenAutomaton
from structgen.grammars.expr import Rule, alternation, byte_set, call, literal, repetition, sequence


@pytest.fixture
def vocabulary():
    return bytewise()


def nested() -> Rule:
    """Brackets within brackets: each kind of nesting is a stack of its own, so every text makes new states."""
    rule = Rule(
        "value",
        lambda: alternation(
            *(
                sequence(literal(opening), repetition(call(rule), 0, None), literal(closing))
                for opening, closing in ((b"(", b")"), (b"[", b"]"), (b"<", b">"))
            ),
            byte_set(b"xyz"),
        ),
    )
    return rule


def answer(generator: random.Random, depth: int = 24) -> bytes:
    brackets = [generator.choice([b"()", b"[]", b"<>"]) for _ in range(depth)]
    return b"".join(pair[:1] for pair in brackets) + b"x" + b"".join(pair[1:] for pair in reversed(brackets))


def test_thousands_of_answers_leave_memory_flat(vocabulary):
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    generator, sizes = random.Random(1), []
    for _ in range(3000):
        assert reads(automaton, answer(generator))
        sizes.append(automaton.nbytes)
    assert max(sizes) <= 1 << 20  # a quarter of what it may have, doubled once by the answer that passed it
    assert max(sizes[-500:]) == max(sizes[:1500])
    assert automaton.stats().generations > 3


def test_texts_that_are_only_checked_leave_memory_flat_too(vocabulary):
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    generator = random.Random(2)
    for _ in range(1000):
        text = answer(generator)
        assert automaton.accepts(text)
        assert automaton.check(text[:-1]).at == len(text) - 1
    assert automaton.nbytes <= 1 << 20
    assert automaton.stats().generations > 1


def test_an_open_matcher_keeps_its_states_when_the_tables_begin_anew(vocabulary):
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    generator = random.Random(3)
    row, before = np.empty(9, np.int32), np.empty(9, np.int32)
    with automaton.matcher() as matcher:
        state = matcher.advance(matcher.advance(matcher.start, ord("(")), ord("["))
        matcher.fill_mask(state, before)
        begun = automaton.stats().generations
        while automaton.stats().generations == begun:
            assert reads(automaton, answer(generator))
        matcher.fill_mask(state, row)
        assert (row == before).all()
        assert matcher.advance(matcher.advance(state, ord("]")), ord(")")) != DEAD
        assert matcher.advance(state, ord(")")) == DEAD


def test_masks_of_one_generation_are_never_anothers(vocabulary):
    """A number names one state before and another after; the pool keeps the masks of both."""
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    generator = random.Random(4)
    row, fresh = np.empty(9, np.int32), np.empty(9, np.int32)
    while automaton.stats().generations < 4:
        text = answer(generator)
        with automaton.matcher() as matcher, TokenAutomaton(nested(), vocabulary).matcher() as other:
            state, same = matcher.start, other.start
            for byte in text:
                matcher.fill_mask(state, row)
                other.fill_mask(same, fresh)
                assert (row == fresh).all()
                assert (vocabulary.masks.rows[matcher.mask_row(state)] == fresh).all()
                state, same = matcher.advance(state, byte), other.advance(same, byte)


def test_tables_go_with_their_last_matcher(vocabulary):
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    generator = random.Random(5)
    matcher = automaton.matcher()
    tables = weakref.ref(matcher._stacks)
    begun = automaton.stats().generations
    while automaton.stats().generations == begun:
        assert reads(automaton, answer(generator))
    assert tables() is not None
    matcher.close()
    del matcher
    gc.collect()
    assert tables() is None


def test_a_grammar_that_is_large_when_it_begins_is_not_begun_anew_for_nothing(vocabulary):
    size = TokenAutomaton(Rule("choice", lambda: byte_set(b"ab")), vocabulary).nbytes
    automaton = TokenAutomaton(Rule("choice", lambda: byte_set(b"ab")), vocabulary, max_bytes=size * 5 // 4)
    for _ in range(50):
        assert reads(automaton, b"a")
    assert automaton.stats().generations == 1


def test_threads_begin_anew_together(vocabulary):
    automaton = TokenAutomaton(nested(), vocabulary, max_bytes=2 << 20)
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        generator = random.Random(seed)
        try:
            for _ in range(400):
                assert reads(automaton, answer(generator))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert automaton.stats().generations > 1
    assert automaton.nbytes <= 1 << 20


def test_counters_say_what_masks_cost(vocabulary):
    automaton = TokenAutomaton(Rule("word", lambda: repetition(byte_set(b"ab"), 1, None)), vocabulary)
    before = automaton.stats()
    assert (before.masks, before.cache_hits, before.generations, before.rules) == (0, 0, 1, 1)
    row = np.empty(9, np.int32)
    with automaton.matcher() as matcher:
        state = matcher.advance(matcher.start, ord("a"))
        for _ in range(5):
            matcher.fill_mask(state, row)
            matcher.mask_row(state)
        matcher.fill_masks([state, DEAD, matcher.start], np.empty((3, 9), np.int32))
        matcher.fill_mask_within(state, row, 1)
        matcher.mask_row(DEAD)
    after = automaton.stats()
    assert after.masks == 5 + 5 + 3 + 1 + 1
    assert after.cache_hits == 4 + 1  # the first that is asked for by its slot is computed
    assert after.states >= 4
    assert after.bytes == automaton.nbytes
