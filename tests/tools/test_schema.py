import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Discriminator, Field
from typing_extensions import TypedDict

import structgen


class Node(BaseModel):
    next: Annotated[Optional["Node"], Field(description="the rest")] = None
    twin: Annotated["Node", Field(description="its twin")] = None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Cat:
    lives: int
    kind: Literal["cat"] = "cat"


@dataclass
class Dog:
    name: str
    kind: Literal["dog"] = "dog"


@dataclass
class Owner:
    pet: Annotated[Cat | Dog, Discriminator("kind")]


class Address(TypedDict):
    street: str


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


def schema_of(annotation: Any, docstring: str = "") -> dict[str, Any]:
    def f(x): ...

    f.__annotations__ = {"x": annotation}
    f.__doc__ = docstring
    return structgen.tool(f).parameters


def subschemas(schema: Any):
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from subschemas(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from subschemas(part)


@pytest.mark.parametrize("annotation", [Node, Colour, Owner, Address, Open, list[Node], dict[str, int], Any])
def test_every_schema_is_valid_and_a_ref_stands_alone(annotation):
    schema = schema_of(annotation, "Do.\n\nArgs:\n    x: Described.")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["x"]["description"] == "Described."
    assert all(set(part) == {"$ref"} for part in subschemas(schema) if "$ref" in part)


def test_a_described_recursive_reference_stays_a_reference():
    definition = schema_of(Node)["$defs"]["Node"]
    assert definition["properties"]["twin"] == {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "its twin"}


@pytest.mark.parametrize("annotation", [Node, Owner, Address])
def test_objects_are_closed(annotation):
    objects = [part for part in subschemas(schema_of(annotation)) if part.get("type") == "object"]
    assert len(objects) > 1
    assert all(part["additionalProperties"] is False for part in objects)


def test_an_object_that_its_author_left_open_stays_open():
    assert schema_of(Open)["$defs"]["Open"]["additionalProperties"] is True
    assert schema_of(dict[str, int])["properties"]["x"]["additionalProperties"] == {"type": "integer"}


def test_a_tagged_union_is_an_any_of_whose_tags_are_required():
    definitions = schema_of(Owner)["$defs"]
    assert definitions["Owner"]["properties"]["pet"] == {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    assert definitions["Cat"]["properties"]["kind"]["const"] == "cat"
    assert "kind" in definitions["Cat"]["required"]


def test_a_null_default_is_left_out_and_another_kept():
    def f(a: str | None = None, b: int = 3, c: str = object()): ...

    properties = structgen.tool(f).parameters["properties"]
    assert properties["a"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert properties["b"] == {"type": "integer", "default": 3}
    assert properties["c"] == {"type": "string"}


def test_what_the_author_wrote_in_field_goes_before_the_docstring():
    schema = schema_of(Annotated[int, Field(description="mine", ge=1, alias="from")], "Do.\n\n:param x: its")
    assert schema["properties"] == {"from": {"type": "integer", "minimum": 1, "description": "mine"}}
    assert schema["required"] == ["from"]


def test_changing_a_schema_that_was_handed_out_changes_nothing():
    @structgen.tool
    def f(x: list[int]): ...

    before = json.dumps(f.parameters)
    f.parameters["properties"]["x"]["items"]["type"] = "string"
    f.parameters["properties"].clear()
    assert json.dumps(f.parameters) == before


def test_what_the_schema_admits_the_tool_accepts():
    @structgen.tool
    def f(
        pet: Annotated[Cat | Dog, Discriminator("kind")],
        colour: Colour,
        tags: list[str] = [],  # noqa: B006 - as users write it
    ): ...

    validator = jsonschema.Draft202012Validator(f.parameters)
    for arguments in (
        {"pet": {"kind": "cat", "lives": 9}, "colour": "red"},
        {"pet": {"kind": "dog", "name": "Rex"}, "colour": "blue", "tags": ["a"]},
    ):
        validator.validate(arguments)
        f.validate(arguments)
    for arguments in ({"pet": {"lives": 9}, "colour": "red"}, {"pet": {"kind": "cat", "lives": 9}, "colour": "green"}):
        assert not validator.is_valid(arguments)
