"""No mask lets a text into a dead end, where members and elements that must be there compete for places and keys."""

from __future__ import annotations

import json
import random
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structgen.errors import GrammarLimitExceeded, UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars import compile_json_schema
from structgen.grammars.sampling import byte_vocabulary

ALPHABET = frozenset(b'{}[]:,"abc01nul')
STEPS = 120

PATTERNS = ["^a$", "^[ab]$", "^[abc]$", "^[a-z]$", "^[ab]{1,2}$", "^a", "b$", "^..?$", ""]
VALUES = st.sampled_from(
    [False, {"type": "null"}, {"type": "integer"}, {"const": 0}, {"enum": [0, None]}, {"minItems": 1}]
)
COUNTS = st.integers(0, 4)


@st.composite
def parts(draw, keywords):
    """A schema of one or two of these keywords."""
    chosen = draw(st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=2, unique=True))
    return {keyword: draw(keywords[keyword]) for keyword in chosen}


OBJECT_PARTS = parts(
    {
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), VALUES, min_size=1, max_size=2),
        "properties": st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1, max_size=2),
        "additionalProperties": VALUES,
        "propertyNames": st.sampled_from(PATTERNS).map(lambda pattern: {"pattern": pattern}),
        "required": st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True),
        "dependentRequired": st.just({"a": ["b"]}),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
    }
)
ARRAY_PARTS = parts(
    {
        "prefixItems": st.lists(VALUES, min_size=1, max_size=2),
        "items": VALUES,
        "contains": VALUES,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
    }
) | st.fixed_dictionaries({"contains": VALUES, "minContains": COUNTS, "maxContains": COUNTS})


@st.composite
def schemas(draw, kind, its_parts):
    """Some parts, each of which is met or failed."""
    held = draw(st.lists(st.tuples(its_parts, st.booleans()), min_size=1, max_size=3))
    return {"type": kind, "allOf": [part if is_met else {"not": part} for part, is_met in held]}


def compiled(schema, property_order):
    try:
        return compile_json_schema(schema, byte_vocabulary(), property_order=property_order, whitespace="compact")
    except (UnsatisfiableSchema, UnsupportedSchema, GrammarLimitExceeded):
        return None


def walk(automaton, seed):
    """A random text, as far as `STEPS` bytes; ``None`` where that is not its end."""
    generator, row, text = random.Random(seed), np.zeros(9, np.int32), bytearray()
    with automaton.matcher() as matcher:
        state = matcher.start
        for _ in range(STEPS):
            if matcher.is_accepting(state):
                if generator.random() < 0.1:
                    return bytes(text)
            else:
                assert matcher.fill_mask_within(state, row, matcher.distance(state) - 1), (bytes(text), "goes astray")
            matcher.fill_mask(state, row)
            allowed = set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))) - {256}
            assert allowed or matcher.is_accepting(state), (bytes(text), "is a dead end")
            if not allowed:
                return bytes(text)
            byte = generator.choice(sorted(allowed & ALPHABET or allowed))
            text.append(byte)
            state = matcher.advance(state, int(byte))
    return None


def assert_walks_end_well(schema, property_order, walks):
    automaton = compiled(schema, property_order)
    assume(automaton is not None)
    validator = Draft202012Validator(schema)
    for seed in range(walks):
        text = walk(automaton, seed)
        assert text is None or validator.is_valid(json.loads(text, parse_float=Decimal)), text


@settings(max_examples=100, deadline=None)
@given(schemas("object", OBJECT_PARTS), st.sampled_from(["schema", "any"]))
def test_an_object_always_has_a_way_to_its_end(schema, property_order):
    assert_walks_end_well(schema, property_order, 6)


@settings(max_examples=100, deadline=None)
@given(schemas("array", ARRAY_PARTS))
def test_an_array_always_has_a_way_to_its_end(schema):
    assert_walks_end_well(schema, "schema", 6)


def failing(*patterns):
    """Some member whose key matches each of these is no integer."""
    return [{"not": {"patternProperties": {pattern: {"type": "integer"}}}} for pattern in patterns]


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("property_order", ["schema", "any"])
def test_the_last_key_of_many_that_could_meet_an_obligation_must_meet_it(property_order):
    automaton = compiled({"type": "object", "allOf": failing("^[a-z]$")}, property_order)
    assert automaton is not None
    all_but_z = "{" + ",".join(f'"{letter}":1' for letter in LETTERS[:25])
    accepted = [automaton.accepts(all_but_z + more) for more in (',"z":1}', ',"z":"1"}', ',"zz":1}', ',"zz":1,"z":{}}')]
    assert accepted == [False, True, False, True]
    assert automaton.accepts('{"q":null,' + all_but_z[1:].replace('"q":1,', "") + ',"z":1}')


def test_two_obligations_do_not_count_on_the_same_last_key():
    null, text = (
        {"type": "object", "not": {"patternProperties": {"^[ab]$": {"not": {"type": one}}}}}
        for one in ("null", "string")
    )
    automaton = compiled({"allOf": [null, text]}, "any")
    assert automaton is not None
    texts = [
        '{"a":null,"b":""}',
        '{"b":null,"a":""}',
        '{"a":null,"b":null}',
        '{"a":1,"b":null}',
        '{"c":1,"a":"","b":null}',
    ]
    assert [automaton.accepts(text) for text in texts] == [True, True, False, False, True]
    with automaton.matcher() as matcher:
        assert matcher.advance_bytes(matcher.start, b'{"a":1') < 0


def test_room_is_kept_for_as_many_members_as_all_obligations_need():
    schema = {"type": "object", "maxProperties": 2, "propertyNames": {"pattern": "^..$"}, "allOf": failing("a", "d")}
    automaton = compiled(schema, "any")
    assert automaton is not None
    texts = ['{"ad":""}', '{"da":""}', '{"ax":"","dx":""}', '{"xx":1,"da":""}', '{"ad":1,"da":""}', '{"xx":1,"ax":""}']
    assert [automaton.accepts(text) for text in texts] == [True, True, True, True, True, False]
    with automaton.matcher() as matcher:
        assert matcher.advance_bytes(matcher.start, b'{"xx":1,"ax') < 0
        assert matcher.advance_bytes(matcher.start, b'{"ad":1,"da":1}') < 0


def test_more_members_than_there_are_keys_are_not_asked_for():
    keys = {"type": "object", "propertyNames": {"pattern": "^[a-z]{2}[0-9]$"}}
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema({**keys, "minProperties": 6_761}, byte_vocabulary())
    assert compiled({**keys, "minProperties": 6_760}, "any") is not None
    some = {**keys, "properties": {"ab1": True}, "minProperties": 6_760}
    with pytest.raises(UnsupportedSchema, match="6,759") as refused:
        compile_json_schema(some, byte_vocabulary())
    assert refused.value.pointer == "/minProperties"


def test_a_set_is_not_asked_for_more_strings_than_there_are():
    items = {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": "^[a-z]{2}[0-9]$"}}
    with pytest.raises(UnsupportedSchema, match="6,761"):
        compile_json_schema({**items, "minItems": 6_761}, byte_vocabulary())
    assert compiled({**items, "minItems": 6_760}, "any") is not None
