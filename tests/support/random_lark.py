"""Random grammars in Lark's syntax: few rules, terminals that overlap in every way that `re` decides by order."""

from __future__ import annotations

import random

__all__ = ["random_grammar"]

_TEXTS = ['"a"', '"b"', '"ab"', '"aa"', '"ba"', '"A"i']
_IGNORED = ['" "', "/ +/", "/[ ]/", "/ b?/", "/c+/", '"  "', "/ +?/", '"c"', "/c.*?c/", "/cb*/", "/ (?!a)/"]
_PARTS = ["a", "b", "c", "[ab]", ".", "ab", "bb", "[^a]", "ba"]
_REPEATS = ["*", "+", "?", "*?", "+?", "??", "{1,2}", "{0,2}?", "{2}"]


def random_grammar(seed: int, *, looks: bool) -> str:
    """A grammar over the characters ``abc`` and space; ``looks``: its patterns may look around."""
    return _Grammar(random.Random(seed), looks).text()


class _Grammar:
    def __init__(self, source: random.Random, looks: bool) -> None:
        self._source, self._looks = source, looks
        self._rules = ["start", "p", "q"][: source.randint(1, 3)]
        self._terminals = ["T0", "T1", "T2"][: source.randint(1, 3)]

    def text(self) -> str:
        choice = self._source.choice
        lines = [f"{name}: {self._body()}" for name in self._rules]
        for name in self._terminals:
            patterns = [f"/{self._pattern()}/", f"/{self._pattern()}/", choice(_TEXTS), "/[ab]+/", "/[a-c]+/"]
            lines.append(f"{name}{choice(['', '', '', '.1', '.2'])}: {choice(patterns)}")
        if self._source.random() < 0.5:
            lines.append(f"%ignore {choice([*_IGNORED[:10], self._terminals[0]])}")
            if self._source.random() < 0.3:
                lines.append(f"%ignore {choice(_IGNORED)}")
        return "\n".join(lines)

    def _body(self) -> str:
        choice = self._source.choice
        alternatives = [
            " ".join(
                self._symbol() + choice(["", "", "", "", "*", "?", "+"]) for _ in range(choice([0, 1, 1, 2, 2, 3]))
            )
            for _ in range(self._source.randint(1, 3))
        ]
        return " | ".join(alternatives)

    def _symbol(self) -> str:
        return self._source.choice(self._source.choices([self._rules, self._terminals, _TEXTS], [3, 4, 3])[0])

    def _pattern(self, depth: int = 0) -> str:
        kind = self._source.random()
        if depth > 2 or kind < 0.35:
            return self._source.choice(_PARTS)
        inner = self._pattern(depth + 1)
        if kind < 0.65:
            return f"(?:{inner}|{self._pattern(depth + 1)})"
        if kind < 0.85:
            return f"(?:{inner}){self._source.choice(_REPEATS)}"
        if kind < 0.95 and self._looks:
            look = self._source.choice(["(?!", "(?="]) + self._pattern(depth + 1) + ")"
            return inner + self._source.choice([look, look, "(?<!a)", "(?<=b)", "$", r"\b"])
        return inner + self._pattern(depth + 1)
