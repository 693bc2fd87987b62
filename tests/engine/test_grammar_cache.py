"""Grammars are compiled once for their content."""

from __future__ import annotations

import pytest

from structgen.engine.grammar_cache import GrammarCache
from structgen.engine.request import GrammarSpec
from structgen.errors import InvalidRequest, PluginError, UnsupportedSchema
from structgen.grammars import TokenVocabulary


@pytest.fixture(scope="module")
def vocabulary():
    return TokenVocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [b""], [256])


def test_equal_content_is_one_grammar(vocabulary):
    cache = GrammarCache(vocabulary)
    first = cache.get(GrammarSpec("choice", ["a", "b"]))
    assert cache.get(GrammarSpec("choice", ["a", "b"])) is first
    assert cache.get(GrammarSpec("choice", ["b", "a"])) is not first


def test_the_order_of_properties_is_content(vocabulary):
    cache = GrammarCache(vocabulary)
    one, other = ({"type": "object", "properties": {a: {}, b: {}}} for a, b in (("x", "y"), ("y", "x")))
    for schema in (one, other):
        schema["additionalProperties"] = False
        schema["properties"] = {name: {"type": "null"} for name in schema["properties"]}
    assert cache.get(GrammarSpec("json_schema", one)) is not cache.get(GrammarSpec("json_schema", other))


def test_the_least_recently_used_goes_first(vocabulary):
    cache = GrammarCache(vocabulary, capacity=2)
    specs = [GrammarSpec("choice", [text]) for text in "abc"]
    first, second = cache.get(specs[0]), cache.get(specs[1])
    cache.get(specs[0])
    cache.get(specs[2])
    assert cache.get(specs[0]) is first
    assert cache.get(specs[1]) is not second


def test_what_cannot_be_compiled_says_why(vocabulary):
    cache = GrammarCache(vocabulary)
    with pytest.raises(UnsupportedSchema, match="multipleOf"):
        cache.get(GrammarSpec("json_schema", {"type": "number", "multipleOf": 0.01}))
    with pytest.raises(InvalidRequest, match="plain data"):
        cache.get(GrammarSpec("choice", [b"bytes"]))
    with pytest.raises(PluginError, match="json_schema"):
        cache.get(GrammarSpec("jsonschema", {}))
