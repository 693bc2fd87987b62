"""A model's weights as its files have them: which tensors its matrices are joined from, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.engine.models.description import ModelDescription
from structgen.engine.weights.groups import Groups

__all__ = [
    "EMBEDDING",
    "HEAD",
    "LAST_NORM",
    "Matrix",
    "MatrixPart",
    "WeightSource",
    "layer_matrices",
    "matrix_inputs",
    "matrix_parts",
    "norm_names",
    "parameter_shapes",
]

EMBEDDING, LAST_NORM, HEAD = "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"

Floats = npt.NDArray[np.float32]


class WeightSource(Protocol):
    """What weights are read from, by Hugging Face's names: a part of :class:`~structgen.engine.weights.Checkpoint`.

    Several threads may read at once.
    """

    def tensor(self, name: str) -> Floats:
        """Read a tensor as a whole."""
        ...

    def read_rows(self, name: str, first: int, out: Floats) -> None:
        """Read some rows into memory of the caller's."""
        ...

    def bits(self, name: str) -> int | None:
        """Bits of the integers that a matrix is stored as, None where it is stored as floats."""
        ...

    def groups(self, name: str, first: int, count: int) -> Groups:
        """Some rows of a matrix of 4 bits, as it is stored."""
        ...


class MatrixPart(NamedTuple):
    """Rows of a layer's matrix that are a tensor of their own in a checkpoint."""

    name: str
    """Within the layer, such as ``self_attn.q_proj``."""
    rows: int


def matrix_parts(description: ModelDescription) -> dict[str, tuple[MatrixPart, ...]]:
    """Return what the matrices of a layer are joined from: those that read the same input are one, for one call."""
    queries, keys = (
        heads * description.head_dim for heads in (description.num_attention_heads, description.num_key_value_heads)
    )
    heads, inner = zip(("q", "k", "v"), (queries, keys, keys), strict=True), description.intermediate_size
    return {
        "qkv": tuple(MatrixPart(f"self_attn.{name}_proj", rows) for name, rows in heads),
        "output": (MatrixPart("self_attn.o_proj", description.hidden_size),),
        "gate_up": tuple(MatrixPart(f"mlp.{name}_proj", inner) for name in ("gate", "up")),
        "down": (MatrixPart("mlp.down_proj", description.hidden_size),),
    }


def matrix_inputs(description: ModelDescription) -> dict[str, int]:
    """Return how many numbers each of a layer's matrices reads."""
    return {
        "qkv": description.hidden_size,
        "output": description.num_attention_heads * description.head_dim,
        "gate_up": description.hidden_size,
        "down": description.intermediate_size,
    }


def norm_names(description: ModelDescription) -> dict[str, str]:
    """Return what the norms of a layer are called in a checkpoint, by the fields of a layer.

    What comes before the MLP is named after what it follows, unless that has a norm of its own.
    """
    names = {"input_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
    if description.post_norms:
        names |= {
            "output_norm": "post_attention_layernorm",
            "mlp_norm": "pre_feedforward_layernorm",
            "down_norm": "post_feedforward_layernorm",
        }
    if description.qk_norm:
        names |= {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm"}
    return names


def parameter_shapes(description: ModelDescription) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all tensors that a checkpoint has of a model, by Hugging Face's names."""
    vocabulary = (description.vocab_size, description.hidden_size)
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING: vocabulary, LAST_NORM: (description.hidden_size,)}
    if not description.tie_word_embeddings:
        shapes[HEAD] = vocabulary
    for index in range(description.num_hidden_layers):
        in_layer = _layer_shapes(description)
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in in_layer.items()}
    return shapes


def _layer_shapes(description: ModelDescription) -> dict[str, tuple[int, ...]]:
    inputs, parts = matrix_inputs(description), matrix_parts(description)
    shapes: dict[str, tuple[int, ...]] = {
        f"{part.name}.weight": (part.rows, inputs[matrix]) for matrix in parts for part in parts[matrix]
    }
    if description.qkv_bias:
        shapes |= {f"{part.name}.bias": (part.rows,) for part in parts["qkv"]}
    for field, name in norm_names(description).items():
        is_of_heads = field in ("query_norm", "key_norm")
        shapes[f"{name}.weight"] = (description.head_dim if is_of_heads else description.hidden_size,)
    return shapes


def layer_matrices(description: ModelDescription, source: WeightSource, index: int) -> dict[str, Matrix]:
    """Return the matrices of a layer, by the fields that :func:`matrix_parts` names."""
    inputs, found = matrix_inputs(description), dict[str, Matrix]()
    for field, parts in matrix_parts(description).items():
        named = [MatrixPart(f"model.layers.{index}.{part.name}.weight", part.rows) for part in parts]
        found[field] = Matrix(source, named, inputs[field])
    return found


class Matrix:
    """A matrix that is joined from tensors of a source, and read some rows at a time.

    Parameters
    ----------
    source : WeightSource
        What it is read from.
    parts : sequence of MatrixPart
        Its tensors, from the first row to the last, by their whole names.
    inputs : int
        Numbers of a row.
    """

    def __init__(self, source: WeightSource, parts: Sequence[MatrixPart], inputs: int) -> None:
        self._source, self._parts = source, tuple(parts)
        self.shape = (sum(part.rows for part in parts), inputs)

    @property
    def bits(self) -> int | None:
        """Bits of the integers that it is stored as, the most of its tensors; None where one is stored as floats."""
        bits = [self._source.bits(part.name) for part in self._parts]
        return None if None in bits else max(one for one in bits if one is not None)

    def read(self, first: int, out: Floats) -> None:
        """Read rows from ``first`` on into ``out``, float32 ``[rows, inputs]``, contiguous."""
        done = 0
        for name, begin, count in self._within(first, len(out)):
            self._source.read_rows(name, begin, out[done : done + count])
            done += count

    def pieces(self, first: int, count: int) -> Iterator[Floats | Groups]:
        """Read rows from ``first`` on, as they are stored where that is in 4 bits."""
        for name, begin, rows in self._within(first, count):
            if self._source.bits(name) == 4:
                yield self._source.groups(name, begin, rows)
            else:
                values = np.empty((rows, self.shape[1]), np.float32)
                self._source.read_rows(name, begin, values)
                yield values

    def _within(self, first: int, count: int) -> Iterator[tuple[str, int, int]]:
        """The tensors that some rows lie in, each with its first row of them and their number."""
        begin = 0
        for name, rows in self._parts:
            start, end = max(first, begin), min(first + count, begin + rows)
            if start < end:
                yield name, start - begin, end - start
            begin += rows
