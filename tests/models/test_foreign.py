"""Architectures without a description of ours: transformers' code over our pages computes what it computes alone."""

from __future__ import annotations

import json
import logging
import sys

import pytest
import torch
from gguf_files import llama_tensors, write_gguf
from paged_steps import logits_of
from random_steps import relative_error, run
from safetensors.torch import load_file, save_file

from structgen.engine.batching import build_batch
from structgen.engine.foreign.loading import load_foreign_model
from structgen.engine.foreign.probe import probe
from structgen.engine.foreign.runner import ForeignPagedRunner
from structgen.engine.kv import KVManager
from structgen.engine.models import load_model
from structgen.engine.options import EngineOptions
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.engine.runners import make_runner
from structgen.engine.scheduler import Row
from structgen.engine.task import Task
from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile, UnsupportedModel

TOKENS = torch.randint(0, 97, (3, 60), generator=torch.Generator().manual_seed(1)).tolist()
SEQUENCES = [*TOKENS, TOKENS[0][:40] + TOKENS[1][:20]]
LFM2 = {"model_type": "lfm2", "num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]}


def write_folder(folder, **config):
    """A folder of which nothing but the configuration is to be looked at."""
    (folder / "config.json").write_text(json.dumps(config))
    save_file({"w": torch.zeros(1)}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("page_size", [4, 16])
def test_logits_are_those_of_transformers(undescribed, tiny, page_size):
    """In pieces of any length, beside other sequences, and behind a prefix that another one has computed."""
    model = tiny(undescribed)
    runner = ForeignPagedRunner(load_model(model.folder), page_size=page_size)
    shared = 0
    for tokens, (first, logits) in zip(SEQUENCES, run(runner, SEQUENCES, page_size), strict=True):
        assert relative_error(logits, model.expected(tokens)[first:]) < 1e-4
        shared += first
    assert shared >= 40 // page_size * page_size
    assert (runner.vocab_size, runner.max_model_len) == (97, 128)


def test_a_described_architecture_computes_the_same_both_ways(tiny):
    folder = tiny("gemma3").folder
    with open_checkpoint(folder) as checkpoint:
        foreign = ForeignPagedRunner(load_foreign_model(checkpoint, "gemma3", "float32"))
    ours = TorchPagedRunner(load_model(folder))
    assert [set(group) for group in foreign.cache_groups] == [set(group) for group in ours.cache_groups]
    for (_, one), (_, other) in zip(run(foreign, SEQUENCES, 3), run(ours, SEQUENCES, 3), strict=True):
        assert relative_error(one, other) < 1e-4


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("phi3-window", [((0, 1, 2), 8)]),
        ("qwen2-moe-windows", [((0,), 8), ((1, 2), None)]),
        ("gpt-oss", [((0, 2), 8), ((1,), None)]),
        ("diffllama", [((0, 1, 2, 3, 4, 5), None)]),
    ],
)
def test_calls_of_attention_that_see_as_far_are_one_group(tiny, name, groups):
    runner = ForeignPagedRunner(load_model(tiny(name).folder))
    assert [tuple(group) for group in runner.cache_groups] == groups


def test_a_page_has_room_for_the_wider_of_keys_and_values(tiny):
    runner = ForeignPagedRunner(load_model(tiny("minicpm3").folder), kv_dtype=torch.int8)
    assert runner.page_bytes(0) == 3 * 16 * 2 * 4 * (24 + 4)


@pytest.mark.parametrize(("dtype", "close"), [(torch.bfloat16, 0.02), (torch.int8, 0.03)])
def test_what_is_stored_is_what_is_used(tiny, dtype, close):
    model = tiny("starcoder2-window")
    runner = ForeignPagedRunner(load_model(model.folder), page_size=8, kv_dtype=dtype)
    one, other = (run(runner, TOKENS[:1], seed)[0][1] for seed in (0, 1))
    exact = model.expected(TOKENS[0])
    error = float((one - exact).norm() / exact.norm())
    assert float((one - other).norm() / exact.norm()) < error / 20
    assert 1e-4 < error < close


