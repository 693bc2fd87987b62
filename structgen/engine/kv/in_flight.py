"""Prefixes that somebody is computing now, so that nobody computes them twice."""

from __future__ import annotations

from typing import NamedTuple

from structgen.engine.kv.sequence import CachedSequence

__all__ = ["Claim", "InFlight"]


class Claim(NamedTuple):
    """A page of tokens that a sequence is computing."""

    key: int
    """Hash of all tokens up to the page's end, and of the namespace."""
    writer: CachedSequence


class InFlight:
    """Which full pages of known tokens will be in the tree soon, and by whom.

    A page is named by a chain of hashes. Should two ever be equal by accident, somebody waits without need, and looks
    again in the tree, by tokens, when the wait is over; nobody gets another's pages.

    Parameters
    ----------
    page_size : int
        Tokens a page.
    """

    def __init__(self, page_size: int) -> None:
        self._page_size = page_size
        self._writers: dict[int, CachedSequence] = {}
        self._claims: dict[CachedSequence, list[int]] = {}  # keys not yet withdrawn, the last first

    def __contains__(self, key: int) -> bool:
        """Whether the page of this key is still being computed."""
        return key in self._writers

    def claim(self, sequence: CachedSequence) -> None:
        """Announce that a sequence computes its known full pages; those that another has announced stay the other's."""
        keys = self._keys(sequence)[sequence.computed // self._page_size :]
        for key in keys:
            self._writers.setdefault(key, sequence)
        if keys:
            self._claims[sequence] = keys[::-1]

    def withdraw(self, sequence: CachedSequence, pages: int | None = None) -> None:
        """Take claims back: the next ``pages`` of them, which are in the tree now, or all."""
        keys = self._claims.get(sequence)
        if keys is None:
            return
        for _ in range(len(keys) if pages is None else min(pages, len(keys))):
            key = keys.pop()
            if self._writers.get(key) is sequence:
                del self._writers[key]
        if not keys:
            del self._claims[sequence]

    def awaited(self, sequence: CachedSequence, found: int) -> Claim | None:
        """Return the last page, of those after the ``found`` ones in the tree, that one other sequence computes.

        Parameters
        ----------
        sequence : CachedSequence
            Who would wait for it.
        found : int
            Pages of its tokens that the tree has.
        """
        keys = self._keys(sequence)
        writer = self._writers.get(keys[found]) if found < len(keys) else None
        if writer is None:
            return None
        last = keys[found]
        for key in keys[found + 1 :]:
            if self._writers.get(key) is not writer:
                break
            last = key
        return Claim(last, writer)

    def _keys(self, sequence: CachedSequence) -> list[int]:
        """Keys of all full pages but one that ends the tokens: the last token is computed for its logits anyway."""
        tokens, size = sequence.tokens, self._page_size
        keys: list[int] = []
        key = hash(sequence.salt)
        for start in range(0, len(tokens) - size, size):
            key = hash((key, *tokens[start : start + size]))
            keys.append(key)
        return keys
