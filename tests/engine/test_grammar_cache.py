"""Grammars are compiled once for their content."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from vocabularies import bytewise

from structgen.engine.grammar_cache import GrammarCache
from structgen.engine.request import GrammarSpec
from structgen.errors import (
    GrammarLimitExceeded,
    InvalidGrammar,
    InvalidRegex,
    InvalidRequest,
    InvalidSchema,
    PluginError,
)
from structgen.plugins import registry


@pytest.fixture(scope="module")
def vocabulary():
    return bytewise()


def test_equal_content_is_one_grammar(vocabulary):
    cache = GrammarCache(vocabulary)
    first = cache.get(GrammarSpec("choice", ["a", "b"]))
    assert cache.get(GrammarSpec("choice", ["a", "b"])) is first
    assert cache.get(GrammarSpec("choice", ["b", "a"])) is not first


def test_keys_that_are_no_strings_are_not_taken_for_strings(vocabulary):
    cache = GrammarCache(vocabulary)
    cache.get(GrammarSpec("json_schema", {"properties": {"1": {}}}))
    with pytest.raises(InvalidSchema):
        cache.get(GrammarSpec("json_schema", {"properties": {1: {}}}))


def test_a_kind_is_a_name(vocabulary):
    with pytest.raises(InvalidGrammar, match="kind"):
        GrammarCache(vocabulary).get(GrammarSpec(None, "a"))


def test_the_order_of_properties_is_content(vocabulary):
    cache = GrammarCache(vocabulary)
    one, other = ({"type": "object", "properties": {a: {}, b: {}}} for a, b in (("x", "y"), ("y", "x")))
    for schema in (one, other):
        schema["additionalProperties"] = False
        schema["properties"] = {name: {"type": "null"} for name in schema["properties"]}
    assert cache.get(GrammarSpec("json_schema", one)) is not cache.get(GrammarSpec("json_schema", other))


def test_the_least_recently_used_goes_first(vocabulary):
    size = GrammarCache(vocabulary).get(GrammarSpec("choice", ["a"])).nbytes
    cache = GrammarCache(vocabulary, max_bytes=5 * size // 2)
    specs = [GrammarSpec("choice", [text]) for text in "abc"]
    first, second = cache.get(specs[0]), cache.get(specs[1])
    cache.get(specs[0])
    cache.get(specs[2])
    assert cache.get(specs[0]) is first
    assert cache.get(specs[1]) is not second
    assert cache.stats().evictions == 2
    assert cache.stats().grammars == 2


def test_growing_tables_count_when_their_grammar_is_asked_for_again(vocabulary):
    words = GrammarSpec("regex", "[ab]*a[ab]{9}")  # a state for each of the last ten letters
    other = GrammarSpec("choice", ["other"])
    size = GrammarCache(vocabulary).get(words).nbytes
    cache = GrammarCache(vocabulary, max_bytes=3 * size)
    kept = cache.get(words)
    cache.get(other)
    for number in range(1024):
        kept.accepts(f"{number:010b}".translate({48: "a", 49: "b"}))
    assert kept.nbytes > 2 * size
    assert cache.stats().grammars == 2
    assert cache.get(words) is kept
    assert cache.stats().grammars == 1
    assert cache.stats().bytes >= kept.nbytes


def test_a_grammar_larger_than_the_limit_is_kept_while_it_is_the_last(vocabulary):
    cache = GrammarCache(vocabulary, max_bytes=10)
    spec = GrammarSpec("choice", ["a"])
    assert cache.get(spec) is cache.get(spec)
    cache.get(GrammarSpec("choice", ["b"]))
    assert cache.stats() == cache.stats()._replace(grammars=1, hits=1, misses=2, evictions=1)


def in_threads(number: int, work: Callable[[], object]) -> list[object]:
    """What ``work`` gives or raises on each of so many threads at once."""

    def outcome(_: int) -> object:
        start.wait()
        try:
            return work()
        except Exception as error:
            return error

    start = threading.Barrier(number)
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(outcome, range(number)))


def slow(compile_grammar: Callable[..., object], calls: list[object]) -> Callable[..., object]:
    def compile_slowly(source, vocabulary, **options):
        calls.append(source)
        time.sleep(0.1)
        return compile_grammar(source, vocabulary, **options)

    return compile_slowly


@pytest.fixture
def calls(monkeypatch) -> list[object]:
    """The sources that the front end ``regex`` is given, which takes its time here."""
    calls: list[object] = []
    entries = registry("structgen.grammars")
    load = entries.load
    monkeypatch.setattr(entries, "load", lambda name: slow(load(name), calls) if name == "regex" else load(name))
    return calls


def test_equal_requests_at_once_are_compiled_once(vocabulary, calls):
    cache = GrammarCache(vocabulary)
    found = in_threads(8, lambda: cache.get(GrammarSpec("regex", "a+")))
    assert calls == ["a+"]
    assert len(set(found)) == 1
    assert cache.stats() == cache.stats()._replace(grammars=1, hits=7, misses=1)


def test_all_who_wait_for_a_grammar_get_its_error_and_it_is_not_kept(vocabulary, calls):
    cache = GrammarCache(vocabulary)
    found = in_threads(4, lambda: cache.get(GrammarSpec("regex", "(")))
    assert [type(error) for error in found] == [InvalidRegex] * 4
    assert calls == ["("]
    with pytest.raises(InvalidRegex):
        cache.get(GrammarSpec("regex", "("))
    assert calls == ["(", "("]
    assert cache.stats().grammars == 0


def test_other_requests_do_not_wait(vocabulary, calls):
    cache = GrammarCache(vocabulary)
    kept = cache.get(GrammarSpec("choice", ["kept"]))
    patterns = iter("abcd")
    before = time.monotonic()
    found = in_threads(4, lambda: cache.get(GrammarSpec("regex", next(patterns))))
    assert cache.get(GrammarSpec("choice", ["kept"])) is kept
    assert len(set(found)) == 4
    assert time.monotonic() - before < 10


def test_an_interrupted_compile_leaves_the_work_to_the_next(vocabulary, calls, monkeypatch):
    cache = GrammarCache(vocabulary)
    compile_grammar = cache._compile
    begun, interrupts = threading.Event(), iter([KeyboardInterrupt()])

    def interrupted(spec):
        begun.set()
        time.sleep(0.2)
        for error in interrupts:
            raise error
        return compile_grammar(spec)

    monkeypatch.setattr(cache, "_compile", interrupted)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, GrammarSpec("choice", ["a"]))
        begun.wait()
        second = pool.submit(cache.get, GrammarSpec("choice", ["a"]))
        with pytest.raises(KeyboardInterrupt):
            first.result()
        assert second.result().accepts("a")


def test_limits_end_a_compile_for_its_request_alone(vocabulary):
    cache = GrammarCache(vocabulary, timeout=0)
    with pytest.raises(GrammarLimitExceeded, match="timeout=0 s"):
        cache.get(GrammarSpec("choice", ["a"]))
    cache = GrammarCache(vocabulary)
    with pytest.raises(GrammarLimitExceeded, match="max_states=1 "):
        cache.get(GrammarSpec("choice", ["a"], {"max_states": 1}))
    assert cache.get(GrammarSpec("choice", ["a"])).accepts("a")
    assert not cache.get(GrammarSpec("choice", ["a"])).accepts("b")


def test_an_option_that_its_kind_does_not_take_is_named(vocabulary):
    with pytest.raises(InvalidGrammar, match="whitspace"):
        GrammarCache(vocabulary).get(GrammarSpec("json_schema", {}, {"whitspace": "compact"}))


def test_what_cannot_be_compiled_says_why(vocabulary):
    cache = GrammarCache(vocabulary)
    with pytest.raises(InvalidSchema, match="/properties/a/type"):
        cache.get(GrammarSpec("json_schema", {"properties": {"a": {"type": "text"}}}))
    with pytest.raises(InvalidRequest, match="plain data"):
        cache.get(GrammarSpec("choice", [b"bytes"]))
    with pytest.raises(PluginError, match="json_schema"):
        cache.get(GrammarSpec("jsonschema", {}))
