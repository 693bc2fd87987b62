"""Pages of keys and values: which layers share them, how a page is laid out, and their memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structgen.engine.cache_groups import cache_groups
from structgen.engine.cpu.layout import BLOCK, MOST_GROUPS
from structgen.engine.memory import available_memory
from structgen.engine.models.description import ModelDescription
from structgen.errors import InvalidRequest, OutOfMemory, UnsupportedModel

__all__ = ["KV_TYPES", "LayerPlace", "PageLayout", "PagePool"]

KV_TYPES = {"fp32": 4, "bf16": 2, "int8": 1}
"""What keys and values are stored as, by the bytes of a number; int8 has a scale for each head and token."""


class LayerPlace(NamedTuple):
    """Where a layer's keys and values lie."""

    group: int
    offsets: tuple[int, int, int, int]
    """Bytes from a page's beginning: of keys, values, scales of keys, scales of values."""
    window: int | None


class PageLayout:
    """The layout of every page of a model (see `kernels.heads` for what is in a layer's part).

    Parameters
    ----------
    description : ModelDescription
        The model.
    kv : str
        One of `KV_TYPES`.
    page_size : int
        Tokens a page, a multiple of 16.

    Raises
    ------
    InvalidRequest
        ``kv`` is not known, or the page size no multiple of 16.
    UnsupportedModel
        The layers have more than four different windows.
    """

    def __init__(self, description: ModelDescription, kv: str, page_size: int) -> None:
        if kv not in KV_TYPES:
            raise InvalidRequest(f"keys and values cannot be stored as {kv!r}; known are {', '.join(KV_TYPES)}")
        if page_size < BLOCK or page_size % BLOCK:
            raise InvalidRequest(f"block_size: the page size is {page_size}; it must be a multiple of {BLOCK}")
        self.groups = cache_groups(description)
        if len(self.groups) > MOST_GROUPS:
            raise UnsupportedModel(f"the layers have {len(self.groups)} different windows; {MOST_GROUPS} are possible")
        self.page_size = page_size
        self.itemsize = KV_TYPES[kv]
        numbers = description.num_key_value_heads * page_size
        self._keys = self._rounded(numbers * description.head_dim * self.itemsize)
        self._values = self._rounded(numbers * -(-description.head_dim // 16) * 16 * self.itemsize)
        self._scales = self._rounded(numbers * 4) if kv == "int8" else 0
        layer_bytes = self._keys + self._values + 2 * self._scales
        self.page_bytes = tuple(len(group.layers) * layer_bytes for group in self.groups)
        self.layers = self._places(description.num_hidden_layers, layer_bytes)
        """A place for each layer."""

    def _places(self, layers: int, layer_bytes: int) -> tuple[LayerPlace, ...]:
        found: dict[int, LayerPlace] = {}
        for number, group in enumerate(self.groups):
            for place, layer in enumerate(group.layers):
                keys = place * layer_bytes
                values = keys + self._keys
                scales = values + self._values
                found[layer] = LayerPlace(number, (keys, values, scales, scales + self._scales), group.window)
        return tuple(found[layer] for layer in range(layers))

    @staticmethod
    def _rounded(size: int) -> int:
        return -(-size // 64) * 64


class PagePool:
    """The memory of one cache group's pages.

    Raises
    ------
    OutOfMemory
        There is no room.
    """

    def __init__(self, pages: int, page_bytes: int) -> None:
        self.pages = pages
        free = available_memory()
        if pages * page_bytes > free:
            raise OutOfMemory(
                f"{pages} pages of {page_bytes} bytes need {pages * page_bytes >> 20} MiB, {free >> 20} MiB are free; "
                f"{free // page_bytes} pages would fit"
            )
        try:
            self.data = np.empty((pages, page_bytes), np.uint8)  # its memory comes when it is written to
        except MemoryError as error:
            raise OutOfMemory(f"there is no room for {pages} pages of {page_bytes} bytes") from error

    def copy(self, source: int, target: int) -> None:
        """Copy a page."""
        self.data[target] = self.data[source]
