"""MaskPool: a fixed number of token masks at an address that never moves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.automaton._jit import Int32Array

__all__ = ["ALL_TOKENS", "NO_TOKENS", "MaskPool"]

ALL_TOKENS, NO_TOKENS = 0, 1
"""The slots that are always there: every token, and none."""


class MaskPool:
    """The masks of a vocabulary, the least recently used leaving first.

    Parameters
    ----------
    everything : int32[words]
        The mask of every token there is.
    slots : int
        Rows to allocate; the system gives them memory when they are first written.

    Attributes
    ----------
    rows : int32[slots, words]
        Bit ``i % 32`` of word ``i // 32`` set = token ``i`` allowed.
    hits, misses : int
        Look-ups that found their mask, and that computed it.
    """

    def __init__(self, everything: Int32Array, slots: int) -> None:
        if slots < 3:
            raise ValueError(f"a MaskPool needs at least 3 slots, not {slots}")
        self.rows: Int32Array = np.zeros((slots, len(everything)), np.int32)
        self.rows[ALL_TOKENS] = everything
        self.hits = self.misses = 0
        self._slots: OrderedDict[Hashable, int] = OrderedDict()  # the least recently used first
        self._free = list(range(slots - 1, NO_TOKENS, -1))
        self._used_at = [0] * slots
        self._clock = 0
        self._open_steps: OrderedDict[int, None] = OrderedDict()  # the oldest first
        self._lock = threading.Lock()

    def slot(self, key: Hashable, fill: Callable[[Int32Array], object]) -> int:
        """The slot of ``key``'s mask, which ``fill`` writes if it is not there.

        The slot holds this mask until the step that asked has ended, or, outside a step, until the next call.

        Raises
        ------
        GrammarLimitExceeded
            Every slot belongs to a running step.
        """
        with self._lock:
            slot = self._slots.get(key)
            if slot is None:
                self.misses += 1
                slot = self._take_slot()
                try:
                    fill(self.rows[slot])
                except BaseException:
                    self._free.append(slot)
                    raise
                self._slots[key] = slot
            else:
                self.hits += 1
                self._slots.move_to_end(key)
            self._used_at[slot] = self._clock
            return slot

    @contextmanager
    def step(self) -> Generator[None, None, None]:
        """A running step: no mask that is asked for inside loses its slot before the step ends."""
        with self._lock:
            self._clock += 1
            epoch = self._clock
            self._open_steps[epoch] = None
        try:
            yield
        finally:
            with self._lock:
                del self._open_steps[epoch]

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        key, slot = next(iter(self._slots.items()))
        oldest_step = next(iter(self._open_steps), self._clock + 1)
        if self._used_at[slot] >= oldest_step:
            raise GrammarLimitExceeded(
                f"all {len(self.rows)} mask slots are in use by running steps; make the vocabulary with more mask_slots"
            )
        del self._slots[key]
        return slot
