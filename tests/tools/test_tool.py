import asyncio
import functools
import inspect
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

import structgen
from structgen.errors import ToolError
from structgen.llm.calls import Tool as ToolProtocol


class Unit(Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


@structgen.tool
def get_weather(city: str, unit: Unit = Unit.CELSIUS) -> str:
    """Look up the weather.

    Parameters
    ----------
    city : str
        Where.
    """
    return f"21 {unit.value} in {city}"


def test_a_function_becomes_a_tool():
    assert isinstance(get_weather, structgen.Tool)
    assert isinstance(get_weather, ToolProtocol)
    assert (get_weather.name, get_weather.description) == ("get_weather", "Look up the weather.")
    assert get_weather.parameters["properties"]["city"] == {"type": "string", "description": "Where."}
    assert get_weather.parameters["required"] == ["city"]


def test_a_tool_is_called_like_its_function():
    assert get_weather("Oslo", unit=Unit.FAHRENHEIT) == "21 fahrenheit in Oslo"


@pytest.mark.parametrize("arguments", [{"city": "Oslo", "unit": "celsius"}, '{"city": "Oslo"}'])
def test_a_call_is_validated_converted_and_run(arguments):
    assert get_weather.run(arguments) == "21 celsius in Oslo"


def test_name_and_description_can_be_given():
    renamed = structgen.tool(get_weather, name="weather-2", description="Weather.")
    assert (renamed.name, renamed.description) == ("weather-2", "Weather.")

    @structgen.tool(name="other")
    def whatever() -> None: ...

    assert whatever.name == "other"


@pytest.mark.parametrize("name", ["", "two words", "größe", "x" * 65])
def test_a_name_that_a_model_cannot_be_given_is_refused(name):
    with pytest.raises(ToolError, match="cannot be a tool's name"):
        structgen.tool(get_weather, name=name)


@pytest.mark.parametrize("nothing", [None, "", " ", "null", "{}", {}])
def test_a_tool_without_parameters_takes_nothing_however_it_is_written(nothing):
    @structgen.tool
    def now() -> str:
        return "noon"

    assert now.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert now.run(nothing) == "noon"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "get_weather: city: Field required"),
        ({"city": 3}, "get_weather: city: Input should be a valid string"),
        ({"city": "Oslo", "unit": "kelvin"}, "unit: Input should be 'celsius' or 'fahrenheit'"),
        ({"city": "Oslo", "country": "NO"}, "country: Extra inputs are not permitted"),
        ({"town": 1, "unit": 2}, "city: Field required; unit: .*; town: Extra"),
        ({"city": object()}, "not JSON values"),
        ("[1]", "get_weather: arguments must be an object"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(ToolError, match=message):
        get_weather.run(arguments)


def test_validating_runs_nothing_and_changes_nothing():
    calls = []

    @structgen.tool
    def record(numbers: list[int]) -> None:
        calls.append(numbers)

    given = {"numbers": [1]}
    bound = record.validate(given)
    assert isinstance(bound, inspect.BoundArguments)
    assert (bound.args, calls, given) == (([1],), [], {"numbers": [1]})


def test_an_argument_left_out_is_the_functions_own_default():
    marker = object()

    @structgen.tool
    def f(
        x: int = marker,
        seen: list[int] = [],  # noqa: B006 - as users write it
        field: int = Field(default=3),
    ) -> tuple[Any, Any, int]:
        return x, seen, field

    x, seen, field = f.run({})
    assert x is marker
    assert seen is inspect.signature(f.__wrapped__).parameters["seen"].default
    assert field == 3


def test_positional_only_parameters_are_passed_by_position():
    @structgen.tool
    def f(a: int = 1, b: int = 2, /, c: int = 3) -> tuple[int, ...]:
        return a, b, c

    assert f.run({"a": 5}) == (5, 2, 3)
    assert f.run({"b": 5}) == (1, 5, 3)


def test_rest_arguments_are_an_array_that_may_be_left_out():
    @structgen.tool
    def f(a: int, b: int = 2, *rest: int) -> tuple[int, ...]:
        return (a, b, *rest)

    assert f.parameters["properties"]["rest"] == {"type": "array", "items": {"type": "integer"}}
    assert f.parameters["required"] == ["a"]
    assert f.run({"a": 1}) == (1, 2)
    assert f.run({"a": 1, "rest": [8, 9]}) == (1, 2, 8, 9)


def test_keyword_rest_arguments_are_an_object_that_may_be_left_out():
    @structgen.tool
    def f(a: int, **options: float) -> dict[str, float]:
        return options

    assert f.parameters["properties"]["options"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert f.run({"a": 1}) == {}
    assert f.run({"a": 1, "options": {"b": 2}}) == {"b": 2.0}
    with pytest.raises(ToolError, match=r"options\.a: there is a parameter 'a'"):
        f.run({"a": 1, "options": {"a": 2}})


def test_keyword_only_parameters_are_passed_by_name():
    @structgen.tool
    def f(*, unit: Literal["c", "f"]) -> str:
        return unit

    assert f.run({"unit": "f"}) == "f"


@pytest.mark.parametrize("name", ["json", "copy", "model_config", "_private", "schema", "self_", "validate"])
def test_a_parameter_may_have_any_name(name):
    namespace: dict[str, Any] = {}
    exec(f"def f({name}: int) -> int: return {name}", namespace)
    made = structgen.tool(namespace["f"])
    assert list(made.parameters["properties"]) == [name]
    assert made.run({name: 4}) == 4


def test_json_values_become_the_python_values_of_the_annotations():
    class Trip(BaseModel, strict=True):
        day: date
        stops: tuple[str, ...]

    @structgen.tool
    def plan(trip: Trip, seats: set[int]) -> tuple[Trip, set[int]]:
        return trip, seats

    trip, seats = plan.run({"trip": {"day": "2026-11-29", "stops": ["Oslo"]}, "seats": [1, 1]})
    assert (trip.day, trip.stops, seats) == (date(2026, 11, 29), ("Oslo",), {1})


def test_an_async_function_gives_its_coroutine():
    @structgen.tool
    async def fetch(url: str) -> str:
        return url

    assert fetch.is_async
    assert not get_weather.is_async
    assert asyncio.run(fetch.run({"url": "x"})) == "x"
    assert asyncio.run(fetch("y")) == "y"


def test_what_the_function_raises_passes_through():
    @structgen.tool
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail.run({})


class Station:
    def __init__(self, city: str) -> None:
        self.city = city

    @structgen.tool
    def report(self, day: int) -> str:
        """Report."""
        return f"{self.city} {day}"

    @structgen.tool
    @classmethod
    def kind(cls, upper: bool) -> str:
        return cls.__name__.upper() if upper else cls.__name__

    @structgen.tool
    @staticmethod
    def add(a: int, b: int) -> int:
        return a + b

    @staticmethod
    @structgen.tool
    def double(a: int) -> int:
        return 2 * a

    def plain(self, day: int) -> str:
        return f"{self.city} {day}"


def test_a_method_is_a_tool_of_its_instance():
    oslo, lund = Station("Oslo"), Station("Lund")
    assert list(oslo.report.parameters["properties"]) == ["day"]
    assert (oslo.report.run({"day": 1}), lund.report.run({"day": 2})) == ("Oslo 1", "Lund 2")
    assert oslo.report(3) == "Oslo 3"
    assert structgen.tool(oslo.plain).run({"day": 4}) == "Oslo 4"
    assert structgen.tool(oslo.report, name="r").run({"day": 5}) == "Oslo 5"


def test_class_and_static_methods_need_no_instance():
    assert Station.kind.run({"upper": True}) == "STATION"
    assert Station("Oslo").kind.run({"upper": False}) == "Station"
    assert Station.add.run({"a": 1, "b": 2}) == 3
    assert Station.double.run({"a": 4}) == 8


def test_an_unbound_method_is_refused():
    with pytest.raises(ToolError, match=r"Station\.plain: is an unbound method"):
        structgen.tool(Station.plain)
    with pytest.raises(ToolError, match=r"instance\.report"):
        Station.report.run({"day": 1})
    with pytest.raises(ToolError, match=r"instance\.report"):
        _ = Station.report.parameters


@pytest.mark.parametrize(
    "thing", [len, functools.partial(print, "x"), Station, Station("Oslo"), "name"], ids=lambda thing: str(type(thing))
)
def test_what_is_no_function_is_refused(thing):
    with pytest.raises(ToolError, match="neither a function nor a method"):
        structgen.tool(thing)


def test_a_cached_function_is_a_tool():
    @structgen.tool
    @functools.cache
    def square(x: int) -> int:
        return x * x

    assert square.run({"x": 3}) == 9


def _untyped(a): ...


def _lock(a: int, lock: asyncio.Lock): ...


def _callback(a: int, *, done: functools.partial): ...


def _text_annotation(a: "list[Nowhere]"): ...  # noqa: F821 - the point of a test


def _broken_annotation(a: "1 +"): ...  # noqa: F722 - the point of a test


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_untyped, "_untyped: parameter 'a' has no type annotation"),
        (_lock, "_lock: parameter 'lock': .*Lock"),
        (_callback, "_callback: parameter 'done': .*partial"),
        (_text_annotation, "parameter 'a': .*'Nowhere' is not defined; define the class"),
        (_broken_annotation, "parameter 'a': annotation '1 \\+'"),
    ],
)
def test_a_parameter_that_json_cannot_carry_is_named(function, message):
    with pytest.raises(ToolError, match=message):
        structgen.tool(function)


def test_a_validator_of_the_callers_model_is_heard():
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    @structgen.tool
    def half(even: Even) -> int:
        return even.n // 2

    assert half.run({"even": {"n": 4}}) == 2
    with pytest.raises(ToolError, match=r"half: even\.n: .*odd"):
        half.run({"even": {"n": 3}})
