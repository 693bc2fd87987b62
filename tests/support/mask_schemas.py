"""Schemas whose masks are taken whole in every way, and small vocabularies of pieces of their texts."""

from __future__ import annotations

import json
import random

from vocabularies import bytewise

from structgen.grammars import TokenVocabulary

OBJECT = {"type": "object"}
SCHEMAS = {
    "any string": {"type": "string"},
    "strings by length": {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 5}},
    "strings of at least": {"type": "array", "items": {"type": "string", "minLength": 3}},
    "a pattern": {"type": "array", "items": {"type": "string", "pattern": "^[a-f]+(é|\\n|x)?$"}},
    "a pattern by length": {"type": "array", "items": {"type": "string", "pattern": "^[a-f]{1,4}$"}},
    "even lengths": {"type": "array", "items": {"type": "string", "pattern": "^(..)*$", "maxLength": 6}},
    "texts": {"type": "array", "items": {"enum": ["a", "ab", "abc", "é", "\n", 'b"', "\\", "\U0001f600", 1, None]}},
    "numbers": {"type": "array", "items": {"type": ["integer", "boolean", "null"]}},
    "fractions": {"type": "array", "items": {"type": "number", "minimum": -10, "maximum": 20.5}},
    "declared keys": OBJECT
    | {"properties": {"a": {"type": "string"}, "ab": OBJECT, "é": {"type": "integer"}}, "additionalProperties": False},
    "keys of any kind": OBJECT | {"properties": {"a": {"type": "integer"}, "ab": {"type": "string"}}},
    "keys in any order": OBJECT
    | {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"], "minProperties": 2},
    "keys by pattern": OBJECT
    | {
        "properties": {"a": {"type": "integer"}, "xa": {"type": "boolean"}},
        "patternProperties": {"^x": {"type": "string"}, "b$": {"type": "null"}},
        "additionalProperties": False,
    },
    "keys by pattern and others": OBJECT
    | {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
    "anything": {},
    "either": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "array", "items": {"type": "string"}}]},
}
TEXTS = [
    json.dumps(value, ensure_ascii=ascii, indent=indent)
    for ascii in (True, False)
    for indent in (None, 1, 2)
    for value in (
        ["a", "ab", "abc", "é", "\n", 'b"', "\\", "\U0001f600", 1, None],
        {"a": "x\u00e9y", "ab": {"b": 1}, "xa": True, "é": -12},
        {"a": 1, "b": 'ab"c', "xb": None, "ax": [[], {}, 3.25e-7]},
        ["abcdef", "fed", "abcdef\u00e9", 12.5, 1024, True, False],
    )
]


def vocabulary_of(seed: int, mask_slots: int = 64) -> TokenVocabulary:
    """Every byte, an end token, and pieces of JSON of all kinds; some tokens twice."""
    source, pieces = random.Random(seed), list[bytes]()
    for _ in range(600):
        text = source.choice(TEXTS).encode()
        begin = source.randrange(len(text))
        pieces.append(text[begin : begin + source.randint(2, 14)])
    return bytewise(*pieces, mask_slots=mask_slots)


WORDS = r"^(\S+\s+){0,3}\S+$"
WIDE = {
    "words by number": {"type": "string", "pattern": WORDS},
    "words by number and length": {"type": "string", "pattern": WORDS, "minLength": 3, "maxLength": 9},
    "kinds beyond ASCII": {"type": "string", "pattern": r"^[^a-c]*(é|ab)?[\u00e8-\uffff]*\p{Emoji_Presentation}?x?$"},
    "keys by pattern and length": OBJECT
    | {"patternProperties": {"^[a-x]{1,6}$": {"type": "integer"}, "^.é?$": True}, "additionalProperties": False},
}
