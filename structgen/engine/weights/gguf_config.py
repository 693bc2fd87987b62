"""The metadata of a GGUF file in the terms of Hugging Face's ``config.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from structgen.errors import UnsupportedModel

__all__ = ["hugging_face_config", "hugging_face_model_type", "scaling_of_frequency_factors"]

_KEYS = {
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "expert_count": "num_local_experts",
    "expert_used_count": "num_experts_per_tok",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.freq_base": "rope_theta",
    "rope.freq_base_swa": "rope_local_base_freq",
}
_SCALING_KEYS = {
    "factor": "factor",
    "original_context_length": "original_max_position_embeddings",
    "yarn_beta_fast": "beta_fast",
    "yarn_beta_slow": "beta_slow",
}
_SCALING_IGNORED = frozenset({"type", "finetuned"})

# Llama 3.1 and everything after it that scales rope as it does. A file keeps the factors only, not these.
_LLAMA3_LOW, _LLAMA3_HIGH, _LLAMA3_CONTEXT = 1.0, 4.0, 8192
_DEFAULT_THETA = 10000.0


_GEMMA_27B_LAYERS = {"gemma2": 46, "gemma3": 62}
"""The largest of each family scales its scores by the width that each head would have of the hidden size."""


def hugging_face_model_type(fields: Mapping[str, object]) -> str:
    """``model_type`` for ``general.architecture``; three of Hugging Face's families are ``llama`` in a GGUF file."""
    architecture = str(fields["general.architecture"])
    if architecture == "gemma3":
        return "gemma3_text"
    if architecture != "llama":
        return architecture
    finer = {"mixtral": "expert_count", "mistral": "attention.sliding_window"}
    return next((family for family, key in finer.items() if _positive(fields.get(f"llama.{key}"))), architecture)


def hugging_face_config(fields: Mapping[str, object]) -> dict[str, object]:
    """Translate what ``config.json`` has a word for; what the file does not say is absent.

    Raises
    ------
    UnsupportedModel
        A dimension differs from layer to layer, or rope is scaled in a way that has no word.
    """
    architecture = fields["general.architecture"]
    config: dict[str, object] = {}
    for key, word in _KEYS.items():
        value = fields.get(f"{architecture}.{key}")
        if value is not None:
            config[word] = _scalar(f"{architecture}.{key}", value)
    rotated, head_dim = fields.get(f"{architecture}.rope.dimension_count"), _head_dim(config)
    if isinstance(rotated, int) and head_dim is not None and rotated != head_dim:
        config["partial_rotary_factor"] = rotated / head_dim
    if architecture in _GEMMA_27B_LAYERS:
        config["query_pre_attn_scalar"] = _query_pre_attn_scalar(str(architecture), config)
    scaling = _rope_scaling(fields, f"{architecture}.rope.scaling.")
    if scaling is not None:
        config["rope_scaling"] = scaling
    return config


def scaling_of_frequency_factors(factors: np.ndarray, config: Mapping[str, object]) -> dict[str, object]:
    """Recognise Llama 3's rope scaling by the frequency divisors that converters write as ``rope_freqs.weight``.

    Parameters
    ----------
    factors : np.ndarray
        float32 [head_dim / 2], the divisor of each frequency.
    config : Mapping[str, object]
        What :func:`hugging_face_config` returned.

    Returns
    -------
    dict
        ``rope_scaling`` of type ``"llama3"``, or nothing when nothing is scaled.

    Raises
    ------
    UnsupportedModel
        The divisors are not Llama 3's.
    """
    if np.all(factors == 1):
        return {}
    factor, theta = float(factors.max()), config.get("rope_theta", _DEFAULT_THETA)
    if not isinstance(theta, float):
        raise UnsupportedModel(f"the base of the rope frequencies is {theta!r}")
    wavelengths = 2 * math.pi * theta ** (np.arange(len(factors)) / len(factors))
    turns = _LLAMA3_CONTEXT / wavelengths
    smooth = np.clip((turns - _LLAMA3_LOW) / (_LLAMA3_HIGH - _LLAMA3_LOW), 0, 1)
    if not np.allclose(factors, 1 / ((1 - smooth) / factor + smooth), rtol=1e-4):
        raise UnsupportedModel("rope_freqs.weight holds frequency factors that are not those of Llama 3")
    scaling = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": _LLAMA3_LOW,
        "high_freq_factor": _LLAMA3_HIGH,
        "original_max_position_embeddings": _LLAMA3_CONTEXT,
    }
    return {"rope_scaling": scaling}


def _rope_scaling(fields: Mapping[str, object], prefix: str) -> dict[str, object] | None:
    given = {key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)}
    kind = str(given.get("type", "none"))
    if kind == "none":
        return None
    unknown = given.keys() - _SCALING_KEYS.keys() - _SCALING_IGNORED
    if unknown:
        raise UnsupportedModel(f"{prefix}{min(unknown)} is not understood; ask for support of this model")
    scaling = {word: _scalar(prefix + key, given[key]) for key, word in _SCALING_KEYS.items() if key in given}
    return {"rope_type": kind, **scaling}


def _query_pre_attn_scalar(architecture: str, config: Mapping[str, object]) -> object:
    """What no file says."""
    if config.get("num_hidden_layers") != _GEMMA_27B_LAYERS[architecture]:
        return _head_dim(config)
    return _head_dim({**config, "head_dim": None})


def _positive(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _head_dim(config: Mapping[str, object]) -> int | None:
    hidden, heads = config.get("hidden_size"), config.get("num_attention_heads")
    if config.get("head_dim") is None and isinstance(hidden, int) and isinstance(heads, int) and heads > 0:
        return hidden // heads
    head_dim = config.get("head_dim")
    return head_dim if isinstance(head_dim, int) else None


def _scalar(key: str, value: object) -> object:
    """One value for all layers, a float32 as the shortest decimal that names it (1e-05, not 9.99999974e-06)."""
    if isinstance(value, np.ndarray | Sequence) and not isinstance(value, str):
        different = set(value.tolist() if isinstance(value, np.ndarray) else value)
        if len(different) != 1:
            raise UnsupportedModel(f"{key} differs between layers, which cannot be run")
        value = different.pop()
    if isinstance(value, float) and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value
