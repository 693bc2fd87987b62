"""The compiled runner: a step of a model as one call over all layers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu import layout
from structgen.engine.cpu.angles import Angles
from structgen.engine.cpu.emitter import emit
from structgen.engine.cpu.interpreter import run_program
from structgen.engine.cpu.kernels.attention import QUERIES_TOGETHER
from structgen.engine.cpu.kernels.scores import PLACE_BYTES
from structgen.engine.cpu.memory import Memory
from structgen.engine.cpu.pages import PageLayout, PagePool
from structgen.engine.cpu.tasks import attention_tasks
from structgen.engine.cpu.team import CoreWatch, Team, available_cores
from structgen.engine.models.loading import LoadedModel
from structgen.engine.step import CacheGroup, StepBatch
from structgen.errors import InvalidRequest

__all__ = ["CpuRunner", "OperationTime"]

_WAITED = 16
"""In the barrier, how long members waited without a core."""


class OperationTime(NamedTuple):
    """What an operation of a step cost."""

    name: str
    """Its kind."""
    ticks: int
    """Of the processor's clock, the wait for the team's last member included."""
    weight_bytes: int
    """Bytes of weights that it reads."""


class CpuRunner:
    """A :class:`structgen.engine.step.PagedRunner` for the CPU, compiled for the processor it runs on.

    With fp32 and int8 weights the logits of a token are the same bits whatever else is in the step, however its
    sequence was cut into steps, in whichever pages it lies and however many threads there are.

    Parameters
    ----------
    loaded : LoadedModel
        The model; its weights are read here, some rows at a time, and its files are needed no more afterwards.
    quantization : str
        Of the linear layers: ``"fp32"``, ``"bf16"`` (activations stay float32), ``"int8"`` (a scale for
        each channel; activations have a scale for each row and 16 bits, or as many as sums of 32 bits allow),
        ``"w8a8"`` (the same with activations of 8 bits, which is faster where the processor multiplies bytes, and
        less exact) or ``"int4"`` (groups of 32 inputs; the output projection in int8). Blocks of type Q4_0 and Q4_1 of
        a GGUF file are kept exactly, of Q4_K all but the last bits of their scales; matrices that have more bits in the
        file (Q5_0, Q6_K, Q8_0, ...) are kept in int8. For int8, whose scales are those of whole channels, all are
        quantized anew.
    kv : str
        What keys and values are stored as: ``"fp32"``, ``"bf16"`` or ``"int8"`` (a scale for each head and token).
    page_size : int
        Tokens a page, a multiple of 16.
    threads : int, optional
        By default as many as the process may use cores; with a core taken by another process fewer run.

    Raises
    ------
    InvalidRequest
        A parameter is not one of those.
    UnsupportedModel
        A width is no multiple of 16, or there are too many different windows.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        quantization: str = "int8",
        kv: str = "int8",
        page_size: int = 16,
        threads: int | None = None,
    ) -> None:
        description = self._description = loaded.description
        self._pages = PageLayout(description, kv, page_size)
        self._angles = Angles(description)
        self._program = emit(description, loaded.weights, quantization, self._pages, self._angles, Memory())
        self.page_size = page_size
        self.cache_groups: tuple[CacheGroup, ...] = self._pages.groups
        self._full_group = next((number for number, one in enumerate(self.cache_groups) if one.window is None), None)
        self._pools: tuple[PagePool, ...] = ()
        self._team = Team(threads or available_cores())
        self._watch = CoreWatch(self._team.size)
        self._step = np.zeros(layout.STEP_SIZE, np.int64)
        self._barrier = _aligned(3 * 8)
        self._barrier[:] = 0
        self._step[layout.BARRIER] = self._barrier.ctypes.data
        self._capacity = 0
        self._buffers: dict[int, npt.NDArray[np.uint8]] = {}
        self._step[layout.ANGLES] = self._angles.address

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._description.vocab_size

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have, prompt and answer together."""
        return self._description.max_position_embeddings

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights."""
        return self._program.memory.nbytes

    def page_bytes(self, group: int) -> int:
        """Bytes of one page of a cache group, over all its layers."""
        return self._pages.page_bytes[group]

    def allocate(self, pages: tuple[int, ...]) -> None:
        """Make so many pages for each cache group, once, before the first step.

        Raises
        ------
        OutOfMemory
            There is no room; the message says what would fit.
        """
        self._pools = tuple(PagePool(count, size) for count, size in zip(pages, self._pages.page_bytes, strict=True))
        for group, pool in enumerate(self._pools):
            self._step[layout.POOLS + group] = pool.data.ctypes.data

    def copy_page(self, group: int, source: int, target: int) -> None:
        """Copy a page's keys and values."""
        self._pools[group].copy(source, target)

    def run(self, batch: StepBatch) -> npt.NDArray[np.float32]:
        """Compute a step. See :class:`structgen.engine.step.PagedRunner`.

        Raises
        ------
        InvalidRequest
            A token, position or page is none of the model's.
        """
        members = self._watch.next_members()
        self._barrier[_WAITED] = 0
        logits = self._run(batch, 0, len(self._program.table), members)
        self._watch.note(members, self._barrier[_WAITED] / max(self._step[layout.TICKS], 1))
        return logits[:, : self.vocab_size]

    def profile(self, batch: StepBatch) -> list[OperationTime]:
        """Run a step with all threads and say how long each operation took."""
        ticks = np.zeros(len(self._program.table), np.int64)
        self._step[layout.PROFILE] = ticks.ctypes.data
        self._run(batch, 0, len(self._program.table), self._team.size)
        self._step[layout.PROFILE] = 0
        taken = np.diff(ticks, prepend=ticks[:1])
        program = self._program
        return [
            OperationTime(program.name(place), int(ticks), program.weight_bytes(place))
            for place, ticks in enumerate(taken)
        ]

    def broken_layer(self, batch: StepBatch) -> str | None:
        """Say where the first number that is not finite comes up in a step, ``None`` where none does; slow."""
        begin = 0
        for name, end in self._program.parts:
            logits = self._run(batch, begin, end, 1)
            begin = end
            hidden = self._buffers[layout.HIDDEN].view(np.float32)
            used = hidden[: len(batch.token_ids) * self._description.hidden_size]
            is_last = end == len(self._program.table)
            if not np.isfinite(logits[:, : self.vocab_size] if is_last else used).all():
                return name
        return None

    def _run(self, batch: StepBatch, begin: int, end: int, members: int) -> npt.NDArray[np.float32]:
        """Run some of the operations; returns the logits, which the last of them writes."""
        arrays = self._checked(batch)
        self._reserve(len(batch.token_ids))
        logits = np.empty((len(batch.wanted), self._program.widths.logits), np.float32)
        step = self._step
        step[layout.MEMBERS] = members
        step[layout.TOKENS], step[layout.LOGIT_ROWS] = len(batch.token_ids), len(batch.wanted)
        for place, array in arrays.items():
            step[place] = array.ctypes.data
        step[layout.TASK_COUNT] = len(arrays[layout.TASKS])
        for group, table in enumerate(batch.page_tables):
            step[layout.PAGE_TABLES + 2 * group + 1] = table.shape[1]
        step[layout.LOGITS] = logits.ctypes.data
        program = self._program.table[begin:end].ctypes.data
        address, count = step.ctypes.data, end - begin
        self._team.run(lambda member: run_program(program, count, address, member), members)
        return logits

    def _checked(self, batch: StepBatch) -> dict[int, npt.NDArray[np.int32]]:
        """The step's arrays by their places; nothing in them leads out of the model's memory."""
        if not len(batch.token_ids):
            raise InvalidRequest("the step has no tokens")
        if batch.token_ids.min() < 0 or batch.token_ids.max() >= self.vocab_size:
            raise InvalidRequest(f"a token id is not in the model's vocabulary of {self.vocab_size}")
        last = int(batch.positions.max())
        if batch.positions.min() < 0 or last >= self.max_model_len:
            raise InvalidRequest(f"position {last} in a step; the model takes {self.max_model_len} tokens")
        self._angles.know(last + 1)
        counts = np.diff(batch.row_starts)
        rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        for table, pool in zip(batch.page_tables, self._pools, strict=True):
            if table.max() >= pool.pages or table[rows, batch.positions // self.page_size].min() < 0:
                raise InvalidRequest(f"a token's page is none of the {pool.pages}")
        heads = self._description.num_attention_heads // self._description.num_key_value_heads
        together = attention_tasks(batch, heads, self.page_size, self._full_group)
        arrays = {
            layout.TOKEN_IDS: batch.token_ids,
            layout.POSITIONS: batch.positions,
            layout.ROW_STARTS: batch.row_starts,
            layout.ROW_OF_TOKEN: rows,
            layout.WANTED: batch.wanted,
            layout.TILES: together.tiles,
            layout.TASKS: together.tasks,
        }
        arrays |= {layout.PAGE_TABLES + 2 * group: table for group, table in enumerate(batch.page_tables)}
        return {place: np.ascontiguousarray(array, np.int32) for place, array in arrays.items()}

    def _reserve(self, tokens: int) -> None:
        """Room for a step of so many tokens."""
        if tokens > self._capacity:
            self._capacity = max(tokens, 2 * self._capacity, 16)
            for place, size in self._bytes_a_token().items():
                self._room(place, size * self._capacity)
        scratch = self._scratch_bytes()
        self._step[layout.SCRATCH_BYTES] = scratch
        if layout.SCRATCH not in self._buffers:
            self._room(layout.SCRATCH, scratch * self._team.size)

    def _room(self, place: int, size: int) -> None:
        self._buffers[place] = _aligned(-(-size // 8)).view(np.uint8)
        self._step[place] = self._buffers[place].ctypes.data

    def _bytes_a_token(self) -> dict[int, int]:
        description, widths = self._description, self._program.widths
        heads = description.num_attention_heads * description.head_dim
        return {
            layout.HIDDEN: 4 * description.hidden_size,
            layout.BRANCH: 4 * description.hidden_size if description.post_norms else 0,
            layout.QKV: 4 * widths.qkv,
            layout.QUERIES: 4 * heads,
            layout.ATTENDED: 4 * heads,
            layout.ACTIVATIONS: widths.activations,
            layout.SCALES: 4 * widths.scales,
            layout.SUMS: 4 * widths.scales,
            layout.GATE_UP: 8 * description.intermediate_size,
        }

    def _scratch_bytes(self) -> int:
        """A task's queries, with scores and places over the longest context, or a row of any layer's inputs."""
        blocks = -(-self.max_model_len // layout.BLOCK)
        width = self._description.head_dim
        a_query = 4 * (width + 1 + width + layout.BLOCK + layout.BLOCK * blocks) + PLACE_BYTES * blocks
        attention = QUERIES_TOGETHER * a_query
        return -(-max(attention, 4 * self._program.widths.scratch) // 64) * 64


def _aligned(count: int) -> npt.NDArray[np.int64]:
    """Memory, int64 ``[count]``, from the beginning of a cache line, in huge pages where it is large."""
    memory = np.empty(count + 8, np.int64)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + count]
