"""What Lark's lexers try, in which order: each state of a parser has one, for the terminals that it accepts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lark.lexer import PatternStr, TerminalDef

from structgen.errors import InvalidGrammar
from structgen.grammars.lark.runs import Runs

__all__ = ["TerminalOrder", "TerminalOrders"]

_NOT_ALONE = re.compile(r"\\[1-9]|\(\?(?:P|\(|[a-zA-Z]+\))")
"""What may mean something else, or nothing, beside other patterns: groups with names or numbers, flags of the whole."""


@dataclass(frozen=True, eq=False)
class TerminalOrder:
    """What one of Lark's lexers tries. Told apart by identity.

    Attributes
    ----------
    names : tuple of str
        The terminals, in order.
    spellings : mapping
        Of some of them, in order, the terminals that a token is instead where it is just their text: keywords.
    """

    names: tuple[str, ...]
    spellings: Mapping[str, tuple[str, ...]]


class TerminalOrders:
    """Those of the lexers of a grammar; lexers that take the same share one.

    Parameters
    ----------
    terminals : collection of lark.lexer.TerminalDef
        All of the grammar.
    always : collection of str
        Names of those that every lexer takes.
    runs : collection of Runs
        Those that stand in terminals.
    """

    def __init__(
        self, terminals: Collection[TerminalDef], always: Collection[str], runs: Collection[Runs] = ()
    ) -> None:
        self._runs = runs
        self._sorted = sorted(terminals, key=_rank)
        self._always, self._known = frozenset(always), frozenset(one.name for one in self._sorted)
        self._keywords = {one.name: self._keywords_of(one) for one in self._sorted if not _is_text(one)}
        self._orders: dict[frozenset[str], TerminalOrder] = {}

    def _keywords_of(self, terminal: TerminalDef) -> list[TerminalDef]:
        """Texts of the same priority that the terminal matches, too."""
        texts = [one for one in self._sorted if _is_text(one) and one.priority == terminal.priority]
        return [one for one in texts if self._is_match(terminal.pattern.to_regexp(), one.pattern.value)]

    def _is_match(self, pattern: str, text: str) -> bool:
        """Whether what a pattern matches at the beginning of a text is all of it."""
        for one in self._runs:
            pattern = pattern.replace(one.pattern, one.pattern_within(text))
        match = re.match(pattern, text)
        return match is not None and match[0] == text

    def order(self, accepted: Collection[str]) -> TerminalOrder:
        """That of the lexer of a state which accepts these terminals.

        Raises
        ------
        InvalidGrammar
            Python's `re` does not take the terminals together.
        """
        taken = self._always.union(accepted) & self._known
        if taken not in self._orders:
            self._orders[taken] = self._made(taken)
        return self._orders[taken]

    def _made(self, taken: frozenset[str]) -> TerminalOrder:
        spellings: dict[str, tuple[str, ...]] = {}
        within: set[str] = set()
        for terminal in self._sorted:
            keywords = [one for one in self._keywords.get(terminal.name, ()) if one.name in taken]
            if keywords and terminal.name in taken:
                spellings[terminal.name] = tuple(one.name for one in keywords)
                within.update(one.name for one in keywords if set(one.pattern.flags) <= set(terminal.pattern.flags))
        tried = [one for one in self._sorted if one.name in taken and one.name not in within]
        _check_together(tried)
        return TerminalOrder(tuple(one.name for one in tried), spellings)


def _is_text(terminal: TerminalDef) -> bool:
    return isinstance(terminal.pattern, PatternStr)


def _rank(terminal: TerminalDef) -> tuple[int, int, int, str]:
    """Lark's."""
    pattern = terminal.pattern
    return (-terminal.priority, -pattern.max_width, -len(pattern.value), terminal.name)


def _check_together(terminals: list[TerminalDef]) -> None:
    patterns = [(one.name, one.pattern.to_regexp()) for one in terminals]
    if not any(_NOT_ALONE.search(pattern) for _, pattern in patterns):
        return
    try:
        re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns))
    except re.error as error:
        raise InvalidGrammar(f"the terminals cannot be tried together: {error}") from error
