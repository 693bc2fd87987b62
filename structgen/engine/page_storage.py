"""The pages of the cache groups as tensors, in the type that keys and values are stored in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from typing_extensions import override

from structgen.engine.step import CacheGroup
from structgen.errors import OutOfMemory

__all__ = ["KV_DTYPES", "Int8Pages", "KVShape", "PageStore", "PlainPages"]

KV_DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
"""What keys and values can be stored as, by name."""

_SCALE = torch.float32
_INT8_MAX = 127


class KVShape(NamedTuple):
    """What a layer keeps of a token: so many keys, and as many values, of so many numbers each."""

    kv_heads: int
    head_dim: int


class PlainPages:
    """Keys and values as they are, or rounded to a narrower floating-point type.

    Parameters
    ----------
    shape : tuple of int
        ``(layers, pages, page_size, kv_heads, head_dim)``.
    dtype : torch.dtype
        What is stored.
    device : torch.device
        Where.
    """

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        layers, pages, *rest = shape
        self._data = torch.empty((layers, pages, 2, *rest), dtype=dtype, device=device)

    def write(self, layer: int, pages: torch.Tensor, offsets: torch.Tensor, entries: torch.Tensor) -> None:
        """Store what tokens have of a layer.

        Parameters
        ----------
        layer : int
            Within the group.
        pages, offsets : torch.Tensor
            int64 ``[tokens]``: where each token's entry goes.
        entries : torch.Tensor
            ``[tokens, 2, kv_heads, head_dim]``: keys, then values.
        """
        self._data[layer, pages, :, offsets] = entries.to(self._data.dtype)

    def read(self, layer: int, pages: torch.Tensor) -> torch.Tensor:
        """Return what some pages have of a layer, as it was stored: ``[pages, 2, page_size, kv_heads, head_dim]``."""
        return self._data[layer, pages]

    def copy(self, source: int, target: int) -> None:
        """Copy a page, all layers of it."""
        self._data[:, target] = self._data[:, source]


class Int8Pages(PlainPages):
    """Keys and values as integers times a scale for each head and token, the largest of them being 127 times it."""

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        super().__init__(shape, torch.int8, device)
        self._scales = torch.empty(self._data.shape[:-1], dtype=_SCALE, device=device)

    @override
    def write(self, layer: int, pages: torch.Tensor, offsets: torch.Tensor, entries: torch.Tensor) -> None:
        entries = entries.to(_SCALE)
        scales = entries.abs().amax(dim=-1) / _INT8_MAX  # [tokens, 2, kv_heads]; NaN where there is one
        whole = torch.round(entries / scales.clamp_min(torch.finfo(_SCALE).tiny).unsqueeze(-1))
        super().write(layer, pages, offsets, whole)
        self._scales[layer, pages, :, offsets] = scales

    @override
    def read(self, layer: int, pages: torch.Tensor) -> torch.Tensor:
        return self._data[layer, pages] * self._scales[layer, pages].unsqueeze(-1)

    @override
    def copy(self, source: int, target: int) -> None:
        super().copy(source, target)
        self._scales[:, target] = self._scales[:, source]


class PageStore:
    """The pages of every cache group of a model.

    Parameters
    ----------
    groups : tuple of CacheGroup
        The groups.
    shapes : sequence of KVShape
        For each group, what its layers keep.
    page_size : int
        Tokens a page.
    dtype : torch.dtype
        What keys and values are stored as.
    device : torch.device
        Where.
    """

    def __init__(
        self,
        groups: tuple[CacheGroup, ...],
        shapes: Sequence[KVShape],
        page_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.groups, self.page_size, self.device = groups, page_size, device
        self._shapes, self._dtype = tuple(shapes), dtype
        self._pages: list[PlainPages] = []

    def __getitem__(self, group: int) -> PlainPages:
        """The pages of a group."""
        return self._pages[group]

    def page_bytes(self, group: int) -> int:
        """Bytes of one page of a group, over all its layers."""
        shape = self._shapes[group]
        scale = _SCALE.itemsize if self._dtype == torch.int8 else 0
        head = shape.head_dim * self._dtype.itemsize + scale
        return 2 * len(self.groups[group].layers) * self.page_size * shape.kv_heads * head

    def allocate(self, pages: tuple[int, ...]) -> None:
        """Make the pages of each group; what is in them is undefined.

        Raises
        ------
        OutOfMemory
            There is no room.
        """
        try:
            self._pages = [self._make(group, count) for group, count in enumerate(pages)]
        except RuntimeError as error:  # torch has no narrower one for the CPU
            size = sum(self.page_bytes(group) * count for group, count in enumerate(pages))
            raise OutOfMemory(
                f"there is no room for keys and values of {size} bytes; give a smaller kv_memory"
            ) from error

    def copy(self, group: int, source: int, target: int) -> None:
        """Copy a page of a group."""
        self._pages[group].copy(source, target)

    def _make(self, group: int, pages: int) -> PlainPages:
        shape = (len(self.groups[group].layers), pages, self.page_size, *self._shapes[group])
        if self._dtype == torch.int8:
            return Int8Pages(shape, self.device)
        return PlainPages(shape, self._dtype, self.device)
