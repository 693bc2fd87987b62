import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen
from structgen.errors import ToolError
from structgen.llm.calls import CallDelta, ToolCall, load_call_format
from structgen.llm.declarations import DeclaredTool
from structgen.tools.call_formats.call_reader import JsonCallReader
from structgen.tools.call_formats.hermes import HermesFormat

HERMES = HermesFormat()


@structgen.tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return city


@structgen.tool
def now() -> str:
    """Tell the time."""
    return "noon"


def declared(name: str, **definitions: object) -> DeclaredTool:
    """A tool that reaches each of its definitions, one of them by way of the root."""
    return DeclaredTool(
        name,
        "",
        {
            "type": "object",
            "properties": {"p": {"$ref": "#/$defs/P"}, "again": {"$ref": "#"}},
            "required": ["p"],
            "additionalProperties": False,
            "$defs": definitions,
        },
    )


def calls_of(deltas: list[CallDelta]) -> list[ToolCall]:
    names: list[str] = []
    arguments: list[str] = []
    for delta in deltas:
        if delta.name is not None:
            assert delta.index == len(names)
            names.append(delta.name)
            arguments.append("")
        assert delta.index == len(names) - 1
        arguments[-1] += delta.arguments
    return [ToolCall(name, json.loads(text)) for name, text in zip(names, arguments, strict=True)]


def test_the_format_is_a_plugin():
    assert isinstance(load_call_format("hermes"), HermesFormat)


def test_the_tools_are_shown_as_json_one_a_line():
    lines = HERMES.system_part([get_weather, now]).splitlines()
    shown = [json.loads(line) for line in lines[lines.index("<tools>") + 1 : lines.index("</tools>")]]
    assert [tool["function"]["name"] for tool in shown] == ["get_weather", "now"]
    assert shown[0]["function"]["parameters"] == get_weather.parameters


# The grammar


def call_validator(*tools: object) -> jsonschema.Draft202012Validator:
    spec = HERMES.grammar(tools)
    assert spec.kind == "json_schema"
    jsonschema.Draft202012Validator.check_schema(spec.source)
    return jsonschema.Draft202012Validator(spec.source)


@pytest.mark.parametrize(
    ("call", "valid"),
    [
        ({"name": "get_weather", "arguments": {"city": "Oslo"}}, True),
        ({"name": "now", "arguments": {}}, True),
        ({"name": "now", "arguments": {"city": "Oslo"}}, False),
        ({"name": "get_weather", "arguments": {}}, False),
        ({"name": "later", "arguments": {}}, False),
        ({"name": "now"}, False),
        ({"name": "now", "arguments": {}, "id": 1}, False),
    ],
)
def test_the_grammar_is_one_call_of_one_tool(call, valid):
    assert call_validator(get_weather, now).is_valid(call) is valid


def test_definitions_of_one_name_in_two_tools_never_meet():
    number = declared("a", P={"type": "object", "properties": {"x": {"$ref": "#/$defs/Q"}}}, Q={"type": "integer"})
    text = declared("b", P={"type": "object", "properties": {"x": {"$ref": "#/$defs/Q"}}}, Q={"type": "string"})
    before = json.dumps([number.parameters, text.parameters])
    validator = call_validator(number, text)
    for name, fits, does_not in (("a", 1, "1"), ("b", "1", 1)):
        assert validator.is_valid({"name": name, "arguments": {"p": {"x": fits}, "again": {"p": {"x": fits}}}})
        assert not validator.is_valid({"name": name, "arguments": {"p": {"x": does_not}}})
        assert not validator.is_valid({"name": name, "arguments": {"p": {}, "again": {"p": {"x": does_not}}}})
    assert json.dumps([number.parameters, text.parameters]) == before


@pytest.mark.parametrize("name", ["get-weather", "ns.tool:x", "a/b", "a~b", "two words", "größe", "50%"])
def test_a_declared_tool_may_have_any_name(name):
    tool = declared(name, P={"type": "integer"})
    assert call_validator(tool).is_valid({"name": name, "arguments": {"p": 1}})
    assert not call_validator(tool).is_valid({"name": name, "arguments": {"p": "1"}})
    assert HERMES.parse(HERMES.write_calls([ToolCall(name, {"p": 1})])) == [ToolCall(name, {"p": 1})]


def test_what_only_looks_like_a_reference_is_left_alone():
    tool = declared("a", P={"properties": {"$ref": {"const": {"$ref": "#/x"}}}, "default": {"$ref": "#/y"}})
    definition = HERMES.grammar([tool]).source["$defs"]["a"]["$defs"]["P"]
    assert definition == tool.parameters["$defs"]["P"]


# The parser

