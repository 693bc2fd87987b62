"""Bad input and faults behind the front door, on the runner that users get: each ends with its own error only."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from deltas import gather, settled
from safetensors.torch import load_file, save_file

from structgen import AsyncLLM, SamplingParams
from structgen.engine.request import GrammarSpec, Request
from structgen.errors import (
    BatchFailed,
    GenerationError,
    GrammarLimitExceeded,
    InvalidRequest,
    OutOfMemory,
    PromptTooLong,
)
from structgen.llm import LLM

ENDLESS = SamplingParams(max_tokens=None, ignore_eos=True)
FEW = SamplingParams(max_tokens=12, ignore_eos=True)
SLOW = [random.Random(number).randbytes(8).hex() * 8 for number in range(8000)]
"""Texts that take seconds to compile."""


@pytest.fixture(scope="module")
def broken(tiny_folder, tmp_path_factory):
    """A function that loads the tiny model with one number of a tensor not finite."""
    loaded = []

    def load(tensor, row):
        folder = tmp_path_factory.mktemp("broken")
        shutil.copytree(tiny_folder, folder, dirs_exist_ok=True)
        weights = load_file(folder / "model.safetensors")
        weights[tensor][row, 0] = float("nan")
        save_file(weights, folder / "model.safetensors")
        loaded.append(LLM(folder))
        return loaded[-1]

    yield load
    for llm in loaded:
        llm.close()


def test_requests_that_each_need_all_pages_queue_and_give_way_and_all_are_answered(tiny_folder, tiny_llm):
    prompts = [f"Number {number}" for number in range(12)]
    with LLM(tiny_folder, kv_memory="16KiB") as tight:
        room = tight.max_model_len
        assert room < 200
        answers = tight.generate(prompts, sampling_params=ENDLESS, return_details=True)
        assert all(answer.usage.prompt_tokens + answer.usage.completion_tokens == room for answer in answers)
        metrics = settled(tight.client)
    assert metrics.preemptions > 0
    for prompt, answer in zip(prompts, answers, strict=True):
        params = SamplingParams(max_tokens=answer.usage.completion_tokens, ignore_eos=True)
        assert tiny_llm.generate(prompt, sampling_params=params) == answer.text


def test_a_prompt_longer_than_the_model_is_refused_with_both_numbers(tiny_llm):
    with pytest.raises(PromptTooLong, match=r"the prompt has \d+ tokens and the context holds 1024"):
        tiny_llm.generate("long " * 2000)


def test_an_empty_prompt_is_refused_where_nothing_stands_around_it(tiny_llm):
    assert isinstance(tiny_llm.generate("", sampling_params=FEW), str)  # the template's own tokens are a prompt
    with pytest.raises(InvalidRequest, match="prompt_token_ids"):
        tiny_llm.generate("", chat_template=False)
    with pytest.raises(BatchFailed) as caught:
        tiny_llm.generate(["Hi", ""], chat_template=False, sampling_params=FEW)
    assert caught.value.results[0] == tiny_llm.generate("Hi", chat_template=False, sampling_params=FEW)


@pytest.mark.parametrize("outside", [-1, "size", 1 << 31, 1 << 80])
def test_a_token_outside_the_vocabulary_is_refused_and_named(tiny_llm, outside):
    size = len(tiny_llm.vocabulary)
    token_id = size if outside == "size" else outside
    with pytest.raises(InvalidRequest, match=rf"prompt_token_ids: token id {token_id} is outside .* {size}"):
        tiny_llm.client.submit(Request((40, token_id, 41), FEW))
    with pytest.raises(InvalidRequest, match=rf"logit_bias: .*{token_id}\b"):
        tiny_llm.generate("Hi", sampling_params=SamplingParams(logit_bias={token_id: 1.0}))


def test_a_number_that_is_not_finite_fails_the_prompts_that_meet_it_and_no_other(broken, tiny_llm):
    (token_id,) = tiny_llm.tokenizer.encode("~", add_special_tokens=False).ids
    llm = broken("model.embed_tokens.weight", token_id)
    prompts = ["Hi", "a ~ b", "Ho", "~"]
    hi, tilde, ho, alone = llm.generate(prompts, sampling_params=FEW, on_error="return")
    assert [hi, ho] == tiny_llm.generate(["Hi", "Ho"], sampling_params=FEW)
    for error in (tilde, alone):
        assert isinstance(error, GenerationError)
        assert "not finite, first in the embedding" in str(error)
    assert llm.generate("Hi", sampling_params=FEW) == hi


@pytest.mark.parametrize("part", ["self_attn.v_proj", "mlp.down_proj"])
def test_a_number_that_is_not_finite_in_a_layer_names_it(broken, part):
    llm = broken(f"model.layers.0.{part}.weight", 0)
    with pytest.raises(GenerationError, match="not finite, first in layer 0"):
        llm.generate("Hi", sampling_params=FEW)
    assert settled(llm.client).kv_pages_held == 0


def test_a_grammar_that_times_out_ends_its_own_request_while_others_are_answered(tiny_llm):
    slow = Request((40, 41), FEW, GrammarSpec("choice", SLOW, {"timeout": 1.5}))
    answered = 0
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(tiny_llm.client.submit, slow)
        while not refused.done():
            is_whole = len(gather(tiny_llm.client.submit(Request((42,), FEW))).token_ids) == 12
            answered += is_whole and not refused.done()
        with pytest.raises(GrammarLimitExceeded, match=r"timeout=1\.5 s"):
            refused.result()
    assert answered
    assert settled(tiny_llm.client).kv_pages_held == 0


def test_every_grammar_of_an_engine_has_the_time_that_it_gives(tiny_folder):
    with LLM(tiny_folder, grammar_timeout=0.2) as llm:
        with pytest.raises(GrammarLimitExceeded, match=r"timeout=0\.2 s"):
            llm.generate("Hi", choice=SLOW, sampling_params=FEW)
        assert llm.generate("Hi", choice=["yes"], sampling_params=FEW) == "yes"


def test_a_stream_that_is_left_lets_its_pages_go_while_others_end(tiny_llm):
    expected = tiny_llm.generate("Ho", sampling_params=FEW)
    settled(tiny_llm.client)
    left, stays = (tiny_llm.stream(prompt, sampling_params=ENDLESS) for prompt in ("Hi", "Ho"))
    next(left)
    left.close()
    assert list(left) == []
    assert tiny_llm.generate("Ho", sampling_params=FEW) == expected
    assert next(stays)
    del stays  # losing it is leaving it
    assert settled(tiny_llm.client).kv_pages_held == 0


@pytest.mark.parametrize("front", [LLM, AsyncLLM])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv_memory": 10}, r"kv_memory: 10 B hold no page; one of 16 tokens takes [\d.]+ KiB"),
        (
            {"kv_memory": "16KiB", "max_model_len": 512},
            r"kv_memory: 16 KiB hold (\d+) tokens and max_model_len=512; "
            r"give [\d.]+ KiB, or a max_model_len of at most \1",
        ),
    ],
)
def test_a_cache_that_does_not_fit_says_at_load_what_would(tiny_folder, front, options, message):
    with pytest.raises(OutOfMemory, match=message):
        front(tiny_folder, **options)


LIMITED = """
import resource, sys
from structgen import LLM
from structgen.errors import OutOfMemory
import structgen.engine.local_client, structgen.engine.models.loading, structgen.engine.runners
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (500 << 20),) * 2)
try:
    LLM(sys.argv[1])
except OutOfMemory as error:
    print(error)
"""


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say how much address space is taken")
def test_a_model_that_the_limit_of_the_process_does_not_hold_is_refused_before_it_is_read(smollm2):
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(smollm2)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.startswith("dtype='float32': the weights take 621 MiB, "), done.stderr
    assert "free; what fits: quantization='int8' (182" in done.stdout


def test_a_model_that_no_machine_holds_is_refused_by_its_description(tiny_folder, tmp_path):
    folder = tmp_path / "huge"
    shutil.copytree(tiny_folder, folder)
    sizes = {"hidden_size": 1 << 17, "intermediate_size": 1 << 19, "num_hidden_layers": 200}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **sizes}))
    with pytest.raises(OutOfMemory, match=r"TiB, and .* no format of this model fits"):
        LLM(folder)


def test_more_memory_for_keys_and_values_than_there_is_is_refused_before_anything_is_read(tiny_folder):
    with pytest.raises(
        OutOfMemory, match=r"kv_memory 1024 TiB beside them, .* what fits: kv_memory of at most [\d.]+ "
    ):
        LLM(tiny_folder, kv_memory="1024TiB")
