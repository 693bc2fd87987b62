"""What a model is told about its answer."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from structgen.llm.forms import TypeForm
from structgen.llm.instructions import describe_choices, describe_pattern, describe_schema


class Node(BaseModel):
    """A node of a list."""

    value: int = Field(description="its number,\n    counted from 1")
    following: Node | None = None


class Query(BaseModel):
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"
    nodes: list[Node] = []
    sure: bool


def form_of(schema):
    return describe_schema(schema).partition("\n")[2]


def test_an_object_looks_like_itself_with_its_descriptions():
    node = '{"value": integer (its number, counted from 1), "following": Node or null} (A node of a list.)'
    assert TypeForm(Query).instructions == (
        "Answer with a JSON object of this form:\n"
        f'{{"city": string, "unit": "celsius" or "fahrenheit", "nodes": [{node}, ...], "sure": true or false}}'
    )


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({}, "any JSON"),
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"const": {"a": "é"}}, '{"a": "é"}'),
        ({"enum": [1, None, "x"]}, '1 or null or "x"'),
        ({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "array"}, "[...]"),
        ({"type": "object"}, "{...}"),
        ({"properties": {"a": True}}, '{"a": any JSON}'),
        ({"properties": {"a": {"$ref": "#"}}}, '{"a": {"a": the whole again}}'),
        ({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "null"}}}, "null"),
        ({"$ref": "https://elsewhere/Thing"}, "Thing"),
        ({"$ref": "#/nowhere"}, "nowhere"),
        ({"enum": [], "type": 5}, "any JSON"),
    ],
)
def test_every_schema_has_a_form(schema, form):
    assert form_of(schema) == form


@pytest.mark.parametrize(("kind", "word"), [(int, "value"), (list[int], "array"), (Query, "object"), (Any, "value")])
def test_the_kind_of_value_is_named(kind, word):
    assert TypeForm(kind).instructions.startswith(f"Answer with a JSON {word} of this form:\n")


def test_choices_and_patterns_are_named():
    assert describe_choices(["yes", "no"]) == "Answer with exactly one of: yes, no"
    assert "[a-z]+" in describe_pattern("[a-z]+")