def test_a_model_in_bfloat16_is_near_to_the_one_in_float32(tiny):
    model = tiny("olmo2")
    loaded = load_model(model.folder, dtype="bfloat16")
    assert next(loaded.module.parameters()).dtype == torch.bfloat16
    found, exact = run(ForeignPagedRunner(loaded), TOKENS[:1], 0)[0][1], model.expected(TOKENS[0])
    assert found.dtype == torch.float32
    assert float((found - exact).norm() / exact.norm()) < 0.05


def test_a_sequence_is_no_longer_than_all_tokens_turn_alike(build_tiny, edit_config, tmp_path):
    """Beyond 64 tokens every token of the step would be turned otherwise, whatever sequence it is of."""
    folder = build_tiny("phi3-window", tmp_path).folder
    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, **factors}
    edit_config(folder, rope_parameters=rope, original_max_position_embeddings=64)
    assert ForeignPagedRunner(load_model(folder)).max_model_len == 64


def test_a_number_that_is_not_finite_stays_in_its_row_and_its_module_is_named(tiny):
    loaded = load_model(tiny("olmo2").folder)
    with torch.no_grad():
        loaded.module.model.layers[1].mlp.down_proj.weight.fill_(1e38)
        loaded.module.model.embed_tokens.weight[50, 0] = float("nan")
    runner = ForeignPagedRunner(loaded)
    runner.allocate((20,))
    kv = KVManager(runner.cache_groups, [20], 16)
    rows = []
    for arrival, tokens in enumerate(([1, 2, 3], [4, 50, 6, 7])):
        sequence = kv.new_sequence(tokens)
        assert kv.open(sequence) is not None
        rows.append(Row(Task(sequence, arrival=arrival), 0, len(tokens)))
    assert runner.broken_layer(build_batch(rows[1:], 16)) == "model.embed_tokens"
    assert runner.broken_layer(build_batch(rows[:1], 16)) == "model.layers.1.mlp.down_proj"
    loaded.module.model.layers[1].mlp.down_proj.weight.fill_(0.0)
    assert runner.broken_layer(build_batch(rows[:1], 16)) is None
    assert logits_of(runner, build_batch(rows, 16)).isfinite().all(dim=-1).tolist() == [True, False]


def test_the_runner_is_chosen_by_the_architecture_and_said_in_one_line(tiny, caplog):
    with caplog.at_level(logging.WARNING, "structgen"):
        loaded = load_model(tiny("granite").folder)
    assert [record.getMessage() for record in caplog.records] == [
        "structgen: 'granite' has no description here; it runs through transformers' own code, up to 128 tokens a "
        "sequence"
    ]
    runner = make_runner(loaded, EngineOptions(block_size=32, kv_cache_dtype="int8"), None)
    assert isinstance(runner, ForeignPagedRunner)
    assert runner.page_bytes(0) == 3 * 32 * 2 * 2 * (16 + 4)
    with pytest.raises(UnsupportedModel, match="'granite' runs through transformers' own code, whose weights are not"):
        make_runner(loaded, EngineOptions(), "int8")


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "rwkv"}, "'rwkv' keeps states besides keys and values; models of attention alone run"),
        (LFM2, "'lfm2' has layers of conv; full and sliding attention run"),
        ({"model_type": "llama4_text"}, "'llama4_text' has layers of chunked_attention"),
        ({"model_type": "t5"}, "'t5' is an encoder with a decoder; decoders alone run"),
        ({"model_type": "vit"}, "no causal language model of 'vit'"),
        ({"model_type": "bloom"}, "the code of 'bloom' in transformers .* takes no position_ids"),
        ({"model_type": "martian"}, "'martian' is known neither here nor to transformers .* a newer version may"),
        ({"model_type": "martian", "auto_map": {}}, r"may know it; code of the model's own \(auto_map\) is not run"),
    ],
)
def test_what_cannot_run_is_refused_by_name_before_its_weights_are_read(tmp_path, config, reason):
    with pytest.raises(UnsupportedModel, match=reason) as refused:
        load_model(write_folder(tmp_path, **config))
    assert str(refused.value).startswith(f"{tmp_path}: ")


def test_a_configuration_that_transformers_refuses_is_a_broken_file(tmp_path):
    with pytest.raises(InvalidModelFile, match=r"config\.json: transformers refuses it: "):
        load_model(write_folder(tmp_path, model_type="phi3", rope_parameters={"rope_type": "martian"}))


