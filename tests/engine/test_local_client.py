"""The engine behind its client, with a real model of random weights: what each request is promised."""

from __future__ import annotations

import gc
import itertools
import json
import threading
import time

import numpy as np
import pytest
import torch
from deltas import gather

from structgen.engine.local_client import LocalClient
from structgen.engine.options import EngineOptions
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.engine.request import GrammarSpec, Request, SamplingParams
from structgen.engine.runner import TorchRunner
from structgen.errors import BudgetTooSmall, EngineClosed, GenerationError, InvalidRequest, PromptTooLong
from structgen.grammars import compile_json_schema

PROMPT = tuple(range(40, 60))
BAD_TOKEN = 77
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
JSON = GrammarSpec("json_schema", SCHEMA)
WARM = SamplingParams(temperature=1, seed=3, max_tokens=16)


class WatchedRunner(TorchPagedRunner):
    """A real runner that remembers the rows of each step, and fails on one prompt."""

    def __init__(self, loaded):
        super().__init__(loaded)
        self.steps = []

    def run(self, batch):
        borders = itertools.pairwise(batch.row_starts.tolist())
        self.steps.append([tuple(batch.token_ids[start:end].tolist()) for start, end in borders])
        if np.any((batch.token_ids == BAD_TOKEN) & (batch.positions == 0)):
            raise ArithmeticError("the chip is on fire")
        return super().run(batch)


@pytest.fixture
def runner(loaded):
    return WatchedRunner(loaded)


@pytest.fixture
def client(runner, vocabulary):
    with LocalClient(runner, vocabulary) as client:
        yield client


def ask(client, prompt=PROMPT, params=WARM, grammar=None, **options):
    return gather(client.submit(Request(prompt, params, grammar, **options)))


def test_the_same_seed_gives_the_same_answer_whoever_else_is_running(client):
    alone = ask(client)[1]
    others = [client.submit(Request(PROMPT[:n], SamplingParams(temperature=1, seed=n))) for n in range(1, 5)]
    assert ask(client)[1] == alone
    for other in others:
        other.close()


def test_another_choice_is_another_draw_and_no_seed_is_a_fresh_one(client):
    draws = {ask(client, choice=choice)[1] for choice in range(3)}
    unseeded = SamplingParams(temperature=1, max_tokens=16)
    draws |= {ask(client, params=unseeded)[1] for _ in range(3)}
    assert len(draws) == 6


def test_no_end_is_chosen_before_min_tokens(client, vocabulary):
    ends = dict.fromkeys(vocabulary.eos_token_ids, 100.0)
    for minimum in (0, 1, 7):
        params = SamplingParams(max_tokens=16, min_tokens=minimum, logit_bias=ends)
        last = ask(client, params=params)[2]
        assert (last.finish_reason, last.usage.completion_tokens) == ("stop", minimum)


@pytest.mark.parametrize(
    "grammar",
    [GrammarSpec("json_schema", {"const": [1, 2]}, {"whitespace": "compact"}), GrammarSpec("regex", "[0-9]{1,5}")],
)
def test_a_grammar_that_is_at_its_end_ends_the_answer_before_min_tokens(client, grammar):
    params = SamplingParams(max_tokens=64, min_tokens=64)
    last = ask(client, params=params, grammar=grammar)[2]
    assert (last.finish_reason, last.complete) == ("stop", True)
    assert last.usage.completion_tokens <= 5


def test_running_requests_share_their_steps(client, runner):
    params = SamplingParams(temperature=1, seed=3, max_tokens=16, ignore_eos=True)
    streams = [client.submit(Request(PROMPT[n:], params)) for n in range(3)]
    for stream in streams:
        gather(stream)
    assert len(runner.steps) < 16 + 4
    assert sum(len(rows) == 3 for rows in runner.steps) > 12


def test_a_long_prompt_is_cut_and_keeps_nobody_waiting(runner, vocabulary):
    long_prompt = PROMPT * 15  # 300 tokens
    with LocalClient(runner, vocabulary, EngineOptions(max_num_batched_tokens=64)) as client:
        long, short = client.submit(Request(long_prompt, WARM)), client.submit(Request(PROMPT[::-1], WARM))
        gather(short)
        gather(long)
    lengths = [sum(map(len, rows)) for rows in runner.steps]
    assert max(lengths) == 64
    first_of_short = next(step for step, rows in enumerate(runner.steps) if PROMPT[::-1] in rows)
    assert first_of_short <= 3


def test_no_more_requests_run_at_once_than_allowed(runner, vocabulary):
    endless = SamplingParams(temperature=1, seed=3, max_tokens=16, ignore_eos=True)
    with LocalClient(runner, vocabulary, EngineOptions(max_num_seqs=2)) as client:
        streams = [client.submit(Request(PROMPT[n:], endless)) for n in range(5)]
        assert all(gather(stream)[2].finish_reason == "length" for stream in streams)
    assert max(map(len, runner.steps)) == 2


