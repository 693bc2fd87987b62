"""What comes with an answer on request, at the front door."""

from __future__ import annotations

import pytest

from structgen import SamplingParams
from structgen.errors import InvalidRequest


def test_details_have_the_prompts_and_the_answers_probabilities(tiny_llm):
    params = SamplingParams(max_tokens=8, logprobs=1, prompt_logprobs=1, allowed_mass=True)
    answer = tiny_llm.generate("Hi", schema=bool, sampling_params=params, return_details=True)
    assert len(answer.prompt_logprobs) == answer.usage.prompt_tokens
    assert [entry.token_id for entry in answer.logprobs] == list(answer.token_ids)
    assert 0 < answer.logprobs[0].allowed_mass < 1
    assert isinstance(answer.value, bool)


def test_an_echo_is_the_prompt_before_the_answer(tiny_llm):
    plain = tiny_llm.generate("one two", chat_template=False, sampling_params=SamplingParams(max_tokens=5))
    params = SamplingParams(max_tokens=5, echo=True)
    assert tiny_llm.generate("one two", chat_template=False, sampling_params=params) == "one two" + plain
    assert "".join(tiny_llm.stream("one two", chat_template=False, sampling_params=params)) == "one two" + plain


def test_an_echo_and_a_form_do_not_go_together(tiny_llm):
    with pytest.raises(InvalidRequest, match=r"^echo: "):
        tiny_llm.generate("Hi", schema=int, sampling_params=SamplingParams(echo=True))
    with pytest.raises(InvalidRequest, match=r"^echo: "):
        tiny_llm.stream("Hi", regex="a", sampling_params=SamplingParams(echo=True))
