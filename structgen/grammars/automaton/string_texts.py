"""Lists of texts as string machines read them, and the shortest text of a language."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structgen.grammars.automaton._jit import Int32Array
from structgen.grammars.automaton.spelling import (
    AFTER_SUPPLEMENTARY,
    COST_ASCII,
    COST_BYTE,
    COST_UTF8,
    QUOTE,
    SUPPLEMENTARY,
)
from structgen.grammars.automaton.string_costs import costs_of, spelling_costs, weight_of
from structgen.grammars.automaton.string_lengths import lengths_of
from structgen.grammars.automaton.string_values import sorted_by_rank
from structgen.grammars.automaton.tables import FAR, T_COST, T_FIRST, T_LENGTH
from structgen.grammars.language import Language

__all__ = ["Texts", "lists_of", "one_text", "plain_ranks", "shortest_string", "texts_of"]

_COLUMNS = 6
_PLAIN = re.compile(r"[ !#-\[\]-~]*")


class Texts(NamedTuple):
    """Texts in the order of their ranks."""

    texts: tuple[str, ...]
    ranks: Int32Array
    """int32[characters]: those of all texts, one after the other."""
    rows: Int32Array
    """int32[texts, 6]: of TEXTS, but for the first character's place, which is that in ``ranks``."""
    cheapest: int
    """Bytes that spell the cheapest of them."""


@lru_cache(maxsize=64)
def texts_of(texts: tuple[str, ...], single: int) -> Texts:
    """Of ``texts``, sorted by code points, for a vocabulary with the bytes ``single``, a 256-bit integer."""
    return _laid_out(*sorted_by_rank(texts), single)


def plain_ranks(texts: Iterable[str], single: int) -> list[int] | None:
    """The ranks of the characters of ``texts``, if all are printable ASCII and each spelled by a token of one byte."""
    joined = "".join(texts)
    return [*joined.encode()] if _is_plain(single) and _PLAIN.fullmatch(joined) else None


def one_text(text: str, single: int) -> tuple[list[int], int]:
    """The ranks of its characters and the bytes that spell it, as `texts_of` has them."""
    plain = plain_ranks((text,), single)
    if plain is not None:
        return plain, len(text)
    found = texts_of((text,), single)
    return found.ranks.tolist(), found.cheapest


def lists_of(lists: Iterable[tuple[str, ...]], single: int) -> Texts:
    """As `texts_of` of several lists, one behind the other."""
    parts = [sorted_by_rank(texts) for texts in lists]
    texts = tuple(itertools.chain.from_iterable(texts for texts, _ in parts))
    return _laid_out(texts, np.concatenate([ranks for _, ranks in parts]), single)


def _laid_out(texts: tuple[str, ...], ranks: Int32Array, single: int) -> Texts:
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    ends = lengths.cumsum()
    rows = np.zeros((len(texts), _COLUMNS), np.int32)
    rows[:, T_LENGTH] = lengths
    rows[:, T_FIRST] = ends - lengths
    is_plain = _is_plain(single) and _PLAIN.fullmatch("".join(texts))
    costs = lengths if is_plain else _costs(ranks, ends, lengths, single)
    rows[:, T_COST] = costs
    return Texts(texts, ranks, rows, int(costs.min()) if texts else FAR)


@lru_cache(maxsize=8)
def _is_plain(single: int) -> bool:
    """Whether every printable ASCII character is a byte that is a token."""
    costs = spelling_costs(single)[COST_ASCII : COST_ASCII + 128].tolist()
    return all(cost == 1 for point, cost in enumerate(costs) if _PLAIN.fullmatch(chr(point)))


def _costs(ranks: Int32Array, ends: Int32Array, lengths: Int32Array, single: int) -> Int32Array:
    """The bytes that spell each text."""
    costs = spelling_costs(single)
    each = costs[COST_ASCII + np.minimum(ranks, 127)].astype(np.int64)
    if len(ranks) and int(ranks.max()) > 127:
        is_pair = (ranks >= SUPPLEMENTARY) & (ranks < AFTER_SUPPLEMENTARY)
        tails = (ranks >= 0x80).astype(np.int32) + (ranks >= 0x800) + is_pair
        each = np.where(tails > 0, costs[COST_UTF8 + tails], each)
    sums = np.zeros(len(each) + 1, np.int64)
    each.cumsum(out=sums[1:])
    return np.minimum(sums[ends] - sums[ends - lengths], FAR).astype(np.int32)


@lru_cache(maxsize=4096)
def shortest_string(language: Language, single: int) -> int:
    """Bytes of a short string of ``language``, quotes included, in single-byte tokens; `FAR`: they cannot spell any."""
    quotes = 2 * int(spelling_costs(single)[COST_BYTE + QUOTE])
    if language.texts is not None:
        if plain_ranks(language.texts, single) is not None:
            return min(FAR, quotes + min(map(len, language.texts)))
        return min(FAR, quotes + texts_of(language.texts, single).cheapest)
    if language.dfa is None:
        return min(FAR, quotes + language.low * weight_of(None, single))
    if not language.low and language.high is None:
        return min(FAR, quotes + costs_of(language.dfa, single).distances[0])
    length = lengths_of(language.dfa).least(0, language.low) if language.low else language.dfa.shortest[0]
    return min(FAR, quotes + weight_of(language.dfa, single) * length)
