"""Annotations given as text (this module's all are) mean what they say where they were written."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import structgen
from structgen.errors import ToolError


class City(BaseModel):
    name: str


def logged(function):
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_a_class_of_the_module_is_found():
    @structgen.tool
    def visit(city: City) -> str:
        return city.name

    assert visit.run({"city": {"name": "Oslo"}}) == "Oslo"


def test_a_local_class_is_found():
    class Street(BaseModel):
        number: int

    @structgen.tool
    def walk(street: Street, back: list[Street] = []) -> int:  # noqa: B006 - as users write it
        return street.number

    assert walk.parameters["$defs"]["Street"]["required"] == ["number"]
    assert walk.run({"street": {"number": 7}}) == 7


def test_a_local_class_that_the_function_closes_over_is_found_elsewhere():
    def make():
        class Street(BaseModel):
            number: int

        def walk(street: Street) -> bool:
            return isinstance(street, Street)

        return walk

    assert structgen.tool(make()).run({"street": {"number": 7}}) is True


def test_a_local_class_out_of_reach_is_an_error_that_names_the_parameter():
    def make():
        class Street(BaseModel):
            number: int

        def walk(street: Street) -> None:
            """Never looks at the class, so nothing keeps it in reach."""

        return walk

    with pytest.raises(ToolError, match=r"make\.<locals>\.walk: parameter 'street': .*'Street' is not defined"):
        structgen.tool(make())


def test_an_unresolvable_return_annotation_is_nobodys_business():
    @structgen.tool
    def now() -> Missing:  # noqa: F821 - the point of the test
        return "noon"

    assert now.run(None) == "noon"


def test_a_wrapped_functions_annotations_are_read_where_the_function_is():
    @structgen.tool
    @logged
    def visit(city: Annotated[City, Field(description="Where to")], *, mood: Literal["good", "bad"] = "good") -> str:
        return city.name + mood

    assert visit.parameters["properties"]["city"]["description"] == "Where to"
    assert visit.run('{"city": {"name": "Oslo"}, "mood": "bad"}') == "Oslobad"


def test_none_as_default_does_not_change_the_type():
    @structgen.tool
    def find(name: str = None) -> str | None:  # noqa: RUF013 - the point of the test
        return name

    assert find.parameters["properties"]["name"] == {"type": "string"}
    assert find.run({}) is None


def test_a_local_function_may_refer_to_itself():
    @structgen.tool
    def count(down: int) -> int:
        return 0 if down == 0 else 1 + count(down - 1)

    assert count.run({"down": 3}) == 3
