"""Special tokens in a grammar in Lark's syntax: ``<|name|>``, ``<name>`` or ``<[id]>``, an extension.

Lark's syntax has no angle brackets outside of texts, patterns and comments. So each special token is replaced by the
name of a terminal that is declared and has no pattern; what stands for it in a text is the token, no characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from structgen.errors import InvalidGrammar
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Replaced", "replaced"]

_PARTS = re.compile(
    r"""
    (?P<kept> //[^\n]* | \#[^\n]* | "(?:\\.|[^"\\\n])*" | /(?![/*])(?:\\.|[^/\\\n])+/ )
    | (?P<token> <\[[0-9]{1,10}\]> | <[^<>\s]+> )
    """,
    re.VERBOSE,
)

_ID = re.compile(r"<\[([0-9]{1,10})\]>")
_DEFINITION = re.compile(r"(?m)^[ \t]*[?!]*(\w+)[^:\n]*:")


class Replaced(NamedTuple):
    """A grammar without special tokens."""

    text: str
    token_ids: dict[str, int]
    """By the name of the terminal that stands for it."""


def replaced(text: str, vocabulary: TokenVocabulary, name: str) -> Replaced:
    """The grammar with names in place of special tokens.

    Raises
    ------
    InvalidGrammar
        The vocabulary has no such special token, or it stands in a terminal; the message has line and column.
    """
    names: dict[str, str] = {}
    token_ids: dict[str, int] = {}

    def name_of(found: re.Match[str]) -> str:
        token = found["token"]
        if token is None:
            return found[0]
        definitions = _DEFINITION.findall(text, 0, found.start())
        if definitions and definitions[-1].isupper():
            raise _refusal(f"{token} stands in the terminal {definitions[-1]}; use it in rules", name, text, found)
        if token not in names:
            ids = _ids(token, vocabulary)
            if not ids:
                raise _refusal(f"{token} is no special token of the vocabulary", name, text, found)
            terminal = f"SPECIAL_TOKEN_{len(names)}"
            while terminal in text:
                terminal += "_"
            names[token], token_ids[terminal] = terminal, ids[0]
        return names[token]

    without = _PARTS.sub(name_of, text)
    if names:
        without += f"\n%declare {' '.join(token_ids)}\n"
    return Replaced(without, token_ids)


def _ids(token: str, vocabulary: TokenVocabulary) -> list[int]:
    """The special tokens that ``token`` may mean."""
    by_id = _ID.fullmatch(token)
    known = vocabulary.special_tokens
    return [one for one, its in known.items() if (one == int(by_id[1]) if by_id else its == token)]


def _refusal(what: str, name: str, text: str, found: re.Match[str]) -> InvalidGrammar:
    lines = text[: found.start()].split("\n")
    return InvalidGrammar(f"{name}, line {len(lines)}, column {len(lines[-1]) + 1}: {what}")
