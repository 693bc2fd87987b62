"""Keys with half of a surrogate pair: no JSON text has them."""

from __future__ import annotations

import pytest

from structgen.errors import UnsatisfiableSchema
from structgen.grammars import compile_json_schema
from structgen.grammars.sampling import byte_vocabulary

HALF = "\ud800"


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {HALF: {}, "a": {}}},
        {"type": "object", "properties": {HALF: {}, "a": {}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {}, HALF: {"type": "string"}}, "maxProperties": 1},
        {"type": "object", "dependentRequired": {HALF: ["b"]}},
    ],
)
def test_a_key_that_is_no_text_is_never_there(schema, order):
    automaton = compile_json_schema(schema, byte_vocabulary(), property_order=order)
    assert automaton.accepts("{}")
    assert automaton.accepts('{"a":1}')
    assert not automaton.accepts(r'{"\ud800":1}')


def test_what_needs_such_a_key_cannot_be_there_either():
    automaton = compile_json_schema({"type": "object", "dependentRequired": {"a": [HALF]}}, byte_vocabulary())
    assert automaton.accepts('{"b":1}')
    assert not automaton.accepts('{"a":1}')


def test_such_a_key_cannot_be_required():
    schema = {"type": "object", "properties": {HALF: {}}, "required": [HALF]}
    with pytest.raises(UnsatisfiableSchema):
        compile_json_schema(schema, byte_vocabulary())
