"""The model families: metadata in Hugging Face's terms to a :class:`ModelDescription`, one function each.

The plugin group ``structgen.models`` names them. Defaults are those of the family's configuration class in
``transformers``; an option that changes what the model computes and is not implemented is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeGuard

from structgen.engine.models.config import Config
from structgen.engine.models.description import Activation, LinearScaling, Llama3Scaling, ModelDescription, Rope
from structgen.errors import InvalidModelFile, PluginError, UnsupportedModel
from structgen.plugins import registry

__all__ = ["Family", "describe", "gemma2", "gemma3", "is_described", "llama", "mistral", "qwen2", "qwen3"]

Family = Callable[[Mapping[str, object]], ModelDescription]
"""What a plugin of ``structgen.models`` is; it raises InvalidModelFile and UnsupportedModel."""

_MOST_LAYERS = 10_000
_SCALING_FIELDS = {
    "default": set(),
    "linear": {"factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"},
}


def is_described(architecture: str) -> bool:
    """Whether there is a family of that name."""
    return architecture in registry("structgen.models").names()


def describe(architecture: str, metadata: Mapping[str, object]) -> ModelDescription:
    """Describe a model by its family.

    Parameters
    ----------
    architecture : str
        Name of the family.
    metadata : Mapping of str to object
        See :attr:`structgen.engine.weights.Checkpoint.metadata`.

    Raises
    ------
    UnsupportedModel
        The family is not known, or the model uses an option that is not implemented.
    InvalidModelFile
        A field is missing, of a wrong type, or does not fit the others.
    """
    families = registry("structgen.models")
    if architecture not in families.names():
        raise UnsupportedModel(
            f"the architecture {architecture!r} is not known; known are {', '.join(families.names())}; others run from "
            "their Hugging Face folders, through transformers' own code"
        )
    family = families.load(architecture)
    if not _is_family(family):
        raise PluginError(f"structgen.models: {architecture!r} is {family!r}; a function of the metadata is expected")
    return family(metadata)


def llama(metadata: Mapping[str, object]) -> ModelDescription:
    """Llama 2 and 3, SmolLM2, and what else says ``llama``."""
    config = Config("llama", metadata)
    config.require("sliding_window")
    config.require("attention_bias", False)
    config.require("mlp_bias", False)
    config.require("layer_types", ["full_attention"] * _layers(config))
    return _decoder(config)


def mistral(metadata: Mapping[str, object]) -> ModelDescription:
    """Mistral 7B and its like: every layer sees ``sliding_window`` tokens, or all where that is null."""
    config = Config("mistral", metadata)
    config.require("attention_bias", False)
    layers = _layers(config)
    window = config.integer("sliding_window") if "sliding_window" in config else None
    config.require("layer_types", ["full_attention" if window is None else "sliding_attention"] * layers)
    return _decoder(config, sliding_windows=(window,) * layers)


def qwen2(metadata: Mapping[str, object]) -> ModelDescription:
    """Qwen2 and Qwen2.5: biases on queries, keys and values; windows, where used, in the upper layers."""
    config = Config("qwen2", metadata)
    return _decoder(config, sliding_windows=_qwen_windows(config), qkv_bias=True)


def qwen3(metadata: Mapping[str, object]) -> ModelDescription:
    """Qwen3: an RMSNorm on each query and key head in place of the biases."""
    config = Config("qwen3", metadata)
    config.require("attention_bias", False)
    return _decoder(config, sliding_windows=_qwen_windows(config), qk_norm=True)


def gemma2(metadata: Mapping[str, object]) -> ModelDescription:
    """Gemma 2: capped scores and logits, a window in every other layer, norms on both sides of attention and MLP."""
    config = Config("gemma2", metadata)
    return replace(
        _gemma(config, pattern=2),
        attention_softcap=config.optional_number("attn_logit_softcapping", 50.0),
        logit_softcap=config.optional_number("final_logit_softcapping", 30.0),
    )


def gemma3(metadata: Mapping[str, object]) -> ModelDescription:
    """Gemma 3's text models: norms on queries and keys, windows in five layers of six, which turn by their own base."""
    config = Config("gemma3_text", metadata)
    config.require("attn_logit_softcapping")
    config.require("local_rope_scaling")
    return replace(
        _gemma(config, pattern=config.integer("sliding_window_pattern", 6)),
        rope=_rope(config, 1_000_000.0),
        local_rope=Rope(config.number("rope_local_base_freq", 10_000.0)),
        logit_softcap=config.optional_number("final_logit_softcapping", None),
        qk_norm=True,
    )


