"""What kernels share: their operands, their share of the work, and how a team meets."""

from __future__ import annotations

from structgen._compiled.kernel import (
    I64,
    Address,
    cycles,
    fetch_add,
    pause,
    read,
    read_acquire,
    write_release,
    yield_core,
)
from structgen.engine.cpu._jit import inner
from structgen.engine.cpu.layout import BARRIER, MEMBERS

__all__ = ["meet", "number", "share_begin"]

_SPINS = 1000
"""Turns that a member waits for the others before it lets others have its core: 25 to 50 us."""


@inner
def number(table: Address, place: int) -> int:
    """An int64 of the operands or of the step."""
    return read(I64, table + 8 * place)


@inner
def share_begin(count: int, member: int, members: int) -> int:
    """Where a member's share of ``count`` pieces begins; it ends where the next one's begins."""
    return count * member // members


@inner
def meet(step: Address) -> None:
    """Wait until all members of the team are here, and see what they wrote.

    The barrier is three int64, on cache lines of their own: who has come, how often all had, and how long members
    waited after they gave up their cores, in ticks of the processor's clock.
    """
    members = number(step, MEMBERS)
    if members == 1:
        return
    arrived = number(step, BARRIER)
    turn = arrived + 64
    before = read_acquire(turn)
    if fetch_add(arrived, 1) == members - 1:
        write_release(arrived, 0)
        write_release(turn, before + 1)
        return
    spins = 0
    while spins < _SPINS and read_acquire(turn) == before:
        spins += 1
        pause()
    if spins == _SPINS:
        begin = cycles()
        while read_acquire(turn) == before:
            yield_core()
        fetch_add(arrived + 128, cycles() - begin)
