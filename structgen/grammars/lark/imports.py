"""Lark's builder of grammars, which reads a file of Lark's library once in a process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

from lark import load_grammar
from lark.exceptions import GrammarError
from lark.load_grammar import EXT, Definition, Grammar, GrammarBuilder, stdlib_loader
from typing_extensions import override

__all__ = ["loaded_grammar"]

_Terminals = Mapping[str, tuple[bool, Any, tuple[()], int]]
"""By name, what a `Definition` is made of."""


def loaded_grammar(text: str, name: str) -> Grammar:
    """What Lark reads in a text; imports of the user's own files are looked for in the folder of ``name``."""
    builder = _Builder()
    builder.load_grammar(text, name)
    return builder.build()


class _Builder(GrammarBuilder):
    """Takes over terminals of Lark's library as they have been read before."""

    @override
    def do_import(
        self,
        dotted_path: tuple[str, ...],
        base_path: str | None,
        aliases: dict[str, str],
        base_mangle: Callable[[str], str] | None = None,
    ) -> None:
        known = _terminals_of(dotted_path) if base_path is None else None
        names = list(aliases.values())
        if known is None or len(set(names)) < len(names):
            return super().do_import(dotted_path, base_path, aliases, base_mangle)
        for name in names:
            if name in self._definitions:
                where = "/".join(dotted_path) + EXT
                raise GrammarError(f"Cannot import '{name}' from '{where}': Symbol already defined.")
        self._definitions.update((aliases[name], Definition(*its)) for name, its in known.items() if name in aliases)
        return None

    @override
    def _extend(self, name: str, *args: Any, **kwargs: Any) -> None:
        its: Any = self._definitions.get(name)
        if its is not None and its.tree is not None:  # which is extended in place, and may be of the library
            its.tree = cast("Any", load_grammar).nr_deepcopy_tree(its.tree)
        cast("Any", super())._extend(name, *args, **kwargs)

    def terminals(self) -> _Terminals | None:
        """All definitions, if they are of terminals and have texts."""
        found = {name: cast("Any", its) for name, its in self._definitions.items()}
        if not all(its.is_term and its.tree is not None for its in found.values()):
            return None
        return {name: (True, its.tree, (), its.options) for name, its in found.items()}


@functools.lru_cache(maxsize=16)
def _terminals_of(path: tuple[str, ...]) -> _Terminals | None:
    """The terminals of a file of the library, ``None`` where there is no such file, or something else is in it."""
    try:
        source, text = stdlib_loader(None, "/".join(path) + EXT)
    except OSError:
        return None
    builder = _Builder()
    builder.load_grammar(text, cast("str", source))
    return builder.terminals()


_terminals_of(("common",))  # which most grammars import from
