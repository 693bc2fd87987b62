"""The memory that tables lie in: reserved without being taken, and used again while it is warm."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Sequence

import numpy as np

from structgen.grammars.automaton._jit import Int32Array

__all__ = ["give_back", "reserve"]

_NO_SWAP = 0x4000 if sys.platform == "linux" else 0
"""``MAP_NORESERVE``, which Python names from 3.13 on."""

_KEPT, _KEPT_BYTES = 8, 4 << 20
"""So many reserves are kept, each if no more of it was written. A page that the system gives anew costs 3 us where it
is virtual itself, and a small grammar needs 150 of them; to clear them takes 20 us."""

_free: list[Int32Array] = []


def reserve(size: int) -> Int32Array:
    """``size`` zeros, most of which take no memory until they are written."""
    while _free:
        try:
            memory = _free.pop()
        except IndexError:  # another thread was first
            break
        if len(memory) == size:
            return memory
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(size, np.int32)
    region = mmap.mmap(-1, 4 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_SWAP)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        region.madvise(mmap.MADV_NOHUGEPAGE)  # a huge page for each of many tables would be all of them
    return np.frombuffer(region, np.int32)


def give_back(memory: Int32Array, used: Sequence[slice]) -> None:
    """Keep ``memory`` for the next who reserves as much; nobody else may hold it.

    Parameters
    ----------
    used : sequence of slice
        All of it that may have been written.
    """
    if len(_free) < _KEPT and 4 * sum(one.stop - one.start for one in used) <= _KEPT_BYTES:
        for one in used:
            memory[one] = 0
        _free.append(memory)
