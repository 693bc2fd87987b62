"""Several answers at once: n of a prompt, lists of prompts, and what becomes of those that fail."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel
from rich.console import Console

from structgen import SamplingParams
from structgen.errors import (
    AnswerRefused,
    BatchFailed,
    EngineClosed,
    GenerationError,
    InvalidRequest,
    PromptTooLong,
    UnsupportedSchema,
)
from structgen.llm import LLM, Answer

LONG = "long " * 2000
USER = {"role": "user", "content": "Hi"}


class Point(BaseModel):
    x: int
    y: int


def hot(seed, n=1, max_tokens=40):
    return SamplingParams(n=n, temperature=1.3, seed=seed, max_tokens=max_tokens)


def test_n_answers_of_a_prompt_are_a_list_and_each_can_be_had_again(tiny_llm):
    five = tiny_llm.generate("Hi", schema=Point, sampling_params=hot(3, n=5))
    assert len({point.model_dump_json() for point in five}) == 5
    assert all(isinstance(point, Point) for point in five)
    assert tiny_llm.generate("Hi", schema=Point, sampling_params=hot(3, n=3)) == five[:3]
    assert tiny_llm.generate("Hi", schema=Point, sampling_params=hot(3)) == five[0]


def test_n_answers_of_each_of_several_prompts_are_lists_in_their_order(tiny_llm):
    prompts = ["Hi", "Ho", "Hu"]
    found = tiny_llm.generate(prompts, sampling_params=hot(1, n=2))
    assert found == [tiny_llm.generate(prompt, sampling_params=hot(1, n=2)) for prompt in prompts]
    assert tiny_llm.chat([[USER], [USER]], sampling_params=hot(1, n=2)) == [found[0], found[0]]
    details = tiny_llm.generate("Hi", sampling_params=hot(1, n=2), return_details=True)
    assert [answer.text for answer in details] == found[0]


def test_a_stream_is_of_one_answer(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"^n: a stream is of one answer, not of 2"):
        tiny_llm.stream("Hi", sampling_params=hot(1, n=2))


@pytest.mark.parametrize("n", [0, 1.5, True, 1025])
def test_n_is_a_whole_number(n):
    with pytest.raises(InvalidRequest, match=r"^n: must be a whole number in \[1, 1024\]"):
        SamplingParams(n=n)


def test_one_item_that_fails_loses_none_of_the_others(tiny_llm):
    prompts = ["Hi", LONG, "Ho"]
    good = [tiny_llm.generate(prompt, schema=int) for prompt in ("Hi", "Ho")]
    with pytest.raises(BatchFailed, match=r"1 of 3 answers cannot be had .*`results`.*PromptTooLong.*1024") as caught:
        tiny_llm.generate(prompts, schema=int)
    first, wrong, last = caught.value.results
    assert [first, last] == good
    assert caught.value.errors == [wrong]
    assert caught.value.__cause__ is wrong
    assert isinstance(wrong, PromptTooLong)


def test_errors_are_returned_in_their_places_where_that_is_asked_for(tiny_llm):
    prompts = [LONG, "Hi", LONG]
    found = tiny_llm.generate(prompts, schema=int, on_error="return", return_details=True)
    assert [type(one) for one in found] == [PromptTooLong, Answer, PromptTooLong]
    assert isinstance(tiny_llm.generate(LONG, on_error="return"), PromptTooLong)
    pairs = tiny_llm.generate(prompts, sampling_params=hot(1, n=2), on_error="return")
    assert [[type(one) for one in pair] for pair in pairs] == [[PromptTooLong] * 2, [str] * 2, [PromptTooLong] * 2]


def test_a_single_prompt_that_fails_raises_its_own_error(tiny_llm):
    with pytest.raises(PromptTooLong):
        tiny_llm.generate(LONG)
    with pytest.raises(BatchFailed) as caught:
        tiny_llm.generate(LONG, sampling_params=hot(1, n=2))
    assert [type(error) for error in caught.value.results] == [PromptTooLong] * 2


def test_answers_that_are_refused_for_good_stand_beside_those_that_are_not(tiny_llm):
    def even(number):
        if number % 2:
            raise ValueError("odd")
        return number

    kind = Annotated[int, AfterValidator(even)]
    found = tiny_llm.generate(
        ["Hi"] * 3, schema=kind, sampling_params=hot(0, n=8, max_tokens=8), retries=0, on_error="return"
    )
    flat = [one for answers in found for one in answers]
    assert {type(one) for one in flat} == {int, AnswerRefused}
    assert all(one % 2 == 0 for one in flat if isinstance(one, int))
    again = tiny_llm.generate("Hi", schema=kind, sampling_params=hot(0, n=8, max_tokens=8), retries=20)
    assert all(new == old or isinstance(old, AnswerRefused) for new, old in zip(again, found[0], strict=True))


def test_what_is_wrong_with_all_of_them_is_raised_at_once(tiny_llm):
    before = tiny_llm.client.metrics().steps
    with pytest.raises(UnsupportedSchema):
        tiny_llm.generate(["Hi"] * 3, schema={"type": "array", "items": {"type": "object"}, "uniqueItems": True})
    with pytest.raises(InvalidRequest, match="on_error: is 'raise' or 'return', not 'ignore'"):
        tiny_llm.generate(["Hi"], on_error="ignore")
    assert tiny_llm.client.metrics().steps == before


def test_an_engine_that_ends_in_between_leaves_what_was_finished(tiny_folder):
    with LLM(tiny_folder) as llm:
        read = []

        def close_after_five(number):
            read.append(number)
            if len(read) == 5:
                llm.close()
            return number

        kind = Annotated[int, AfterValidator(close_after_five)]
        with pytest.raises(BatchFailed) as caught:
            llm.generate(["Hi"] * 400, schema=kind, sampling_params=SamplingParams(max_tokens=20))
    results = caught.value.results
    assert results[: len(read)] == read
    assert {type(one) for one in results[len(read) : 256]} <= {GenerationError, EngineClosed}
    assert {type(one) for one in results[256 + 5 :]} == {EngineClosed}


def test_more_prompts_than_are_asked_for_ahead_are_all_answered_in_order(tiny_llm):
    prompts = [f"Number {number}" for number in range(300)]
    few = SamplingParams(max_tokens=2)
    found = tiny_llm.generate(prompts, sampling_params=few)
    assert found[::60] == [tiny_llm.generate(prompt, sampling_params=few) for prompt in prompts[::60]]
    assert len(found) == 300


def test_the_error_of_a_batch_can_be_sent_to_another_process(tiny_llm):
    with pytest.raises(BatchFailed) as caught:
        tiny_llm.generate(["Hi", LONG], schema=int)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.results[0] == caught.value.results[0]


@pytest.mark.parametrize(
    ("progress", "terminal", "prompts", "drawn"),
    [
        (None, True, ["Hi", LONG, "Ho"], True),
        (None, True, "Hi", False),
        (None, False, ["Hi", LONG, "Ho"], False),
        (True, False, ["Hi", LONG, "Ho"], True),
        (True, True, "Hi", True),
        (False, True, ["Hi", LONG, "Ho"], False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_or_where_it_is_asked_for(
    tiny_llm, monkeypatch, progress, terminal, prompts, drawn
):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: terminal))
    tiny_llm.generate(prompts, schema=int, on_error="return", progress=progress)
    total = 1 if isinstance(prompts, str) else len(prompts)
    assert (f"{total}/{total}" in shown.getvalue()) is drawn
    assert ("1 failed" in shown.getvalue()) is (drawn and total == 3)
    assert drawn or not shown.getvalue()
