"""Stub until the string machine is merged."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner

__all__ = ["key_interval", "key_name", "key_others", "key_rest", "key_start"]


@inner
def key_start(m: Memory, keys: int) -> int:
    return 0


@inner
def key_interval(m: Memory, state: int) -> tuple[int, int]:
    return 0, 0


@inner
def key_others(m: Memory, state: int) -> int:
    return 0


@inner
def key_name(m: Memory, state: int) -> int:
    return -1


@inner
def key_rest(m: Memory, state: int, name: int) -> int:
    return 0
