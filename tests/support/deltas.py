"""What came out of a stream of deltas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from structgen.engine.request import Delta


class Gathered(NamedTuple):
    """All deltas of one answer put together."""

    text: str
    token_ids: tuple[int, ...]
    last: Delta


def gather(stream: Iterable[Delta]) -> Gathered:
    deltas = list(stream)
    token_ids = tuple(token_id for delta in deltas for token_id in delta.token_ids)
    return Gathered("".join(delta.text for delta in deltas), token_ids, deltas[-1])
