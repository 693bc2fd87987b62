"""Draws of many rows at once: compiled code finds the few tokens that may win, and these are scored exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.engine.cpu.drawing import layout
from structgen.engine.cpu.drawing.row import draw_rows, room
from structgen.engine.cpu.team import Team, available_cores
from structgen.engine.noise import key_of_draw, keyed_uniforms
from structgen.engine.request import SamplingParams
from structgen.errors import GenerationError

__all__ = ["DrawRow", "Drawer"]

Floats = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
_ROWS_A_THREAD = 4
"""Fewer are done before another thread is awake."""


class DrawRow(NamedTuple):
    """What a token is drawn from."""

    logits: Floats
    """float32 ``[vocabulary]``, contiguous; left as they are."""
    params: SamplingParams
    """Of these the temperature, min-p, top-k and top-p; bias and penalties stand in the edits."""
    place: tuple[int, int, int]
    """Seed, choice and position: what the noise is keyed by."""
    mask: Int32Array | None
    """int32 ``[ceil(vocabulary / 32)]``: the allowed tokens; ``None`` allows all."""
    edited_ids: Int32Array
    """int32 ``[edits]``: tokens whose logits are replaced, before anything else."""
    edited_logits: Floats
    """float32 ``[edits]``: by these."""


class Drawer:
    """Draws tokens; keeps the memory that this takes.

    Parameters
    ----------
    threads : int, optional
        That many rows share; by default as many as the process may use cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._team = Team(threads or available_cores())
        self._work: npt.NDArray[np.uint8] = np.empty((0, 0), np.uint8)
        self._ids: Int32Array = np.empty((0, 0), np.int32)
        self._logits: Floats = np.empty((0, 0), np.float32)

    def draw(self, rows: Sequence[DrawRow]) -> list[int | GenerationError]:
        """Draw a token for each row; what one gets does not depend on the others.

        Parameters
        ----------
        rows : sequence of DrawRow
            Of one vocabulary.

        Returns
        -------
        list
            Token ids; in the place of one an error, where no allowed token has a finite logit, or one is no number.
        """
        answers: list[int | GenerationError | None] = [_obvious(row) for row in rows]
        places = [place for place, answer in enumerate(answers) if answer is None]
        for place, token in zip(places, self._draw([rows[place] for place in places]), strict=True):
            answers[place] = token
        return [answer for answer in answers if answer is not None]

    def _draw(self, rows: Sequence[DrawRow]) -> list[int | GenerationError]:
        if not rows:
            return []
        size = len(rows[0].logits)
        self._reserve(len(rows), size)
        records = self._records(rows)
        address, members = records.ctypes.data, min(self._team.size, -(-len(rows) // _ROWS_A_THREAD))
        work, step = self._work.ctypes.data, self._work.shape[1]
        self._team.run(
            lambda member: draw_rows(address, len(rows), size, member, members, work + step * member), members
        )
        return self._answers(rows, records)

    def _reserve(self, rows: int, size: int) -> None:
        if self._work.shape != (self._team.size, room(size)):
            self._work = np.empty((self._team.size, room(size)), np.uint8)
        if self._ids.shape[0] < rows or self._ids.shape[1] != size:
            self._ids, self._logits = np.empty((rows, size), np.int32), np.empty((rows, size), np.float32)

    def _records(self, rows: Sequence[DrawRow]) -> npt.NDArray[np.int64]:
        records = np.zeros((len(rows), layout.RECORD), np.int64)
        for number, (record, row) in enumerate(zip(records, rows, strict=True)):
            record[layout.LOGITS] = row.logits.ctypes.data
            record[layout.MASK] = 0 if row.mask is None else row.mask.ctypes.data
            record[layout.EDITS] = len(row.edited_ids)
            record[layout.EDITED_IDS], record[layout.EDITED_LOGITS] = _addresses(row.edited_ids, row.edited_logits)
            if row.params.temperature > 0:
                _tell(record, row)
                record[layout.CONTENDERS], record[layout.VALUES] = _addresses(self._ids[number], self._logits[number])
        return records

    def _answers(self, rows: Sequence[DrawRow], records: npt.NDArray[np.int64]) -> list[int | GenerationError]:
        scores = records[:, layout.SCORE].astype(np.int32).view(np.float32)
        tokens: list[int | GenerationError] = []
        for number, (row, score) in enumerate(zip(rows, scores.tolist(), strict=True)):
            count = int(records[number, layout.COUNT])
            if not math.isfinite(score):
                tokens.append(GenerationError(f"no allowed token has a finite logit (the best is {score})"))
            elif row.params.temperature == 0:
                tokens.append(int(records[number, layout.BEST]))
            else:
                tokens.append(_winner(row.place, self._ids[number, :count], self._logits[number, :count]))
        return tokens


def _obvious(row: DrawRow) -> int | None:
    """The likeliest token where that is asked for, the mask has it and no edit beats it, as in most draws."""
    if row.params.temperature > 0:
        return None
    best = int(row.logits.argmax())  # NaN where there is any
    if not math.isfinite(float(row.logits[best])):
        return None
    if len(row.edited_ids) and (best in row.edited_ids or row.edited_logits.max() >= row.logits[best]):
        return None
    return best if row.mask is None or row.mask[best // 32] >> best % 32 & 1 else None


def _winner(place: tuple[int, int, int], token_ids: Int32Array, logits: Floats) -> int:
    """The one whose logit and noise are most, the first of equals."""
    if len(token_ids) == 1:
        return int(token_ids[0])
    uniforms = keyed_uniforms(*place, token_ids=token_ids.astype(np.int64))
    return int(token_ids[np.argmax(logits - np.log(-np.log(uniforms)))])


def _tell(record: npt.NDArray[np.int64], row: DrawRow) -> None:
    """Write how a row is sampled."""
    params = row.params
    min_p = math.log(params.min_p) if params.min_p else -math.inf
    floats = np.array([params.temperature, min_p, params.top_p, 1 - params.top_p], np.float32).view(np.uint32)
    places = [layout.TEMPERATURE, layout.MIN_P, layout.TOP_P, layout.LEFT_OUT]
    record[places] = floats
    record[layout.TOP_K] = params.top_k
    record[layout.KEY] = np.uint64(key_of_draw(*row.place)).view(np.int64)


def _addresses(*arrays: npt.NDArray[np.generic]) -> list[int]:
    return [one.ctypes.data for one in arrays]
