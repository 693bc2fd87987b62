"""Which keys an object can have together, where some imply others: Horn clauses over keys."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.errors import GrammarLimitExceeded

__all__ = ["Clauses"]

_MAX_TRIES = 20_000


class Clauses:
    """Sets of keys that contain ``required`` and obey ``implications``.

    Parameters
    ----------
    implications : iterable of (frozenset of str, str or None)
        Where all of these keys are there, so is the other; ``None``: not all of them are.
    possible : collection of str
        The keys that can be there.
    required : frozenset of str
        Keys that are.
    """

    def __init__(
        self,
        implications: Iterable[tuple[frozenset[str], str | None]],
        possible: set[str],
        required: frozenset[str],
    ) -> None:
        self._possible, self._required = possible, required
        self._clauses = [
            (keys, other if other in possible else None) for keys, other in implications if keys <= possible
        ]

    def has_size(self, low: int, high: int | None, extra: int, *, is_open: bool) -> bool:
        """Whether such a set has from ``low`` to ``high`` keys, with ``extra`` others, or more if it ``is_open``."""
        least = self._closure(self._required)
        if least is None or (high is not None and len(least) + extra > high):
            return False
        if is_open or len(least) + extra >= low:
            return True
        bound = len(self._possible) if high is None else high
        tied = {name for keys, other in self._clauses for name in (*keys, other) if name is not None}
        return self._can_grow(least, low, bound, tied)

    def _closure(self, keys: Iterable[str]) -> frozenset[str] | None:
        """The least such set with ``keys``, if there is one."""
        found = set(keys)
        if not found <= self._possible:
            return None
        changed = True
        while changed:
            changed = False
            for needed, other in self._clauses:
                if needed <= found and other not in found:
                    if other is None:
                        return None
                    found.add(other)
                    changed = True
        return frozenset(found)

    def _can_grow(self, least: frozenset[str], low: int, high: int, tied: set[str]) -> bool:
        """Whether some set has from ``low`` to ``high`` keys; those of ``tied`` ones are tried, each once.

        Raises
        ------
        GrammarLimitExceeded
            There are too many.
        """
        free = len(self._possible - tied - least)
        pending, seen = [least], {least}
        while pending:
            keys = pending.pop()
            if len(keys) + free >= low:
                return True
            for name in tied - keys:
                larger = self._closure(keys | {name})
                if larger is not None and larger not in seen and len(larger) <= high:
                    seen.add(larger)
                    pending.append(larger)
            if len(seen) > _MAX_TRIES:
                raise GrammarLimitExceeded("too many keys imply each other to count the sets of them that can be")
        return False
