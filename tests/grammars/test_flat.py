"""What stays as it is however long a text is, and however many there have been."""

from __future__ import annotations

import itertools
import json
import random
import statistics
import time

import numpy as np
import pytest
from vocabularies import bytewise, longest_first

from structgen.grammars import DEAD
from structgen.grammars.json_schema import compile_json_schema

RECORDS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 40}},
        "required": ["id"],
        "additionalProperties": {"type": "number"},
    },
}


@pytest.fixture
def vocabulary():
    pieces = [b'"id":', b'"name":', b'","', b"},{", b'":', b"abc", b"12", b", ", b'", "name": "', b'{"']
    return bytewise(*pieces)


def records(generator: random.Random) -> itertools.chain[bytes]:
    """A text of `RECORDS` without end, and never the same."""

    def one() -> bytes:
        record = {"id": generator.randrange(1 << 20), "name": "".join(generator.choices('abcé\n"', k=12))}
        if generator.random() < 0.2:
            record[generator.choice("xyz")] = generator.randrange(100)
        return json.dumps(record, ensure_ascii=False).encode() + b", "

    return itertools.chain([b"["], iter(one, b""))


def walk(automaton, count: int, seed: int) -> tuple[list[float], list[int]]:
    """Masks and steps of a text of ``count`` tokens: seconds and states of the automaton after each thousand."""
    seconds, states, done = [], [], 0
    row = np.empty((len(automaton.vocabulary) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        state, begin = matcher.start, time.thread_time()
        for text in records(random.Random(seed)):
            for token in longest_first(text, automaton.vocabulary):
                begin = time.thread_time()
                matcher.fill_mask(state, row)
                state = matcher.advance(state, token)
                seconds.append(time.thread_time() - begin)
                assert state != DEAD
                done += 1
                if done % 1000 == 0:
                    states.append(automaton.stats().states)
                if done == count:
                    return seconds, states
    raise AssertionError("the text ended")


def test_a_long_text_needs_no_more_states_than_a_short_one(vocabulary):
    _, states = walk(compile_json_schema(RECORDS, vocabulary), 10_000, seed=1)
    assert states[-1] < 1.1 * states[4]


@pytest.mark.slow
def test_a_mask_takes_no_longer_at_the_end_of_a_long_text(vocabulary):
    automaton = compile_json_schema(RECORDS, vocabulary)
    seconds, states = walk(automaton, 100_000, seed=2)
    early, late = (statistics.median(seconds[first : first + 20_000]) for first in (20_000, 80_000))
    assert late < 1.5 * early
    assert states[-1] < 1.1 * states[20]


@pytest.mark.slow
def test_memory_is_flat_over_many_answers(vocabulary):
    """Every answer has keys that there have never been, which automata keep until their tables are begun anew."""
    automaton = compile_json_schema({"type": "object", "additionalProperties": {"type": "integer"}}, vocabulary)
    automaton = type(automaton)(automaton._start, vocabulary, max_bytes=16 << 20)
    sizes = []
    for number in range(100_000):
        with automaton.matcher() as matcher:
            text = b'{"key %d": %d}' % (number, number % 7)
            assert matcher.is_accepting(matcher.advance_bytes(matcher.start, text))
        sizes.append(automaton.nbytes)
    assert automaton.stats().generations > 2
    assert max(sizes[50_000:]) <= max(sizes[:50_000]) <= 16 << 20
