"""Bounds that may be missing."""

from __future__ import annotations

__all__ = ["least"]


def least(one: int | None, other: int | None) -> int | None:
    """The lower of two upper bounds; ``None``: no bound."""
    return other if one is None else one if other is None else min(one, other)
