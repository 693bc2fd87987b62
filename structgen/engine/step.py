"""One step of the engine as plain arrays: what the scheduler hands to a runner, and what a runner promises.

A step is ragged: each row is one request with the tokens it computes now, many of a prompt's or one of an answer's.

::

    token_ids   | row 0's tokens      | row 1's | row 2's tokens  |
    positions   | 0  1  2  3  4  5  6 | 41      | 16 17 18 19     |
    row_starts  ^0                    ^7        ^8                ^12
    wanted                              7                      11       places in token_ids
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["CacheGroup", "PagedRunner", "StepBatch"]

Int32Array = npt.NDArray[np.int32]


class CacheGroup(NamedTuple):
    """Layers whose keys and values live and die together, in pages of their own numbering."""

    layers: tuple[int, ...]
    window: int | None
    """How many tokens a token sees, itself included; None where it sees all before it."""


class StepBatch(NamedTuple):
    """The work of one step."""

    token_ids: Int32Array
    """int32 ``[tokens]``, row after row."""
    positions: Int32Array
    """int32 ``[tokens]``: each token's place in its sequence. Those of a row follow one another."""
    row_starts: Int32Array
    """int32 ``[rows + 1]``: row ``r`` is ``token_ids[row_starts[r] : row_starts[r + 1]]``."""
    page_tables: tuple[Int32Array, ...]
    """For each cache group int32 ``[rows, pages]``: the page of position ``p`` is ``[row, p // page_size]``.

    -1 for a page that no window reaches any more, and behind a row's last page.
    """
    wanted: Int32Array
    """int32 ``[logits]``: places in ``token_ids``, ascending, whose logits are wanted."""


class PagedRunner(Protocol):
    """Computes steps over keys and values in pages. This docstring is the contract.

    A step writes the keys and values of its tokens to their pages, passing them through the storage type, before any
    token of the step reads them; tokens see those of their own row only, up to themselves. Rows may share pages that
    no row writes. A runner keeps nothing between steps but the pages; a step may be computed again, or some of its rows
    alone, and writes the same then. A number that is not finite stays in its row. Where a runner says so, the logits of
    a token are the same bits whatever else is in the step and however its sequence was cut into steps. ``run`` is for
    one thread at a time.
    """

    page_size: int
    """Tokens a page."""
    cache_groups: tuple[CacheGroup, ...]

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        ...

    @property
    def max_model_len(self) -> int:
        """Tokens that a sequence may have, prompt and answer together."""
        ...

    def page_bytes(self, group: int) -> int:
        """Bytes of one page of a cache group, over all its layers."""
        ...

    def allocate(self, pages: tuple[int, ...]) -> None:
        """Make so many pages for each cache group, once, before the first step.

        Raises
        ------
        OutOfMemory
            There is no room; the message says what would fit.
        """
        ...

    def copy_page(self, group: int, source: int, target: int) -> None:
        """Copy a page's keys and values."""
        ...

    def run(self, batch: StepBatch) -> npt.NDArray[np.float32]:
        """Compute a step.

        Returns
        -------
        np.ndarray
            float32 ``[logits, vocab_size]``, the caller's to change; not checked for NaN, so that the caller can end
            the one request that has them. It asks for the logits after each row, those of a prompt's chunks too, so
            that keys and values are seen to be sound before another request shares them.
        """
        ...

    def broken_layer(self, batch: StepBatch) -> str | None:
        """Say where the first number that is not finite comes up in a step, ``None`` where none does; slow."""
        ...
