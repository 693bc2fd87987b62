"""Tools as callers declare them."""

from __future__ import annotations

import pytest

import structgen
from structgen.errors import InvalidRequest, PluginError, ToolError
from structgen.llm.calls import Tool, ToolCall, as_tools, declaration_of, load_call_format


@structgen.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def declared(**function):
    return {"type": "function", "function": function}


def test_a_decorated_function_is_a_tool():
    (tool,) = as_tools([add])
    assert isinstance(tool, Tool)
    assert ToolCall("add", {"a": 2}, tool).run() == 3


@pytest.mark.parametrize("parameters", [{}, {"parameters": None}, {"parameters": {}}])
def test_without_parameters_a_tool_takes_no_arguments(parameters):
    (tool,) = as_tools([declared(name="now", **parameters)])
    assert tool.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool.validate({}) == {}
    with pytest.raises(ToolError, match="now"):
        tool.validate({"zone": "UTC"})


def test_a_declared_tool_cannot_be_run():
    (tool,) = as_tools([declared(name="now")])
    with pytest.raises(ToolError, match="no function"):
        ToolCall("now", {}, tool).run()
    with pytest.raises(ToolError, match="no tool"):
        ToolCall("now").run()


@pytest.mark.parametrize(
    ("tools", "place"),
    [
        ([], "tools:"),
        ([5], r"tools\[0\]:"),
        ([add, {"type": "function"}], r"tools\[1\]:"),
        ([declared()], r"tools\[0\]\.function\.name"),
        ([declared(name="f", description=5)], r"tools\[0\]\.function\.description"),
        ([declared(name="f", parameters=[])], r"tools\[0\]\.function\.parameters:"),
        ([declared(name="f", parameters={"type": "array"})], r"tools\[0\]\.function\.parameters\.type"),
        ([declared(name="f", parameters={"properties": []})], r"tools\[0\]\.function\.parameters\.properties"),
        ([add, declared(name="add")], r"tools\[1\]:.*'add'.*tools\[0\]"),
    ],
)
def test_what_is_no_tool_is_refused_with_its_place(tools, place):
    with pytest.raises(InvalidRequest, match=place):
        as_tools(tools)


@pytest.mark.parametrize("name", ["get weather/now", "", "né", "a\n", "a" * 65])
def test_a_declared_name_is_one_that_every_tool_may_have(name):
    with pytest.raises(InvalidRequest, match=r"tools\[0\]\.function\.name"):
        as_tools([declared(name=name)])


def test_a_declaration_read_and_written_again_is_the_same():
    declaration = declared(name="now", description="The time.", parameters=add.parameters)
    assert [declaration_of(tool) for tool in as_tools([declaration])] == [declaration]


def test_a_declaration_is_left_alone():
    function = {"name": "f", "parameters": {"properties": {"p": {"type": "object", "properties": {}}}}}
    before = repr(function)
    as_tools([{"type": "function", "function": function}])
    assert repr(function) == before


def test_an_unknown_call_format_is_an_error_with_near_names():
    with pytest.raises(PluginError, match="hermes"):
        load_call_format("herms")
