"""What a runner would have written to its pages, so that a test can see who reads what."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.engine.kv import CachedSequence, KVManager, PageCopy
from structgen.engine.step import CacheGroup

Token = tuple[object, ...] | None


class PagedMemory:
    """At each place of a page the whole sequence of tokens up to there, with its namespace."""

    def __init__(self, manager: KVManager) -> None:
        self._manager = manager
        self._size = manager.page_size
        self._pages: list[list[list[Token]]] = [
            [[None] * self._size for _ in range(pool.total)] for pool in manager.pools
        ]

    def copy(self, copies: Iterable[PageCopy]) -> None:
        for group, source, target in copies:
            self._pages[group][target] = list(self._pages[group][source])

    def write(self, sequence: CachedSequence, count: int) -> None:
        """Compute the next tokens; nobody else may hold what is written."""
        for group, table in enumerate(sequence.tables):
            for position in range(sequence.computed, sequence.computed + count):
                page, place = table[position // self._size], position % self._size
                assert self._manager.pools[group].holders(page) == 1
                self._pages[group][page][place] = (sequence.salt, *sequence.tokens[: position + 1])

    def check(self, sequence: CachedSequence, groups: Iterable[CacheGroup]) -> None:
        """Everything that the next token of a sequence sees is what its own tokens left there."""
        for group, (table, layout) in enumerate(zip(sequence.tables, groups, strict=True)):
            first = 0 if layout.window is None else max(0, sequence.computed - layout.window + 1)
            for position in range(first, sequence.computed):
                found = self._pages[group][table[position // self._size]][position % self._size]
                assert found == (sequence.salt, *sequence.tokens[: position + 1])
