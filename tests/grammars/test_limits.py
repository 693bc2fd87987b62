"""Compiling ends at its limits, with the number, and for its caller alone."""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from concurrent.futures import CancelledError

import pytest
from vocabularies import bytewise, reads

from structgen.errors import GrammarLimitExceeded, InvalidGrammar, InvalidRegex
from structgen.grammars import (
    TokenAutomaton,
    TokenVocabulary,
    compile_choice,
    compile_in_background,
    compile_json_schema,
    compile_regex,
)
from structgen.grammars.expr import Rule, byte_set, literal, repetition, sequence
from structgen.grammars.limits import checkpoint, limited
from structgen.grammars.recipe import front_end

FRONT_ENDS = [(compile_choice, ["yes", "no"]), (compile_regex, "[ab]{3}"), (compile_json_schema, {"type": "boolean"})]


@pytest.fixture(scope="module")
def vocabulary():
    return bytewise()


@front_end("endless")
def compile_endless(source: str, vocabulary: TokenVocabulary, **limits) -> TokenAutomaton:
    """A front end whose work never ends by itself: each node it makes is new."""
    number = 0
    while True:
        number += 1
        literal(f"{source} {number}".encode())


@pytest.mark.parametrize(("compile_grammar", "source"), FRONT_ENDS)
def test_every_front_end_takes_all_limits(vocabulary, compile_grammar, source):
    names = list(inspect.signature(compile_grammar).parameters)
    assert names[-4:] == ["timeout", "max_states", "max_bytes", "cancel"]
    wide = {"timeout": 60.0, "max_states": 10_000, "max_bytes": 1 << 24, "cancel": threading.Event()}
    assert compile_grammar(source, vocabulary, **wide).accepts(compile_grammar(source, vocabulary).sample())


@pytest.mark.parametrize(("compile_grammar", "source"), FRONT_ENDS)
@pytest.mark.parametrize(
    ("limit", "message"),
    [({"timeout": 0}, "timeout=0 s"), ({"max_states": 1}, "max_states=1 "), ({"max_bytes": 1000}, "max_bytes=1,000")],
)
def test_a_limit_that_is_passed_is_named_with_its_number(vocabulary, compile_grammar, source, limit, message):
    with pytest.raises(GrammarLimitExceeded, match=message):
        compile_grammar(source, vocabulary, **limit)
    compile_grammar(source, vocabulary)  # the next one is free of it


@pytest.mark.parametrize(("compile_grammar", "source"), FRONT_ENDS)
def test_a_compile_that_was_cancelled_before_it_began_does_not_begin(vocabulary, compile_grammar, source):
    event = threading.Event()
    event.set()
    with pytest.raises(GrammarLimitExceeded, match="cancelled after"):
        compile_grammar(source, vocabulary, cancel=event)


def test_a_compile_ends_when_its_time_is_up(vocabulary):
    before = time.monotonic()
    with pytest.raises(GrammarLimitExceeded, match=r"timeout=0\.05 s"):
        compile_endless("a", vocabulary, timeout=0.05)
    assert time.monotonic() - before < 5


def test_a_compile_is_stopped_from_another_thread(vocabulary):
    event = threading.Event()
    timer = threading.Timer(0.05, event.set)
    timer.start()
    with pytest.raises(GrammarLimitExceeded, match="cancelled after"):
        compile_endless("b", vocabulary, cancel=event)
    timer.join()


class Watched(threading.Event):
    """Counts how often a compile looks whether it was cancelled."""

    looks = 0

    def is_set(self) -> bool:
        self.looks += 1
        return super().is_set()


@pytest.mark.parametrize(
    ("compile_grammar", "source", "looks"),
    [
        (compile_choice, [f"text {number}" for number in range(500)], 1500),
        (compile_regex, "(ab?|[cd]e){1,500}", 1500),
        (
            compile_json_schema,
            {
                "type": "object",
                "properties": {str(number): {"const": number} for number in range(500)},
                "additionalProperties": False,
            },
            500,
        ),
    ],
)
def test_a_compile_looks_at_its_limits_all_the_way(vocabulary, compile_grammar, source, looks):
    event = Watched()
    compile_grammar(source, vocabulary, cancel=event)
    assert event.looks > looks


def test_the_limits_of_one_thread_are_not_anothers(vocabulary):
    event, found = threading.Event(), []
    thread = threading.Thread(target=lambda: found.append(compile_regex("a", vocabulary)))
    with contextlib.suppress(GrammarLimitExceeded), limited(cancel=event):
        event.set()
        thread.start()
        thread.join()
        with pytest.raises(GrammarLimitExceeded):
            checkpoint()
    assert len(found) == 1


def test_work_that_ends_late_is_not_taken():
    event = threading.Event()
    with pytest.raises(GrammarLimitExceeded), limited(cancel=event):
        event.set()


def test_scopes_nest_and_all_of_them_hold():
    with limited(max_states=5), limited(max_states=100):
        checkpoint(5)
        with pytest.raises(GrammarLimitExceeded, match="max_states=5 "):
            checkpoint(6)
    checkpoint(1000)


@pytest.mark.parametrize(
    "limit", [{"timeout": -1}, {"timeout": float("nan")}, {"timeout": True}, {"max_states": 1.5}, {"cancel": object()}]
)
def test_a_limit_that_is_no_limit_is_refused(vocabulary, limit):
    with pytest.raises(InvalidGrammar, match=next(iter(limit))):
        compile_regex("a", vocabulary, **limit)


def test_an_unknown_limit_is_a_type_error(vocabulary):
    with pytest.raises(TypeError, match="time_out"):
        compile_regex("a", vocabulary, time_out=1)


def endless_list() -> Rule:
    return Rule("list", lambda: repetition(sequence(byte_set(b"abc"), literal(b"-x-y-z")), 0, 300))


def test_states_made_in_use_count_for_the_request_that_made_them(vocabulary):
    automaton = TokenAutomaton(endless_list(), vocabulary, max_states=200)
    for _ in range(20):
        assert automaton.accepts("a-x-y-z" * 3)  # never near the limit, however often
    with pytest.raises(GrammarLimitExceeded, match="max_states=200 "):
        reads(automaton, b"a-x-y-z" * 300)
    assert automaton.accepts("a-x-y-z" * 3)


def test_a_future_gives_the_automaton_or_the_error(vocabulary):
    assert compile_in_background(compile_regex, "a|b", vocabulary).result(timeout=60).accepts("a")
    with pytest.raises(InvalidRegex):
        compile_in_background(compile_regex, "(", vocabulary).result(timeout=60)
    with pytest.raises(GrammarLimitExceeded):
        compile_in_background(compile_endless, "c", vocabulary, timeout=0.05).result(timeout=60)


def test_a_future_that_is_cancelled_stops_its_compile(vocabulary):
    future = compile_in_background(compile_endless, "d", vocabulary)
    threads = [thread for thread in threading.enumerate() if thread.name == "structgen-compile"]
    assert future.cancel()
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


@pytest.mark.parametrize("keyword", ["minProperties", "minItems", "minLength"])
def test_a_count_that_no_answer_reaches_costs_no_time(vocabulary, keyword):
    automaton = compile_json_schema({keyword: 10**9}, vocabulary, timeout=5)
    assert automaton.accepts("null")
    assert not automaton.accepts({"minProperties": '{"a":1}', "minItems": "[1]", "minLength": '"a"'}[keyword])