def test_a_fault_ends_its_own_request_and_nothing_else(client):
    expected = ask(client)[1]
    good = client.submit(Request(PROMPT, WARM))
    bad = client.submit(Request((BAD_TOKEN,), WARM))
    _, token_ids, last = gather(bad)
    assert isinstance(last.error, GenerationError)
    assert "on fire" in str(last.error)
    assert isinstance(last.error.__cause__, ArithmeticError)
    assert (token_ids, last.finish_reason) == ((), None)
    assert gather(good)[1] == expected


def test_an_aborted_request_ends_and_the_others_go_on(client):
    forever = SamplingParams(temperature=1, seed=1, max_tokens=None, ignore_eos=True)
    request = Request(PROMPT, forever)
    stream, other = client.submit(request), client.submit(Request(PROMPT, WARM))
    next(stream)
    client.abort(request.request_id)
    *_, last = stream
    assert (last.finish_reason, last.complete) == ("abort", False)
    assert gather(other)[2].finish_reason in ("stop", "length")


def test_leaving_a_stream_aborts_its_request(client, runner):
    forever = SamplingParams(temperature=1, seed=1, max_tokens=None, ignore_eos=True)
    with client.submit(Request(PROMPT, forever)) as stream:
        next(stream)
    dropped = client.submit(Request(PROMPT, forever))
    next(dropped)
    del dropped
    ask(client, params=SamplingParams(max_tokens=1))
    steps = len(runner.steps)
    time.sleep(0.05)
    assert len(runner.steps) == steps


def test_a_waiting_request_can_be_aborted(runner, vocabulary):
    with LocalClient(runner, vocabulary, EngineOptions(max_num_seqs=1)) as client:
        first = client.submit(Request(PROMPT, SamplingParams(max_tokens=None, ignore_eos=True)))
        request = Request(PROMPT)
        waiting = client.submit(request)
        client.abort(request.request_id)
        assert [delta.finish_reason for delta in waiting] == ["abort"]
        first.close()


def test_an_over_long_request_is_refused_with_both_numbers(client):
    with pytest.raises(PromptTooLong, match=r"1030.*1024"):
        client.submit(Request(PROMPT[:1] * 1030))
    with pytest.raises(PromptTooLong, match=r"1000.*max_tokens=50.*1024.*24"):
        client.submit(Request(PROMPT[:1] * 1000, SamplingParams(max_tokens=50)))


def test_without_max_tokens_the_answer_may_fill_the_context(client):
    params = SamplingParams(temperature=1, seed=0, max_tokens=None, ignore_eos=True)
    _, token_ids, last = ask(client, prompt=PROMPT[:1] * 1000, params=params)
    assert (len(token_ids), last.finish_reason) == (24, "length")


def test_token_ids_outside_the_vocabulary_are_refused(client, vocabulary):
    with pytest.raises(InvalidRequest, match=f"prompt_token_ids.*{len(vocabulary)}"):
        client.submit(Request((len(vocabulary),)))
    with pytest.raises(InvalidRequest, match="logit_bias"):
        client.submit(Request(PROMPT, SamplingParams(logit_bias={len(vocabulary): 1})))


def test_a_request_id_in_use_is_refused(client):
    with client.submit(Request(PROMPT, WARM, request_id="one")) as first:
        last = gather(client.submit(Request(PROMPT, WARM, request_id="one")))[2]
        assert isinstance(last.error, InvalidRequest)
        assert gather(first)[2].error is None


@pytest.mark.parametrize("seed", range(8))
def test_answers_are_texts_of_their_grammar(client, seed):
    text, _, last = ask(client, params=SamplingParams(temperature=1.5, seed=seed, max_tokens=200), grammar=JSON)
    assert last.complete
    value = json.loads(text)
    assert set(value) == {"city", "days"}
    assert all(isinstance(day, int) for day in value["days"])


def test_every_budget_from_the_bound_on_is_kept_and_told(client, vocabulary):
    with compile_json_schema(SCHEMA, vocabulary).matcher() as matcher:
        bound = matcher.distance(matcher.start)
    reasons = set()
    for budget in range(bound, bound + 12):
        params = SamplingParams(temperature=1.5, seed=budget, max_tokens=budget)
        text, token_ids, last = ask(client, params=params, grammar=JSON)
        assert last.complete
        assert len(token_ids) <= budget
        json.loads(text)
        reasons.add(last.finish_reason)
    assert "length" in reasons


def test_a_budget_below_the_bound_is_tried_and_a_cut_answer_says_so(client, vocabulary):
    automaton = compile_json_schema(SCHEMA, vocabulary)
    with automaton.matcher() as matcher:
        bound = matcher.distance(matcher.start)
    assert automaton.min_tokens < bound
    for budget in range(automaton.min_tokens, bound):
        text, token_ids, last = ask(client, params=SamplingParams(max_tokens=budget), grammar=JSON)
        assert len(token_ids) <= budget
        if last.complete:
            json.loads(text)
        else:
            assert (last.finish_reason, len(token_ids)) == ("length", budget)


