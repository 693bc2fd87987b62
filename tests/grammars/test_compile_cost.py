"""What makes compiling cheap leaves no trace: memory used again, tables that grammars share, a collector that rests."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from vocabularies import bytewise

from structgen.errors import GrammarError
from structgen.grammars import TokenVocabulary, compile_json_schema, compile_regex
from structgen.grammars.automaton import table_memory
from structgen.grammars.automaton.facts import literal_distances, literal_tokens
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.tables import FAR, N_STATES, SETS, STATES
from structgen.grammars.collector import collector_paused

WORDS = [b"the", b"re", b"fore", b"there", b"aaaa", b"aaa"]


@pytest.fixture
def vocabulary():
    return bytewise(*WORDS)


def test_memory_that_is_used_again_is_as_good_as_new():
    fresh = Tables()
    expected = np.array(fresh.memory)
    size, address = len(fresh.memory), fresh.address
    for table in (STATES, SETS):
        fresh.grow(table)
        fresh[table][:] = 7
    fresh.set_count(N_STATES, fresh.rows(STATES) - 1)  # the last is one that was begun
    del fresh
    again = [Tables() for _ in range(2)]
    assert address in [tables.address for tables in again]  # the one that was given back is among them
    for tables in again:
        assert len(tables.memory) == size
        assert np.array_equal(tables.memory, expected)


def test_only_little_memory_is_kept():
    many = [Tables() for _ in range(20)]
    del many
    assert len(table_memory._free) <= 8


def test_a_grammar_begun_from_shared_tables_leaves_them_as_they_are(vocabulary):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}
    first = compile_json_schema(schema, vocabulary)
    text = '{"a": 1, "b": {"c": [1, "d", null, {"e": 2.5e+10}]}, "other": [true]}'
    assert first.accepts(text)
    row, expected = (np.zeros((len(vocabulary) + 31) // 32, np.int32) for _ in range(2))
    with first.matcher() as matcher:
        matcher.fill_mask(matcher.advance_bytes(matcher.start, text[:15].encode()), row)
    second = compile_json_schema(schema, vocabulary)
    assert second.stats()[:4] == compile_json_schema(schema, vocabulary).stats()[:4]
    with second.matcher() as matcher:
        matcher.fill_mask(matcher.advance_bytes(matcher.start, text[:15].encode()), expected)
    assert np.array_equal(row, expected)
    assert second.accepts(text)


def test_the_collector_rests_while_a_scope_is_open_and_no_longer():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_works_again_when_a_compile_fails(vocabulary):
    with pytest.raises(GrammarError):
        compile_regex("(", vocabulary)
    assert gc.isenabled()


def test_the_collector_rests_until_the_last_thread_is_done():
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with collector_paused():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with collector_paused():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_long_literals_are_spelled_by_tokens_that_there_are(vocabulary):
    lengths = vocabulary.lengths
    assert literal_distances(b"therefore", 0, lengths)[0] == 2
    assert literal_distances(b"therefore", 3, lengths)[-1] == 3
    assert literal_tokens(b"therefore", lengths) == 2
    long = b"therefore" * 20
    assert literal_distances(long, 0, lengths)[0] <= literal_tokens(long, lengths) <= 40
    few = TokenVocabulary.from_bytes([b"aaa", b"aa", b"b", b""], [3]).lengths
    assert literal_tokens(b"a" * 100, few) == 34  # the longest first leaves one behind, which is no token
    assert literal_tokens(b"a" * 99 + b"c", few) == FAR
