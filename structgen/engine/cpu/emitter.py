"""From a model's description and weights to the flat program that the interpreter runs."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.angles import Angles
from structgen.engine.cpu.interpreter import ADD, ATTEND, CAP, EMBED, GATE, LINEAR, NORM, PROJECT, QUANTIZE
from structgen.engine.cpu.kernels.activations import BYTES_OF_FORM, GROUPS
from structgen.engine.cpu.kernels.linear import panel_bytes
from structgen.engine.cpu.kernels.rows import GELU_TANH, SILU
from structgen.engine.cpu.layout import BRANCH, GATE_UP, GROUP, HIDDEN, LOGITS, OPERANDS, QKV
from structgen.engine.cpu.memory import Memory
from structgen.engine.cpu.packing import Fill, Linear, form_of, plan, plan_rows
from structgen.engine.cpu.pages import LayerPlace, PageLayout
from structgen.engine.cpu.program import Program, Widths
from structgen.engine.cpu.team import available_cores
from structgen.engine.models.description import ModelDescription
from structgen.engine.models.weights import (
    EMBEDDING,
    HEAD,
    LAST_NORM,
    Matrix,
    MatrixPart,
    WeightSource,
    layer_matrices,
    matrix_parts,
    norm_names,
)
from structgen.errors import UnsupportedModel

__all__ = ["emit"]

_ACTIVATIONS = {"silu": SILU, "gelu_tanh": GELU_TANH}


def emit(
    description: ModelDescription,
    source: WeightSource,
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
    emitter = _Emitter(description, source, quantization, pages, angles, memory)
    program = emitter.emit()
    # Chains of numpy calls that release the GIL, so threads keep all cores busy.
    with ThreadPoolExecutor(available_cores()) as pool:
        deque(pool.map(_call, emitter.fills), maxlen=0)  # raises what one raised
    return program


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
        source: WeightSource,
        quantization: str,
        pages: PageLayout,
        angles: Angles,
        memory: Memory,
    ) -> None:
        self.description = description
        self.source = source
        self.quantization = quantization
        self.pages = pages
        self.angles = angles
        self.memory = memory
        self.norms = norm_names(description)
        self.operations: list[list[int]] = []
        self.linears: list[Linear] = []
        self.fills: list[Fill] = []
        self.eps = _bits(description.rms_norm_eps)
        heads = description.num_attention_heads + 2 * description.num_key_value_heads
        self.qkv = -(-heads * description.head_dim // 16) * 16

    def emit(self) -> Program:
        parts: list[tuple[str, int]] = []
        self._embed()
        parts.append(("the embedding", len(self.operations)))
        for index, place in enumerate(self.pages.layers):
            self._attention(index, place)
            self._mlp(index)
            parts.append((f"layer {index}", len(self.operations)))
        self._head()
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

    def _embed(self) -> None:
        is_short = self.quantization != "fp32"
        table, fills = plan_rows(self.memory, self._of_vocabulary(EMBEDDING), is_short=is_short)
        self.fills += fills
        self._add(EMBED, table, self.description.hidden_size, int(is_short), _bits(self.description.embedding_scale))

    def _attention(self, index: int, place: LayerPlace) -> None:
        description, pages = self.description, self.pages
        matrices = layer_matrices(description, self.source, index)
        qkv, output = self._plan(matrices["qkv"], self._bias(index)), self._plan(matrices["output"])
        self._norm(self._name(index, "input_norm"), qkv)
        self._linear(qkv, QKV, self.qkv)
        in_page = (place.group, pages.page_bytes[place.group], *place.offsets)
        heads = (description.num_attention_heads, description.num_key_value_heads, description.head_dim)
        norms = (self._norm_weight(self._name(index, name)) for name in ("query_norm", "key_norm"))
        turns = (_bits(description.score_scale), self.angles.begin(description.rope_of(index)))
        self._add(PROJECT + pages.itemsize, *in_page, *heads, pages.page_size, self.qkv, *norms, self.eps, *turns)
        cap = _bits(description.attention_softcap or 0.0)
        self._add(ATTEND + pages.itemsize, *in_page, *heads, pages.page_size, place.window or 0, cap)
        width = description.num_attention_heads * description.head_dim
        self._add(QUANTIZE, width, output.depth, output.activations, output.limit)
        self._to_hidden(output, self._name(index, "output_norm"))

    def _mlp(self, index: int) -> None:
        width, activation = self.description.intermediate_size, _ACTIVATIONS[self.description.activation]
        matrices = layer_matrices(self.description, self.source, index)
        gate_up, down = self._plan(matrices["gate_up"]), self._plan(matrices["down"])
        self._norm(self._name(index, "mlp_norm"), gate_up)
        self._linear(gate_up, GATE_UP, 2 * width)
        self._add(GATE, width, down.depth, down.activations, 2 * width, down.limit, activation)
        self._to_hidden(down, self._name(index, "down_norm"))

    def _to_hidden(self, one: Linear, norm: str | None) -> None:
        """Add what a layer gives to the residual, by way of its norm where it has one."""
        width = self.description.hidden_size
        if norm is None:
            self._linear(one, HIDDEN, width, adds=True)
        else:
            self._linear(one, BRANCH, width)
            self._add(ADD, self._norm_weight(norm), width, self.eps)

    def _head(self) -> None:
        # Four bits are too few for the layer that every token's probability comes from; files keep it in eight as well.
        quantization = "int8" if self.quantization == "int4" else self.quantization
        matrix = self._of_vocabulary(EMBEDDING if self.description.tie_word_embeddings else HEAD)
        head = self._plan(matrix, quantization=quantization)
        self._norm(LAST_NORM, head, of_wanted=True)
        self._linear(head, LOGITS, head.blocks * 16, of_wanted=True)
        if self.description.logit_softcap is not None:
            self._add(CAP, head.blocks * 16, _bits(self.description.logit_softcap))

    def _of_vocabulary(self, name: str) -> Matrix:
        return Matrix(self.source, [MatrixPart(name, self.description.vocab_size)], self.description.hidden_size)

    def _bias(self, index: int) -> npt.NDArray[np.float32] | None:
        """Of a layer's queries, keys and values."""
        if not self.description.qkv_bias:
            return None
        names = [f"model.layers.{index}.{part.name}.bias" for part in matrix_parts(self.description)["qkv"]]
        return np.concatenate([self.source.tensor(name) for name in names])

    def _plan(
        self, matrix: Matrix, bias: npt.NDArray[np.float32] | None = None, quantization: str | None = None
    ) -> Linear:
        linear, fills = plan(self.memory, matrix, bias, quantization or form_of(matrix, self.quantization))
        self.linears.append(linear)
        self.fills += fills
        return linear

    def _name(self, index: int, norm: str) -> str | None:
        """Of a layer's norm in the files; None where the family has none there."""
        return f"model.layers.{index}.{self.norms[norm]}.weight" if norm in self.norms else None

    def _norm(self, name: str | None, reader: Linear, *, of_wanted: bool = False) -> None:
        width, place = self.description.hidden_size, self._norm_weight(name)
        self._add(NORM, place, width, reader.depth, self.eps, reader.activations, int(of_wanted), reader.limit)

    def _linear(self, one: Linear, target: int, stride: int, *, adds: bool = False, of_wanted: bool = False) -> None:
        flags = (int(adds), int(of_wanted))
        where = (one.weights, one.blocks, one.depth, target, stride)
        self._add(LINEAR + one.form, *where, one.bias, one.scales, *flags, one.begin)

    def _norm_weight(self, name: str | None) -> int:
        """Where the weight of a norm lies, as the norm multiplies with it; 0 for none."""
        if name is None:
            return 0
        return self.memory.place(self.source.tensor(name) + np.float32(self.description.norm_offset))


def _call(fill: Fill) -> None:
    fill()


def _bits(value: float) -> int:
    """Of the float32, as operands hold it."""
    return int(np.float32(value).view(np.int32))
