"""What a model takes of memory, and what to say where there is not so much."""

from __future__ import annotations

import math
from typing import NamedTuple

from structgen.engine.cpu.packing import form_of
from structgen.engine.memory import MemoryLimits, format_size
from structgen.engine.models.description import ModelDescription
from structgen.engine.models.weights import WeightSource, layer_matrices
from structgen.errors import OutOfMemory

__all__ = ["WeightFormat", "check_fit", "footprint"]

_BITS = {"fp32": 32.0, "bf16": 16.0, "int8": 8.0, "w8a8": 8.0, "int4": 5.0}
"""Of a weight; int4 has a scale and a minimum of 16 bits for 32 of them."""


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


_FORMATS = (
    WeightFormat("int8", "float32"),
    WeightFormat("int4", "float32"),
    WeightFormat("bf16", "float32"),
    WeightFormat(None, "bfloat16"),
)
"""What may fit where something else does not, the best first."""


def footprint(description: ModelDescription, weights: WeightFormat, files: WeightSource) -> int:
    """Return the bytes that a model's weights take in the compiled runner.

    They are laid out as they are read, a few rows at a time, so that loading takes no more.
    """
    head = description.vocab_size * description.hidden_size
    form = weights.form
    kept_head = int(head * _BITS["int8" if form == "int4" else form] / 8)
    return _layers(description, form, files) + kept_head + head * (4 if form == "fp32" else 2)


def _layers(description: ModelDescription, form: str, files: WeightSource) -> int:
    """Bytes of the matrices of all layers."""
    layers = (layer_matrices(description, files, index) for index in range(description.num_hidden_layers))
    matrices = (matrix for layer in layers for matrix in layer.values())
    return int(sum(math.prod(one.shape) * _BITS[form_of(one, form)] for one in matrices) / 8)


def check_fit(
    description: ModelDescription,
    weights: WeightFormat,
    kv_bytes: int | None,
    files: WeightSource,
    limits: MemoryLimits | None = None,
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
    files : WeightSource
        What the weights would be read from.
    limits : MemoryLimits, optional
        What bounds this process.

    Raises
    ------
    OutOfMemory
        It does not fit; the message says what it takes, what there is, and what would fit.
    """
    free, size = (limits or MemoryLimits()).available(), footprint(description, weights, files)
    if size + (kv_bytes or 0) <= free:
        return
    advice = _advice(description, weights, kv_bytes, files, free)
    raise OutOfMemory(
        f"{weights.option}: the weights take {format_size(size)}{_beside(kv_bytes)}, and {format_size(free)} are free; "
        + (f"what fits: {advice}" if advice else "no format of this model fits; use a smaller one")
    )


def _beside(kv_bytes: int | None) -> str:
    return "" if kv_bytes is None else f", kv_memory {format_size(kv_bytes)} beside them"


def _advice(
    description: ModelDescription, weights: WeightFormat, kv_bytes: int | None, files: WeightSource, free: int
) -> str:
    """What would fit: less for keys and values, or other weights."""
    size, found = footprint(description, weights, files), list[str]()
    if size < free:
        found.append(f"kv_memory of at most {format_size(free - size)}")
    for other in _FORMATS:
        needed = footprint(description, other, files) + (kv_bytes or 0)
        if other != weights and needed <= free:
            found.append(f"{other.option} ({format_size(needed)})")
    return ", ".join(found)
