"""What the caller may ask for as an answer, and what is read from a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from structgen.errors import AnswerRefused, InvalidRequest
from structgen.llm.forms import (
    ChoiceForm,
    GrammarForm,
    RegexForm,
    SchemaForm,
    TagForm,
    TextForm,
    TypeForm,
    answer_form,
)
from structgen.llm.json_schema import close_objects


class Weather(BaseModel):
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"

    @field_validator("city")
    @classmethod
    def city_is_capitalized(cls, city: str) -> str:
        if not city[:1].isupper():
            raise ValueError("a city is written with a capital letter")
        return city


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


class Node(BaseModel):
    value: int
    following: Annotated[Node | None, Field(description="the rest")] = None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Weather, '{"city":"Oslo"}', Weather(city="Oslo")),
        (Point, '{"x": 1}', Point(1, 0)),
        (Named, '{"name": "a"}', {"name": "a"}),
        (list[int], "[1, 2]", [1, 2]),
        (Literal["a", "b"], '"a"', "a"),
        (int | str, "5", 5),
        (int | None, "null", None),
        (bool, "true", True),
        (Node, '{"value":1,"following":{"value":2}}', Node(value=1, following=Node(value=2))),
    ],
)
def test_any_type_that_pydantic_knows_is_a_form(kind, text, value):
    form = answer_form(kind)
    assert isinstance(form, TypeForm)
    assert form.read(text) == value


def test_a_validator_refuses_in_words_for_the_model():
    with pytest.raises(AnswerRefused, match="city: Value error, a city is written with a capital letter") as caught:
        TypeForm(Weather).read('{"city":"oslo"}')
    assert caught.value.text == '{"city":"oslo"}'


def test_a_schema_gives_parsed_json():
    form = answer_form({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert isinstance(form, SchemaForm)
    assert form.read('{"a": 1}') == {"a": 1}
    with pytest.raises(AnswerRefused, match=r"^/a: '"):
        form.read('{"a": "x"}')


def test_a_schema_is_taken_as_it_is():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert answer_form(schema).grammar.source == schema


@pytest.mark.parametrize("kind", [Weather, Point, Named, Node])
def test_types_that_ignore_other_keys_are_closed(kind):
    source = TypeForm(kind).grammar.source
    assert source.get("additionalProperties") is False or source["$defs"]["Node"]["additionalProperties"] is False


def test_closing_goes_everywhere_and_changes_no_instance_and_nothing_of_the_callers():
    inner = {"properties": {"a": {}}}
    schema = {
        "properties": {"p": inner, "open": {**inner, "additionalProperties": True}},
        "anyOf": [inner],
        "items": inner,
        "$defs": {"properties": inner},
        "const": inner,
        "default": inner,
        "enum": [inner],
    }
    closed_inner = {**inner, "additionalProperties": False}
    assert close_objects(schema) == {
        "properties": {"p": closed_inner, "open": {**inner, "additionalProperties": True}},
        "anyOf": [closed_inner],
        "items": closed_inner,
        "$defs": {"properties": closed_inner},
        "const": inner,
        "default": inner,
        "enum": [inner],
        "additionalProperties": False,
    }
    assert "additionalProperties" not in inner


def test_text_forms_give_text():
    assert isinstance(answer_form(), TextForm)
    assert isinstance(answer_form(regex="a+"), RegexForm)
    assert isinstance(answer_form(choice=["a", "b"]), ChoiceForm)
    assert isinstance(answer_form(grammar="root ::= [a]"), GrammarForm)
    assert isinstance(answer_form(structural_tag={"format": {"type": "any_text"}}), TagForm)
    assert answer_form(regex="a+").read("aa") == "aa"


def test_an_answer_has_one_form():
    with pytest.raises(InvalidRequest, match="schema and regex"):
        answer_form(int, regex="a")
    with pytest.raises(InvalidRequest, match="grammar and structural_tag"):
        answer_form(grammar="root ::= [a]", structural_tag={})


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"choice": []}, "choice"),
        ({"choice": "abc"}, "choice"),
        ({"choice": [1]}, "choice"),
        ({"regex": 5}, "regex"),
        ({"grammar": 5}, "grammar"),
        ({"structural_tag": 5}, "structural_tag"),
        ({"schema": print}, "schema"),
        ({"schema": object()}, "schema"),
    ],
)
def test_what_is_no_form_is_refused_by_name(options, field):
    with pytest.raises(InvalidRequest, match=f"^{field}"):
        answer_form(**options)
