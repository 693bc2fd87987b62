"""Languages of string values as string machines read them: characters by rank, and what it costs to spell them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    COST_ASCII,
    COST_BYTE,
    COST_HEX,
    COST_TAIL,
    COST_UTF8,
    SUPPLEMENTARY,
)
from structgen.grammars.automaton.tables import FAR
from structgen.grammars.language import Language

__all__ = ["Texts", "shortest_string", "spelling_costs"]

_SHORT = {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}


@lru_cache(maxsize=8)
def spelling_costs(single: int) -> Int32Array:
    """What `spelling` keeps at the start of POOL, for the bytes that are tokens by themselves: a 256-bit integer."""

    def cost(*spellings: bytes) -> int:
        """Of the cheapest of some spellings."""
        return min((len(one) for one in spellings if all(single >> byte & 1 for byte in one)), default=FAR)

    escapes = cost(b"\\u0123456789abcdef") < FAR
    tails = cost(bytes(range(0x80, 0xF5)).translate(None, b"\xc0\xc1")) < FAR
    costs = np.full(COST_HEX + 1, FAR, np.int32)
    costs[COST_HEX], costs[COST_TAIL] = 1 if escapes else FAR, 1 if tails else FAR
    for byte in range(256):
        costs[COST_BYTE + byte] = cost(bytes([byte]))
    for point in range(128):
        raw = [bytes([point])] if point >= 0x20 and point not in (0x22, 0x5C) else []
        short = [f"\\{_SHORT[point]}".encode()] if point in _SHORT else []
        costs[COST_ASCII + point] = min(cost(*raw, *short), 6 if escapes else FAR)
    for tail in (1, 2, 3):
        costs[COST_UTF8 + tail] = min(tail + 1 if tails else FAR, (12 if tail == 3 else 6) if escapes else FAR)
    costs.flags.writeable = False
    return costs


class Texts(NamedTuple):
    """Texts in the order of their ranks."""

    texts: tuple[str, ...]
    ranks: Int32Array
    """Of all characters, one text after the other."""
    lengths: list[int]
    costs: Int32Array
    """Bytes that spell each."""

    @classmethod
    def of(cls, texts: tuple[str, ...], single: int) -> Texts:
        """Of ``texts``, which are sorted by code points, for a vocabulary with the bytes ``single``."""
        joined = "".join(texts)
        ranks = np.frombuffer(joined.encode("utf-32-le"), np.int32)
        if not joined.isascii() and int(ranks.max()) >= SUPPLEMENTARY:
            # UTF-16 sorts as ranks do, and ranks are all that tells the two orders apart.
            texts = tuple(sorted(texts, key=lambda text: text.encode("utf-16-be")))
            ranks = _ranks(np.frombuffer("".join(texts).encode("utf-32-le"), np.int32))
        lengths = list(map(len, texts))
        return cls(texts, ranks, lengths, _text_costs(ranks, lengths, spelling_costs(single)))


def _ranks(points: Int32Array) -> Int32Array:
    """As `spelling.rank_of`."""
    ranks = np.where(points < 0x10000, points + (AFTER_SUPPLEMENTARY - 0xE000), points - (0x10000 - SUPPLEMENTARY))
    return np.where(points < SUPPLEMENTARY, points, ranks).astype(np.int32)


def _text_costs(ranks: Int32Array, lengths: list[int], costs: Int32Array) -> Int32Array:
    each = costs[COST_ASCII + np.minimum(ranks, 127)].astype(np.int64)
    if len(ranks) and int(ranks.max()) > 127:
        is_pair = (ranks >= SUPPLEMENTARY) & (ranks < AFTER_SUPPLEMENTARY)
        tails = (ranks >= 0x80).astype(np.int32) + (ranks >= 0x800) + is_pair
        each = np.where(tails > 0, costs[COST_UTF8 + tails], each)
    sums = np.zeros(len(each) + 1, np.int64)
    np.cumsum(each, out=sums[1:])
    ends = np.cumsum(lengths)
    return np.minimum(sums[ends] - sums[ends - np.array(lengths)], FAR).astype(np.int32)


@lru_cache(maxsize=4096)
def shortest_string(language: Language, single: int) -> int:
    """The single-byte tokens that spell the shortest string of ``language``, quotes included; `FAR`: not possible."""
    costs = spelling_costs(single)
    quotes = 2 * int(costs[COST_BYTE + 0x22])
    if language.texts is not None:
        return min(FAR, quotes + int(Texts.of(language.texts, single).costs.min()))
    return min(FAR, quotes)
