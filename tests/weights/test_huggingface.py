from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile, ModelNotFound, UnsupportedModel

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}  # fmt: skip


def write_config(folder, **values):
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **values}))
    return folder


@pytest.fixture
def folder(tmp_path):
    """A folder with one tensor and nothing optional."""
    save_file({"model.norm.weight": torch.arange(4, dtype=torch.bfloat16)}, tmp_path / "model.safetensors")
    return write_config(tmp_path, hidden_size=4)


@pytest.fixture(scope="module", params=["one file", "shards"])
def saved(request, tmp_path_factory):
    """What save_pretrained writes, and the model itself."""
    torch.manual_seed(0)
    rope = {**LLAMA3, "rope_theta": 500000.0}
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, rope_parameters=rope,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    folder = tmp_path_factory.mktemp("saved")
    model.save_pretrained(folder, max_shard_size="10KB" if request.param == "shards" else "1GB")
    assert (len(list(folder.glob("*.safetensors"))) > 1) == (request.param == "shards")
    return folder, model


def test_every_tensor_of_a_saved_model_comes_back(saved):
    folder, model = saved
    with open_checkpoint(folder) as checkpoint:
        assert checkpoint.architecture == "llama"
        assert set(checkpoint.names()) == set(model.state_dict())
        for name, expected in model.state_dict().items():
            assert checkpoint.shape(name) == tuple(expected.shape)
            assert np.array_equal(checkpoint.tensor(name), expected)


