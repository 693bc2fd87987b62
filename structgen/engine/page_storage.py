"""The pages of one cache group as tensors, in the type that keys and values are stored in."""

from __future__ import annotations

import torch
from typing_extensions import override

from structgen.engine.models.description import ModelDescription
from structgen.engine.step import CacheGroup

__all__ = ["KV_DTYPES", "Int8Pages", "PlainPages", "cache_groups", "make_pages", "page_bytes"]

KV_DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
"""What keys and values can be stored as, by name."""

_SCALE = torch.float32
_INT8_MAX = 127


def cache_groups(description: ModelDescription) -> tuple[CacheGroup, ...]:
    """Put the layers of a model that see as far as each other into one group."""
    windows = dict.fromkeys(description.sliding_windows)
    return tuple(
        CacheGroup(tuple(layer for layer, one in enumerate(description.sliding_windows) if one == window), window)
        for window in windows
    )


def page_bytes(description: ModelDescription, layers: int, page_size: int, dtype: torch.dtype) -> int:
    """Bytes of one page over ``layers`` layers."""
    scale = _SCALE.itemsize if dtype == torch.int8 else 0
    head = description.head_dim * dtype.itemsize + scale
    return 2 * layers * page_size * description.num_key_value_heads * head


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


def make_pages(
    description: ModelDescription, layers: int, pages: int, page_size: int, dtype: torch.dtype, device: torch.device
) -> PlainPages:
    """Return ``pages`` pages for ``layers`` layers of a model; what is in them is undefined."""
    shape = (layers, pages, page_size, description.num_key_value_heads, description.head_dim)
    return Int8Pages(shape, device) if dtype == torch.int8 else PlainPages(shape, dtype, device)