def test_a_model_whose_tokens_see_what_follows_them_is_refused(build_tiny, tmp_path):
    folder = build_tiny("bert", tmp_path).folder
    with pytest.raises(UnsupportedModel, match="attend to those that come after them; causal models run"):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rembert", "0 of its 3 layers attend through transformers' attention interface; models run of which all do"),
        ("falcon", "its attention is not behind the attention interface of transformers"),
    ],
)
def test_a_model_whose_attention_is_not_behind_the_interface_is_refused(build_tiny, tmp_path, name, reason):
    folder = build_tiny(name, tmp_path).folder
    with pytest.raises(UnsupportedModel, match=reason):
        load_model(folder)


def test_a_model_whose_tokens_meet_outside_attention_is_refused(tiny):
    loaded = load_model(tiny("olmo2").folder)
    mix = loaded.module.model.layers[1].mlp.register_forward_hook(lambda _, __, output: output + output.roll(1, dims=1))
    with pytest.raises(UnsupportedModel, match="something besides attention joins its tokens"):
        probe(loaded.module, loaded.module.config)
    mix.remove()
    assert probe(loaded.module, loaded.module.config).layers == loaded.layers


@pytest.mark.parametrize("broken", ["nan", "inf"])
def test_weights_that_are_not_finite_are_for_the_requests_that_meet_them(tiny, broken):
    loaded = load_model(tiny("olmo2").folder)
    with torch.no_grad():
        loaded.module.model.embed_tokens.weight[1, 0] = float(broken)
    assert probe(loaded.module, loaded.module.config).layers == loaded.layers


def test_a_model_that_counts_positions_itself_is_refused(tiny):
    loaded = load_model(tiny("gpt2").folder)

    def count(module, args, kwargs):
        return args, {**kwargs, "position_ids": None}

    loaded.module.transformer.register_forward_pre_hook(count, with_kwargs=True)
    with pytest.raises(UnsupportedModel, match="positions that are not given"):
        probe(loaded.module, loaded.module.config)


def test_missing_and_misshapen_tensors_are_named(build_tiny, tmp_path):
    folder = build_tiny("olmo2", tmp_path).folder
    name = "model.layers.1.mlp.down_proj.weight"
    tensors = load_file(folder / "model.safetensors")
    save_file({key: one for key, one in tensors.items() if key != name}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InvalidModelFile, match=f"1 tensors are missing: {name}; get the whole model"):
        load_model(folder)
    save_file({**tensors, name: torch.zeros(3, 3)}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InvalidModelFile, match=r"transformers cannot load it: .*get the whole model"):
        load_model(folder)


def test_causal_masks_saved_beside_the_weights_are_no_hindrance(build_tiny, tmp_path):
    model = build_tiny("gpt-neox", tmp_path)
    masks = {f"gpt_neox.layers.{layer}.attention.bias": torch.ones(1, 1, 128, 128).tril().bool() for layer in range(3)}
    save_file({**load_file(model.folder / "model.safetensors"), **masks}, model.folder / "model.safetensors")
    ((_, logits),) = run(ForeignPagedRunner(load_model(model.folder)), TOKENS[:1], 0)
    assert relative_error(logits, model.expected(TOKENS[0])) < 1e-4


def test_without_transformers_the_extra_is_named(tmp_path, monkeypatch):
    folder = write_folder(tmp_path, model_type="phi3")
    needed = r"'phi3' has no description here; it would run through transformers 4\.53 or newer, "
    with monkeypatch.context() as old:
        old.setattr("transformers.__version__", "4.52.4")
        with pytest.raises(UnsupportedModel, match=needed + r"and 4\.52\.4 is installed; pip"):
            load_model(folder)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UnsupportedModel, match=rf"{needed}.*pip install 'structgen\[transformers\]'"):
        load_model(folder)


def test_a_gguf_file_of_such_an_architecture_is_refused_and_the_folder_named(tmp_path):
    path = write_gguf(tmp_path / "model.gguf", tensors=llama_tensors(), architecture="phi3")
    with pytest.raises(
        UnsupportedModel, match=r"'phi3' is not known; known are .*; others run from their Hugging Face"
    ):
        load_model(path)