def test_rope_settings_stand_in_one_place_whoever_wrote_them(saved, folder):
    with open_checkpoint(saved[0]) as checkpoint:
        assert checkpoint.metadata["rope_theta"] == 500000.0
        assert checkpoint.metadata["rope_scaling"] == LLAMA3
        assert "rope_parameters" not in checkpoint.metadata
    older = {"rope_theta": 5.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    with open_checkpoint(write_config(folder, **older)) as checkpoint:
        assert checkpoint.metadata["rope_theta"] == 5.0
        assert checkpoint.metadata["rope_scaling"] == {"rope_type": "linear", "factor": 2.0}
    plain = {"rope_parameters": {"rope_theta": 7.0, "rope_type": "default"}, "rope_scaling": None}
    with open_checkpoint(write_config(folder, **plain)) as checkpoint:
        assert checkpoint.metadata == {"model_type": "llama", "rope_theta": 7.0}


def test_bfloat16_comes_as_the_same_numbers(folder):
    with open_checkpoint(folder) as checkpoint:
        norm = checkpoint.tensor("model.norm.weight")
    assert norm.dtype == np.float32
    assert norm.tolist() == [0, 1, 2, 3]  # and it outlives the checkpoint


def test_end_tokens_are_collected_from_wherever_they_are_named(folder, tiny_folder):
    with open_checkpoint(folder) as checkpoint:
        assert (checkpoint.bos_token_id, checkpoint.eos_token_ids) == (None, ())
    write_config(folder, bos_token_id=1, eos_token_id=2)
    with open_checkpoint(folder) as checkpoint:
        assert (checkpoint.bos_token_id, checkpoint.eos_token_ids) == (1, (2,))
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 5, "eos_token_id": [7, 9]}))
    with open_checkpoint(folder) as checkpoint:
        assert (checkpoint.bos_token_id, checkpoint.eos_token_ids) == (5, (7, 9))
    (folder / "tokenizer.json").write_bytes((tiny_folder / "tokenizer.json").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<|im_end|>"}}))
    with open_checkpoint(folder) as checkpoint:
        end = checkpoint.tokenizer().token_to_id("<|im_end|>")
        assert checkpoint.eos_token_ids == (7, 9, end)


def test_the_tokenizer_neither_cuts_nor_pads(folder, tiny_folder):
    tokenizer = json.loads((tiny_folder / "tokenizer.json").read_text())
    tokenizer["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with open_checkpoint(folder) as checkpoint:
        assert len(checkpoint.tokenizer().encode("What is the weather in Stockholm?").ids) > 2


@pytest.mark.parametrize(
    "files",
    [
        {"chat_template.jinja": "default {{ eos_token }}"},
        {
            "chat_template.jinja": "default {{ eos_token }}",
            "additional_chat_templates/tool_use.jinja": "tools {{ eos_token }}",
        },
        {"tokenizer_config.json": json.dumps({"chat_template": "default {{ eos_token }}", "eos_token": "</s>"})},
        {
            "tokenizer_config.json": json.dumps(
                {
                    "chat_template": [
                        {"name": "default", "template": "default {{ eos_token }}"},
                        {"name": "tool_use", "template": "tools {{ eos_token }}"},
                    ],
                    "eos_token": "</s>",
                }
            )
        },
    ],
    ids=["jinja", "two jinjas", "one", "named"],
)
def test_the_chat_template_is_found_wherever_it_is(folder, files):
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with open_checkpoint(folder) as checkpoint:
        template = checkpoint.chat_template()
    assert template.render([]) == "default </s>"
    assert template.render([], tools=[{}]) == ("tools </s>" if "tool_use" in str(files) else "default </s>")


def test_a_folder_without_a_chat_template_has_none(folder):
    with open_checkpoint(folder) as checkpoint:
        assert checkpoint.chat_template() is None


def test_a_path_that_is_no_model_is_named(tmp_path):
    with pytest.raises(ModelNotFound, match="nowhere: no such file or folder"):
        open_checkpoint(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UnsupportedModel, match="neither a GGUF file nor a Hugging Face folder"):
        open_checkpoint(tmp_path / "notes.txt")
    with pytest.raises(UnsupportedModel, match="neither a GGUF file nor a Hugging Face folder"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(("text", "reason"), [("{", "not JSON"), ("[]", "a JSON object"), ("{}", "no model_type")])
def test_a_broken_configuration_is_named(folder, text, reason):
    (folder / "config.json").write_text(text)
    with pytest.raises(InvalidModelFile, match=rf"config\.json: {reason}"):
        open_checkpoint(folder)


def test_missing_broken_and_unusable_weights_are_named(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-3])
    with pytest.raises(InvalidModelFile, match=r"model\.safetensors: broken safetensors file"):
        open_checkpoint(folder)
    save_file({"w": torch.zeros(4, dtype=torch.int8)}, weights)
    with pytest.raises(UnsupportedModel, match="'w' is of type I8"):
        open_checkpoint(folder)
    weights.unlink()
    with pytest.raises(InvalidModelFile, match=r"neither model\.safetensors nor model\.safetensors\.index\.json"):
        open_checkpoint(folder)
    (folder / "pytorch_model.bin").touch()
    with pytest.raises(UnsupportedModel, match="pickled weights"):
        open_checkpoint(folder)


def test_causal_masks_beside_the_weights_are_no_weights(folder):
    masks = {"gpt_neox.layers.0.attention.bias": torch.ones(2, 2, dtype=torch.bool)}
    save_file({"w": torch.zeros(4), **masks}, folder / "model.safetensors")
    assert open_checkpoint(folder).names() == ["w"]


def test_a_missing_shard_and_a_broken_index_are_named(folder):
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"model.norm.weight": "a.safetensors", "lm_head": "b.safetensors"}}))
    with pytest.raises(InvalidModelFile, match=r"b\.safetensors: this shard is missing"):
        open_checkpoint(folder)
    index.write_text(json.dumps({"weight_map": {"other": "a.safetensors"}}))
    with pytest.raises(InvalidModelFile, match=r"a\.safetensors: broken safetensors file"):
        open_checkpoint(folder)
    for broken in ("{", "{}", "[]", '{"weight_map": [1]}', '{"weight_map": {"a": 3}}'):
        index.write_text(broken)
        with pytest.raises(InvalidModelFile, match="not an index of shards"):
            open_checkpoint(folder)


def test_quantized_folders_are_refused_by_the_name_of_their_method(folder):
    write_config(folder, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(UnsupportedModel, match="quantized with gptq"):
        open_checkpoint(folder)


def test_a_missing_or_broken_tokenizer_is_named(folder):
    with (
        open_checkpoint(folder) as checkpoint,
        pytest.raises(InvalidModelFile, match=r"no tokenizer\.json"),
    ):
        checkpoint.tokenizer()
    (folder / "tokenizer.json").write_text("{}")
    with open_checkpoint(folder) as checkpoint, pytest.raises(InvalidModelFile, match="not a tokenizer"):
        checkpoint.tokenizer()


def test_a_closed_checkpoint_reads_no_more(folder):
    checkpoint = open_checkpoint(folder)
    checkpoint.close()
    checkpoint.close()
    with pytest.raises(ValueError, match="closed"):
        checkpoint.tensor("model.norm.weight")
