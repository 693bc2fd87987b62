"""The front door, with a model that says nothing of sense: whatever it says, what comes back is of the asked form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import jsonschema
import pytest
from pydantic import AfterValidator, BaseModel
from typing_extensions import TypedDict

import structgen
from structgen import SamplingParams
from structgen.engine.sources import DEFAULT_MODEL
from structgen.errors import (
    AnswerCut,
    AnswerRefused,
    BudgetTooSmall,
    InvalidGrammar,
    InvalidRequest,
    ModelNotFound,
    PluginError,
    UnsupportedSchema,
)
from structgen.llm import LLM, Answer, ToolCall


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0


class Named(TypedDict):
    name: str


class Address(BaseModel):
    street: str
    point: Point | None = None


class Person(BaseModel):
    name: str
    colors: list[Color] = []
    home: Address | None = None
    kind: Literal["a", "b", 3]


class Tree(BaseModel):
    label: bool
    parts: list[Tree] = []


KINDS = [
    int,
    float,
    str,
    bool,
    type(None),
    Color,
    Point,
    Named,
    Person,
    Tree,
    list[int],
    Literal["a", 5],
    int | str | None,
]
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"enum": ["x", "y", None]}}},
    "required": ["id", "tags"],
    "additionalProperties": False,
}


def hot(seed, max_tokens=120, **options):
    return SamplingParams(temperature=1.3, seed=seed, max_tokens=max_tokens, **options)


def is_of(kind, value):
    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_python(value) == value


@structgen.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_comes_back_is_of_the_type(tiny_llm, kind):
    for seed in range(3):
        value = tiny_llm.generate("Say something.", schema=kind, sampling_params=hot(seed))
        assert is_of(kind, value)


def test_a_schema_gives_a_valid_json_value(tiny_llm):
    for seed in range(5):
        jsonschema.validate(tiny_llm.generate("Hi", schema=SCHEMA, sampling_params=hot(seed)), SCHEMA)


def test_a_pattern_and_choices_give_matching_text(tiny_llm):
    assert tiny_llm.generate("Hi", choice=["yes", "no", "maybe"], sampling_params=hot(1)) in ("yes", "no", "maybe")
    date = tiny_llm.generate("Hi", regex="[0-9]{4}-[0-9]{2}", sampling_params=hot(1))
    assert len(date) == 7
    assert date[:4].isdigit()


def test_a_grammar_and_a_structural_tag_give_text_of_theirs(tiny_llm):
    total = tiny_llm.generate("Hi", grammar='root ::= root "+" [0-9] | [0-9]', sampling_params=hot(1, 20))
    assert re.fullmatch(r"[0-9](\+[0-9])*", total)
    tags = [{"begin": "<call>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</call>"}]
    calls = {"type": "triggered_tags", "triggers": ["<call"], "tags": tags, "at_least_one": True}
    text = tiny_llm.generate("Hi", structural_tag={"format": calls}, sampling_params=hot(1))
    prose, *parts = text.split("<call>")
    assert parts
    assert "<call" not in prose
    for part in parts:
        jsonschema.validate(json.loads(part.split("</call>")[0]), SCHEMA)


def test_a_structural_tag_that_is_refused_names_its_place(tiny_llm):
    broken = {"format": {"type": "sequence", "elements": [{"type": "any_text", "max_tokens": 5}]}}
    with pytest.raises(InvalidGrammar, match="at /format/elements/0/max_tokens: 5 is not supported"):
        tiny_llm.generate("Hi", structural_tag=broken)


def test_without_a_form_text_comes_back(tiny_llm):
    assert isinstance(tiny_llm.generate("Hi", sampling_params=hot(1, 10)), str)


def test_answers_come_in_the_order_of_the_prompts(tiny_llm):
    prompts = [f"Number {n}" for n in range(5)]
    params = hot(4, 20)
    alone = [tiny_llm.generate(prompt, sampling_params=params) for prompt in prompts]
    assert tiny_llm.generate(prompts, sampling_params=params) == alone
    assert tiny_llm.generate([]) == []


def test_by_default_the_same_question_gets_the_same_answer(tiny_llm):
    assert tiny_llm.generate("Hi", schema=Point) == tiny_llm.generate("Hi", schema=Point)


def test_details_say_everything_about_an_answer(tiny_llm):
    answer = tiny_llm.generate("Hi", schema=SCHEMA, sampling_params=hot(2, logprobs=2), return_details=True)
    assert isinstance(answer, Answer)
    assert answer.value == json.loads(answer.text)
    assert answer.finish_reason in ("stop", "length")
    assert answer.usage.completion_tokens == len(answer.token_ids) == len(answer.logprobs)
    assert answer.usage.prompt_tokens > 5
    assert answer.tool_calls == ()


def counting(accept):
    draws = []

    def check(value: int) -> int:
        draws.append(value)
        if not accept(draws):
            raise ValueError(f"not {value}, please")
        return value

    return draws, Annotated[int, AfterValidator(check)]


def test_a_refused_answer_is_drawn_again_with_the_reason_shown(tiny_llm):
    draws, kind = counting(lambda draws: len(draws) == 3)
    answer = tiny_llm.generate("Hi", schema=kind, sampling_params=SamplingParams(max_tokens=8), return_details=True)
    assert answer.value == draws[2]
    assert len(set(draws)) > 1  # also from temperature 0
    first = tiny_llm.generate("Hi", schema=int, sampling_params=SamplingParams(max_tokens=8), return_details=True)
    assert answer.usage.prompt_tokens > first.usage.prompt_tokens + 20


def test_only_refused_answers_are_drawn_again(tiny_llm):
    draws, kind = counting(lambda draws: len(draws) != 2)
    values = tiny_llm.generate(["a", "b", "c"], schema=kind, sampling_params=hot(0, 8))
    assert values == [draws[0], draws[3], draws[2]]


@pytest.mark.parametrize("retries", [0, 2])
def test_after_the_last_retry_the_refusal_is_raised(tiny_llm, retries):
    draws, kind = counting(lambda draws: False)
    with pytest.raises(AnswerRefused, match=f"{retries + 1} answers were refused.*not .* please") as caught:
        tiny_llm.generate("Hi", schema=kind, sampling_params=hot(0, 8), retries=retries)
    assert len(draws) == retries + 1
    assert caught.value.text == str(draws[-1])


def test_retries_are_not_negative(tiny_llm):
    with pytest.raises(InvalidRequest, match="retries"):
        tiny_llm.generate("Hi", schema=int, retries=-1)


def test_a_generator_answers_in_one_form(tiny_llm):
    generator = tiny_llm.generator(Point)
    assert generator("Hi") == tiny_llm.generate("Hi", schema=Point)
    assert len(generator(["Hi", "Ho"], sampling_params=hot(0))) == 2


def test_what_cannot_be_compiled_is_told_when_the_generator_is_made(tiny_llm):
    with pytest.raises(UnsupportedSchema, match="uniqueItems"):
        tiny_llm.generator({"type": "array", "items": {"type": "object"}, "uniqueItems": True})
    with pytest.raises(InvalidRequest, match="schema"):
        tiny_llm.generator(object())


USER = {"role": "user", "content": "Hi"}


def test_a_chat_is_one_conversation_or_several(tiny_llm):
    one = tiny_llm.chat([USER], schema=Point)
    assert isinstance(one, Point)
    assert tiny_llm.chat([[USER], [USER]], schema=Point) == [one, one]
    assert tiny_llm.generate("Hi", schema=Point) == one


def test_a_conversation_that_is_malformed_is_named_among_several(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"messages\[1\]\[0\]\.role"):
        tiny_llm.chat([[USER], [{"content": "Hi"}]])


def test_tools_give_one_validated_call(tiny_llm):
    now = {"type": "function", "function": {"name": "now"}}
    for seed in range(4):
        call = tiny_llm.chat([USER], tools=[add, now], sampling_params=hot(seed))
        assert isinstance(call, ToolCall)
        if call.name == "add":
            assert call.run() == call.arguments["a"] + call.arguments.get("b", 1)
        else:
            assert (call.name, call.arguments) == ("now", {})


def test_a_tools_details_have_the_call(tiny_llm):
    answer = tiny_llm.chat([USER], tools=[add], sampling_params=hot(0), return_details=True)
    assert answer.tool_calls == (answer.value,)
    assert answer.value.name == "add"


def test_a_call_that_its_tool_refuses_is_drawn_again(tiny_llm):
    draws, kind = counting(lambda draws: len(draws) == 2)

    def guess(number: int) -> int:
        return number

    guess.__annotations__["number"] = kind
    call = tiny_llm.chat([USER], tools=[structgen.tool(guess)], sampling_params=hot(0, 60))
    assert call.arguments == {"number": draws[1]}


def test_with_tools_there_is_no_other_form(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"^tools"):
        tiny_llm.chat([USER], tools=[add], schema=Point)


@pytest.mark.parametrize("options", [{}, {"schema": SCHEMA}, {"choice": ["a", "b"]}])
def test_a_streams_pieces_are_the_answers_text(tiny_llm, options):
    params = hot(5, 60)
    text = tiny_llm.generate("Hi", sampling_params=params, return_details=True, **options).text
    assert "".join(tiny_llm.stream("Hi", sampling_params=params, **options)) == text
    assert "".join(tiny_llm.stream([USER], sampling_params=params, **options)) == text
    deltas = list(tiny_llm.stream("Hi", sampling_params=params, return_details=True, **options))
    assert "".join(delta.text for delta in deltas) == text
    assert deltas[-1].finished


def test_a_stream_raises_at_once_what_is_wrong_with_the_request(tiny_llm):
    with pytest.raises(BudgetTooSmall):
        tiny_llm.stream("Hi", schema=SCHEMA, sampling_params=SamplingParams(max_tokens=1))


def test_an_answer_cut_by_a_stop_string_is_an_error_with_its_text(tiny_llm):
    params = SamplingParams(stop='"')
    with pytest.raises(AnswerCut, match="stop string") as caught:
        tiny_llm.generate("Hi", schema=SCHEMA, sampling_params=params)
    assert "".join(caught.value.text.split()) == "{"
    with pytest.raises(AnswerCut):
        list(tiny_llm.stream("Hi", schema=SCHEMA, sampling_params=params))


def test_a_budget_too_small_for_any_answer_is_refused(tiny_llm):
    with pytest.raises(BudgetTooSmall, match="max_tokens"):
        tiny_llm.generate("Hi", schema=SCHEMA, sampling_params=SamplingParams(max_tokens=3))


def test_prompts_are_strings(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"prompts\[1\]: expected a string, not int"):
        tiny_llm.generate(["Hi", 5])


def test_a_path_object_is_a_path_and_never_an_alias(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFound, match="no such file or folder"):
        LLM(Path(DEFAULT_MODEL))


def test_what_cannot_be_loaded_is_told(tiny_folder, tmp_path):
    with pytest.raises(ModelNotFound):
        LLM(tmp_path / "nothing")
    with pytest.raises(InvalidRequest, match="max_num_seqs"):
        LLM(tiny_folder, max_num_seqs=0)
    with pytest.raises(InvalidRequest, match="float31"):
        LLM(tiny_folder, dtype="float31")
    with pytest.raises(PluginError, match="hermes"):
        LLM(tiny_folder, call_format="herms")
