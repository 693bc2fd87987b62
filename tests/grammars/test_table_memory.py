"""Memory that tables are laid out in again: it begins as a new one would, whatever was in it before."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from structgen.grammars import TokenVocabulary, compile_json_schema
from structgen.grammars.automaton import table_memory
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.table_memory import Template, give_back, reserve, spans_of
from structgen.grammars.automaton.tables import N_ROWS, TRANSITIONS

OPEN = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"pattern": "^[a-f]+$"}}}
CLOSED = OPEN | {"additionalProperties": False}
TEXT = b'"a": 12.5, "b": "abc"}'


@pytest.fixture(autouse=True)
def none_kept() -> None:
    table_memory._free.clear()


def use(schema: object, vocabulary: TokenVocabulary) -> None:
    """Compile and walk; what it took is given back."""
    automaton = compile_json_schema(schema, vocabulary, property_order="any")
    row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
    with automaton.matcher() as matcher:
        state = matcher.start
        text = b"{" + (b"" if schema is CLOSED else b'"c": [1.5, null, "x\\n", {"y": -0.25}], ') + TEXT
        for byte in text:
            matcher.fill_mask(state, row)
            state = matcher.advance(state, byte)
            assert state > 0
    del automaton, matcher
    gc.collect()


@pytest.mark.parametrize("schemas", [(OPEN, OPEN), (CLOSED, OPEN), (OPEN, CLOSED), (OPEN, CLOSED, OPEN)])
def test_memory_used_again_begins_as_new_memory_does(schemas: tuple[object, ...]) -> None:
    vocabulary = TokenVocabulary([*(bytes([one]) for one in range(256)), b""], [256])
    use(schemas[0], vocabulary)
    for schema in schemas:
        use(schema, vocabulary)
    memory, template = table_memory._free[-1]
    assert template is not None
    again = reserve(len(memory), template)
    assert again is memory
    expected = template.written_to(np.zeros(len(memory), np.int32), has_fixed=False)
    assert np.array_equal(again, expected)


def test_tables_copy_all_of_their_base() -> None:
    base = Tables()
    base.make_room(TRANSITIONS, 3)
    base[TRANSITIONS][:3] = 7
    base.set_count(N_ROWS, 3)
    copy = Tables(base)
    assert np.array_equal(copy.memory, base.memory)
    copy[TRANSITIONS][3] = 9
    assert not base[TRANSITIONS][3].any()


def test_what_is_fixed_goes_where_another_template_comes() -> None:
    one, other = (Template(np.full(8, value, np.int32), slice(2, 5), spans_of([slice(0, 1)])) for value in (1, 2))
    memory = reserve(8, one)
    assert memory.tolist() == [1, 0, 1, 1, 1, 0, 0, 0]
    memory[6] = 5
    give_back(memory, spans_of([slice(0, 2), slice(5, 8)]), one)
    assert reserve(8, other).tolist() == [2, 0, 2, 2, 2, 0, 0, 0]
    give_back(memory, spans_of([slice(0, 2)]), other)
    assert not reserve(8).any()
