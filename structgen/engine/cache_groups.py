"""Which layers of a model keep their keys and values together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from structgen.engine.models.description import ModelDescription
from structgen.engine.step import CacheGroup

__all__ = ["cache_groups", "layers_alike"]


def cache_groups(description: ModelDescription) -> tuple[CacheGroup, ...]:
    """Put the layers of a model that see as far as each other into one group."""
    windows = description.sliding_windows
    return tuple(CacheGroup(layers, windows[layers[0]]) for layers in layers_alike(windows))


def layers_alike(kinds: Sequence[Hashable]) -> list[tuple[int, ...]]:
    """Numbers of the layers of each kind, the kinds in the order in which they first come."""
    return [tuple(layer for layer, one in enumerate(kinds) if one == kind) for kind in dict.fromkeys(kinds)]
