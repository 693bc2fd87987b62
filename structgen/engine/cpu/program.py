"""From a model's description and weights to the flat program that the interpreter runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from structgen.engine.cpu.angles import Angles
from structgen.engine.cpu.int4 import StoredRows
from structgen.engine.cpu.interpreter import ADD, ATTEND, CAP, EMBED, GATE, LINEAR, NORM, PROJECT, QUANTIZE
from structgen.engine.cpu.kernels.activations import BYTES_OF_FORM, GROUPS
from structgen.engine.cpu.kernels.linear import BYTES_OF_WEIGHT, panel_bytes
from structgen.engine.cpu.kernels.rows import GELU_TANH, SILU
from structgen.engine.cpu.layout import BRANCH, GATE_UP, GROUP, HIDDEN, LOGITS, OPERANDS, QKV
from structgen.engine.cpu.packing import Linear, Memory, bfloat16_bits, pack
from structgen.engine.cpu.pages import LayerPlace, PageLayout
from structgen.engine.models.description import ModelDescription
from structgen.engine.models.weights import LayerWeights, ModelWeights, matrix_parts
from structgen.engine.weights.groups import Groups
from structgen.errors import UnsupportedModel

__all__ = ["Program", "Widths", "emit"]

_NAMES = {EMBED: "embed", NORM: "norm", GATE: "gate", QUANTIZE: "quantize", ADD: "add", CAP: "cap"}
_ROWS = 2048
"""Of the embedding that are converted at a time."""
_ACTIVATIONS = {"silu": SILU, "gelu_tanh": GELU_TANH}


class Widths(NamedTuple):
    """What a token needs of each buffer."""

    qkv: int
    """Floats."""
    activations: int
    """Bytes."""
    scales: int
    """Floats."""
    logits: int
    """Floats."""
    scratch: int
    """Floats that a member needs for itself, besides what attention needs."""


class Program:
    """Operations, and the weights that they refer to.

    Attributes
    ----------
    table : np.ndarray
        int64 ``[operations, OPERANDS]``; see :mod:`structgen.engine.cpu.layout`.
    parts : list of tuple
        The model's parts from the first to the last, each by name with the number of operations up to its end.
    """

    def __init__(
        self, memory: Memory, operations: list[list[int]], parts: list[tuple[str, int]], widths: Widths
    ) -> None:
        self.memory = memory
        self.table: npt.NDArray[np.int64] = np.array(operations, np.int64)
        self.parts = parts
        self.widths = widths

    def name(self, place: int) -> str:
        """What an operation is, for profiles."""
        code = int(self.table[place, 0])
        if code in _NAMES:
            return _NAMES[code]
        return "linear" if code >= LINEAR else "attend" if code >= ATTEND else "project"

    def weight_bytes(self, place: int) -> int:
        """Bytes of weights that an operation reads."""
        code, _, _, blocks, depth = (int(one) for one in self.table[place, :5])
        return int(blocks * depth * 16 * BYTES_OF_WEIGHT[code - LINEAR]) if code >= LINEAR else 0


def emit(
    description: ModelDescription,
    weights: ModelWeights,
    quantization: str,
    pages: PageLayout,
    angles: Angles,
    memory: Memory,
) -> Program:
    """Lay out the weights and write the program.

    Raises
    ------
    UnsupportedModel
        A width is no multiple of 16.
    """
    _check(description)
    return _Emitter(description, quantization, pages, angles, memory, weights.groups).emit(weights)


def _check(description: ModelDescription) -> None:
    widths = {
        "hidden_size": description.hidden_size,
        "intermediate_size": description.intermediate_size,
        "num_attention_heads * head_dim": description.num_attention_heads * description.head_dim,
    }
    for name, width in widths.items():
        if width % 16:
            raise UnsupportedModel(f"{name} is {width}; the compiled CPU path needs a multiple of 16")


class _Emitter:
    def __init__(
        self,
        description: ModelDescription,
        quantization: str,
        pages: PageLayout,
        angles: Angles,
        memory: Memory,
        groups: Mapping[str, Callable[[], Groups]],
    ) -> None:
        self.description = description
        self.quantization = quantization
        self.pages = pages
        self.angles = angles
        self.memory = memory
        self.groups = groups
        self.parts = matrix_parts(description)
        self.operations: list[list[int]] = []
        self.linears: list[Linear] = []
        self.eps = _bits(description.rms_norm_eps)
        heads = description.num_attention_heads + 2 * description.num_key_value_heads
        self.qkv = -(-heads * description.head_dim // 16) * 16

    def emit(self, weights: ModelWeights) -> Program:
        parts: list[tuple[str, int]] = []
        self._embed(weights.embedding)
        parts.append(("the embedding", len(self.operations)))
        for index, place in enumerate(self.pages.layers):
            layer = weights.layers.pop(0) if self.memory.consume else weights.layers[index]
            self._attention(layer, index, place)
            self._mlp(layer, index)
            parts.append((f"layer {index}", len(self.operations)))
        self._head(weights)
        parts.append(("the output projection", len(self.operations)))
        return Program(self.memory, self.operations, parts, self._widths())

    def _widths(self) -> Widths:
        depths = [(one.depth, one.activations) for one in self.linears]
        return Widths(
            qkv=self.qkv,
            activations=max(depth * BYTES_OF_FORM[form] for depth, form in depths),
            scales=max(depth // GROUP if form == GROUPS else 1 for depth, form in depths),
            logits=self.linears[-1].blocks * 16,
            scratch=max(panel_bytes(depth) // 4 if form == GROUPS else depth for depth, form in depths),
        )

    def _add(self, code: int, *operands: int, meet: bool = True) -> None:
        row = [code, int(meet), *operands]
        self.operations.append(row + [0] * (OPERANDS - len(row)))

    def _embed(self, embedding: torch.Tensor) -> None:
        is_short = self.quantization != "fp32" or embedding.dtype != torch.float32
        if not is_short:
            table = self.memory.keep(embedding.contiguous().numpy())
        elif embedding.dtype == torch.bfloat16:
            table = self.memory.keep(embedding.contiguous().view(torch.int16).numpy())
        else:
            bits = self.memory.take(tuple(embedding.shape), np.uint16)
            for rows, target in zip(
                embedding.split(_ROWS), np.split(bits, range(_ROWS, len(bits), _ROWS)), strict=True
            ):
                target[:] = bfloat16_bits(rows.float().numpy())
            table = bits.ctypes.data
        self._add(EMBED, table, self.description.hidden_size, int(is_short), _bits(self.description.embedding_scale))

    def _attention(self, layer: LayerWeights, index: int, place: LayerPlace) -> None:
        description, pages = self.description, self.pages
        qkv = self._pack(layer.qkv, layer.qkv_bias, stored=self._stored(index, "qkv"))
        output = self._pack(layer.output, stored=self._stored(index, "output"))
        self._norm(layer.input_norm, qkv)
        self._linear(qkv, QKV, self.qkv)
        in_page = (place.group, pages.page_bytes[place.group], *place.offsets)
        heads = (description.num_attention_heads, description.num_key_value_heads, description.head_dim)
        norms = (self._norm_weight(layer.query_norm), self._norm_weight(layer.key_norm))
        turns = (_bits(description.score_scale), self.angles.begin(description.rope_of(index)))
        self._add(PROJECT + pages.itemsize, *in_page, *heads, pages.page_size, self.qkv, *norms, self.eps, *turns)
        cap = _bits(description.attention_softcap or 0.0)
        self._add(ATTEND + pages.itemsize, *in_page, *heads, pages.page_size, place.window or 0, cap)
        width = description.num_attention_heads * description.head_dim
        self._add(QUANTIZE, width, output.depth, output.activations, output.limit)
        self._to_hidden(output, layer.output_norm)

    def _mlp(self, layer: LayerWeights, index: int) -> None:
        width, activation = self.description.intermediate_size, _ACTIVATIONS[self.description.activation]
        gate_up = self._pack(layer.gate_up, stored=self._stored(index, "gate_up"))
        down = self._pack(layer.down, stored=self._stored(index, "down"))
        self._norm(layer.mlp_norm, gate_up)
        self._linear(gate_up, GATE_UP, 2 * width)
        self._add(GATE, width, down.depth, down.activations, 2 * width, down.limit, activation)
        self._to_hidden(down, layer.down_norm)

    def _to_hidden(self, one: Linear, norm: torch.Tensor | None) -> None:
        """Add what a layer gives to the residual, by way of its norm where it has one."""
        width = self.description.hidden_size
        if norm is None:
            self._linear(one, HIDDEN, width, adds=True)
        else:
            self._linear(one, BRANCH, width)
            self._add(ADD, self._norm_weight(norm), width, self.eps)

    def _head(self, weights: ModelWeights) -> None:
        # Four bits are too few for the layer that every token's probability comes from; files keep it in eight as well.
        quantization = "int8" if self.quantization == "int4" else self.quantization
        is_tied = weights.head.data_ptr() == weights.embedding.data_ptr()
        head = self._pack(weights.head, quantization=quantization, shared=is_tied)
        self._norm(weights.norm, head, of_wanted=True)
        self._linear(head, LOGITS, head.blocks * 16, of_wanted=True)
        if self.description.logit_softcap is not None:
            self._add(CAP, head.blocks * 16, _bits(self.description.logit_softcap))

    def _pack(
        self,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        quantization: str | None = None,
        *,
        stored: Sequence[StoredRows] = (),
        shared: bool = False,
    ) -> Linear:
        linear = pack(self.memory, weight, bias, quantization or self.quantization, stored=stored, shared=shared)
        self.linears.append(linear)
        return linear

    def _stored(self, index: int, matrix: str) -> list[StoredRows]:
        """What the model's files hold of a layer's matrix as it is kept here."""
        names = [(part.rows, f"model.layers.{index}.{part.name}.weight") for part in self.parts[matrix]]
        return [StoredRows(rows, self.groups.get(name)) for rows, name in names]

    def _norm(self, weight: torch.Tensor, reader: Linear, *, of_wanted: bool = False) -> None:
        width, place = self.description.hidden_size, self._norm_weight(weight)
        self._add(NORM, place, width, reader.depth, self.eps, reader.activations, int(of_wanted), reader.limit)

    def _linear(self, one: Linear, target: int, stride: int, *, adds: bool = False, of_wanted: bool = False) -> None:
        flags = (int(adds), int(of_wanted))
        where = (one.weights, one.blocks, one.depth, target, stride)
        self._add(LINEAR + one.form, *where, one.bias, one.scales, *flags, one.begin)

    def _norm_weight(self, weight: torch.Tensor | None) -> int:
        """Where the weight of a norm lies, as the norm multiplies with it; 0 for none."""
        return 0 if weight is None else self.memory.place((weight.float() + self.description.norm_offset).numpy())


def _bits(value: float) -> int:
    """Of the float32, as operands hold it."""
    return int(np.float32(value).view(np.int32))
