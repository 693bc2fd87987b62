r"""Sets of characters that Unicode defines: ``\p{...}`` as ECMA-262 has it, and what ignoring case adds.

The table beside this file holds every property that ECMA-262 names but the ``Changes_When_...`` ones; its own script
in the tests writes it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from structgen.errors import InvalidRegex
from structgen.grammars.charset import CharSet

__all__ = ["ignoring_case", "unicode_property"]

_KINDS = {
    "General_Category": "gc",
    "gc": "gc",
    "Script": "sc",
    "sc": "sc",
    "Script_Extensions": "scx",
    "scx": "scx",
}


def unicode_property(name: str, value: str | None, position: int) -> CharSet:
    r"""The characters that have a property: ``\p{name}`` or ``\p{name=value}``.

    Raises
    ------
    InvalidRegex
        There is none of that name; ``position`` says where in the pattern.
    """
    if value is None:
        found = _property("gc", name) or _property("binary", name)
    else:
        kind = _KINDS.get(name, "")
        found = _property(kind, value) or _property("sc" if kind == "scx" else "", value)
    if found is None:
        shown = name if value is None else f"{name}={value}"
        raise InvalidRegex(f"'{shown}' at position {position} is no property of characters that ECMA-262 has")
    return found


@cache
def _property(kind: str, name: str) -> CharSet | None:
    numbers = _table().get((kind, name))
    if numbers is None:
        return None
    ranges: list[tuple[int, int]] = []
    end = -1
    parts = iter(numbers.split())
    for gap, more in zip(parts, parts, strict=True):
        first = end + 1 + int(gap, 36)
        end = first + int(more, 36)
        ranges.append((first, end))
    return CharSet(tuple(ranges))


@cache
def _table() -> dict[tuple[str, str], str]:
    table: dict[tuple[str, str], str] = {}
    for line in Path(__file__).with_suffix(".txt").read_text("ascii").splitlines():
        kind, names, numbers = line.split(" ", 2)
        for name in names.split("|"):
            table[kind, name] = numbers
    return table


@lru_cache(maxsize=1024)
def ignoring_case(members: CharSet) -> CharSet:
    """The characters that are one of ``members`` but for case: that have the same simple case folding."""
    groups = _case_groups()
    extra: list[tuple[int, int]] = []
    for point, group in groups.items():
        if point in members:
            extra += group
    return CharSet.of((*members.ranges, *extra)) if extra else members


@cache
def _case_groups() -> dict[int, list[tuple[int, int]]]:
    """For each character with others that are the same but for case: all of them, as ranges.

    The foldings are Python's own, so a letter that Unicode has since given another case is left alone.
    """
    groups: dict[str, list[tuple[int, int]]] = {}
    cased = _property("binary", "Cased")
    for first, last in cased.ranges if cased else ():
        for point in range(first, last + 1):
            groups.setdefault(_folded(chr(point)), []).append((point, point))
    return {point: group for group in groups.values() if len(group) > 1 for point, _ in group}


def _folded(char: str) -> str:
    """The simple case folding of Unicode; Python knows the full one."""
    folded = char.casefold()
    if len(folded) == 1:
        return folded
    return _SIMPLE.get(char, char.lower() if len(char.lower()) == 1 else char)


_SIMPLE = {"\ufb05": "\ufb06", "\u1fd3": "\u0390", "\u1fe3": "\u03b0"}
"""Simple foldings that Python cannot tell: their full ones are several characters, their lower case is themselves."""
