r"""Sets of characters that Unicode defines: ``\p{...}``, and what ignoring case adds."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache, lru_cache

from structgen.errors import InvalidRegex
from structgen.grammars.charset import ALL, CharSet

__all__ = ["ignoring_case", "unicode_property"]


@cache
def unicode_property(name: str, value: str | None, position: int) -> CharSet:
    """The characters that have a property."""
    if name in ("General_Category", "gc"):
        name, value = value or "", None
    found = _categories().get(name) if value is None else None
    if found is None:
        shown = name if value is None else f"{name}={value}"
        raise InvalidRegex(f"'{shown}' at position {position} is no property that structgen knows")
    return found


@cache
def _categories() -> dict[str, CharSet]:
    ranges: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for point in range(1, sys.maxunicode + 2):
        category = unicodedata.category(chr(point)) if point <= sys.maxunicode else ""
        if category != current:
            ranges.setdefault(current, []).append((start, point - 1))
            ranges.setdefault(current[0], []).append((start, point - 1))
            start, current = point, category
    return {name: CharSet.of(its) for name, its in ranges.items()}


@lru_cache(maxsize=1024)
def ignoring_case(members: CharSet) -> CharSet:
    """The characters that are the same as one of ``members`` but for case (simple case folding)."""
    extra: list[tuple[int, int]] = []
    for group in _case_groups():
        if any(point in members for point in group):
            extra += [(point, point) for point in group]
    return members | CharSet.of(extra)


@cache
def _case_groups() -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for first, last in (ALL - CharSet(((0xD800, 0xDFFF),))).ranges:
        for point in range(first, last + 1):
            char = chr(point)
            folded = char.casefold()
            groups.setdefault(folded if len(folded) == 1 else char.lower(), []).append(point)
    return [group for group in groups.values() if len(group) > 1]
