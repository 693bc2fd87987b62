import pytest

from structgen.errors import ToolError
from structgen.llm.arguments import decode_arguments


@pytest.mark.parametrize("nothing", [None, "", "  \n", "null", "{}", '"{}"', '""', {}])
def test_no_arguments_are_an_empty_object_however_they_are_written(nothing):
    assert decode_arguments(nothing) == {}


@pytest.mark.parametrize("written", [{"a": 1}, '{"a": 1}', '"{\\"a\\": 1}"'], ids=["object", "text", "text in text"])
def test_arguments_are_the_object_however_it_is_written(written):
    assert decode_arguments(written) == {"a": 1}


def test_a_raw_line_feed_in_a_string_is_itself():
    assert decode_arguments('{"t": "a\nb\tc"}') == {"t": "a\nb\tc"}


def test_the_callers_dictionary_is_not_the_one_returned():
    given = {"a": 1}
    assert decode_arguments(given) is not given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('["Oslo"]', "must be an object, not an array"),
        ('"Oslo"', "not JSON"),
        ("3", "must be an object, not a number"),
        ("true", "must be an object, not a boolean"),
        (["Oslo"], "must be an object, not an array"),
        (3.5, "must be an object, not a number"),
        ("{", "not JSON"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_anything_else_is_refused(arguments, message):
    with pytest.raises(ToolError, match=message):
        decode_arguments(arguments)
