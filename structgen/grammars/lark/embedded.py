"""What Lark's syntax does not have: special tokens, ``<|name|>``, ``<name>`` or ``<[id]>``, ``%json`` and ``%regex``.

None of them stands in a grammar of Lark's outside of texts, patterns and comments. So each of the first is replaced by
the name of a terminal that is declared and has no pattern. What stands for it in a text is the token, no characters; or
a JSON value. ``%regex`` stands in terminals, and is replaced by a pattern that stands for its own (`runs`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from structgen.errors import InvalidGrammar
from structgen.grammars.charset import CharSet
from structgen.grammars.expr import Expr, call, special_token
from structgen.grammars.json_schema.compile import schema_rule
from structgen.grammars.lark.runs import RunSpec, chunks_of, pattern_of
from structgen.grammars.sampling import byte_vocabulary
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Embedded", "Foreign", "without_foreign"]

_FOREIGN = re.compile(
    r"""
    (?P<kept> //[^\n]* | \#[^\n]* | "(?:\\.|[^"\\\n])*" | /(?![/*])(?:\\.|[^/\\\n])+/ )
    | (?P<token> <\[[0-9]{1,10}\]> | <[^<>\s]+> )
    | (?P<json> %json\b\s* )
    | (?P<regex> %regex\b\s* )
    """,
    re.VERBOSE,
)
_ID = re.compile(r"<\[([0-9]{1,10})\]>")
_DEFINITION = re.compile(r"(?m)^[ \t]*[?!]*(\w+)[^:\n]*:")
_HEAD = re.compile(r"\s*(?:%(?:override|extend)\s+)?\w+\s*(?:\.\s*[+-]?\d+\s*)?:\s*|\s*%ignore\s+")
"""The beginning of a terminal, up to its first part."""
_COMMENT = re.compile(r"(?://|#)[^\n]*")
_LAST_PRIVATE = 0x10FFFD
"""Characters from here down stand for ``%regex``."""


class Foreign(NamedTuple):
    """What stands for a terminal without a pattern."""

    expr: Expr
    firsts: CharSet
    """The characters that it may begin with."""


class Embedded(NamedTuple):
    """A grammar in which names stand for what is foreign to Lark."""

    text: str
    foreign: dict[str, Foreign]
    """By the name of the terminal."""
    runs: dict[str, RunSpec]
    """By the character of private use that stands for them in a pattern."""


def without_foreign(text: str, vocabulary: TokenVocabulary, name: str) -> Embedded:
    """The grammar with names in place of special tokens and schemas.

    Raises
    ------
    InvalidGrammar
        The vocabulary has no such special token, what follows ``%json`` or ``%regex`` is malformed, or any of them
        stands where it may not; the message has line and column.
    GrammarError
        A schema cannot be compiled.
    """
    return _Replacing(text, vocabulary, name).replaced()


class _Replacing:
    def __init__(self, text: str, vocabulary: TokenVocabulary, name: str) -> None:
        self._text, self._vocabulary, self._name = text, vocabulary, name
        self._names: dict[str, str] = {}
        self._foreign: dict[str, Foreign] = {}
        self._runs: dict[str, RunSpec] = {}

    def replaced(self) -> Embedded:
        pieces, place = list[str](), 0
        while found := _FOREIGN.search(self._text, place):
            pieces.append(self._text[place : found.start()])
            place = found.end()
            if found["kept"]:
                pieces.append(found[0])
                continue
            if found["regex"]:
                structure, place = self._json(found, "%regex")
                pieces.append(self._runs_of(structure, found, place))
                continue
            self._check_rule(found)
            if found["token"]:
                pieces.append(self._name_of(found[0], "SPECIAL_TOKEN", lambda at=found: self._token(at)))
            else:
                schema, place = self._json(found, "%json")
                written = self._text[found.start() : place]
                pieces.append(self._name_of(written, "JSON_VALUE", lambda its=schema: _json_value(its)))
        pieces.append(self._text[place:])
        if self._foreign:
            pieces.append(f"\n%declare {' '.join(self._foreign)}\n")
        return Embedded("".join(pieces), self._foreign, self._runs)

    def _name_of(self, written: str, kind: str, make: Callable[[], Foreign]) -> str:
        """The terminal that stands for what is written so."""
        if written not in self._names:
            terminal = f"{kind}_{len(self._names)}"
            while terminal in self._text:
                terminal += "_"
            self._names[written], self._foreign[terminal] = terminal, make()
        return self._names[written]

    def _check_rule(self, found: re.Match[str]) -> None:
        definitions = _DEFINITION.findall(self._text, 0, found.start())
        if definitions and definitions[-1].isupper():
            self._fail(f"{found[0].strip()} stands in the terminal {definitions[-1]}; use it in rules", found)

    def _token(self, found: re.Match[str]) -> Foreign:
        by_id, known = _ID.fullmatch(found[0]), self._vocabulary.special_tokens
        for token_id, its in known.items():
            if token_id == int(by_id[1]) if by_id else its == found[0]:
                return Foreign(special_token(token_id), CharSet(()))
        self._fail(f"{found[0]} is no special token of the vocabulary", found)

    def _json(self, found: re.Match[str], after: str) -> tuple[Any, int]:
        try:
            return json.JSONDecoder().raw_decode(self._text, found.end())
        except json.JSONDecodeError as error:
            what = "no JSON Schema" if after == "%json" else "no JSON"
            self._fail(f"after {after} {what}: {error.msg} at line {error.lineno}, column {error.colno}", found)

    def _runs_of(self, structure: object, found: re.Match[str], end: int) -> str:
        """The pattern that stands for runs which are written up to ``end``."""
        definitions = _DEFINITION.findall(self._text, 0, found.start())
        line = self._text.rfind("\n", 0, found.start()) + 1
        is_ignored = self._text[line : found.start()].lstrip().startswith("%ignore")
        if not is_ignored and not (definitions and definitions[-1].isupper()):
            where = f"the rule {definitions[-1]}" if definitions else "no terminal"
            self._fail(f"%regex stands in {where}; give it a terminal of its own", found)
        try:
            spec = RunSpec(chunks_of(structure), not self._is_alone(line, found.start(), end))
        except ValueError as error:
            self._fail(str(error), found)
        stand_in = next((one for one, its in self._runs.items() if its == spec), None) or self._private()
        self._runs[stand_in] = spec
        return f"/{pattern_of(spec, stand_in)}/"

    def _is_alone(self, line: int, begin: int, end: int) -> bool:
        """Whether there is nothing else in the terminal, whose last line so far begins at ``line``."""
        after = _COMMENT.sub("", self._text[end:])
        rest = after.lstrip()
        ends = not rest or ("\n" in after[: len(after) - len(rest)] and rest[0] != "|")
        return ends and _HEAD.fullmatch(self._text, line, begin) is not None

    def _private(self) -> str:
        """A character that is nowhere in the grammar, in any spelling."""
        text = self._text.lower()
        codes = (code for code in range(_LAST_PRIVATE, 0, -1) if chr(code) not in text and f"{code:x}" not in text)
        return chr(next(code for code in codes if chr(code) not in self._runs))

    def _fail(self, what: str, found: re.Match[str]) -> NoReturn:
        lines = self._text[: found.start()].split("\n")
        raise InvalidGrammar(f"{self._name}, line {len(lines)}, column {len(lines[-1]) + 1}: {what}")


def _json_value(schema: Any) -> Foreign:
    rule = schema_rule(schema)
    with TokenAutomaton(rule, byte_vocabulary()).matcher() as matcher:
        firsts = matcher.explain(matcher.start).next_bytes
    return Foreign(call(rule), CharSet.of((byte, byte) for byte in firsts))
