"""Hugging Face's names and layouts for the tensors of a GGUF file."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

__all__ = ["hugging_face_name", "norm_offset", "rope_order"]

_GEMMAS = frozenset({"gemma2", "gemma3"})
_DECODERS = frozenset({"llama", "qwen2", "qwen3"}) | _GEMMAS
"""Architectures of ``general.architecture`` for which the names below hold."""

_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_IN_GEMMA_LAYER = {
    **_IN_LAYER,
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_PARTS = re.compile(r"(?:blk\.(?P<layer>\d+)\.)?(?P<part>\w+)\.(?P<kind>weight|bias)")


def hugging_face_name(architecture: str, name: str) -> str:
    """Translate a tensor's name; one that has no counterpart stays as it is.

    Parameters
    ----------
    architecture : str
        ``general.architecture`` of the file.
    name : str
        The file's name, such as ``blk.0.attn_q.weight``.

    Returns
    -------
    str
        Such as ``model.layers.0.self_attn.q_proj.weight``.
    """
    found = _PARTS.fullmatch(name)
    if found is None or architecture not in _DECODERS:
        return name
    layer, part, kind = found["layer"], found["part"], found["kind"]
    in_layer = _IN_GEMMA_LAYER if architecture in _GEMMAS else _IN_LAYER
    known = (_TOP if layer is None else in_layer).get(part)
    if known is None:
        return name
    return f"{known}.{kind}" if layer is None else f"model.layers.{int(layer)}.{known}.{kind}"


def norm_offset(architecture: str, name: str) -> float:
    """What a converter has added to a tensor: 1 to the norms of the Gemmas, which Hugging Face adds when it computes.

    Parameters
    ----------
    architecture : str
        ``general.architecture`` of the file.
    name : str
        Hugging Face's name.
    """
    return 1.0 if architecture in _GEMMAS and name.endswith("norm.weight") else 0.0


def rope_order(rows: int, heads: int) -> npt.NDArray[np.int64]:
    """Where in the file the rows of a Q or K projection lie, in Hugging Face's order: int64 [rows].

    ggml's ``llama`` rotates neighbouring elements of a head, ``transformers`` the two halves, so its converter
    interleaves each head's halves: row ``2 i + h`` of a head was row ``h * head_dim / 2 + i``. Other architectures
    keep the halves.

    Parameters
    ----------
    rows : int
        ``heads * head_dim``. Quantized rows are whole blocks and can be moved as bytes.
    heads : int
        Attention heads of a Q, key/value heads of a K.
    """
    return np.arange(rows).reshape(heads, -1, 2).swapaxes(1, 2).reshape(-1)