READABLE = {
    "in its tags": '<tool_call>\n{"name":"w","arguments":{"t":"x"}}\n</tool_call>',
    "after prose": 'I will look.\n<tool_call>{"name": "w", "arguments": {"t": "x"}}</tool_call>\nDone.',
    "without a closing tag": '<tool_call>\n{"name": "w", "arguments": {"t": "x"}}',
    "bare": ' {"name": "w", "arguments": {"t": "x"}}\n',
    "arguments as text": '<tool_call>{"name":"w","arguments":"{\\"t\\":\\"x\\"}"}</tool_call>',
    "arguments first": '<tool_call>{"arguments":{"t":"x"},"name":"w"}</tool_call>',
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_a_call_is_read_however_it_is_written(text):
    assert HERMES.parse(text) == [ToolCall("w", {"t": "x"})]


@pytest.mark.parametrize("arguments", ["{}", '""', "null", '"null"', '" "', '"{}"'])
def test_no_arguments_are_an_empty_object(arguments):
    text = f'<tool_call>\n{{"name":"now","arguments":{arguments}}}\n</tool_call>'
    assert HERMES.parse(text) == [ToolCall("now", {})]
    assert HERMES.parse('{"name": "now"}') == [ToolCall("now", {})]


@pytest.mark.parametrize(
    "value", ["see </tool_call> tag", "<tool_call>", "a\nb\tc", 'quote " and \\', "}{][", "Münster 日本 🦊", "\\u0041"]
)
def test_a_string_is_not_structure(value):
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False).replace("\\n", "\n")):
        text = f'<tool_call>{{"name":"w","arguments":{{"t":{written}}}}}</tool_call>'
        assert HERMES.parse(text) == [ToolCall("w", {"t": value})]


def test_several_calls_are_read_in_order():
    calls = [ToolCall("b", {"x": 1}), ToolCall("a"), ToolCall("b", {"x": 2})]
    assert HERMES.parse(HERMES.write_calls(calls)) == calls
    assert HERMES.parse('{"name": "a"}\n{"name": "b"}') == [ToolCall("a"), ToolCall("b")]


def test_a_malformed_call_does_not_take_the_others_with_it():
    text = '<tool_call>{"name":"a","arguments":{"x"</tool_call><tool_call>{"name":"b"}</tool_call>'
    assert HERMES.parse(text) == [ToolCall("b")]
    assert HERMES.parse(f"<tool_call>[1]</tool_call>{text}") == [ToolCall("b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Just prose.", "neither <tool_call> nor a bare JSON object"),
        ("", "neither"),
        ("<tool_call>", "neither|Expecting value"),
        ('<tool_call>{"name": "w", "argum', "no call can be read"),
        ('{"arguments": {}}', "must have a name"),
        ('{"name": 3}', "must have a name"),
        ('{"name": "w", "arguments": [1]}', "must be an object, not an array"),
        ('{"name": "w", "arguments": {"x": NaN}}', "NaN is no JSON number"),
        ("<tool_call>[]", "a call must be"),
        ("<tool_call>" + "[" * 100_000, "no call can be read"),
    ],
)
def test_a_text_without_a_readable_call_is_an_error(text, message):
    with pytest.raises(ToolError, match=message):
        HERMES.parse(text)


# The reader of streams

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
calls = st.lists(
    st.builds(ToolCall, st.text(min_size=1), st.dictionaries(st.text(), json_values, max_size=3)),
    min_size=1,
    max_size=3,
)


@given(calls, st.sampled_from([None, 1]), st.data())
def test_any_chunking_of_a_stream_gives_the_calls_of_the_whole(expected, indent, data):
    text = "\n</tool_call>\n<tool_call>\n".join(
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, indent=indent)
        for call in expected
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    reader = JsonCallReader()
    deltas = [
        delta
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
        for delta in reader.feed(text[start:end])
    ]
    assert calls_of(deltas) == expected
    assert "".join(delta.arguments for delta in deltas) == "".join(d.arguments for d in JsonCallReader().feed(text))
    assert not reader.inside_call


@pytest.mark.parametrize("arguments", ["{}", "{ \n}", '""', "null", '"{}"', '"null"'])
def test_no_arguments_are_streamed_as_an_empty_object(arguments):
    reader = JsonCallReader()
    deltas = [delta for c in f'{{"name":"now","arguments":{arguments}}}\n</tool_call>' for delta in reader.feed(c)]
    assert "".join(delta.arguments for delta in deltas) == "{}"
    assert [delta.name for delta in deltas if delta.name is not None] == ["now"]


def test_arguments_left_out_or_before_the_name_are_streamed_as_an_object():
    assert JsonCallReader().feed('{"name":"now"}') == [CallDelta(0, "now", "{}")]
    reader = JsonCallReader()
    assert reader.feed('{"arguments":{"a":1},') == []
    assert reader.feed('"name":"f"}') == [CallDelta(0, "f", '{"a":1}')]


def test_arguments_are_streamed_as_they_were_written_without_white_space():
    reader = JsonCallReader()
    assert reader.feed('{"name": "f", ') == [CallDelta(0, "f", "")]
    assert reader.feed('"arguments": {"a": "Mün ') == [CallDelta(0, None, '{"a":"Mün ')]
    assert reader.inside_call
    assert reader.feed('ster\nb", \n "n": 1.0 } }') == [CallDelta(0, None, 'ster\\nb","n":1.0}')]
    assert not reader.inside_call


@pytest.mark.parametrize("text", ['{"arguments": {}}', "{}", '{"name": 3, "arguments": {}}', '{name: "x"}'])
def test_an_object_that_is_no_call_is_an_error(text):
    with pytest.raises(ToolError):
        JsonCallReader().feed(text)


def test_a_result_is_written_in_its_tags():
    assert HERMES.write_result("21") == "<tool_response>\n21\n</tool_response>"
