"""Tiny random models of every family, made by transformers on the spot."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

VOCABULARY = 97
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
}
# Heads of 16 dimensions have wavelengths of 6, 20, 63, 199, ... tokens: kept, two on the ramp, divided.
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
GEMMA = {"head_dim": 24, "query_pre_attn_scalar": 16}
GEMMA3_ROPE = {
    "full_attention": {"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
}
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "llama2": ("llama", {"num_key_value_heads": 4}),
    "llama2-gqa-tied": ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    "llama-linear-rope": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0}}),
    "llama3-rope": ("llama", {"rope_parameters": LLAMA3_ROPE}),
    "mistral-window": ("mistral", {"sliding_window": 8}),
    "mistral-wide-heads": ("mistral", {"sliding_window": None, "head_dim": 24}),
    "qwen2-bias": ("qwen2", {}),
    "qwen2-bias-tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2-upper-windows": ("qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
    "qwen3-norm": ("qwen3", {"head_dim": 32}),
    "gemma2": ("gemma2", {"sliding_window": 8, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0, **GEMMA}),
    "gemma2-uncapped": ("gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None, **GEMMA}),
    "gemma3": ("gemma3_text", {"sliding_window": 8, "num_hidden_layers": 7, **GEMMA}),
    "gemma3-linear-rope": ("gemma3_text", {"sliding_window": 8, "rope_parameters": GEMMA3_ROPE, **GEMMA}),
    "qwen3-norm-tied": ("qwen3", {"head_dim": 16, "tie_word_embeddings": True}),
}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "head_dim": 8,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}
# Of architectures without a description of ours.
UNDESCRIBED: dict[str, tuple[str, dict[str, object]]] = {
    "phi3-window": ("phi3", {"sliding_window": 8}),
    "olmo2": ("olmo2", {}),
    "granite": ("granite", {"attention_multiplier": 0.3, "logits_scaling": 2.0}),
    "gpt-neox": ("gpt_neox", {}),
    "gpt2": ("gpt2", {}),  # learned positions
    "starcoder2-window": ("starcoder2", {"sliding_window": 8}),
    "qwen2-moe-windows": (
        "qwen2_moe",
        {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1, "shared_expert_intermediate_size": 32}
        | EXPERTS,
    ),
    "gpt-oss": ("gpt_oss", {"sliding_window": 8, "head_dim": 16, **EXPERTS}),  # sinks, windows in every other layer
    "minicpm3": ("minicpm3", LATENT),  # keys are wider than values
    "diffllama": ("diffllama", {}),  # two calls of attention in a layer
}
# That cannot run: everything is seen from everywhere; attention that is not behind transformers' interface.
REFUSED: dict[str, tuple[str, dict[str, object]]] = {name: (name, {}) for name in ("bert", "rembert", "falcon")}


class TinyModel(NamedTuple):
    """A model of transformers and the folder it was saved to."""

    name: str
    reference: torch.nn.Module
    folder: Path

    def expected(self, token_ids: list[int]) -> torch.Tensor:
        """Logits ``[tokens, vocab]`` by transformers."""
        with torch.no_grad():
            return self.reference(torch.tensor([token_ids])).logits[0]


def build(name: str, folder: Path, *, max_shard_size: str = "1GB") -> TinyModel:
    """Make the case ``name`` with random weights (biases and norms too) and save it with a tokenizer."""
    import transformers

    model_type, options = {**CASES, **UNDESCRIBED, **REFUSED}[name]
    config = transformers.AutoConfig.for_model(model_type, **{**SIZES, **options}, pad_token_id=None)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    generator = torch.Generator().manual_seed(sum(name.encode()))
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            centre, spread = (1.0, 0.3) if "norm" in parameter_name else (0.0, 0.2)
            parameter.normal_(centre, spread, generator=generator)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    tokenizer = Tokenizer(WordLevel({f"w{index}": index for index in range(VOCABULARY)}, unk_token="w0"))
    tokenizer.save(str(folder / "tokenizer.json"))
    return TinyModel(name, model, folder)


def edit(folder: Path, *drop: str, **changes: object) -> None:
    """Change and drop fields of a folder's ``config.json``."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in config.items() if key not in drop}))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrices gain nothing from threads, whose barriers cost seconds as soon as another process wants a core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    """Each family and option in turn."""
    return request.param


@pytest.fixture(params=UNDESCRIBED)
def undescribed(request: pytest.FixtureRequest) -> str:
    """Each architecture without a description in turn."""
    return request.param


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TinyModel]:
    """The model of a case, built once; not to be changed."""
    return functools.cache(lambda name: build(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="session")
def build_tiny() -> Callable[..., TinyModel]:
    """Build a case into a folder of one's own."""
    return build


@pytest.fixture(scope="session")
def edit_config() -> Callable[..., None]:
    """Change a folder's configuration."""
    return edit
