"""Requests are checked when they are made, and each message names the field."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from structgen.engine.request import Delta, GrammarSpec, Request, SamplingParams, Usage
from structgen.errors import GenerationError, InvalidRequest


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 1.1),
        ("top_k", -1),
        ("top_k", 1.5),
        ("min_p", -1),
        ("min_p", True),
        ("seed", -1),
        ("seed", 2**64),
        ("max_tokens", 0),
        ("min_tokens", -1),
        ("min_tokens", 513),
        ("presence_penalty", 2.5),
        ("frequency_penalty", -2.5),
        ("repetition_penalty", 0),
        ("logprobs", 21),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", 5),
        ("logit_bias", {"a": 1}),
        ("logit_bias", {1: 101}),
        ("logit_bias", {-1: 1}),
        ("logit_bias", [1]),
        ("ignore_eos", 1),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(field, value):
    with pytest.raises(InvalidRequest, match=rf"^{field}"):
        SamplingParams(**{field: value})


def test_sampling_params_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SamplingParams().temperature = 1


@pytest.mark.parametrize("stop", ["x", ["x"], ("x",)])
def test_stop_is_a_string_or_several(stop):
    assert SamplingParams(stop=stop).stop_strings == ("x",)


def test_a_prompt_has_tokens():
    with pytest.raises(InvalidRequest, match="prompt_token_ids"):
        Request(())


def test_requests_get_ids_of_their_own():
    assert Request((1,)).request_id != Request((1,)).request_id


def test_what_crosses_the_border_is_plain_data():
    request = Request((1, 2), SamplingParams(stop="x", logit_bias={1: 2}), GrammarSpec("choice", ["a"]))
    assert pickle.loads(pickle.dumps(request)) == request
    delta = Delta("a", (1,), "b", usage=Usage(2, 1), error=GenerationError("why"))
    copy = pickle.loads(pickle.dumps(delta))
    assert (copy.usage.total_tokens, str(copy.error)) == (3, "why")
