from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from gguf_files import CONFIG, llama_tensors, write_gguf
from transformers import AutoModelForCausalLM, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from structgen.engine.weights import open_checkpoint
from structgen.engine.weights.gguf import GgufCheckpoint
from structgen.errors import InvalidModelFile, UnsupportedModel


def test_names_shapes_and_values_are_those_of_hugging_face(tmp_path):
    tensors = llama_tensors()
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=tensors)) as checkpoint:
        assert set(checkpoint.names()) == set(tensors)
        for name, expected in tensors.items():
            assert checkpoint.shape(name) == expected.shape
            assert np.array_equal(checkpoint.tensor(name), expected), name


@pytest.mark.parametrize("kind", [GGMLQuantizationType.F16, GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1])
def test_rows_are_put_back_in_order_before_dequantization(tmp_path, kind):
    tensors = llama_tensors()
    name = "model.layers.1.self_attn.k_proj.weight"
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=tensors, kind=kind)) as checkpoint:
        expected = gguf.quants.dequantize(gguf.quants.quantize(tensors[name], kind), kind)
        assert np.array_equal(checkpoint.tensor(name), expected)


def test_only_llama_interleaves_its_rows(tmp_path):
    tensors = llama_tensors()
    path = write_gguf(tmp_path / "m.gguf", architecture="qwen2", tensors=tensors)
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.architecture == "qwen2"
        name = "model.layers.0.self_attn.q_proj.weight"
        assert np.array_equal(checkpoint.tensor(name), tensors[name])


def test_transformers_reads_the_same_weights_and_configuration(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(), kind=GGMLQuantizationType.Q8_0)
    reference = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=path.name, dtype=torch.float32)
    with open_checkpoint(path) as checkpoint:
        theirs = reference.state_dict()
        assert set(checkpoint.names()) == set(theirs)
        for name in checkpoint.names():
            assert np.array_equal(checkpoint.tensor(name), theirs[name]), name
        known = {word: getattr(reference.config, word) for word in CONFIG if word not in ("rope_theta", "rms_norm_eps")}
        assert known.items() <= checkpoint.metadata.items()


def test_numbers_are_the_ones_that_were_meant(tmp_path):
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors())) as checkpoint:
        assert CONFIG.items() <= checkpoint.metadata.items()
        assert checkpoint.metadata["rms_norm_eps"] == 1e-5  # not 9.999999747378752e-06
        assert checkpoint.metadata["tie_word_embeddings"] is False
        assert "rope_scaling" not in checkpoint.metadata
        assert "head_dim" not in checkpoint.metadata


def test_a_model_without_an_output_matrix_ties_its_embeddings(tmp_path):
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(tied=True))) as checkpoint:
        assert checkpoint.metadata["tie_word_embeddings"] is True


def test_a_tensor_outlives_its_checkpoint(tmp_path):
    tensors = llama_tensors()
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=tensors)) as checkpoint:
        norm = checkpoint.tensor("model.norm.weight")
    checkpoint.close()
    assert np.array_equal(norm, tensors["model.norm.weight"])
    with pytest.raises(ValueError, match="closed"):
        checkpoint.tensor("model.norm.weight")


def test_an_unknown_name_is_a_clear_error(tmp_path):
    with (
        open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors())) as checkpoint,
        pytest.raises(InvalidModelFile, match=r"no tensor 'model\.norm\.bias'"),
    ):
        checkpoint.tensor("model.norm.bias")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "llama"),
        ({"llama.attention.sliding_window": 4096}, "mistral"),
        ({"llama.expert_count": 8}, "mixtral"),
    ],
)
def test_families_that_share_an_architecture_are_told_apart(tmp_path, fields, expected):
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        assert checkpoint.architecture == expected


def test_head_sizes_and_partial_rotation_are_reported(tmp_path):
    fields = {"llama.attention.key_length": 32, "llama.rope.dimension_count": 16}
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        assert checkpoint.metadata["head_dim"] == 32
        assert checkpoint.metadata["partial_rotary_factor"] == 0.5


