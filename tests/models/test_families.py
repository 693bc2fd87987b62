"""A family reads what it implements and refuses the rest by name."""

from __future__ import annotations

import pytest

from structgen.engine.models import LinearScaling, Llama3Scaling, Rope, describe
from structgen.errors import InvalidModelFile, UnsupportedModel

LLAMA = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 97,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
}
QWEN = {**LLAMA, "use_sliding_window": True, "sliding_window": 8}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def test_what_llama_leaves_out_is_what_llama_2_meant():
    description = describe("llama", LLAMA)
    assert description.num_key_value_heads == 4
    assert description.head_dim == 16
    assert description.rope == Rope(10_000.0)
    assert description.sliding_windows == (None, None, None)
    assert (description.qkv_bias, description.qk_norm, description.tie_word_embeddings) == (False, False, False)


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        ({"rope_type": "default"}, None),
        ({"rope_type": "linear", "factor": 2}, LinearScaling(2.0)),
        ({**LLAMA3, "original_max_position_embeddings": 64}, Llama3Scaling(8.0, 1.0, 4.0, 64)),
        (LLAMA3, Llama3Scaling(8.0, 1.0, 4.0, 128)),
    ],
)
def test_rope_scaling_is_read(scaling, expected):
    assert describe("llama", {**LLAMA, "rope_theta": 500000, "rope_scaling": scaling}).rope == Rope(5e5, expected)


def test_every_layer_of_mistral_has_the_window_and_none_where_it_is_null():
    assert describe("mistral", {**LLAMA, "sliding_window": 8}).sliding_windows == (8, 8, 8)
    assert describe("mistral", {**LLAMA, "sliding_window": None}).sliding_windows == (None, None, None)


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
@pytest.mark.parametrize(
    ("options", "windows"),
    [
        ({"max_window_layers": 2}, (None, None, 8)),
        ({"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}, (8, None, 8)),
        ({"max_window_layers": 0, "use_sliding_window": False}, (None, None, None)),
        ({"max_window_layers": 0, "sliding_window": None}, (None, None, None)),
    ],
)
def test_qwen_has_windows_in_the_layers_that_the_configuration_names(family, options, windows):
    assert describe(family, {**QWEN, **options}).sliding_windows == windows


def test_qwen2_has_biases_and_qwen3_has_norms():
    second, third = describe("qwen2", LLAMA), describe("qwen3", LLAMA)
    assert (second.qkv_bias, second.qk_norm) == (True, False)
    assert (third.qkv_bias, third.qk_norm) == (False, True)


def test_gemma_2_has_windows_in_every_other_layer_and_caps_unless_they_are_null():
    capped = describe("gemma2", {**LLAMA, "sliding_window": 8})
    assert capped.sliding_windows == (8, None, 8)
    assert (capped.attention_softcap, capped.logit_softcap, capped.score_scale) == (50.0, 30.0, 1 / 16)
    free = describe("gemma2", {**LLAMA, "attn_logit_softcapping": None, "final_logit_softcapping": None})
    assert (free.attention_softcap, free.logit_softcap) == (None, None)


def test_gemma_3_turns_the_heads_of_its_local_layers_by_a_base_of_their_own():
    scaling = {"rope_type": "linear", "factor": 8.0}
    description = describe("gemma3_text", {**LLAMA, "num_hidden_layers": 7, "rope_scaling": scaling})
    assert description.sliding_windows == (4096,) * 5 + (None, 4096)
    assert description.rope_of(5) == Rope(1e6, LinearScaling(8.0))
    assert {description.rope_of(layer) for layer in (0, 1, 2, 3, 4, 6)} == {Rope(1e4)}
    assert (description.tie_word_embeddings, description.embedding_scale) == (True, 8.0)


def test_an_unknown_architecture_is_refused_with_the_known_ones():
    with pytest.raises(
        UnsupportedModel, match=r"'mamba' is not known; known are gemma2, .*llama, mistral, qwen2, qwen3"
    ):
        describe("mamba", LLAMA)


@pytest.mark.parametrize(
    ("family", "options", "named"),
    [
        ("llama", {"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ("llama", {"attention_bias": True}, "attention_bias is True"),
        ("llama", {"mlp_bias": True}, "mlp_bias is True"),
        ("llama", {"sliding_window": 8}, "sliding_window is 8"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        ("llama", {"layer_types": ["sliding_attention"] * 3}, "layer_types is"),
        ("llama", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "'yarn' is not known; known are default"),
        ("llama", {"rope_scaling": {"factor": 4.0}}, "type None"),
        ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 4.0, "mscale": 1.0}}, "has mscale"),
        ("mistral", {"attention_bias": True}, "attention_bias is True"),
        ("mistral", {"sliding_window": 8, "layer_types": ["full_attention"] * 3}, "layer_types is"),
        ("qwen2", {**QWEN, "layer_types": ["linear_attention"] * 3}, "layer_types is"),
        ("qwen3", {"attention_bias": True}, "attention_bias is True"),
        ("gemma2", {"hidden_activation": "gelu"}, "hidden_activation is 'gelu'"),
        ("gemma2", {"layer_types": ["linear_attention"] * 3}, "layer_types is"),
        ("gemma3_text", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is 50.0"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention is True"),
        ("gemma3_text", {"local_rope_scaling": {"rope_type": "linear"}}, "local_rope_scaling is"),
    ],
)
def test_an_option_that_is_not_implemented_is_refused_by_name(family, options, named):
    with pytest.raises(UnsupportedModel, match=named):
        describe(family, {**LLAMA, **options})


@pytest.mark.parametrize("field", LLAMA)
def test_a_missing_field_is_named(field):
    with pytest.raises(InvalidModelFile, match=f"{field} is missing"):
        describe("llama", {name: value for name, value in LLAMA.items() if name != field})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hidden_size": "64"}, "hidden_size is '64'"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps is 'small'"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1"),
        ({"rope_scaling": "linear"}, "rope_scaling is 'linear'"),
        ({"rope_scaling": {"rope_type": "linear"}}, "factor is missing"),
        ({"rope_scaling": {**LLAMA3, "high_freq_factor": 1.0}}, "low_freq_factor 1.0 must be below"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_hidden_layers": 1 << 31}, "num_hidden_layers is 2147483648"),
        ({"vocab_size": -1}, "vocab_size is -1"),
        ({"hidden_size": 1 << 40}, "hidden_size is 1099511627776; it must be positive and below"),
        ({"rms_norm_eps": 0}, "rms_norm_eps is 0"),
        ({"num_key_value_heads": 3}, "no multiple of num_key_value_heads"),
        ({"head_dim": 15}, "head_dim is 15"),
        ({"rope_theta": 0}, "rope_theta is 0"),
    ],
)
def test_a_value_that_cannot_be_is_named(options, named):
    with pytest.raises(InvalidModelFile, match=named):
        describe("llama", {**LLAMA, **options})


def test_as_many_layer_types_as_layers_are_needed():
    with pytest.raises(InvalidModelFile, match="2 attention windows for 3 layers"):
        describe("qwen2", {**QWEN, "layer_types": ["full_attention"] * 2})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0"),
        ({"rope_local_base_freq": 0}, "rope_local_base_freq is 0"),
        ({"final_logit_softcapping": -1}, "final_logit_softcapping is -1"),
        ({"sliding_window_pattern": 0}, "sliding_window_pattern is 0"),
    ],
)
def test_a_gemma_with_a_value_that_cannot_be_is_named(options, named):
    with pytest.raises(InvalidModelFile, match=named):
        describe("gemma3_text", {**LLAMA, **options})
