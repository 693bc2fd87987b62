"""Loading reads every tensor, and says which one is wrong."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file

from structgen.engine.models import load_model
from structgen.engine.models.torch_weights import DTYPES, ModelWeights, read_weights
from structgen.errors import InvalidModelFile, InvalidRequest, ModelNotFound, UnsupportedModel

QUERY = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture
def folder(build_tiny, tmp_path):
    """A folder of one's own to break."""
    return build_tiny("llama2", tmp_path / "llama-2.0").folder


def change_tensors(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def weights_of(folder, dtype="float32") -> ModelWeights:
    loaded = load_model(folder, dtype=dtype)
    return read_weights(loaded.description, loaded.weights, DTYPES[loaded.dtype])


def test_a_loaded_model_has_everything_that_generation_needs(folder):
    loaded = load_model(folder)
    assert loaded.name == "llama-2.0"
    assert loaded.description.architecture == "llama"
    assert loaded.dtype == "float32"
    assert loaded.weights.tensor("model.layers.2.mlp.down_proj.weight").shape == (64, 96)
    assert loaded.tokenizer.get_vocab_size() == loaded.description.vocab_size == 97
    assert (loaded.bos_token_id, loaded.eos_token_ids) == (1, (2,))
    assert loaded.chat_template is None


def test_every_weight_has_the_dtype_that_was_asked_for(tiny):
    for case in ("qwen2-bias", "qwen3-norm"):
        weights = weights_of(tiny(case).folder, "bfloat16")
        layer = weights.layers[0]
        tensors = [weights.embedding, weights.norm, weights.head, *vars(layer).values()]
        assert {tensor.dtype for tensor in tensors if tensor is not None} == {torch.bfloat16}


def test_tied_embeddings_are_held_once(tiny):
    tied = weights_of(tiny("llama2-gqa-tied").folder)
    untied = weights_of(tiny("llama2").folder)
    assert tied.head is tied.embedding
    assert untied.head is not untied.embedding


def test_a_missing_tensor_is_named_with_its_shape(folder):
    change_tensors(folder, lambda tensors: tensors.pop(QUERY))
    with pytest.raises(InvalidModelFile, match=rf"llama-2\.0: the tensor '{QUERY}' \[64, 64\] is missing"):
        load_model(folder)


def test_a_misshapen_tensor_is_named_with_both_shapes(folder):
    change_tensors(folder, lambda tensors: tensors.update({QUERY: torch.zeros(32, 64)}))
    with pytest.raises(
        InvalidModelFile, match=rf"'{QUERY}' has the shape \[32, 64\], the configuration says \[64, 64\]"
    ):
        load_model(folder)


def test_a_tensor_without_a_place_is_refused(folder):
    name = QUERY.replace("weight", "bias")
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(64)}))
    with pytest.raises(UnsupportedModel, match=f"no place for 1 of the tensors: {name}"):
        load_model(folder)


def test_frequencies_saved_beside_the_weights_are_no_hindrance(folder):
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(8)}))
    assert load_model(folder).description.architecture == "llama"


def test_an_unknown_architecture_is_refused_with_the_path(folder, edit_config):
    edit_config(folder, model_type="martian")
    with pytest.raises(UnsupportedModel, match=r"llama-2\.0: the architecture 'martian' is known neither here nor to"):
        load_model(folder)


def test_a_faulty_field_is_refused_with_the_path(folder, edit_config):
    edit_config(folder, "num_hidden_layers")
    with pytest.raises(InvalidModelFile, match=r"llama-2\.0: num_hidden_layers is missing"):
        load_model(folder)


@pytest.mark.parametrize(
    ("rope", "named"),
    [
        ({"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0}, "rope_scaling of type 'yarn' is not known"),
        ({"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}, "has partial_rotary_factor"),
        ({"full_attention": {"rope_type": "default", "rope_theta": 5e5}}, "has full_attention"),
    ],
)
def test_a_rope_option_that_is_not_implemented_is_refused(folder, edit_config, rope, named):
    edit_config(folder, rope_parameters=rope)
    with pytest.raises(UnsupportedModel, match=named):
        load_model(folder)


def test_a_folder_without_a_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InvalidModelFile, match=r"tokenizer\.json"):
        load_model(folder)


def test_an_unknown_dtype_is_refused(folder):
    with pytest.raises(InvalidRequest, match="'float8' is not known; known are float32, bfloat16"):
        load_model(folder, dtype="float8")


def test_a_path_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelNotFound):
        load_model(tmp_path / "nothing")