def test_linear_and_yarn_scaling_are_translated(tmp_path):
    fields = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    with open_checkpoint(write_gguf(tmp_path / "linear.gguf", fields=fields)) as checkpoint:
        assert checkpoint.metadata["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}
    fields |= {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.original_context_length": 64}
    with open_checkpoint(write_gguf(tmp_path / "yarn.gguf", fields=fields)) as checkpoint:
        expected = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
        assert checkpoint.metadata["rope_scaling"] == expected
    fields["llama.rope.scaling.attn_factor"] = 1.5
    with pytest.raises(UnsupportedModel, match=r"rope\.scaling\.attn_factor"):
        open_checkpoint(write_gguf(tmp_path / "more.gguf", fields=fields))


def frequency_factors(factor: float, context: int, head_dim: int, theta: float) -> np.ndarray:
    """The divisors that converters write, from transformers' own frequencies."""
    scaling = {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": context, "rope_theta": theta}  # fmt: skip
    config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, rope_parameters=scaling)
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    plain = theta ** -(np.arange(head_dim // 2) / (head_dim // 2))
    return (plain / scaled.numpy()).astype(np.float32)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_scaling_is_recognised_by_its_frequency_factors(tmp_path, factor):
    extra = {"rope_freqs.weight": frequency_factors(factor, 8192, 64, CONFIG["rope_theta"])}
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", extra=extra, tensors=llama_tensors())) as checkpoint:
        assert checkpoint.metadata["rope_scaling"] == {
            "rope_type": "llama3",
            "factor": pytest.approx(factor, rel=1e-5),
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }
        assert "rope_freqs.weight" not in checkpoint.names()


def test_other_frequency_factors_are_refused(tmp_path):
    extra = {"rope_freqs.weight": frequency_factors(8.0, 1024, 64, CONFIG["rope_theta"])}
    with pytest.raises(UnsupportedModel, match=r"rope_freqs\.weight"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", extra=extra))


def test_factors_of_one_scale_nothing(tmp_path):
    extra = {"rope_freqs.weight": np.ones(8, np.float32)}
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", extra=extra)) as checkpoint:
        assert "rope_scaling" not in checkpoint.metadata


def test_a_dimension_that_differs_between_layers_is_refused(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", fields={"llama.attention.head_count": [4, 8]})
    with pytest.raises(UnsupportedModel, match=r"head_count differs between layers"):
        open_checkpoint(path)
    path = write_gguf(tmp_path / "same.gguf", fields={"llama.attention.head_count": [4, 4]})
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.metadata["num_attention_heads"] == 4


def test_the_names_of_an_unknown_architecture_stay_as_they_are(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", architecture="phi3", tensors={"model.norm.weight": np.ones(4, np.float32)})
    with open_checkpoint(path) as checkpoint:
        assert (checkpoint.architecture, checkpoint.names()) == ("phi3", ["output_norm.weight"])


@pytest.mark.parametrize("architecture", ["gemma2", "gemma3"])
def test_what_converters_add_to_the_norms_of_gemma_is_taken_off(tmp_path, architecture):
    norm, matrix = np.linspace(0, 3, 64, dtype=np.float32), np.ones((64, 64), np.float32)
    stored = {
        "output_norm.weight": norm + 1,
        "blk.0.attn_norm.weight": norm + 1,
        "blk.0.post_attention_norm.weight": norm + 1,
        "blk.0.ffn_norm.weight": norm + 1,
        "blk.0.post_ffw_norm.weight": norm + 1,
        "blk.0.attn_q_norm.weight": norm + 1,
        "blk.0.ffn_up.weight": matrix,
    }
    layer = "model.layers.0."
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", architecture=architecture, extra=stored)) as checkpoint:
        assert set(checkpoint.names()) == {
            "model.norm.weight",
            f"{layer}input_layernorm.weight",
            f"{layer}post_attention_layernorm.weight",
            f"{layer}pre_feedforward_layernorm.weight",
            f"{layer}post_feedforward_layernorm.weight",
            f"{layer}self_attn.q_norm.weight",
            f"{layer}mlp.up_proj.weight",
        }
        for name in checkpoint.names():
            expected = matrix if "mlp" in name else norm
            np.testing.assert_allclose(checkpoint.tensor(name), expected, rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("architecture", "layers", "scalar"),
    [("gemma2", 26, 24), ("gemma2", 46, 16), ("gemma3", 18, 24), ("gemma3", 62, 16)],
)
def test_the_largest_gemmas_scale_their_scores_by_another_width(tmp_path, architecture, layers, scalar):
    config = {**CONFIG, "num_hidden_layers": layers}
    fields = {f"{architecture}.attention.key_length": 24, f"{architecture}.rope.freq_base_swa": 10000.0}
    path = write_gguf(tmp_path / "m.gguf", architecture=architecture, config=config, fields=fields)
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.architecture == {"gemma2": "gemma2", "gemma3": "gemma3_text"}[architecture]
        assert checkpoint.metadata["query_pre_attn_scalar"] == scalar
        assert checkpoint.metadata["rope_local_base_freq"] == 10000.0


def test_files_are_recognised_by_suffix_or_first_bytes(tmp_path):
    path = write_gguf(tmp_path / "m.gguf")
    assert GgufCheckpoint.recognises(path)
    assert GgufCheckpoint.recognises(path.rename(tmp_path / "blob"))
    (tmp_path / "empty.GGUF").touch()
    assert GgufCheckpoint.recognises(tmp_path / "empty.GGUF")
    assert not GgufCheckpoint.recognises(tmp_path)


@pytest.mark.model
def test_smollm2_is_described_as_its_own_configuration_has_it(smollm2):
    with open_checkpoint(smollm2) as checkpoint:
        assert checkpoint.architecture == "llama"
        assert checkpoint.metadata == {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "vocab_size": 49152,
            "max_position_embeddings": 8192,
            "rms_norm_eps": 1e-5,
            "rope_theta": 100000.0,
            "tie_word_embeddings": True,
        }
        assert (checkpoint.bos_token_id, checkpoint.eos_token_ids) == (1, (2, 0))
        assert len(checkpoint.names()) == 272
