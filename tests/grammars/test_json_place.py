"""The place where a JSON text is cut, for every cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.grammars.json_place import place_in_json


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ""),
        ("{", ""),
        ('{"a', ""),
        ('{"a"', ""),
        ('{"a":', "/a"),
        ('{"a": 1', "/a"),
        ('{"a": 1 ', ""),
        ('{"a": "x', "/a"),
        ('{"a": "x"', ""),
        ('{"a": "x\\"', "/a"),
        ('{"a": 1, ', ""),
        ('{"a": 1, "b/c~": [', "/b~1c~0/0"),
        ('{"a": [1, {"b": [[], "', "/a/1/b/1"),
        ('{"a": [1, {"b": []}', "/a"),
        ('{"a": [1]', ""),
        ('{"\\u0061": t', "/a"),
        ('{"a:{": "}", "b": ', "/b"),
        ("}", None),
        ("[" * 3, "/0/0/0"),
    ],
)
def test_the_pointer_names_the_innermost_value(text, place):
    assert place_in_json(text) == place


values = st.recursive(
    st.one_of(st.none(), st.integers(), st.text('ab"\\:,{}[]/~')),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('a"\\/~{', max_size=3), inner, max_size=3)
    ),
)


def mark(value: object, path: str = "") -> object:
    """The same shape, every scalar replaced by its own pointer."""
    if isinstance(value, list):
        return [mark(item, f"{path}/{place}") for place, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: mark(item, f"{path}/{key.replace('~', '~0').replace('/', '~1')}") for key, item in value.items()}
    return f"at {path}"


@given(values)
def test_a_cut_inside_of_a_scalar_is_at_the_scalar(value):
    text = json.dumps(mark(value))
    for place in range(len(text)):
        if text.startswith('"at ', place):
            scalar, _ = json.JSONDecoder().raw_decode(text, place)
            assert place_in_json(text[: place + 3]) == scalar.removeprefix("at ")
