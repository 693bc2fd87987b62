"""The memory that tables lie in: reserved without being taken, and used again while it is warm."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array, Int64Table, compiled

__all__ = ["Template", "give_back", "reserve", "spans_of"]

_NO_SWAP = 0x4000 if sys.platform == "linux" else 0
"""``MAP_NORESERVE``, which Python names from 3.13 on."""

_KEPT, _KEPT_BYTES = 8, 4 << 20
"""So many reserves are kept, each if no more of it was written. A page that the system gives anew costs 3 us where it
is virtual itself, and a small grammar needs 150 of them; to clear them takes 20 us."""


class Template(NamedTuple):
    """What memory begins with, instead of zeros."""

    memory: Int32Array
    fixed: slice
    """Of ``memory``: what stays as it is in whatever begins so; it is there already where memory is used again."""
    first: Int64Table
    """int64[spans, 2]: where in ``memory`` all else begins and ends that is not zero."""

    def written_to(self, memory: Int32Array, *, has_fixed: bool) -> Int32Array:
        """``memory``, zeros but for what is fixed where it has that, so that it begins so."""
        if not has_fixed:
            memory[self.fixed] = self.memory[self.fixed]
        _copy(memory, self.memory, self.first)
        return memory


_free: list[tuple[Int32Array, Template | None]] = []


def reserve(size: int, template: Template | None = None) -> Int32Array:
    """``size`` zeros, or what ``template`` says, most of which take no memory until they are written."""
    while _free:
        try:
            memory, its = _free.pop()
        except IndexError:  # another thread was first
            break
        if len(memory) != size:
            continue
        if its is not None and its is not template:
            memory[its.fixed] = 0
        return memory if template is None else template.written_to(memory, has_fixed=its is template)
    memory = _new(size)
    return memory if template is None else template.written_to(memory, has_fixed=False)


def _new(size: int) -> Int32Array:
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(size, np.int32)
    region = mmap.mmap(-1, 4 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_SWAP)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        region.madvise(mmap.MADV_NOHUGEPAGE)  # a huge page for each of many tables would be all of them
    return np.frombuffer(region, np.int32)


def spans_of(slices: Iterable[slice]) -> Int64Table:
    """Slices as int64[spans, 2]."""
    return np.reshape(np.array([(one.start, one.stop) for one in slices], np.int64), (-1, 2))


@compiled
def _copy(memory: Int32Array, source: Int32Array, spans: Int64Table) -> None:
    for span in range(len(spans)):
        for word in range(spans[span, 0], spans[span, 1]):
            memory[word] = source[word]


@compiled
def _clear(memory: Int32Array, spans: Int64Table) -> None:
    for span in range(len(spans)):
        for word in range(spans[span, 0], spans[span, 1]):
            memory[word] = 0


@compiled
def _size(spans: Int64Table) -> int:
    size = 0
    for span in range(len(spans)):
        size += spans[span, 1] - spans[span, 0]
    return size


def give_back(memory: Int32Array, used: Int64Table, template: Template | None) -> None:
    """Keep ``memory`` for the next who reserves as much; nobody else may hold it.

    Parameters
    ----------
    used : int64[spans, 2]
        Where all of it begins and ends that may have been written, but for what is fixed in ``template``.
    template : Template or None
        What it began with.
    """
    if len(_free) < _KEPT and 4 * _size(used) <= _KEPT_BYTES:
        _clear(memory, used)
        _free.append((memory, template))
