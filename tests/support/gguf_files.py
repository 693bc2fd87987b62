"""Tiny GGUF files, written with the ``gguf`` package as llama.cpp's converters write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import TokenType

__all__ = ["CONFIG", "interleave_halves", "llama_tensors", "tokenizer_fields", "write_gguf"]

CONFIG = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 80,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
}
"""A llama of toy size, in the terms of config.json."""


def interleave_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """What the converter does to the rows of Q and K projections, one row at a time."""
    head_dim = len(rows) // heads
    order = [head * head_dim + half * (head_dim // 2) + i
             for head in range(heads) for i in range(head_dim // 2) for half in range(2)]  # fmt: skip
    return rows[order]


def llama_tensors(seed: int = 0, *, tied: bool = False) -> dict[str, np.ndarray]:
    """Random float32 weights of a model of :data:`CONFIG`'s size, by Hugging Face's names."""
    generator = np.random.default_rng(seed)
    hidden, inner, vocab = (CONFIG[name] for name in ("hidden_size", "intermediate_size", "vocab_size"))
    kv = hidden * CONFIG["num_key_value_heads"] // CONFIG["num_attention_heads"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocab, hidden), "model.norm.weight": (hidden,)}
    if not tied:
        shapes["lm_head.weight"] = (vocab, hidden)
    for layer in range(CONFIG["num_hidden_layers"]):
        parts = {
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
            "self_attn.q_proj": (hidden, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, hidden),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }
        shapes |= {f"model.layers.{layer}.{part}.weight": shape for part, shape in parts.items()}
    return {name: generator.standard_normal(shape).astype(np.float32) / 8 for name, shape in shapes.items()}


def write_gguf(
    path: Path,
    *,
    architecture: str = "llama",
    config: Mapping[str, float] | None = CONFIG,
    tensors: Mapping[str, np.ndarray] | None = None,
    kind: GGMLQuantizationType = GGMLQuantizationType.F32,
    extra: Mapping[str, np.ndarray] | None = None,
    fields: Mapping[str, object] | None = None,
) -> Path:
    """Write a file.

    Parameters
    ----------
    config
        Dimensions, in Hugging Face's terms.
    tensors
        float32, by Hugging Face's names; matrices of layers are quantized to ``kind``, Q and K interleaved for llama.
    extra
        float32 tensors by the file's own names.
    fields
        Further metadata, and fields that replace those of ``config``.
    """
    writer = gguf.GGUFWriter(path, architecture)
    names = {word: key for key, word in _WORDS.items()}
    values = {f"{architecture}.{names[word]}": value for word, value in (config or {}).items()}
    for key, value in {**values, **(fields or {})}.items():
        _add(writer, key, value)
    heads = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}
    for name, tensor in (tensors or {}).items():
        stored, part = gguf_name(name), gguf_name(name).split(".")[-2]
        if architecture == "llama" and part in heads:
            rows = interleave_halves(tensor, int(CONFIG[heads[part]]))
        else:
            rows = tensor
        _add_tensor(writer, stored, rows, kind if stored.startswith("blk") else GGMLQuantizationType.F32)
    for name, tensor in (extra or {}).items():
        _add_tensor(writer, name, tensor, GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tokenizer_fields(
    model: str,
    tokens: Sequence[str],
    types: Sequence[TokenType],
    **others: object,
) -> dict[str, object]:
    """The ``tokenizer.ggml.*`` fields."""
    fields = {"model": model, "tokens": list(tokens), "token_type": [int(kind) for kind in types], **others}
    return {f"tokenizer.ggml.{key}": value for key, value in fields.items()}


def gguf_name(name: str) -> str:
    """The converter's name for one of Hugging Face's."""
    for theirs, ours in _PARTS.items():
        name = name.replace(theirs, ours)
    return name


def _add_tensor(writer: gguf.GGUFWriter, name: str, tensor: np.ndarray, kind: GGMLQuantizationType) -> None:
    if tensor.ndim == 1:
        kind = GGMLQuantizationType.F32
    writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


_WORDS = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "vocab_size": "vocab_size",
    "context_length": "max_position_embeddings",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
}
_PARTS = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers": "blk",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
