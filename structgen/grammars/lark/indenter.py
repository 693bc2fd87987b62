"""Lark's `Indenter`: the post-lexer that makes indentation into tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from structgen.errors import InvalidGrammar

__all__ = ["Lines", "lines_of", "plain_postlex"]

_FIELDS = ("NL_type", "OPEN_PAREN_types", "CLOSE_PAREN_types", "INDENT_type", "DEDENT_type", "tab_len")
_OWN = ("_process", "always_accept", "handle_NL", "process")
"""What a subclass must leave as it is."""


class Lines(NamedTuple):
    """What an indenter says, the names of terminals."""

    newline: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    indent: str
    dedent: str
    tab: int
    """Columns that a tab counts for."""

    def nesting(self, name: str) -> int:
        """By how much a terminal changes the number of open brackets."""
        return (name in self.opening) - (name in self.closing)


def plain_postlex(postlex: object) -> Any:
    """A post-lexer as plain data, which `lines_of` takes as well; what is none stays as it is."""
    if postlex is None or isinstance(postlex, Mapping):
        return cast("object", postlex)
    return dict(zip(_FIELDS, lines_of(postlex), strict=True))


def lines_of(postlex: object) -> Lines:
    """What a post-lexer says: an `Indenter`, its class, or a mapping with the names of its attributes.

    Raises
    ------
    InvalidGrammar
        It is something else, an attribute is missing or malformed, or its methods are not those of `Indenter`.
    """
    if isinstance(postlex, Mapping):
        its = cast("Mapping[str, object]", postlex)
        found = {name: its[name] for name in _FIELDS if name in its}
        if len(found) < len(its):
            raise InvalidGrammar(f"postlex has {sorted(set(its) - set(_FIELDS))}, which an indenter has not")
    else:
        found = _attributes(postlex)
    missing = [name for name in _FIELDS if name not in found]
    if missing:
        raise InvalidGrammar(f"postlex does not say {', '.join(missing)}")
    return _checked(found)


def _attributes(postlex: object) -> dict[str, object]:
    from lark.indenter import Indenter

    kind = postlex if isinstance(postlex, type) else type(postlex)
    if not issubclass(kind, Indenter):
        raise InvalidGrammar(f"postlex is an Indenter of Lark's, its class or a mapping, not {postlex!r}")
    changed = [name for name in _OWN if getattr(kind, name) is not getattr(Indenter, name)]
    if changed:
        raise InvalidGrammar(
            f"the indenter {kind.__name__} has its own {', '.join(changed)}, which cannot be held; only attributes can"
        )
    if isinstance(postlex, type) and not kind.__abstractmethods__:
        postlex = kind.__new__(kind)  # whose attributes may be properties; what is wrong with them is said below
    return {name: getattr(postlex, name) for name in _FIELDS if hasattr(postlex, name)}


def _checked(found: Mapping[str, object]) -> Lines:
    def name(field: str) -> str:
        value = found[field]
        if not isinstance(value, str):
            raise InvalidGrammar(f"postlex: {field} is the name of a terminal, not {value!r}")
        return value

    def names(field: str) -> tuple[str, ...]:
        value = found[field]
        if not isinstance(value, (list, tuple, set, frozenset)) or not all(
            isinstance(one, str) for one in cast("list[object]", value)
        ):
            raise InvalidGrammar(f"postlex: {field} is a list of names of terminals, not {value!r}")
        return tuple(sorted(cast("list[str]", value)))

    tab = found["tab_len"]
    if not isinstance(tab, int) or isinstance(tab, bool) or tab < 1:
        raise InvalidGrammar(f"postlex: tab_len is a number of columns from 1 on, not {tab!r}")
    lines = Lines(
        name("NL_type"),
        names("OPEN_PAREN_types"),
        names("CLOSE_PAREN_types"),
        name("INDENT_type"),
        name("DEDENT_type"),
        tab,
    )
    roles = [lines.newline, *lines.opening, *lines.closing, lines.indent, lines.dedent]
    if len(set(roles)) < len(roles):
        raise InvalidGrammar(f"postlex: one terminal has several roles among {', '.join(roles)}")
    return lines
