"""The TypedDict of typing is taken as that of typing_extensions is, on every Python."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import NotRequired

from structgen import SamplingParams
from structgen.errors import InvalidRequest
from structgen.llm.typed_dicts import adapter_of


class Base(typing.TypedDict):
    """Has one key."""

    first: int


class Partial(Base, total=False):
    second: Annotated[str, Field(pattern="^a")]


class Marked(typing.TypedDict):
    left_out: NotRequired[int]
    there: Literal["x", 1]


class Node(typing.TypedDict):
    value: bool
    children: list[Node]
    other: Partial | None


class ModernBase(typing_extensions.TypedDict):
    """Has one key."""

    first: int


class ModernPartial(ModernBase, total=False):
    second: Annotated[str, Field(pattern="^a")]


class ModernMarked(typing_extensions.TypedDict):
    left_out: NotRequired[int]
    there: Literal["x", 1]


class Outer(typing_extensions.TypedDict):
    inner: Base


def schema_of(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    schema = adapter.json_schema()
    schema.pop("title", None)
    return schema


@pytest.mark.parametrize(
    ("kind", "modern"),
    [(Base, ModernBase), (Partial, ModernPartial), (Marked, ModernMarked)],
    ids=["base", "part", "marked"],
)
def test_it_has_the_schema_of_its_modern_twin(kind, modern):
    assert schema_of(adapter_of(kind)) == schema_of(TypeAdapter(modern))


def test_it_is_found_inside_other_types():
    adapter = adapter_of(dict[str, list[Partial] | None])
    assert adapter.validate_json('{"a": [{"first": 1}], "b": null}') == {"a": [{"first": 1}], "b": None}
    assert adapter_of(Annotated[tuple[Base, int], "note"]).validate_json('[{"first": 1}, 2]') == ({"first": 1}, 2)
    assert adapter_of(Outer).validate_python({"inner": {"first": 1}}) == {"inner": {"first": 1}}


def test_it_may_hold_itself_and_others():
    adapter = adapter_of(Node)
    leaf = {"value": True, "children": [], "other": {"first": 1, "second": "ab"}}
    tree = {"value": False, "children": [leaf], "other": None}
    assert adapter.validate_python(tree) == tree
    with pytest.raises(ValidationError):
        adapter.validate_python({"value": True, "children": [{}], "other": None})
    with pytest.raises(ValidationError):
        adapter.validate_python({**leaf, "other": {"second": "ab"}})


def test_the_front_door_takes_it(tiny_llm):
    params = SamplingParams(temperature=1.3, seed=1, max_tokens=120)
    found = tiny_llm.generate("Hi", schema=Marked, sampling_params=params)
    assert TypeAdapter(ModernMarked).validate_python(found) == found


def test_an_annotation_that_names_nothing_is_refused(tiny_llm):
    class Lost(typing.TypedDict):
        a: Nowhere  # noqa: F821 - that is the point

    with pytest.raises(InvalidRequest, match="Nowhere"):
        tiny_llm.generate("Hi", schema=Lost)
