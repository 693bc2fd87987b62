"""The runner's contract: sequences live in their caches, faults change nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from edited_weights import untied

from structgen.engine.models import load_model
from structgen.engine.models.weights import EMBEDDING
from structgen.engine.runner import TorchRunner
from structgen.errors import GenerationError, InvalidRequest, PromptTooLong


@pytest.fixture(scope="module")
def loaded(tiny):
    return load_model(tiny("llama2-gqa-tied").folder)


@pytest.fixture(scope="module")
def runner(loaded):
    return TorchRunner(loaded)


def test_interleaved_sequences_do_not_see_each_other(runner):
    first, second = runner.new_cache(), runner.new_cache()
    runner.forward(first, [1, 2, 3])
    runner.forward(second, [9, 8])
    together = runner.forward(first, [4]), runner.forward(second, [7])
    alone = runner.forward(runner.new_cache(), [1, 2, 3, 4]), runner.forward(runner.new_cache(), [9, 8, 7])
    torch.testing.assert_close(together, alone)
    assert (first.length, second.length) == (4, 3)


def test_logits_belong_to_the_caller(runner):
    cache = runner.new_cache()
    logits = runner.forward(cache, [1, 2, 3])
    kept = logits.clone()
    logits.fill_(float("-inf"))
    torch.testing.assert_close(runner.forward(runner.new_cache(), [1, 2, 3]), kept)


def test_the_longest_sequence_runs_and_one_token_more_is_refused(runner):
    cache = runner.new_cache()
    runner.forward(cache, [5] * (runner.max_model_len - 1))
    runner.forward(cache, [5])
    with pytest.raises(PromptTooLong, match="the sequence has 129 tokens; the model takes 128"):
        runner.forward(cache, [5])
    assert cache.length == runner.max_model_len


def test_a_prompt_that_is_too_long_is_refused_before_anything_runs(runner):
    cache = runner.new_cache()
    with pytest.raises(PromptTooLong, match="200 tokens"):
        runner.forward(cache, [5] * 200)
    assert cache.length == 0


@pytest.mark.parametrize("tokens", [[97], [3, -1]])
def test_a_token_outside_the_vocabulary_is_refused(runner, tokens):
    with pytest.raises(InvalidRequest, match=f"token id {tokens[-1]} is not in the model's vocabulary of 97"):
        runner.forward(runner.new_cache(), tokens)


def test_no_tokens_are_refused(runner):
    with pytest.raises(InvalidRequest, match="no tokens"):
        runner.forward(runner.new_cache(), [])


@pytest.mark.parametrize("fault", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_an_error_and_the_cache_stays_as_it_was(loaded, fault):
    fault_of = np.where(np.arange(97)[:, None] == 50, np.float32(fault), np.float32(0))
    runner = TorchRunner(
        untied(loaded, {re.escape(EMBEDDING): lambda values: values + fault_of})
    )  # the head stays whole
    cache = runner.new_cache()
    before = runner.forward(cache, [1, 2])
    with pytest.raises(GenerationError, match="logits after token 4 are not finite"):
        runner.forward(cache, [3, 50])
    assert cache.length == 2
    after = runner.forward(cache, [3])
    torch.testing.assert_close(after, runner.forward(runner.new_cache(), [1, 2, 3]))
    assert not torch.equal(before, after)