def test_a_budget_below_every_answer_is_refused_before_generating(client, runner, vocabulary):
    shortest = compile_json_schema(SCHEMA, vocabulary).min_tokens
    with pytest.raises(BudgetTooSmall, match=str(shortest)):
        client.submit(Request(PROMPT, SamplingParams(max_tokens=shortest - 1), JSON))
    assert not runner.steps


def test_a_grammar_of_one_text_needs_no_computation(client, runner):
    text, token_ids, last = ask(client, grammar=GrammarSpec("choice", ["x"]))
    assert (text, last.finish_reason, last.complete) == ("x", "stop", True)
    assert len(token_ids) == last.usage.completion_tokens == 1
    assert not runner.steps


def test_forced_tokens_are_computed_together(client, runner):
    """No token of this vocabulary joins the characters, so only the first is a choice; the rest needs no logits."""
    text, token_ids, _ = ask(client, grammar=GrammarSpec("choice", ["#%~#%~", "&@|&@|"]))
    assert len(token_ids) == len(text) == 6
    assert runner.steps == [[PROMPT]]


def test_an_answer_that_can_only_end_ends_without_an_end_token(client, runner, vocabulary):
    text, token_ids, last = ask(client, grammar=GrammarSpec("regex", "[ab]"))
    assert (len(text), last.finish_reason) == (1, "stop")
    assert not set(token_ids) & set(vocabulary.eos_token_ids)
    assert len(runner.steps) == 1


def test_a_free_answer_ends_at_the_models_end_token(client, vocabulary):
    (end,) = vocabulary.eos_token_ids
    text, token_ids, last = ask(client, params=SamplingParams(logit_bias={end: 100}))
    assert (text, token_ids, last.finish_reason) == ("", (), "stop")
    _, token_ids, last = ask(client, params=SamplingParams(logit_bias={end: 100}, ignore_eos=True, max_tokens=7))
    assert (len(token_ids), last.finish_reason) == (7, "length")


def test_a_stop_string_ends_the_answer_before_itself(client):
    text, _, _ = ask(client)
    stop = text[5:8]
    cut, _, last = ask(client, params=SamplingParams(temperature=1, seed=3, max_tokens=16, stop=stop))
    assert (cut, last.finish_reason, last.complete) == (text[: text.index(stop)], "stop", True)


def test_a_stop_string_inside_a_grammar_leaves_the_answer_incomplete(client):
    cut, _, last = ask(client, params=SamplingParams(stop="city"), grammar=JSON)
    assert cut.strip() == '{"' or cut.split() == ["{", '"']
    assert (last.finish_reason, last.complete) == ("stop", False)


def test_deltas_add_up_to_the_tokens_text(client, loaded):
    text, token_ids, last = ask(client)
    # At the very end, half a character is dropped here and U+FFFD there.
    assert text.rstrip("\ufffd") == loaded.tokenizer.decode(list(token_ids)).rstrip("\ufffd")
    assert last.usage.prompt_tokens == len(PROMPT)
    assert last.usage.completion_tokens == len(token_ids)


@pytest.mark.parametrize("grammar", [None, JSON])
def test_logprobs_are_those_of_the_whole_sequence(client, loaded, grammar):
    params = SamplingParams(temperature=1, seed=3, max_tokens=60, logprobs=3)
    deltas = list(client.submit(Request(PROMPT, params, grammar)))
    entries = [entry for delta in deltas for entry in delta.logprobs]
    token_ids = [token_id for delta in deltas for token_id in delta.token_ids]
    assert [entry.token_id for entry in entries] == token_ids
    runner = TorchRunner(loaded)
    logits = runner.forward_all(runner.new_cache(), [*PROMPT, *token_ids])[len(PROMPT) - 1 : -1]
    expected = torch.log_softmax(logits, dim=-1)
    for entry, row in zip(entries, expected, strict=True):
        assert entry.logprob == pytest.approx(float(row[entry.token_id]), abs=1e-4)
        assert [value for _, value in entry.top] == pytest.approx(row.topk(3).values.tolist(), abs=1e-4)


def test_closing_ends_what_runs_with_an_error_and_refuses_more(runner, vocabulary):
    client = LocalClient(runner, vocabulary)
    stream = client.submit(Request(PROMPT, SamplingParams(max_tokens=None, ignore_eos=True)))
    next(stream)
    client.close()
    client.close()
    *_, last = stream
    assert isinstance(last.error, GenerationError)
    with pytest.raises(EngineClosed, match="closed"):
        client.submit(Request(PROMPT))


def test_an_engine_that_nobody_holds_ends_its_thread(runner, vocabulary):
    before = threading.active_count()
    client = LocalClient(runner, vocabulary)
    ask(client)
    assert threading.active_count() == before + 1
    del client
    gc.collect()
    assert threading.active_count() == before


def test_requests_from_many_threads_are_all_answered(client):
    expected = {n: ask(client, params=SamplingParams(temperature=1, seed=n, max_tokens=10))[1] for n in range(6)}
    answers = {}

    def work(seed):
        answers[seed] = ask(client, params=SamplingParams(temperature=1, seed=seed, max_tokens=10))[1]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == expected
