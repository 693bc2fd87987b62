"""What a model takes of memory, and what to say where there is not so much."""

from __future__ import annotations

from typing import NamedTuple

from structgen.engine.memory import MemoryLimits, format_size
from structgen.engine.models.description import ModelDescription
from structgen.engine.models.weights import matrix_parts
from structgen.errors import OutOfMemory

__all__ = ["Footprint", "WeightFormat", "check_fit", "footprint"]

_BITS = {"fp32": 32.0, "bf16": 16.0, "int8": 8.0, "w8a8": 8.0, "int4": 5.0}
"""Of a weight; int4 has a scale and a minimum of 16 bits for 32 of them."""
_ITEM_BYTES = {"float32": 4, "bfloat16": 2}


class WeightFormat(NamedTuple):
    """How a user asks for weights."""

    quantization: str | None
    dtype: str
    """What they are read as where there is no quantization; else that is float32."""

    @property
    def form(self) -> str:
        """What the linear layers are kept as."""
        return self.quantization or {"float32": "fp32", "bfloat16": "bf16"}[self.dtype]

    @property
    def option(self) -> str:
        """As an argument."""
        return f"dtype={self.dtype!r}" if self.quantization is None else f"quantization={self.quantization!r}"


class Footprint(NamedTuple):
    """Bytes of weights."""

    loading: int
    """At the most while they are read and laid out."""
    running: int
    """From then on."""


_FORMATS = (
    WeightFormat("int8", "float32"),
    WeightFormat("int4", "float32"),
    WeightFormat("bf16", "float32"),
    WeightFormat(None, "bfloat16"),
)
"""What may fit where something else does not, the best first."""


def footprint(description: ModelDescription, weights: WeightFormat) -> Footprint:
    """Return what a model's weights take in the compiled runner.

    All of them are read as floats. Layer by layer these give way to what is kept of them; then what is kept of the head
    comes to what was read of it, which may be the embedding.
    """
    layers, head = _layer_weights(description), description.vocab_size * description.hidden_size
    item = _ITEM_BYTES["float32" if weights.quantization else weights.dtype]
    floats = item * (layers + head * (1 if description.tie_word_embeddings else 2))
    form = weights.form
    kept_layers = int(layers * _BITS[form] / 8)
    kept_head = int(head * _BITS["int8" if form == "int4" else form] / 8)
    read_embedding, embedding = item * head, head * (4 if form == "fp32" else 2)
    copied = 0 if read_embedding == embedding else embedding  # of the same type, it stays what was read
    at_head = floats - item * layers + kept_layers + copied + kept_head
    return Footprint(max(floats + copied, at_head), kept_layers + kept_head + embedding)


def _layer_weights(description: ModelDescription) -> int:
    """Numbers in the matrices of all layers."""
    inputs = {
        "qkv": description.hidden_size,
        "output": description.num_attention_heads * description.head_dim,
        "gate_up": description.hidden_size,
        "down": description.intermediate_size,
    }
    rows = {name: sum(part.rows for part in parts) for name, parts in matrix_parts(description).items()}
    return description.num_hidden_layers * sum(rows[name] * inputs[name] for name in rows)


def check_fit(
    description: ModelDescription, weights: WeightFormat, kv_bytes: int | None, limits: MemoryLimits | None = None
) -> None:
    """Refuse a model whose weights, with the keys and values that are asked for, do not fit, before any are read.

    Parameters
    ----------
    description : ModelDescription
        The model.
    weights : WeightFormat
        What is asked for.
    kv_bytes : int or None
        ``kv_memory``; None where the cache takes what is left.
    limits : MemoryLimits, optional
        What bounds this process.

    Raises
    ------
    OutOfMemory
        It does not fit; the message says what it takes, what there is, and what would fit.
    """
    free, size = (limits or MemoryLimits()).available(), footprint(description, weights)
    if _needed(size, kv_bytes) <= free:
        return
    advice = _advice(description, weights, kv_bytes, free)
    raise OutOfMemory(
        f"{weights.option}: the weights take {format_size(size.loading)} while they are loaded and "
        f"{format_size(size.running)} afterwards{_beside(kv_bytes)}, and {format_size(free)} are free; "
        + (f"what fits: {advice}" if advice else "no format of this model fits; use a smaller one")
    )


def _needed(size: Footprint, kv_bytes: int | None) -> int:
    return max(size.loading, size.running + (kv_bytes or 0))


def _beside(kv_bytes: int | None) -> str:
    return "" if kv_bytes is None else f", kv_memory {format_size(kv_bytes)} beside them"


def _advice(description: ModelDescription, weights: WeightFormat, kv_bytes: int | None, free: int) -> str:
    """What would fit: less for keys and values, or other weights."""
    size, found = footprint(description, weights), list[str]()
    if size.loading <= free and size.running < free:
        found.append(f"kv_memory of at most {format_size(free - size.running)}")
    for other in _FORMATS:
        needed = _needed(footprint(description, other), kv_bytes)
        if other != weights and needed <= free:
            found.append(f"{other.option} ({format_size(needed)})")
    return ", ".join(found)
