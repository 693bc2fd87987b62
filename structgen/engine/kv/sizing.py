"""How many pages each cache group gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structgen.engine.step import CacheGroup

__all__ = ["Load", "pages_for", "pages_within"]


class Load(NamedTuple):
    """What runs at once at most."""

    sequences: int
    tokens: int
    """Of one sequence."""
    step_tokens: int
    """Of one step, of all sequences together."""


def pages_for(groups: Sequence[CacheGroup], page_size: int, load: Load) -> tuple[int, ...]:
    """Return the pages that a load can fill, for each group; windows twice, so that prefixes stay whole for a while."""
    return tuple(_pages_of(group, page_size, load) for group in groups)


def pages_within(memory: int, page_bytes: Sequence[int], wanted: Sequence[int], windowed: Sequence[bool]) -> list[int]:
    """Share memory out among groups.

    A page of tokens takes a page in every group, so all get as many; but a group with a window gets no more than it can
    use, and the others get what that leaves.

    Parameters
    ----------
    memory : int
        Bytes.
    page_bytes : sequence of int
        Bytes of a page of each group.
    wanted : sequence of int
        Pages that each group can use.
    windowed : sequence of bool
        Whether each group has a window.

    Returns
    -------
    list of int
        Pages of each group; 0 where there is no room for any.
    """
    equal = memory // sum(page_bytes)
    pages = [min(equal, want) if window else 0 for want, window in zip(wanted, windowed, strict=True)]
    left = memory - sum(count * size for count, size in zip(pages, page_bytes, strict=True))
    unlimited = sum(size for size, window in zip(page_bytes, windowed, strict=True) if not window)
    return [count if window else left // unlimited for count, window in zip(pages, windowed, strict=True)]


def _pages_of(group: CacheGroup, page_size: int, load: Load) -> int:
    if group.window is None:
        return load.sequences * -(-load.tokens // page_size)
    window = min(group.window, load.tokens)
    return 2 * load.sequences * (-(-window // page_size) + 1) + -(-load.step_tokens // page_size)