def _gemma(config: Config, pattern: int) -> ModelDescription:
    """Read what the Gemmas share; every ``pattern``-th layer sees all tokens unless the configuration says which."""
    config.require("attention_bias", False)
    config.require("use_bidirectional_attention", False)
    config.require("hidden_activation", "gelu_pytorch_tanh")
    layers, window = _layers(config), config.integer("sliding_window", 4096)
    scalar = config.number("query_pre_attn_scalar", 256)
    for name, value in (("sliding_window_pattern", pattern), ("query_pre_attn_scalar", scalar)):
        if value <= 0:
            raise InvalidModelFile(f"{name} is {value}; it must be positive")
    every = [window if (layer + 1) % pattern else None for layer in range(layers)]
    decoder = _decoder(config, sliding_windows=_windows_by_type(config, window) or tuple(every), activation="gelu_tanh")
    return replace(
        decoder,
        attention_scale=scalar**-0.5,
        embedding_scale=decoder.hidden_size**0.5,
        norm_offset=1.0,
        post_norms=True,
        tie_word_embeddings=config.flag("tie_word_embeddings", True),
    )


def _decoder(
    config: Config,
    *,
    sliding_windows: tuple[int | None, ...] | None = None,
    qkv_bias: bool = False,
    qk_norm: bool = False,
    activation: Activation = "silu",
) -> ModelDescription:
    """Read what all families share."""
    if activation == "silu":  # Gemma's configurations name theirs otherwise, beside a hidden_act that nobody reads
        config.require("hidden_act", "silu", "swish")
    config.require("partial_rotary_factor", 1.0)
    hidden, heads, layers = config.integer("hidden_size"), config.integer("num_attention_heads"), _layers(config)
    return ModelDescription(
        architecture=config.architecture,
        vocab_size=config.integer("vocab_size"),
        hidden_size=hidden,
        intermediate_size=config.integer("intermediate_size"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=config.integer("num_key_value_heads", heads),
        head_dim=config.integer("head_dim", hidden // max(heads, 1)),
        max_position_embeddings=config.integer("max_position_embeddings"),
        rms_norm_eps=config.number("rms_norm_eps"),
        rope=_rope(config),
        sliding_windows=(None,) * layers if sliding_windows is None else sliding_windows,
        qkv_bias=qkv_bias,
        qk_norm=qk_norm,
        activation=activation,
        tie_word_embeddings=config.flag("tie_word_embeddings", False),
    )


def _layers(config: Config) -> int:
    """Number of layers, checked before lists of that length are made."""
    layers = config.integer("num_hidden_layers")
    if not 0 < layers <= _MOST_LAYERS:
        raise InvalidModelFile(f"num_hidden_layers is {layers}; it must be between 1 and {_MOST_LAYERS}")
    return layers


def _rope(config: Config, theta: float = 10_000.0) -> Rope:
    """Read ``rope_theta`` and ``rope_scaling``; a field that the scaling's type does not have is refused."""
    theta = config.number("rope_theta", theta)
    scaling = config.section("rope_scaling")
    if scaling is None:
        return Rope(theta)
    kind = scaling.value("rope_type")
    fields = _SCALING_FIELDS.get(str(kind))
    if fields is None:
        raise UnsupportedModel(f"rope_scaling of type {kind!r} is not known; known are {', '.join(_SCALING_FIELDS)}")
    unknown = sorted(set(scaling) - fields - {"rope_type"})
    if unknown:
        raise UnsupportedModel(f"rope_scaling of type {kind!r} has {', '.join(unknown)}, which is not known")
    match kind:
        case "linear":
            return Rope(theta, LinearScaling(scaling.number("factor")))
        case "llama3":
            return Rope(theta, _llama3_scaling(scaling, config.integer("max_position_embeddings")))
        case _:
            return Rope(theta)


def _llama3_scaling(scaling: Config, max_position_embeddings: int) -> Llama3Scaling:
    low, high = scaling.number("low_freq_factor"), scaling.number("high_freq_factor")
    if not 0 < low < high:
        raise InvalidModelFile(f"rope_scaling: low_freq_factor {low} must be below high_freq_factor {high}")
    original = scaling.integer("original_max_position_embeddings", max_position_embeddings)
    return Llama3Scaling(scaling.number("factor"), low, high, original)


def _qwen_windows(config: Config) -> tuple[int | None, ...]:
    """Windows of the layers, from ``layer_types`` or, in older files, from ``max_window_layers``."""
    layers = _layers(config)
    if not config.flag("use_sliding_window", False) or "sliding_window" not in config:
        return (None,) * layers
    window = config.integer("sliding_window")
    named = _windows_by_type(config, window)
    if named is not None:
        return named
    full = config.integer("max_window_layers")
    return tuple(None if layer < full else window for layer in range(layers))


def _windows_by_type(config: Config, window: int) -> tuple[int | None, ...] | None:
    """Windows of the layers from ``layer_types``, where it is there."""
    types = config.value("layer_types")
    if types is None:
        return None
    kinds: dict[str, int | None] = {"full_attention": None, "sliding_attention": window}
    if not isinstance(types, list) or not all(isinstance(kind, str) and kind in kinds for kind in types):
        raise UnsupportedModel(f"layer_types is {types!r}; a list of {' and '.join(kinds)} is expected")
    return tuple(kinds[kind] for kind in types)


def _is_family(plugin: object) -> TypeGuard[Family]:
    return callable(plugin)
